"""A recording: the votes of a stream, its labels, and when each label came."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from quorate.errors import LocalError
from quorate.events import Label, Votes
from quorate.learner import Learner
from quorate.rules import BaseRule, Rule
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Recording", "arriving", "decide"]

#: How many slots of votes a learner is given at once.
LEARNER_SLOTS = 256
#: How many slots are looked at at once where a whole stream would be too much.
BLOCK_SLOTS = 1 << 17


class Recording(msgspec.Struct, frozen=True):
    """What every rule is judged on: votes as they were cast, labels, and when they came.

    Parameters
    ----------
    names
        The learners.
    votes
        Of shape (slots, learners): -1, +1, or 0 for an absent learner.
    labels
        The truth of every slot, also where no label ever came.
    arrivals
        The slot at whose end each label came, or `quorate.streams.NEVER`.
    """

    names: list[str]
    votes: Any
    labels: Any
    arrivals: Any

    @property
    def is_perfect(self) -> bool:
        """Whether every label came at once."""
        n_slots = len(self.labels)
        blocks = range(0, n_slots, BLOCK_SLOTS)
        return all(
            bool(
                (
                    self.arrivals[first : first + BLOCK_SLOTS] == np.arange(first, min(first + BLOCK_SLOTS, n_slots))
                ).all()
            )
            for first in blocks
        )

    def as_told(self) -> Recording:
        """With some label in slots whose own never came: a rule that is run over it must not see these anyway."""
        return msgspec.structs.replace(self, labels=np.where(self.labels != 0, self.labels, np.int8(1)))


def arriving(arrivals: NDArray[Any]) -> Iterator[list[int]]:
    """For each slot, the slots whose labels come at its end, in the order of the slots.

    >>> list(arriving(np.array([2, 1, NEVER, 9])))
    [[], [1], [0], []]
    """
    waiting: list[tuple[int, int]] = []
    for slot, arrival in enumerate(arrivals.tolist()):
        if arrival != NEVER:
            heapq.heappush(waiting, (arrival, slot))
        due = []
        while waiting and waiting[0][0] <= slot:
            due.append(heapq.heappop(waiting)[1])
        yield due


def decide(
    recording: Recording,
    rule: Rule,
    horizon: int | None = None,
    watch: Callable[[int, Learner], None] | None = None,
    advance: Callable[[int], None] = lambda n_slots: None,
) -> NDArray[np.int8]:
    """Run a rule over a recording, through a learner; give its decisions as they were issued.

    Parameters
    ----------
    recording
        Votes, labels and arrivals.
    rule
        The rule; it learns.
    horizon
        How long the learner waits for a label. Default: as long as the latest of them takes.
    watch
        Called with each slot and the learner after it.
    advance
        Called now and then with how many more slots are done.

    Examples
    --------
    >>> from quorate.rules import PWM
    >>> late = Recording(["a"], np.array([[1], [1], [1]]), np.array([-1, -1, -1]), np.array([1, 1, 2]))
    >>> decide(late, PWM(1)).tolist()
    [1, 1, -1]
    """
    n_slots = len(recording.labels)
    if recording.votes.shape != (n_slots, len(recording.names)):
        raise LocalError(f"votes has shape {recording.votes.shape}; it must be ({n_slots}, {len(recording.names)})")
    # Exactly what the learner gives, but compiled where the rule can.
    if watch is None and recording.is_perfect:
        decided = rule.run(recording.votes, recording.labels)
        advance(n_slots)
        return decided
    if watch is None and horizon is None and isinstance(rule, BaseRule):
        decided = rule.run(recording.votes, recording.labels, recording.arrivals)
        advance(n_slots)
        return decided
    came = recording.arrivals != NEVER
    if horizon is None:
        horizon = int((recording.arrivals - np.arange(n_slots))[came].max(initial=0))
    learner = Learner("judge", recording.names, rule, horizon, open_slots_max=LEARNER_SLOTS)
    decisions = np.empty(n_slots, np.int8)
    labels = recording.labels.tolist()
    for slot, due in enumerate(arriving(recording.arrivals)):
        if slot % LEARNER_SLOTS == 0:
            for place, name in enumerate(recording.names):
                learner.receive(Votes.pack(name, slot, recording.votes[slot : slot + LEARNER_SLOTS, place].tolist()))
        decisions[slot] = learner.close(slot).value
        for labelled in due:
            learner.receive(Label(labelled, labels[labelled]))
        if watch is not None:
            watch(slot, learner)
        if (slot + 1) % LEARNER_SLOTS == 0:
            advance(LEARNER_SLOTS)
    advance(n_slots % LEARNER_SLOTS)
    return decisions
