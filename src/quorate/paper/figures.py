"""The paper's figures, as PNG and SVG, each with its data beside it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from quorate._extras import load
from quorate.paper.panels import PANELS
from quorate.paper.published import NO_BIAS, PUBLISHED

__all__ = ["draw_bounds", "draw_panels", "draw_table"]

ALONE, PWM, PAPER = "#8c564b", "#1f77b4", "#d62728"


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    load("matplotlib", "Drawing the figures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _save(figure: Any, path: Path, header: list[str], rows: list[list[Any]]) -> None:
    """Write picture and data; the same numbers give the same bytes."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "quorate"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=120, metadata={"Software": None})
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def draw_panels(study: dict[str, Any], title: str, path: Path) -> None:
    """Draw ALONE and PWM against what varies, one panel each."""
    names = [name for name in PANELS if name in study["panels"]]
    columns = min(2, len(names))
    n_rows = math.ceil(len(names) / columns)
    figure, axes = _figure(10.4, 3.4 * n_rows + 0.4, n_rows, columns)
    figure.suptitle(title)
    top = 1.1 * max(max(study["panels"][name][who]["mean"]) for name in names for who in ("alone", "pwm"))
    data = []
    for name, axis in zip(names, axes.flat, strict=False):
        panel = study["panels"][name]
        for who, colour, marker in (("alone", ALONE, "s"), ("pwm", PWM, "o")):
            curve = panel[who]
            label = "ALONE" if who == "alone" else "PWM"
            axis.errorbar(
                panel["x"], curve["mean"], curve["half"], color=colour, marker=marker, ms=4, capsize=2, label=label
            )
        axis.set(xlabel=PANELS[name], ylabel="wrong decisions (part of the slots)", ylim=(0, top))
        axis.grid(alpha=0.3)
        data += [
            [name, x, *(panel[who][kind][place] for who in ("alone", "pwm") for kind in ("mean", "half"))]
            for place, x in enumerate(panel["x"])
        ]
    for axis in list(axes.flat)[len(names) :]:
        axis.set_visible(False)
    axes.flat[0].legend(frameon=False)
    _save(figure, path, ["panel", "x", "alone", "alone_half_interval", "pwm", "pwm_half_interval"], data)


def draw_bounds(figure_data: dict[str, Any], path: Path) -> None:
    """Draw the paper's bounds, our certificate and what really happened against mu."""
    figure, axes = _figure(9, 5.6)
    axis = axes[0, 0]
    x = figure_data["x"]
    measured = figure_data["measured"]
    curves = [
        ("B1, the paper's (does not hold)", figure_data["b1"], "#d62728", ":"),
        ("B2, the paper's", figure_data["b2"], "#ff7f0e", "--"),
        ("B = min(B1, B2, 1), the paper's", figure_data["b"], "black", "-"),
        ("our certificate (mean)", figure_data["certificate"], "#2ca02c", "-"),
        ("ALONE", measured["alone"]["mean"], ALONE, "-"),
        ("PWM", measured["pwm"]["mean"], PWM, "-"),
        ("AM, the plain majority", measured["am"]["mean"], "#9467bd", "-"),
    ]
    for label, values, colour, line in curves:
        shown = [value if value >= 1e-4 else math.nan for value in values]
        axis.plot(x, shown, color=colour, linestyle=line, label=label, linewidth=2.5 if colour == "black" else 1.6)
    for crossing in figure_data["crossings"]:
        axis.axvline(crossing, color="grey", linewidth=0.8)
        axis.annotate(f" {crossing:.2f}", (crossing, 1.1e-4), color="grey", fontsize=9)
    axis.set(
        xlabel="mu, half the distance between the two classes",
        ylabel="wrong decisions (part of the slots)",
        yscale="log",
        ylim=(1e-4, 10),
        xlim=(0, max(x)),
    )
    axis.grid(alpha=0.3)
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    names = ["mu", "b1", "b2", "b", "certificate", "alone", "pwm", "am"]
    rows = [[x[place], *(values[place] for _, values, _, _ in curves)] for place in range(len(x))]
    _save(figure, path, names, rows)


def draw_table(table: dict[str, Any], path: Path) -> None:
    """Draw each data set's errors, ours and the paper's, best first."""
    figure, axes = _figure(11, 4.2 * math.ceil(len(table) / 2) + 0.4, math.ceil(len(table) / 2), min(2, len(table)))
    data = []
    for (stream, found), axis in zip(table.items(), axes.flat, strict=False):
        rows = dict(sorted(found["rows"].items(), key=lambda item: -item[1]["error"]))
        titles = {row.name: row.title for row in PUBLISHED}
        places = range(len(rows))
        papers = {row.name: row.percent[int(stream[1]) - 1] for row in (*PUBLISHED, NO_BIAS)}
        for place, (name, row) in zip(places, rows.items(), strict=True):
            swept = [100 * error for error in found["sweep"].get(name, [])]
            if len(swept) > 1:
                axis.plot([min(swept), max(swept)], [place, place], color="#aec7e8", linewidth=5, solid_capstyle="butt")
            low, high = (100 * max(each, 0.0) for each in row["interval"])
            axis.plot([low, high], [place, place], color=PWM, linewidth=1.5)
            axis.plot(100 * row["error"], place, "o", color=PWM, ms=6)
            axis.plot(papers.get(name, math.nan), place, "x", color=PAPER, ms=7, mew=2)
            data.append([stream, name, 100 * row["error"], low, high, papers.get(name, "")])
        axis.set_yticks(list(places), [titles.get(name, name) for name in rows], fontsize=8)
        axis.set(title=f"{stream}: {found['title']}", xlabel="wrong decisions (%)")
        axis.title.set_fontsize(9)
        axis.grid(alpha=0.3, axis="x")
        errors = [100 * row["error"] for row in rows.values()]
        if max(errors) > 50 * max(min(errors), 0.01):  # what matters would be one blob at the left
            axis.set_xscale("symlog", linthresh=0.1)
            axis.set_xticks([0, 0.1, 0.3, 1, 3, 10, 30, 100], ["0", "0.1", "0.3", "1", "3", "10", "30", "100"])
        axis.set_xlim(left=0)
    for axis in list(axes.flat)[len(table) :]:
        axis.set_visible(False)
    for style, colour, label in (("o", PWM, "ours, with its 95 % interval"), ("x", PAPER, "the paper's")):
        axes.flat[0].plot([], [], style, color=colour, label=label)
    axes.flat[0].plot([], [], color="#aec7e8", linewidth=5, label="ours, over the rows to begin at")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    _save(figure, path, ["stream", "name", "percent", "low", "high", "paper_percent"], data)
