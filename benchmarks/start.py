"""How soon something happens: `import quorate`, the first line of `quorate demo`, one point of the paper's S1."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing
from benchmarks.part import Check, Options, Part, right
from quorate.paper.panels import s1_study
from quorate.paper.simulation import Outcome, Setting, simulate
from quorate.paper.work import spread

__all__ = ["run"]

#: What must be shown, in seconds.
IMPORT_S_MAX, DEMO_S_MAX, S1_S_MAX = 0.150, 2.0, 0.6
#: The point of S1: labels up to so many slots late; so many threads; so many simulations that one is given at once.
DELAY_SLOTS_MAX, THREADS, BATCH = 100, 2, 50

#: What is timed, and what it is called in the table and the document.
NOTHING, IMPORT, DEMO, S1 = "python -c pass", "import quorate", "quorate demo, first line", "S1, one point"


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    programs: dict[str, Callable[[], float]] = {
        NOTHING: lambda: _whole("pass"),
        IMPORT: lambda: _whole("import quorate"),
        DEMO: _demo,
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    repeats = 3 if options.quick else options.repeats
    for turn in range(repeats + 1):
        for name, program in programs.items():
            taken = program()
            if turn:  # the first warms what is on disk
                seconds[name].append(taken)
    _s1()  # it compiles, and has no peer to take turns with: the programs above would only cool its caches
    seconds[S1] = [_s1() for _ in range(repeats)]
    timings = {name: Timing(min(each), statistics.median(each), max(each)) for name, each in seconds.items()}
    above = statistics.median(one - two for one, two in zip(seconds[IMPORT], seconds[NOTHING], strict=True))
    table = right(Table("", "ms", "spread", title=f"how soon; S1 is 1,000 x 1,000 x 16, on {THREADS} threads"))
    for name, timing in timings.items():
        table.add_row(name, f"{timing.median * 1e3:,.0f}", f"{timing.best * 1e3:,.0f} to {timing.worst * 1e3:,.0f}")
    console.print(table)
    checks = [
        Check("import quorate, above python -c pass, s", above, IMPORT_S_MAX, at_least=False),
        Check("quorate demo to its first line, s", timings[DEMO].median, DEMO_S_MAX, at_least=False),
        Check("S1 at the paper's size, one point, s", timings[S1].median, S1_S_MAX, at_least=False),
    ]
    return Part({"seconds": {name: timing._asdict() for name, timing in timings.items()}, "above": above}, checks)


def _whole(program: str) -> float:
    """How long a Python of its own takes for a program."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def _demo() -> float:
    """How long `quorate demo` takes to its first line."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "quorate", "demo", "--slots", "200", "--out", str(Path(folder) / "demo.png")]
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"}) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            taken = time.perf_counter() - start
            process.stdout.read()
        if process.returncode or not line.strip():
            raise RuntimeError(f"quorate demo ended with {process.returncode} after {line!r}")
    return taken


def _s1() -> float:
    """How long a thousand simulations of S1 take, with labels that come late."""
    study = s1_study(seed=0)
    setting = Setting(delay_max=DELAY_SLOTS_MAX)

    def simulations(some: range) -> list[Outcome]:
        return [simulate(study.stream, one, study.n_slots, [setting]) for one in some]

    parts = [range(first, first + BATCH) for first in range(0, study.n_simulations, BATCH)]
    start = time.perf_counter()
    found = [outcome for part in spread(simulations, parts, THREADS, "threading") for outcome in part]
    taken = time.perf_counter() - start
    if len(found) != study.n_simulations:
        raise RuntimeError(f"{len(found)} simulations were done, not {study.n_simulations}")
    return taken
