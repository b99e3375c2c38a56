"""What happened in an ensemble, gathered from its log while it runs: for the summary and the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.evaluate import Recording
from quorate.events import Decision, Decisions, Label, Labels, Vote, Votes
from quorate.learner import Learner
from quorate.log import Entry, Log
from quorate.node.replay import applied
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Record"]

#: How many slots are recorded.
SLOTS_MAX = 1_000_000


class Record:
    """A recording of an ensemble, as the log has it.

    Parameters
    ----------
    learner
        A learner that has not begun: whose decisions and weights are followed.

    Examples
    --------
    >>> record = Record(Learner("a", ["a", "b"]))
    >>> for position, event in enumerate([Vote(4, "a", 1), Decision(4, "a", 1, (1, 0)), Label(4, -1)], 1):
    ...     record.take(Entry(position, event))
    >>> record.recording().labels.tolist(), record.decisions.tolist(), record.weights.tolist()
    ([-1], [1], [[0.0, 0.0, 0.0]])
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.names = list(learner.members)
        self._place = {name: place for place, name in enumerate(self.names)}
        self._row_of: dict[int, int] = {}
        self._votes = np.zeros((1024, len(self.names)), np.int8)
        self._facts = np.zeros((1024, 3), np.int64)  # label, its arrival, decision
        self._weights = np.zeros((1024, len(self.names) + 1))
        self._last_row = 0
        self.position = 0

    async def follow(self, log: Log) -> None:
        """Gather for ever."""
        async for entry in log.read():
            self.take(entry)

    def take(self, entry: Entry) -> None:
        """Gather one entry."""
        self.position = entry.position
        applied(self.learner, entry)
        match event := entry.event:
            case Vote() | Votes():
                for vote in event:
                    self._vote(vote)
            case Label() | Labels():
                for label in event:
                    row = self._row_of.get(label.slot)
                    if row is not None and not self._facts[row, 0]:
                        self._facts[row, :2] = label.value, max(self._last_row, row)
            case Decision() | Decisions() if event.learner == self.learner.name:
                for made in event:
                    self._decide(made)

    def _row(self, slot: int) -> int | None:
        row = self._row_of.get(slot)
        if row is None and len(self._row_of) < SLOTS_MAX:
            row = self._row_of[slot] = len(self._row_of)
            if row == len(self._votes):
                self._votes, self._facts, self._weights = (
                    np.concatenate([each, np.zeros_like(each)]) for each in (self._votes, self._facts, self._weights)
                )
        return row

    def _vote(self, vote: Vote) -> None:
        row, place = self._row(vote.slot), self._place.get(vote.learner)
        if row is not None and place is not None and not self._votes[row, place]:
            self._votes[row, place] = vote.value

    def _decide(self, decision: Decision) -> None:
        row = self._row(decision.slot)
        if row is not None and not self._facts[row, 2]:
            self._facts[row, 2] = decision.value
            self._last_row = row
            known = list(self.learner.rule.weights)[: len(self.names) + 1]
            self._weights[row, : len(known)] = known

    def _order(self) -> NDArray[Any]:
        """The rows of all decided slots, in the order of slots."""
        slots = np.fromiter(self._row_of.keys(), np.int64, len(self._row_of))
        rows = np.fromiter(self._row_of.values(), np.int64, len(self._row_of))[np.argsort(slots, kind="stable")]
        decided: NDArray[Any] = rows[self._facts[rows, 2] != 0]
        return decided

    def recording(self) -> Recording:
        """Votes and labels of all decided slots; a slot without a label is one whose label never came."""
        rows = self._order()
        place_of = np.zeros(len(self._row_of), np.int64)
        place_of[rows] = np.arange(len(rows))
        labels = self._facts[rows, 0].astype(np.int8)
        arrivals = np.where(labels != 0, place_of[self._facts[rows, 1]], NEVER)
        return Recording(
            self.names,
            self._votes[rows],
            labels,
            np.maximum(arrivals, np.where(labels != 0, np.arange(len(rows)), NEVER)),
        )

    @property
    def decisions(self) -> NDArray[np.int8]:
        """What the learner decided, slot after slot."""
        made: NDArray[np.int8] = self._facts[self._order(), 2].astype(np.int8)
        return made

    @property
    def weights(self) -> NDArray[np.float64]:
        """Its weights as each slot was decided."""
        weights: NDArray[np.float64] = self._weights[self._order()]
        return weights
