"""Run the benchmarks, print a table, write `benchmarks/results.json`."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import kernel

PEER = "river linear_model.Perceptron"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="how often each program is timed (default: 7)")
    repeats = parser.parse_args().repeats
    timings = kernel.measure(repeats)
    table = Table("program", "ns a slot", "spread", f"times as fast as {PEER}", title=f"K = {kernel.N_LEARNERS}")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, timing in timings.items():
        ratio = timings[PEER].median / timing.median
        spread = f"{timing.best * 1e9:,.1f} to {timing.worst * 1e9:,.1f}"
        table.add_row(name, f"{timing.median * 1e9:,.1f}", spread, f"{ratio:,.1f}")
    Console().print(table)
    versions = {name: importlib.metadata.version(name) for name in ("quorate", "numba", "numpy", "river")}
    document = {
        "repeats": repeats,
        "seconds_a_slot": {name: timing._asdict() for name, timing in timings.items()},
        "versions": versions | {"python": platform.python_version()},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    out = Path(__file__).parent / "results.json"
    out.write_text(json.dumps(document, indent=2) + "\n")
    Console().print(f"written: {out.relative_to(Path.cwd()) if out.is_relative_to(Path.cwd()) else out}")


if __name__ == "__main__":
    main()
