"""The half of a node that sees: source and model, the votes they make, and the labels that are owed or awaited."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Awaitable, Callable, Container
from contextlib import aclosing
from heapq import heappop, heappush
from itertools import repeat
from operator import is_
from typing import Any

from quorate.ensemble.models import Model
from quorate.errors import ModelError, QuorateError
from quorate.events import Event, Label, Labels, Votes
from quorate.node.batching import BATCH, runs
from quorate.node.site import Instance, Source, gathered
from quorate.node.worker import Worker

__all__ = ["Voter"]

#: How many more than needed may be kept before the oldest are thrown away.
KEPT_MORE = 1024
#: For how long a model is asked before what it has voted is sent.
AT_ONCE_S = 0.01


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
    seen, voted
        The last slot whose instance was read, and the last whose vote was read back.
    done
        Whether the source is at its end.
    """

    def __init__(
        self, name: str, source: Source, model: Model, *, ahead: int, keep_slots: int, in_threads: bool
    ) -> None:
        self.name, self.source, self.model = name, source, model
        self.ahead, self.keep_slots = ahead, keep_slots
        self.worker, self._in_threads = Worker(in_threads), in_threads
        self.voted = -1
        self.done = getattr(source, "endless", False)  # one that has no end is never waited for
        self.seen = -1
        self._kept: dict[int, Any] = {}  # instances that wait for their labels
        self._early: dict[int, int] = {}  # labels that wait for their instances
        self._owed: dict[int, tuple[int, int]] = {}  # labels to give to all: value, and the slot they wait for
        self._due: list[tuple[int, int]] = []  # a heap of what these wait for, and their slots
        self._sent: set[int] = set()  # labels that were given and not read back
        self._undecided: deque[int] = deque()  # slots that it has voted or abstained on, without a decision
        self._unread: dict[int, None] = {}  # slots that it has cast and not read back, in their order
        self._read: set[int] = set()  # slots after `resume` that it has cast and read back
        self._cast_before: set[int] = set()  # slots that a former life has cast, and this one has not seen

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
                    answers = await self.worker.call(self._asked, self._decide, some, size=len(some))
                    done += len(answers)
                    cast(self._taken(some[: len(answers)], answers))
        self.done = True

    def _decide(self, instances: list[Instance]) -> list[tuple[int, Any]]:
        """Vote on instances, and on no more of them than take a moment: what a slow model has voted goes out first."""
        until, answers = time.monotonic() + AT_ONCE_S, list[tuple[int, Any]]()
        decide, is_timed = self.model.decide, self._in_threads  # without threads, a trial must repeat itself
        for _, x, _, _ in instances:
            answers.append((0, None) if x is None else decide(x))
            if is_timed and time.monotonic() > until:
                break
        return answers

    def _asked(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        """Ask the model; whatever it raises is its own."""
        try:
            return ask(*arguments)
        except QuorateError:
            raise
        except Exception as error:
            raise ModelError(f"the model of {self.name!r} raised {type(error).__name__}: {error}") from error

    def _learn(self, kept: Any, label: int) -> None:
        self.worker.post(self._asked, self.model.learn, kept, self.model.classes[label > 0])

    def _taken(self, instances: list[Instance], answers: list[tuple[int, Any]]) -> list[Event]:
        if not instances:
            return []
        slots, xs, labels, _ = zip(*instances, strict=True)
        cast: list[tuple[int, list[int]]]
        if self.model.learns or self._cast_before or any(labels) or any(map(is_, xs, repeat(None))):
            cast = runs(self._noted(instances, answers))
        else:  # nothing but votes, as nearly always
            self._unread.update(dict.fromkeys(slots))
            self._undecided += slots
            votes = [vote for vote, _ in answers]
            is_run = slots == tuple(range(slots[0], slots[0] + len(slots)))
            cast = [(slots[0], votes)] if is_run else runs(zip(slots, votes, strict=True))
        self.seen = slots[-1]
        return [Votes.pack(self.name, first, values) for first, values in cast]

    def _noted(self, instances: list[Instance], answers: list[tuple[int, Any]]) -> list[tuple[int, int]]:
        """Keep what is needed of each instance; give the slots and votes that are to be cast."""
        cast: list[tuple[int, int]] = []
        learns, unread, undecided = self.model.learns, self._unread, self._undecided
        for (slot, x, label, due), (vote, kept) in zip(instances, answers, strict=True):
            if label:
                self._owe(slot, label, max(due, slot))
            if x is None:
                continue
            if learns:
                if slot in self._early:
                    self._learn(kept, self._early.pop(slot))
                else:
                    self._kept[slot] = kept
            if self._cast_before and slot in self._cast_before:
                self._cast_before.remove(slot)
            else:  # an abstention, too: all are to know that there is something to vote on
                cast.append((slot, vote))
                unread[slot] = None
                undecided.append(slot)
        return cast

    def read_back(self, first: int, last: int) -> None:
        """Votes of its own were read, of this life or of a former one."""
        self.voted = max(self.voted, last)
        unread = self._unread
        if len(unread) == last - first + 1 and next(iter(unread)) == first and next(reversed(unread)) == last:
            unread.clear()  # all that it has cast, as nearly always where it votes on many at once
            self._read.clear()
            return
        for slot in range(first, last + 1):
            if slot in self._unread:
                del self._unread[slot]
                self._read.add(slot)
            elif slot > self.seen:
                self._cast_before.add(slot)
        resume = self.resume
        self._read = {slot for slot in self._read if slot > resume}

    @property
    def resume(self) -> int:
        """The slot after which the source must give its instances again: what came before was seen and voted on.

        A vote of a former life may be read back before this one has seen its instance, and of a batch some messages
        may be stored without those before them.
        """
        return min(self.seen, next(iter(self._unread)) - 1) if self._unread else self.seen

    def skip_to(self, slot: int) -> None:
        """Leave out all instances up to a slot."""
        self.voted, self.seen = max(self.voted, slot), max(self.seen, slot)
        self._cast_before = {each for each in self._cast_before if each > slot}

    def n_undecided(self, frontier: int) -> int:
        """How many votes wait for a decision, where all up to a slot are decided."""
        undecided = self._undecided
        if undecided and undecided[-1] <= frontier:
            undecided.clear()
        while undecided and undecided[0] <= frontier:
            undecided.popleft()
        return len(undecided)

    def learn(self, slot: int, label: int) -> None:
        """Let the model learn a label, now or when its instance comes."""
        if not self.model.learns:
            return
        if slot in self._kept:
            self._learn(self._kept.pop(slot), label)
        elif slot > self.seen:
            self._early.setdefault(slot, label)

    def due_labels(self, frontier: int) -> list[Event]:
        """The labels to give, now that all up to a slot are decided; they are owed until they are read back."""
        given: list[tuple[int, int]] = []
        while self._due and self._due[0][0] <= frontier:
            _, slot = heappop(self._due)
            if slot in self._owed:  # else a former life has given it
                self._sent.add(slot)
                given.append((slot, self._owed[slot][0]))
        return [Labels.pack(first, values) for first, values in runs(given)]

    def _owe(self, slot: int, label: int, until: int) -> None:
        self._owed[slot] = label, until
        heappush(self._due, (until, slot))

    def hear(self, event: Label | Labels, fresh: Container[int]) -> None:
        """Labels were read: those that were owed are given, and those that were fresh are learned."""
        learns = self.model.learns
        if not learns and not self._owed:
            return
        for label in event:
            if label.slot in self._owed and self._owed[label.slot][0] == label.value:
                self._sent.discard(label.slot)
                del self._owed[label.slot]
            if learns and label.slot in fresh:
                self.learn(label.slot, label.value)

    def is_waiting(self, frontier: int) -> bool:
        """Whether labels are yet to be given, or to be read back, of what is due by a slot."""
        while self._due and self._due[0][1] not in self._owed:
            heappop(self._due)
        return bool(self._sent) or bool(self._due and self._due[0][0] <= frontier)

    def forget(self) -> None:
        """Throw away what has waited longest, where more waits than can still be learned."""
        for known in (self._kept, self._early):
            if len(known) > self.keep_slots + KEPT_MORE:  # now and then, not for every one
                for old in sorted(known)[: len(known) - self.keep_slots]:
                    del known[old]
        if len(self._cast_before) > self.keep_slots + KEPT_MORE:
            self._cast_before = {slot for slot in self._cast_before if slot > self.seen}

    # Checkpoints

    def state(self) -> tuple[Any, ...]:
        """What waits, as it is now; `pickled` adds the model, later and in the thread where the model works."""
        seen = self.resume  # what was seen after it is seen again
        return (
            {slot: kept for slot, kept in self._kept.items() if slot <= seen},
            dict(self._early),
            {slot: each for slot, each in self._owed.items() if slot <= seen},
            self._read | self._cast_before,
        )

    def pickled(self, state: tuple[Any, ...]) -> bytes:
        """The model and what waits, as the user's own library keeps it."""
        return bytes(self._asked(pickle.dumps, (self.model, *state)))

    def restore(self, content: bytes, resume: int) -> None:
        """Go on from a checkpoint, which is this node's own, from its own disk."""
        self.skip_to(resume)
        if content:
            self.model, self._kept, self._early, owed, self._cast_before = pickle.loads(content)
            for slot, (label, until) in owed.items():
                self._owe(slot, label, until)
