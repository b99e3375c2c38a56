"""The node: a learner, a model and a source at work on a log.

Theory of operation
-------------------
A node's state is a fold over the log: `_apply` gives every entry to the learner, in order, each once, and nothing else
changes the learner. So whatever a node does or fails to do, a replay of the log gives the same weights, decisions and
counters. What a node *does* is to append: votes on the instances of its source, and decisions on slots that all members
have voted on or whose deadline has passed. Both are first put into the outbox, and sent from there until the log has
answered for them; that may store them twice, which is harmless.

- A decision counts when it is read back, not when it is made; only then is it given to the outside.
- After a start, nothing is decided before the log has been read to where it ended at the start: what a former life has
  decided is known by then.
- A checkpoint holds the last slot whose vote was read back, so that a vote that never arrived is cast again.
- A slot waits for its deadline from when this node has first heard of it, by the loop's own clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
from collections import deque
from collections.abc import Callable
from typing import Any

from quorate.ensemble.models import Model
from quorate.errors import LocalError, LogError, SnapshotError
from quorate.events import Decision, Event, Label, Vote, Votes
from quorate.learner import Learner
from quorate.log import Entry, Log
from quorate.node.batching import BATCH, batched
from quorate.node.checkpoint import Checkpoint, Store
from quorate.node.replay import applied
from quorate.node.site import Source
from quorate.node.tasks import end_all, until_one_fails
from quorate.node.worker import Worker

__all__ = ["Node"]

#: How long is waited after an append that failed, at first and at last.
BACK_OFF_S, BACK_OFF_MAX_S = 0.05, 2.0
#: A deadline that is as near as this has passed: no clock tells finer.
TICK_S = 1e-4
#: Entries that are applied before other tasks have their turn.
TURN = 256
#: Of entries that cannot be used, one in so many is logged.
LOGGED_EVERY = 1000
_logger = logging.getLogger("quorate.node")


class Node:
    """A running learner.

    Parameters
    ----------
    learner
        A learner that has not begun, or was restored together with a checkpoint; a checkpoint in the store replaces it.
    log
        The ensemble's log.
    store
        Where checkpoints are kept; None for none.
    source, model
        What the learner observes, and how it votes on it; without, it only listens and decides.
    deadline_s
        How long a slot waits for votes after this node has first heard of it.
    checkpoint_slots, checkpoint_s
        After how many closed slots, or after how long, a checkpoint is written.
    ahead
        How many of its votes may be without a decision; the source waits for these.
    in_threads
        Whether the model runs in a thread, so that it cannot stall the connection.
    on_decision
        Called with each decision of its own, once, in the order of the log.
    """

    def __init__(
        self,
        learner: Learner,
        log: Log,
        store: Store | None = None,
        *,
        source: Source | None = None,
        model: Model | None = None,
        deadline_s: float = 1.0,
        checkpoint_slots: int = 1000,
        checkpoint_s: float = 30.0,
        ahead: int = 256,
        in_threads: bool = True,
        on_decision: Callable[[Decision], None] = lambda decision: None,
    ) -> None:
        if (source is None) != (model is None):
            raise LocalError("a node has a source and a model, or neither")
        if deadline_s <= 0 or checkpoint_slots < 1 or checkpoint_s <= 0 or not 1 <= ahead <= learner.open_slots_max:
            raise LocalError(
                f"deadline_s is {deadline_s}, checkpoint_slots {checkpoint_slots}, checkpoint_s {checkpoint_s} and "
                f"ahead {ahead}; all must be above 0, and ahead at most {learner.open_slots_max}, the open slots"
            )
        self.learner, self.log, self.store = learner, log, store
        self.source, self.model = source, model
        self.deadline_s, self.checkpoint_slots, self.checkpoint_s = deadline_s, checkpoint_slots, checkpoint_s
        self.ahead, self.on_decision = ahead, on_decision
        self._worker = Worker(in_threads)
        self.position = 0
        self.voted = -1
        self.faults = 0
        self._kept: dict[int, Any] = {}  # instances that wait for their labels
        self._early: dict[int, int] = {}  # labels that wait for their instances
        self._outbox: deque[Event] = deque()
        self._undecided: deque[int] = deque()  # slots of its own votes without a decision
        self._heard: dict[int, float] = {}  # when each open slot was first heard of
        self._decided = -1  # the last slot a decision is made on, sent or not
        self._live_from = 0
        self._changed = asyncio.Event()
        self._saved_slots = 0
        self._saved_s = 0.0
        self._source_done = source is None
        self._seen = -1  # the last slot whose instance was read
        self._saving = False

    # Life

    async def run(self) -> None:
        """Work until cancelled, or until something fails that waiting does not mend."""
        self._restore()
        self._live_from = await self._patiently(self.log.last)
        self._saved_s = self._now()
        work = [self._read(), self._send(), self._close()]
        if self.source is not None:
            work.append(self._vote(self.source))
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await until_one_fails(tasks)
        finally:
            await end_all(tasks)
            await self._worker.close()

    def save(self) -> None:
        """Write a checkpoint of now; what the model has yet to do until now, it does first."""
        if self.store is None:
            return
        place = (self.log.identity, self.position, self.voted, self.faults, self.learner.snapshot())
        waiting = (dict(self._kept), dict(self._early))
        self._saved_slots = self.learner.counters.decisions
        self._saved_s = self._now()
        self._saving = True
        self._worker.post(self._write, self.store, place, waiting)

    def _write(self, store: Store, place: tuple[str, int, int, int, dict[str, Any]], waiting: Any) -> None:
        model = b"" if self.model is None else pickle.dumps((self.model, *waiting))
        store.save(Checkpoint(*place, model))
        self._saving = False

    def _restore(self) -> None:
        kept = self.store.load() if self.store is not None else None
        if kept is None:
            return
        if kept.log != self.log.identity:
            raise SnapshotError(
                f"the checkpoint is of the log {kept.log!r}, and this one is {self.log.identity!r}; move the "
                "checkpoint away to begin anew"
            )
        self.learner = Learner.restore(kept.learner, type(self.learner.rule))
        self.position, self.voted, self.faults = kept.position, kept.voted, kept.faults
        self._seen = kept.voted
        self._decided = -1 if self.learner.last_closed is None else self.learner.last_closed
        self._saved_slots = self.learner.counters.decisions
        if kept.model and self.model is not None:
            self.model, self._kept, self._early = pickle.loads(kept.model)  # this node's own, from its own disk

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Ask the log until it answers."""
        back_off = BACK_OFF_S
        while True:
            try:
                return await ask()
            except LogError as error:
                _logger.warning("%s: %s", self.learner.name, error)
                await asyncio.sleep(back_off)
                back_off = min(2 * back_off, BACK_OFF_MAX_S)

    # Reading

    async def _read(self) -> None:
        applied = 0
        reading = self.log.read(self.position)
        async with contextlib.aclosing(reading) as entries:  # type: ignore[type-var]
            async for entry in entries:
                if entry.position <= self.position:
                    continue  # delivered again
                self._apply(entry)
                self._changed.set()
                self._save_when_due()
                applied += 1
                if applied % TURN == 0:
                    await asyncio.sleep(0)

    def _apply(self, entry: Entry) -> None:
        self.position = entry.position
        counted, fault = applied(self.learner, entry)
        if fault is not None:
            self._count_fault(fault)
            return
        match event := entry.event:
            case Vote() | Votes():
                self._hear(event)
            case Decision() if counted and event.learner == self.learner.name:
                self._decided = max(self._decided, event.slot)
                self._forget_before(event.slot)
                self.on_decision(event)
            case Label() if counted and self.model is not None:
                self._learn(event)

    def _count_fault(self, reason: str) -> None:
        self.faults += 1
        if self.faults % LOGGED_EVERY == 1:
            _logger.warning("%s: entry %d cannot be used: %s", self.learner.name, self.position, reason)

    def _hear(self, event: Vote | Votes) -> None:
        now = self._now()
        first, count = (event.slot, 1) if isinstance(event, Vote) else (event.first_slot, event.count)
        for slot in range(max(first, self._decided + 1), min(first + count, first + BATCH)):
            self._heard.setdefault(slot, now)
        if event.learner == self.learner.name:
            self.voted = max(self.voted, first + count - 1)

    def _forget_before(self, slot: int) -> None:
        oldest = slot - self.learner.horizon - self.ahead
        for known, first in ((self._heard, slot + 1), (self._kept, oldest), (self._early, oldest)):
            for old in [each for each in known if each < first]:
                del known[old]

    def _learn(self, label: Label) -> None:
        assert self.model is not None
        if label.slot in self._kept:
            self._worker.post(self.model.learn, self._kept.pop(label.slot), label.value > 0)
        elif label.slot > self._seen:
            self._early[label.slot] = label.value

    def _save_when_due(self) -> None:
        due = self.learner.counters.decisions - self._saved_slots >= self.checkpoint_slots
        due = due or self._now() - self._saved_s >= self.checkpoint_s
        if self.store is not None and due and not self._saving:
            self.save()

    # Voting

    async def _vote(self, source: Source) -> None:
        assert self.model is not None
        async for instance in source.instances(self.voted):
            while self._n_undecided() >= self.ahead:
                self._changed.clear()
                await self._changed.wait()
            vote, kept = await self._worker.call(self.model.decide, instance.x)
            self._seen = instance.slot
            if instance.slot in self._early:
                self._worker.post(self.model.learn, kept, self._early.pop(instance.slot) > 0)
            else:
                self._kept[instance.slot] = kept
            if vote and instance.slot > self.voted:
                self._undecided.append(instance.slot)
                self._outbox.append(Vote(instance.slot, self.learner.name, vote))
                self._changed.set()
        self._source_done = True
        self._changed.set()

    def _n_undecided(self) -> int:
        """How many of its votes wait for a decision; on a slot that nobody votes on there is none."""
        frontier = self._frontier()
        while self._undecided and self._undecided[0] <= frontier:
            self._undecided.popleft()
        return len(self._undecided)

    def _frontier(self) -> int:
        return max(self._decided, -1 if self.learner.last_closed is None else self.learner.last_closed)

    # Deciding

    async def _close(self) -> None:
        while True:
            soonest = self._decide_ready() if self.position >= self._live_from else None
            self._changed.clear()
            wait = None if soonest is None else max(soonest - self._now(), 0.0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):  # not wait_for: until Python 3.12 it may swallow being cancelled
                    await self._changed.wait()
            await asyncio.sleep(0)

    def _decide_ready(self) -> float | None:
        """Decide on all slots that are ready, in order; give when the next one will be, if one waits."""
        now = self._now()
        for slot in self.learner.open_slots:
            if slot <= self._decided:
                continue
            due = self._heard.setdefault(slot, now) + self.deadline_s
            if due - now > TICK_S and self.learner.missing(slot):
                return due
            self._outbox.append(self.learner.decide(slot))
            self._decided = slot
            self._changed.set()
        return None

    # Sending

    async def _send(self) -> None:
        while True:
            if not self._outbox:
                self._changed.clear()
                await self._changed.wait()
                continue
            some = [self._outbox[place] for place in range(min(len(self._outbox), BATCH))]
            await self._patiently(lambda some=some: self.log.append(batched(some)))  # type: ignore[misc]
            for _ in some:
                self._outbox.popleft()

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do: the source is at its end, all is sent, and no slot is open."""
        frontier = self._frontier()
        return self._source_done and not self._outbox and all(slot <= frontier for slot in self.learner.open_slots)
