"""How a node stands, in one document: for the live table, `quorate status` and the metrics."""

from __future__ import annotations

from typing import Any

import msgspec

from quorate.learner import Learner
from quorate.node import Node
from quorate.rules import ExplainingRule, ExtendedPWM

__all__ = ["Report", "report_of", "report_of_learner"]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How a node stands.

    Parameters
    ----------
    ensemble, learner
        Which one.
    state
        ``live``, ``catching up``, ``away`` (no link to the broker) or ``gone`` (it does not answer).
    position, slot, voted
        The last entry it has applied, the last slot it has decided, and the last it has voted on; -1 for none.
    members, epoch
        Who votes, in the order of the weights, and how many changes of membership there were.
    decisions, labels, mistakes, pending, open, late_votes, skipped, faults, unsent
        Counts: decided, labelled, wrong among these, waiting for a label, waiting for votes, votes that came after
        their slot was decided, slots that were passed over, as a later one was decided first, entries that could
        not be used, events that wait for the log.
    weights, weights_asynchronous
        The rule's, the bias first; where some were absent, if the rule tells these apart.
    shares
        What the rule trusts, if it says so, as a portfolio does.
    idle
        Whether it has nothing more to do.
    """

    ensemble: str
    learner: str
    state: str = "live"
    position: int = 0
    slot: int = -1
    voted: int = -1
    members: list[str] = []
    epoch: int = 0
    decisions: int = 0
    labels: int = 0
    mistakes: int = 0
    pending: int = 0
    open: int = 0
    late_votes: int = 0
    skipped: int = 0
    faults: int = 0
    unsent: int = 0
    weights: list[float] = []
    weights_asynchronous: list[float] = []
    shares: dict[str, float] = {}
    idle: bool = False

    @property
    def error(self) -> float | None:
        """The part of the labelled decisions that were wrong."""
        return self.mistakes / self.labels if self.labels else None

    def document(self) -> dict[str, Any]:
        """As JSON-able values."""
        return {**msgspec.to_builtins(self), "error": self.error}


def report_of(ensemble: str, node: Node, connected: bool = True) -> Report:
    """Say how a node stands.

    >>> from quorate import Learner
    >>> from quorate.log import MemoryLog
    >>> report_of("grid", Node(Learner("paris", ["paris"]), MemoryLog())).state
    'catching up'
    """
    state = "away" if not connected else "live" if node.is_live else "catching up"
    known = report_of_learner(ensemble, node.learner, state=state, position=node.position, faults=node.faults)
    voted = -1 if node.voter is None else node.voter.voted
    return msgspec.structs.replace(known, voted=voted, unsent=len(node.outbox), idle=node.is_idle)


def report_of_learner(ensemble: str, learner: Learner, *, state: str, position: int, faults: int) -> Report:
    """Say how a learner stands, running or kept in a checkpoint."""
    counters, rule = learner.counters, learner.rule
    return Report(
        ensemble=ensemble,
        learner=learner.name,
        state=state,
        position=position,
        slot=learner.closed_until,
        members=list(learner.members),
        epoch=learner.epoch,
        decisions=counters.decisions,
        labels=counters.labels,
        mistakes=counters.mistakes,
        pending=len(learner.pending_slots),
        open=len(learner.open_slots),
        late_votes=counters.late_votes,
        skipped=counters.skipped_slots,
        faults=faults,
        weights=list(rule.weights),
        weights_asynchronous=list(rule.weights_asynchronous) if isinstance(rule, ExtendedPWM) else [],
        shares=rule.explain(learner.members) if isinstance(rule, ExplainingRule) else {},
    )
