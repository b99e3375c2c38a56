"""What every part of the benchmarks is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.table import Table

__all__ = ["Check", "Options", "Part", "check_table", "right"]


class Options(NamedTuple):
    """What a run of the benchmarks is told."""

    repeats: int = 7
    """How often each program is timed."""
    rounds: int = 3
    """How often nodes and nats-py take turns."""
    quick: bool = False
    """Less work of each kind: numbers to look at, not to quote."""


class Check(NamedTuple):
    """Something that must be shown: a number, and the least or the most that it may be."""

    name: str
    found: float
    bound: float
    at_least: bool = True

    @property
    def holds(self) -> bool:
        """Whether it is shown."""
        return self.found >= self.bound if self.at_least else self.found <= self.bound


class Part(NamedTuple):
    """What one part has measured: what goes into `results.json`, and what must be shown of it."""

    document: dict[str, Any]
    checks: Sequence[Check] = ()


def check_table(checks: Sequence[Check]) -> Table:
    """Say of each check whether it holds."""
    table = Table("what must be shown", "found", "asked", "", title="checks")
    for check in checks:
        asked = f"{'at least' if check.at_least else 'at most'} {check.bound:g}"
        table.add_row(check.name, f"{check.found:.3g}", asked, "yes" if check.holds else "[bold red]no[/]")
    return right(table)


def right(table: Table) -> Table:
    """Align all columns but the first to the right."""
    for column in table.columns[1:]:
        column.justify = "right"
    return table
