"""`quorate compare`: which rule suits a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.progress import ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from quorate._extras import load
from quorate.cli.output import Output, check_writable, print_json, progress_bar
from quorate.errors import LocalError
from quorate.evaluate import Comparison, compare, model_from_text, rolling_mean
from quorate.evaluate.compare import UNFITTED
from quorate.evaluate.trust import largest_shares

__all__ = ["draw", "show"]

#: The rule to take where one knows nothing of the stream.
RECOMMENDED = "Portfolio"
_STYLES: dict[str, dict[str, Any]] = {
    RECOMMENDED: {"color": "crimson", "linestyle": "-", "linewidth": 2.5, "zorder": 3},
    UNFITTED: {"color": "crimson", "linestyle": "--", "linewidth": 1.2, "zorder": 3},
    "PreviousLabel": {"color": "black", "linestyle": ":", "linewidth": 1.0},
    "MajorityClass": {"color": "black", "linestyle": "--", "linewidth": 1.0},
}


def show(
    file: Path, label: str, *, models: list[str], window: int | None, out: Path, as_json: bool, **options: Any
) -> None:
    """Compare, print the table, write `compare.json`, `compare.parquet`, `compare.png` and `portfolio.json`."""
    if out.exists() and not out.is_dir():
        raise LocalError(f"{out} is not a folder; --out is where compare.json, .parquet and .png go")
    out.mkdir(parents=True, exist_ok=True)
    check_writable(out)
    load("matplotlib", "quorate compare")
    sys.path.insert(0, os.getcwd())  # so that a model beside the file is found
    given = [model_from_text(text) for text in models] or None
    with progress_bar(TextColumn("{task.percentage:>3.0f}%"), Rate()) as bars:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        comparison = compare(file, label, models=given, window=window, progress=progress, **options)
    document = comparison.document()
    (out / "compare.json").write_text(json.dumps(document, indent=2) + "\n")
    comparison.save_parquet(out / "compare.parquet")
    if (begun := comparison.portfolio()) is not None:
        (out / "portfolio.json").write_text(json.dumps(begun.snapshot()) + "\n")
    draw(comparison, document["curves"].get("portfolio"), out / "compare.png")
    if as_json:
        print_json(document)
    else:
        _print(comparison, out)


class Rate(ProgressColumn):
    """How fast it goes: in bytes where a file is read, else in slots."""

    def render(self, task: Task) -> Text:
        """Show the speed of a task."""
        speed = task.speed or 0.0
        return Text(f"{speed / 1e6:,.1f} MB/s" if task.description == "reading" else f"{speed:,.0f} slots/s")


def _print(comparison: Comparison, out: Path) -> None:
    console = Output()
    facts = comparison.facts
    skipped = facts["rows_skipped"] + facts["rows_without_label"]
    console.print(
        f"{facts['source']}: {len(facts['learners'])} learners, each trained on {facts['rows_train_each']} rows; "
        f"{facts['slots']} slots; +1 is {facts['label']} = {facts['positive']}"
        + (f"; {skipped} rows left out" if skipped else ""),
        highlight=False,
    )
    kinds = list(facts["columns"].values())
    console.print(
        f"{kinds.count('number')} columns are numbers, {kinds.count('category')} categories (compare.json says which; "
        "--category, --number and --drop change it)",
        highlight=False,
        style="dim",
    )
    table = Table("", "wrong", "balanced", "kappa", "temporal kappa")
    for column in table.columns[1:]:
        column.justify = "right"
    best_learner = next((row.name for row in comparison.rows if row.kind == "learner"), None)
    for row in comparison.rows:
        if row.kind == "learner" and row.name != best_learner:
            continue
        note = {"baseline": " (baseline)", "learner": " alone (the best)", "scheme": " (retrains)"}.get(row.kind, "")
        if row.name == RECOMMENDED:
            note = " (recommended)"
        if row.name in facts["fitted"]:
            note = f"*{note}"
        bounds = row.interval("error")
        half = "" if bounds is None else f" ± {(bounds[1] - bounds[0]) / 2:.2%}"
        table.add_row(
            row.name + note,
            f"{row.mean('error'):.2%}{half}",
            f"{row.mean('balanced_error'):.2%}",
            f"{row.mean('kappa'):.3f}",
            f"{row.mean('kappa_temporal'):.3f}",
            style="bold" if row.name == RECOMMENDED else None if row.kind == "rule" else "dim",
        )
    console.print(table)
    if facts["fitted"]:
        console.print(
            f"* fitted, on the {facts['rows_train']} rows that the models were trained on, each model's own left out",
            highlight=False,
            style="dim",
        )
    console.print(
        f"Written to {out}: compare.json, compare.parquet (every slot), compare.png"
        + (
            ", portfolio.json (as it begins, for these models: ensemble.rule_file)"
            if RECOMMENDED in comparison.decisions[0]
            else ""
        ),
        highlight=False,
    )


def draw(comparison: Comparison, trusted: dict[str, Any] | None, out: Path) -> None:
    """Draw the rolling error of each rule and baseline, of the first repeat, and what the portfolio trusted."""
    from cycler import cycler
    from matplotlib import color_sequences
    from matplotlib.figure import Figure

    labels = comparison.recordings[0].labels
    window = comparison.facts["window"]
    heights = [2] if trusted is None else [2, 1]
    figure = Figure(figsize=(11, 3 * sum(heights)), layout="constrained")
    axes, *below = figure.subplots(len(heights), squeeze=False, height_ratios=heights)[:, 0]
    step = max(1, len(labels) // 5000)  # more points than pixels only cost time
    colours = [colour for place, colour in enumerate(color_sequences["tab10"]) if place != 3]  # which is red
    axes.set_prop_cycle(cycler(linestyle=["-", "-."]) * cycler(color=colours))
    most = 0.0
    for row in comparison.rows:
        if row.kind == "learner":
            continue
        errors = rolling_mean(comparison.decisions[0][row.name] != labels, window, step)
        label = f"{row.name}  {row.mean('error'):.2%}"
        axes.plot(range(0, len(labels), step), errors, label=label, **_STYLES.get(row.name, {}))
        begin = window // step if window < len(labels) else 0  # before, one slot is much
        most = max(most, float(errors[begin:].max()))
    axes.set(xlabel="slot", ylabel=f"wrong, of the last {window}", xlim=(0, len(labels)))
    axes.set_ylim(0, 1.05 * most or None)
    axes.set_title(f"{Path(comparison.facts['source']).name}: rolling error, and the error over all slots")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, frameon=False)
    for under in below:
        if trusted and trusted["slots"]:
            shown = largest_shares(trusted["shares"], 8)
            colours = [*color_sequences["Set3"][: len(shown) - 1], "whitesmoke"]
            under.stackplot(trusted["slots"], list(shown.values()), labels=list(shown), colors=colours)
            under.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, frameon=False)
        under.set(xlabel="slot", ylabel="share", xlim=(0, len(labels)), ylim=(0, 1))
        under.set_title(f"{RECOMMENDED}: what it trusted")
    figure.savefig(out, dpi=120)
