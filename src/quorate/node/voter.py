"""The half of a node that sees: source and model, the votes they make, and the labels that are owed or awaited."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from heapq import heappop, heappush
from typing import Any

from quorate.ensemble.models import Model
from quorate.events import Event, Label, Vote
from quorate.node.batching import BATCH
from quorate.node.site import Instance, Source, gathered
from quorate.node.worker import Worker

__all__ = ["Voter"]

#: Where fewer are kept, nothing is thrown away.
KEPT_MIN = 1024


class Voter:
    """A source and a model at work.

    Parameters
    ----------
    name
        Whose votes these are.
    source, model
        What is observed, and how it is voted on.
    ahead
        How many votes may be without a decision; the source waits for these.
    keep_slots
        How many slots an instance waits for its label.
    in_threads
        Whether the model runs in a thread.

    Attributes
    ----------
    voted
        The last slot whose vote was read back.
    done
        Whether the source is at its end.
    """

    def __init__(
        self, name: str, source: Source, model: Model, *, ahead: int, keep_slots: int, in_threads: bool
    ) -> None:
        self.name, self.source, self.model = name, source, model
        self.ahead, self.keep_slots = ahead, keep_slots
        self.worker = Worker(in_threads)
        self.voted = -1
        self.done = getattr(source, "endless", False)  # one that has no end is never waited for
        self._seen = -1  # the last slot whose instance was read
        self._kept: dict[int, Any] = {}  # instances that wait for their labels
        self._early: dict[int, int] = {}  # labels that wait for their instances
        self._owed: dict[int, tuple[int, int]] = {}  # labels to give to all: value, and the slot they wait for
        self._due: list[tuple[int, int]] = []  # a heap of what these wait for, and their slots
        self._sent: set[int] = set()  # labels that were given and not read back
        self._undecided: deque[int] = deque()  # slots of its own votes without a decision
        self._kept_max = KEPT_MIN

    async def run(self, cast: Callable[[list[Event]], None], room: Callable[[], Awaitable[int]]) -> None:
        """Vote on all instances after `resume`.

        Parameters
        ----------
        cast
            Takes votes, to be sent.
        room
            Waits until there is room for votes, and says for how many.
        """
        groups = gathered(self.source.instances(self.resume), min(self.ahead, BATCH))
        async with aclosing(groups):
            async for group in groups:
                done = 0
                while done < len(group):
                    some = group[done : done + await room()]
                    done += len(some)
                    answers = await self.worker.call(self._decide, some)
                    cast(self._taken(some, answers))
        self.done = True

    def _decide(self, instances: list[Instance]) -> list[tuple[int, Any]]:
        return [(0, None) if x is None else self.model.decide(x) for _, x, _, _ in instances]

    def _taken(self, instances: list[Instance], answers: list[tuple[int, Any]]) -> list[Event]:
        votes: list[Event] = []
        for (slot, x, label, due), (vote, kept) in zip(instances, answers, strict=True):
            self._seen = slot
            if label:
                self._owe(slot, label, max(due, slot))
            if x is not None and self.model.learns:
                if slot in self._early:
                    self.worker.post(self.model.learn, kept, self.model.classes[self._early.pop(slot) > 0])
                else:
                    self._kept[slot] = kept
            if vote and slot > self.voted:
                self._undecided.append(slot)
                votes.append(Vote(slot, self.name, vote))
        return votes

    @property
    def resume(self) -> int:
        """The slot after which the source must give its instances again: what came before was seen and voted on.

        A vote of a former life may be read back before this one has seen its instance.
        """
        return min(self.voted, self._seen)

    def skip_to(self, slot: int) -> None:
        """Leave out all instances up to a slot."""
        self.voted, self._seen = max(self.voted, slot), max(self._seen, slot)

    def n_undecided(self, frontier: int) -> int:
        """How many votes wait for a decision, where all up to a slot are decided."""
        while self._undecided and self._undecided[0] <= frontier:
            self._undecided.popleft()
        return len(self._undecided)

    def learn(self, slot: int, label: int) -> None:
        """Let the model learn a label, now or when its instance comes."""
        if not self.model.learns:
            return
        if slot in self._kept:
            self.worker.post(self.model.learn, self._kept.pop(slot), self.model.classes[label > 0])
        elif slot > self._seen:
            self._early[slot] = label

    def due_labels(self, frontier: int) -> list[Event]:
        """The labels to give, now that all up to a slot are decided; they are owed until they are read back."""
        labels: list[Event] = []
        while self._due and self._due[0][0] <= frontier:
            _, slot = heappop(self._due)
            self._sent.add(slot)
            labels.append(Label(slot, self._owed[slot][0]))
        return labels

    def _owe(self, slot: int, label: int, until: int) -> None:
        self._owed[slot] = label, until
        heappush(self._due, (until, slot))

    def given(self, slot: int, label: int) -> None:
        """A label was read back."""
        if slot in self._sent and self._owed[slot][0] == label:
            self._sent.remove(slot)
            del self._owed[slot]

    def is_waiting(self, frontier: int) -> bool:
        """Whether labels are yet to be given, or to be read back, of what is due by a slot."""
        return bool(self._sent) or bool(self._due and self._due[0][0] <= frontier)

    def forget_before(self, slot: int) -> None:
        """Throw away what has waited too long, now and then."""
        if len(self._kept) + len(self._early) <= self._kept_max:
            return
        for known in (self._kept, self._early):
            for old in [each for each in known if each < slot - self.keep_slots]:
                del known[old]
        self._kept_max = max(KEPT_MIN, 2 * (len(self._kept) + len(self._early)))

    # Checkpoints

    def state(self) -> tuple[Any, ...]:
        """What waits, as it is now; `pickled` adds the model, later and in the thread where the model works."""
        seen = self.resume  # what was seen after it is seen again
        return (
            {slot: kept for slot, kept in self._kept.items() if slot <= seen},
            dict(self._early),
            {slot: each for slot, each in self._owed.items() if slot <= seen},
        )

    def pickled(self, state: tuple[Any, ...]) -> bytes:
        """The model and what waits, as the user's own library keeps it."""
        return pickle.dumps((self.model, *state))

    def restore(self, content: bytes, resume: int) -> None:
        """Go on from a checkpoint, which is this node's own, from its own disk."""
        self.skip_to(resume)
        if content:
            self.model, self._kept, self._early, owed = pickle.loads(content)
            for slot, (label, until) in owed.items():
                self._owe(slot, label, until)
