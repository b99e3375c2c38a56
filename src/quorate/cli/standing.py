"""How learners stand, as a table: for `quorate run` while it runs, and for `quorate status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from quorate.runtime.config import Config
from quorate.runtime.report import Report

__all__ = ["standing", "with_missing"]

#: How many columns a terminal has that is wide.
WIDE = 110
_COLOUR = {"live": "green", "catching up": "yellow", "away": "red", "gone": "red"}


def with_missing(config: Config, found: Sequence[Report]) -> list[Report]:
    """The reports of all learners of a file, those that did not answer as gone, in the order of the file."""
    known = {(report.ensemble, report.learner): report for report in found}
    listed = []
    for learner in config.learners:
        gone = Report(ensemble=config.name, learner=learner.name, state="gone")
        listed.append(known.pop((config.name, learner.name), gone))
    return [*listed, *(report for key, report in known.items() if key[0] == config.name)]


def standing(rows: Sequence[Report], *, title: str | None = None) -> Table:
    """A row a learner: where it is, how far behind, how often wrong, and whom it trusts.

    That are the largest shares of a rule that has some, as a portfolio, and the weights of another, the bias first. A
    narrow terminal has room for fewer shares, and leaves out the weights for slots where somebody was absent.
    """
    ahead = max((report.slot for report in rows), default=-1)
    trust = "trusts" if any(report.shares for report in rows) else "weights"
    names = ("", "", "slot", "behind", "waiting", "wrong", "late", "faults", trust)
    table = Table(*names, title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns[2:8]:
        column.justify = "right"
    wide = Console().width >= WIDE
    for report in rows:
        there = report.state != "gone"
        weights = largest(report.shares, 3 if wide else 1) if report.shares else shown(report.weights)
        if any(report.weights_asynchronous) and wide:
            weights += "  /  " + shown(report.weights_asynchronous)
        table.add_row(
            report.learner,
            f"[{_COLOUR.get(report.state, 'white')}]{report.state}[/]",
            str(report.slot) if report.slot >= 0 else "-",
            str(ahead - report.slot) if there and report.slot >= 0 else "-",
            str(report.pending) if there else "-",
            f"{report.error:.1%}" if report.error is not None else "-",
            str(report.late_votes + report.skipped) if there else "-",
            str(report.faults) if there else "-",
            weights,
        )
    return table


def largest(shares: Mapping[str, float], n_shown: int) -> str:
    """The largest shares, the largest first.

    >>> largest({"paris": 0.2, "not paris": 0.05, "PWM": 0.75}, 2)
    'PWM 75%, paris 20%'
    """
    chosen = sorted(shares, key=lambda name: -shares[name])[:n_shown]
    return ", ".join(f"{name} {shares[name]:.0%}" for name in chosen)


def shown(weights: Sequence[float]) -> str:
    """Weights as they are read: whole ones whole, others to two places.

    >>> shown([0, -12, 3]), shown([4e-8, -3.618])
    ('0 -12 3', '0.00 -3.62')
    """
    whole = all(weight == int(weight) for weight in weights)
    return " ".join(f"{weight:.0f}" if whole else f"{weight:.2f}" for weight in weights)
