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
- Labels that the source knows are owed until they are read back, and the checkpoint holds what is owed.
- A slot waits for its deadline from when this node has first heard of it, by the loop's own clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence

import msgspec

from quorate.ensemble.models import Model
from quorate.errors import LocalError, LogError
from quorate.events import Decision, Decisions, Event, Join, Label, Labels, Vote, Votes, fault_of
from quorate.learner import Learner
from quorate.log import Entry, Log
from quorate.node.batching import BATCH
from quorate.node.belief import is_believed, unlabelled
from quorate.node.bell import Bell
from quorate.node.checkpoint import Store
from quorate.node.deadlines import Alarm, Deadlines
from quorate.node.keeper import Keeper
from quorate.node.outbox import Outbox
from quorate.node.patience import patiently
from quorate.node.replay import applied, decided, is_another_s
from quorate.node.site import Source
from quorate.node.tasks import end_all, until_done
from quorate.node.voter import Voter

__all__ = ["Node"]

#: A deadline that is as near as this has passed; after so many entries, other tasks have their turn.
TICK_S, TURN = 1e-4, 256
#: Of entries that cannot be used, one in so many is logged; a node that is to stop has so long to send what it has.
LOGGED_EVERY, DRAIN_S = 1000, 10.0
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
        After how many slots, or how long, a checkpoint is written.
    ahead, batch
        How many of its votes may wait for a decision; how many slots one message covers at the most.
    joins, rejoins
        Whether it joins through the log, if it never was a member; also if it has left.
    in_threads
        Whether the model runs in a thread, so that it cannot stall the connection.
    on_decision
        Called with its decisions, each once, in the order of the log.
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
        batch: int = BATCH,
        joins: bool = False,
        rejoins: bool = False,
        in_threads: bool = True,
        on_decision: Callable[[Decision], None] | None = None,
    ) -> None:
        most = max(learner.open_slots_max // 2, 1)  # votes may be there before the decisions that make room for them
        if deadline_s <= 0 or not 1 <= ahead <= most:
            raise LocalError(
                f"deadline_s is {deadline_s} and ahead {ahead}; both must be above 0, and ahead at most {most}, half "
                "of the open slots"
            )
        if not 1 <= batch <= BATCH:
            raise LocalError(f"batch is {batch}; one message covers 1 to {BATCH} slots")
        self.learner, self.log = learner, log
        self.keeper = Keeper(store, checkpoint_slots, checkpoint_s)
        self.ahead, self.batch, self.on_decision = ahead, batch, on_decision
        self.joins, self.rejoins = joins, rejoins
        self.voter: Voter | None = None
        if source is not None and model is not None:
            keep = learner.horizon + ahead
            self.voter = Voter(learner.name, source, model, ahead=ahead, keep_slots=keep, in_threads=in_threads)
        elif source is not None or model is not None:
            raise LocalError("a node has a source and a model, or neither")
        self.position = 0
        self.faults = 0
        self.is_live = False
        self.outbox = Outbox(log, learner.name, batch, lambda: self._changed.ring())
        self._deadlines = Deadlines(deadline_s, learner.open_slots_max)
        self._decided = -1  # the last slot a decision is made on, sent or not
        self._live_from = sys.maxsize  # nobody acts before the log was read to where it ended at the start
        self._clock: Callable[[], float] | None = None
        self._changed = Bell()
        self._stopping = asyncio.Event()

    # Life

    async def run(self) -> None:
        """Work until stopped or cancelled, or until something fails that waiting does not mend."""
        self._restore()
        reading, sending = asyncio.ensure_future(self._read()), asyncio.ensure_future(self.outbox.run())
        acting = [asyncio.ensure_future(self._close()), asyncio.ensure_future(self._vote())]
        try:
            await until_done(asyncio.ensure_future(self._stopping.wait()), [reading, sending, *acting])
            await end_all(acting)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await until_done(asyncio.ensure_future(self._drained()), [reading, sending])
            await end_all([reading, sending])
            self.save()
            if self.voter is not None:
                await self.voter.worker.call(int)  # after all that was posted
            if self.outbox:
                raise LogError(f"{self.learner.name!r} stopped with {len(self.outbox)} events unsent: the log was away")
        finally:
            await end_all([reading, sending, *acting])
            if self.voter is not None:
                await self.voter.worker.close()

    def stop(self) -> None:
        """End in peace: vote no more, send what is under way, write a checkpoint; then `run` returns."""
        self._stopping.set()

    async def _drained(self) -> None:
        while not self.outbox.is_read_back(self.position):
            await self._changed.heard()

    def save(self) -> None:
        """Write a checkpoint of now; it is there when the model has done what it had to do until now."""
        self.keeper.save(self.log.identity, self.position, self.faults, self.learner, self.voter, self._now)

    def _restore(self) -> None:
        kept = self.keeper.load(self.log.identity, self.learner, self._now())
        if kept is None:
            return
        self.learner = Learner.restore(kept.learner, type(self.learner.rule))
        self.position, self.faults = kept.position, kept.faults
        self._decided = self.learner.closed_until
        if self.voter is not None:
            self.voter.restore(kept.model, kept.voted)

    def _now(self) -> float:
        if self._clock is None:  # a loop is looked for only once: that asks the system who we are
            self._clock = asyncio.get_running_loop().time
        return self._clock()

    # Reading

    async def _read(self) -> None:
        self._live_from = await patiently(self.log.last, self.learner.name)
        self.keeper.check_not_ahead(self.position, self._live_from)
        self._changed.ring()
        done = 0
        reading = self.log.read(self.position)
        async with contextlib.aclosing(reading) as entries:  # type: ignore[type-var]
            async for entry in entries:
                if entry.position <= self.position:
                    continue  # delivered again
                done += 1
                if is_another_s(self.learner, entry):
                    self.position = entry.position  # what others decide gives nobody here anything to do
                    if not self.is_live:
                        self._changed.ring()
                else:
                    self._apply(entry)
                    self._changed.ring()
                    if self.keeper.is_due(self.learner, self._now()):
                        self.save()
                if done % TURN == 0:
                    await asyncio.sleep(0)

    def _apply(self, entry: Entry) -> None:
        self.position = entry.position
        frontier, fresh = self.learner.closed_until, unlabelled(self.learner, self.voter, entry.event)
        counted, fault = applied(self.learner, entry)
        if fault is not None:
            self.faults += 1
            if self.faults % LOGGED_EVERY == 1:
                _logger.warning("%s: entry %d cannot be used: %s", self.learner.name, self.position, fault)
            return
        match event := entry.event:
            case Vote():
                self._hear(event.learner, event.slot, 1, counted)
            case Votes():
                self._hear(event.learner, event.first_slot, event.count, counted)
            case Decision() | Decisions() if counted and event.learner == self.learner.name:
                self._decided = self._frontier()
                self._deadlines.forget_before(self._decided + 1)
                if self.voter is not None:
                    self.voter.forget()
                if self.on_decision is not None:
                    for made in decided(self.learner, entry, frontier):
                        self.on_decision(made)
            case Label() | Labels() if self.voter is not None and event.learner in (None, self.learner.name):
                self.voter.hear(event, fresh)

    def _hear(self, learner: str, first: int, count: int, counted: bool) -> None:
        if counted:
            self._deadlines.hear(max(first, self._decided + 1), first + count, self._now())
        if self.voter is not None and learner == self.learner.name:
            self.voter.read_back(first, first + count - 1)

    def _frontier(self) -> int:  # whether or not the decision is read back
        return max(self._decided, self.learner.closed_until)

    # Voting

    async def _vote(self) -> None:
        while self.position < self._live_from:
            await self._changed.heard()
        while self.learner.name not in self.learner.members and (self.rejoins or (self.joins and not self._has_left())):
            await self._join()
        if self.voter is not None:
            await self.voter.run(self._put, self._room)
            self._changed.ring()

    async def _join(self) -> None:
        epoch = self.learner.epoch + 1
        self._put([Join(self.learner.name, epoch=epoch)])
        while self.learner.epoch < epoch:  # another may have joined at this epoch: then once more
            await self._changed.heard()
        if self.voter is not None:
            self.voter.skip_to(self._frontier())  # what was before is not for it to vote on

    async def _room(self) -> int:
        assert self.voter is not None
        while (room := self.ahead - self.voter.n_undecided(self._frontier())) <= 0 or self._has_left():
            await self._changed.heard()
        return room

    def put(self, events: Sequence[Event]) -> None:
        """Append events, labels that somebody gave for instance, as soon as the log can be reached.

        Raises
        ------
        LocalError
            One of them is no event, or its fields cannot be true; none is appended.
        """
        for event in events:
            if reason := fault_of(event) if isinstance(event, Event) else "it is no event":
                raise LocalError(f"cannot send {event!r}: {reason}")
        self._put(events)

    def _put(self, events: Sequence[Event]) -> None:
        self.outbox.put(events)
        self._changed.ring()

    # Deciding

    async def _close(self) -> None:
        alarm = Alarm(self._changed.ring)
        while True:
            soonest = None
            if self.position >= self._live_from:
                self.is_live = True
                soonest = self._decide_ready()
                if self.voter is not None and (labels := self.voter.due_labels(self.learner.closed_until)):
                    self._put(labels)
            alarm.set(soonest)
            await self._changed.heard()
            await asyncio.sleep(0)

    def _decide_ready(self) -> float | None:
        """Decide on all slots that are ready, in order; give when the next one will be, if one waits."""
        now = self._now()
        while (slot := self.learner.next_open(self._decided)) is not None:
            made: Decisions | Decision | None = self.learner.decide_complete(self._decided, self.batch)
            if made is None:
                due = self._deadlines.of(slot, now)
                if due - now > TICK_S:
                    return due
                if not self._is_believed(slot):
                    return None  # whoever votes on it next lets it be looked at again
                made = self.learner.decide(slot)
            made = msgspec.structs.replace(made, at=self.position)
            self._decided = made.slot if isinstance(made, Decision) else made.first_slot + made.count - 1
            self._put(list(made) if isinstance(made, Decisions) and made.count == 1 else [made])
        return None

    def _is_believed(self, slot: int) -> bool:
        return is_believed(self.learner, slot, self._frontier(), -1 if self.voter is None else self.voter.seen)

    def _has_left(self) -> bool:  # then it looks on, until it is told to join again
        return self.learner.name not in self.learner.members and self.learner.was_member(self.learner.name)

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do: the source is at its end, all is sent, no slot is open, no label owed."""
        voter, frontier = self.voter, self.learner.closed_until
        done = self.is_live and (voter is None or (voter.done and not voter.is_waiting(frontier)))
        waiting = self.learner.next_open(frontier)
        return done and self.outbox.is_read_back(self.position) and (waiting is None or not self._is_believed(waiting))
