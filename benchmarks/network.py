"""The log and the node: catching up, at a rate, and memory over a million slots, in tables."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import steady
from benchmarks.catch_up import LIVE_SLOTS, RATE, CatchUp, Latency, measure
from benchmarks.part import Check, Options, Part, right
from benchmarks.steady import MARKS

__all__ = ["run"]

#: What must be shown: so much of raw at the same batch size, and so many times the unbatched rate.
HALF, TIMES = 0.5, 20.0
#: How much a node may have grown after the first mark.
GROWN_MIB_MAX = 8.0


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as folder:
        held_kib = steady.measure(Path(folder))
    console.print(steady_table(held_kib))
    rounds, live = measure(1 if options.quick else options.rounds)
    console.print(catch_up_table(rounds))
    console.print(cost_table(rounds))
    console.print(live_table(live))
    document = {
        "catch_up": {name: [one._asdict() for one in some] for name, some in rounds.items()},
        "latency_s": {name: [one._asdict() for one in some] for name, some in live.items()},
        "held_kib": dict(zip(map(str, steady.MARKS), held_kib, strict=True)),
    }
    return Part(document, checks(rounds, held_kib))


def catch_up_table(rounds: dict[str, list[CatchUp]]) -> Table:
    """Slots a second, ours beside raw."""
    return _by_batch(
        rounds,
        "catch-up, K = 8, a process each, JetStream on disk: slots a second",
        {
            "slots a message": (lambda one: one.slots_a_message, ",.0f"),
            "ours": (lambda one: one.ours, ",.0f"),
            "raw nats-py": (lambda one: one.raw, ",.0f"),
            "ours / raw": (lambda one: one.ours / one.raw, ".2f"),
            "pushed": (lambda one: one.pushed, ",.0f"),
            "ours / pushed": (lambda one: one.ours / one.pushed, ".2f"),
        },
    )


def cost_table(rounds: dict[str, list[CatchUp]]) -> Table:
    """What a slot costs all of them together."""
    return _by_batch(
        rounds,
        "the same: us of computing a slot, the broker included, and labels lost",
        {
            "ours": (lambda one: one.ours_cpu_us, ",.0f"),
            "raw nats-py": (lambda one: one.raw_cpu_us, ",.0f"),
            "pushed": (lambda one: one.pushed_cpu_us, ",.0f"),
            "lost": (lambda one: one.lost_labels, "d"),
        },
    )


def _by_batch(
    rounds: dict[str, list[CatchUp]], title: str, columns: dict[str, tuple[Callable[[CatchUp], float], str]]
) -> Table:
    table = right(Table("batch", *columns, title=title, show_lines=True))
    for name, some in rounds.items():
        table.add_row(name, *(_spread(some, of, form) for of, form in columns.values()))
    return table


def checks(rounds: dict[str, list[CatchUp]], held_kib: Sequence[int]) -> list[Check]:
    """What must be shown."""
    times = [one.ours / other.ours for one, other in zip(rounds["long"], rounds["unbatched"], strict=True)]
    return [
        *(
            Check(
                f"catch-up, {name}: ours / raw nats-py that pulls, too",
                statistics.median(one.ours / one.raw for one in some),
                HALF,
            )
            for name, some in rounds.items()
        ),
        Check("catch-up: long messages / unbatched", statistics.median(times), TIMES),
        Check("a node's growth over a million slots, MiB", (held_kib[-1] - held_kib[0]) / 1024, GROWN_MIB_MAX, False),
    ]


def live_table(live: dict[str, list[Latency]]) -> Table:
    """How long a decision takes."""
    title = f"live, {RATE:.0f} slots a second, {LIVE_SLOTS} slots: ms"
    table = right(Table("", "p50", "p99", title=title))
    for name, some in live.items():
        table.add_row(
            name,
            _spread(some, lambda one: one.p50 * 1e3, ".1f"),
            _spread(some, lambda one: one.p99 * 1e3, ".1f"),
        )
    return table


def steady_table(held_kib: Sequence[int]) -> Table:
    """What a node holds after so many slots."""
    table = right(Table("slots", "MiB", "since the first", title="memory of a node's process"))
    for mark, kib in zip(MARKS, held_kib, strict=True):
        table.add_row(f"{mark:,}", f"{kib / 1024:.1f}", f"{(kib - held_kib[0]) / 1024:+.1f}")
    return table


def _spread(some: Sequence[Any], of: Callable[[Any], float], form: str) -> str:
    values = [of(one) for one in some]
    median, least, most = (f"{each:{form}}" for each in (statistics.median_low(values), min(values), max(values)))
    return median if least == most else f"{median}\n{least} to {most}"
