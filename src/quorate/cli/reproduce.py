"""`quorate reproduce`: the paper's evaluation, regenerated."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from rich.progress import MofNCompleteColumn
from rich.table import Table

from quorate._extras import load
from quorate.cli.output import Output, check_writable, print_json, progress_bar
from quorate.errors import LocalError
from quorate.paper.reproduce import PARTS, reproduce

__all__ = ["chosen", "show"]


def chosen(wanted: list[str]) -> list[str]:
    """The parts that are asked for, whatever their case; all for ``all``.

    >>> chosen(["s1", "table"]), len(chosen(["all"]))
    (['table', 'S1'], 5)
    """
    named = {part.lower(): part for part in PARTS}
    unknown = [name for name in wanted if name.lower() not in (*named, "all")]
    if unknown:
        raise LocalError(f"there is no part {unknown[0]!r}; there are all, {', '.join(PARTS)}")
    if "all" in [name.lower() for name in wanted]:
        return list(PARTS)
    return [part for low, part in named.items() if low in [name.lower() for name in wanted]]


def show(parts: list[str], *, out: Path, as_json: bool, jobs: int, **options: Any) -> None:
    """Run the parts, write the report, and print what holds."""
    if out.exists() and not out.is_dir():
        raise LocalError(f"{out} is not a folder; --out is where the report, the figures and results.json go")
    out.mkdir(parents=True, exist_ok=True)
    check_writable(out)
    load("matplotlib", "quorate reproduce")
    jobs = (os.cpu_count() or 1) if jobs == -1 else jobs
    with progress_bar(MofNCompleteColumn()) as bars:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        results = reproduce(out, parts, progress=progress, jobs=jobs, **options)
    if as_json:
        print_json(results)
        return
    console = Output()
    table = Table("", "the paper says", "paper", "ours", "")
    colours = {"reproduced": "green", "not reproduced": "red"}
    for claim in results["claims"]:
        colour = colours.get(claim["verdict"], "yellow")
        shown = (claim["about"], claim["text"], claim["paper"], claim["ours"])
        table.add_row(*shown, f"[{colour}]{claim['verdict']}[/{colour}]")
    console.print(table)
    counts = Counter(claim["verdict"] for claim in results["claims"])
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), highlight=False)
    for name, reason in results["reasons"].items():
        console.print(f"{name} is missing: {reason}", highlight=False, style="yellow")
    took = results["seconds"]
    console.print(f"Written to {out} in {took['all']:.0f} s: report.html, results.json, figures", highlight=False)
