"""A picture of `benchmarks/results.json`: one panel a function, for each part that has one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks import growth

__all__ = ["PANELS", "draw"]

Panel = Callable[[dict[str, Any], Axes], None]

OURS = ("PWM.run", "ExtendedPWM.run", "WeightedMajority.run", "Portfolio.run")
LIMITS = ("C with explicit SIMD", "reading the votes")
COLOURS = ("#0b5394", "#3d85c6", "#6fa8dc", "#76a5af", "#000000", "#888888")
COLOURS_PEERS = ("#cc4125", "#e69138", "#bf9000", "#674ea7", "#a64d79", "#38761d")


def kernel(part: dict[str, Any], axes: Axes, mistakes: float = 0.05) -> None:
    """Slots a second against K: ours in blues, the machine in black, the peers in other colours."""
    runs = [found for found in part["runs"] if found["mistakes_asked"] == mistakes]
    names = max((found["seconds_a_slot"] for found in runs), key=len)
    ordered = [*(name for name in (*OURS, *LIMITS) if name in names)]
    peers = [name for name in names if name not in ordered]
    colours = {**dict(zip((*OURS, *LIMITS), COLOURS, strict=True)), **dict(zip(peers, COLOURS_PEERS, strict=False))}
    for name in (*ordered, *peers):
        points = [
            (found["n_learners"], 1 / found["seconds_a_slot"][name]["best"])
            for found in runs
            if name in found["seconds_a_slot"]
        ]
        style = "--" if name in LIMITS else "-"
        axes.plot(*zip(*points, strict=True), style, marker="o", markersize=4, color=colours[name], label=name)
    axes.set(xscale="log", yscale="log", xlabel="learners (K)", ylabel="slots a second")
    places = [found["n_learners"] for found in runs]
    axes.set_xticks(places, [str(place) for place in places])
    axes.set_xticks([], minor=True)
    axes.set_title(f"Whole runs, {100 * mistakes:g} % mistakes", loc="left")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


#: The panels by the part they show, in their order.
PANELS: dict[str, Panel] = {"kernel": kernel, "growth": growth.panel}


def draw(document: dict[str, Any], path: Path) -> bool:
    """Draw the panels of the parts that were measured; give whether there is any."""
    shown = [name for name in PANELS if name in document]
    if not shown:
        return False
    figure = Figure(figsize=(9, 5 * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    for place, name in enumerate(shown):
        PANELS[name](document[name], figure.add_subplot(len(shown), 1, place + 1))
    figure.savefig(path, dpi=150)
    return True
