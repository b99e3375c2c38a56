"""What `benchmarks.network` and `benchmarks.steady` have measured, in tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from benchmarks.network import LIVE_SLOTS, RATE, CatchUp, Latency
from benchmarks.steady import MARKS

__all__ = ["HALF", "TIMES", "catch_up_table", "live_table", "steady_table", "verdicts"]

#: What must be shown: so much of raw at the same batch size, and so many times the unbatched rate.
HALF, TIMES = 0.5, 20.0
#: How much a node may have grown after the first mark.
GROWN_KIB_MAX = 8 * 1024


def catch_up_table(rounds: dict[str, list[CatchUp]]) -> Table:
    """Slots a second, ours beside raw."""
    table = _right(
        Table(
            "batch",
            "slots a message",
            "ours",
            "raw nats-py",
            "ours / raw",
            "raw, hasty",
            "CPU, ours",
            "raw",
            "lost",
            title="catch-up, K = 8, a process each, JetStream on disk: slots a second, CPU us a slot, labels lost",
            show_lines=True,
        )
    )
    for name, some in rounds.items():
        table.add_row(
            name,
            f"{some[0].slots_a_message:,.0f}",
            *(
                _spread(some, of, form)
                for of, form in (
                    (lambda one: one.ours, ",.0f"),
                    (lambda one: one.raw, ",.0f"),
                    (lambda one: one.ours / one.raw, ".2f"),
                    (lambda one: one.raw_hasty, ",.0f"),
                    (lambda one: one.ours_cpu_us, ",.0f"),
                    (lambda one: one.raw_cpu_us, ",.0f"),
                )
            ),
            str(max(one.lost_labels for one in some)),
        )
    return table


def verdicts(rounds: dict[str, list[CatchUp]]) -> dict[str, tuple[float, float]]:
    """What must be shown: the ratio that was found, and the least it must be."""
    default, unbatched = rounds["default"], rounds["unbatched"]
    times = [one.ours / other.ours for one, other in zip(rounds["long"], unbatched, strict=True)]
    return {
        "ours / raw nats-py at the default batch": (statistics.median(one.ours / one.raw for one in default), HALF),
        "ours / raw nats-py with long messages": (
            statistics.median(one.ours / one.raw for one in rounds["long"]),
            HALF,
        ),
        "ours / raw nats-py unbatched": (statistics.median(one.ours / one.raw for one in unbatched), HALF),
        "ours with long messages / ours unbatched": (statistics.median(times), TIMES),
    }


def live_table(live: dict[str, list[Latency]]) -> Table:
    """How long a decision takes."""
    title = f"live, {RATE:.0f} slots a second, {LIVE_SLOTS} slots: ms"
    table = _right(Table("", "p50", "p99", title=title))
    for name, some in live.items():
        table.add_row(
            name,
            _spread(some, lambda one: one.p50 * 1e3, ".1f"),
            _spread(some, lambda one: one.p99 * 1e3, ".1f"),
        )
    return table


def steady_table(held_kib: Sequence[int]) -> Table:
    """What a node holds after so many slots."""
    table = _right(Table("slots", "MiB", "since the first", title="memory of a node's process"))
    for mark, kib in zip(MARKS, held_kib, strict=True):
        grown = kib - held_kib[0]
        verdict = f", at most {GROWN_KIB_MAX // 1024}: {'yes' if grown <= GROWN_KIB_MAX else 'no'}"
        table.add_row(f"{mark:,}", f"{kib / 1024:.1f}", f"{grown / 1024:+.1f}" + (verdict if mark == MARKS[-1] else ""))
    return table


def _spread(some: Sequence[Any], of: Callable[[Any], float], form: str) -> str:
    values = [of(one) for one in some]
    return f"{statistics.median(values):{form}}\n{min(values):{form}} to {max(values):{form}}"


def _right(table: Table) -> Table:
    for column in table.columns[1:]:
        column.justify = "right"
    return table
