"""The audit: decide everything again from the log, and compare with what was decided, and with the checkpoints.

A learner writes with each decision how far it had read when it decided. So the audit can stand at that very place of
the log and decide again: the votes must be those that were there, and the value what the weights of then give. The
fold that does so runs some way behind the reading, as a decision stands in the log after the place it was made at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from quorate.errors import LogError, SnapshotError
from quorate.events import Decision, Decisions
from quorate.learner import Learner
from quorate.log import Entry, Log
from quorate.node import Checkpoint, FileStore, applied

__all__ = ["Audit", "Finding", "audit"]

#: How far the fold runs behind; a decision that was under way for longer cannot be decided again.
BEHIND_MAX = 200_000


class Finding(msgspec.Struct, frozen=True):
    """What the audit found out about a learner.

    Parameters
    ----------
    learner
        Which one.
    position
        Up to which entry.
    decisions, checked
        How many decisions count, and how many of these were decided again.
    checkpoint
        The place of the checkpoint that was compared, if there was one.
    difference
        The first difference; None for none.
    """

    learner: str
    position: int
    decisions: int
    checked: int
    checkpoint: int | None
    difference: str | None


class Audit:
    """Follows one learner.

    Parameters
    ----------
    learner
        A learner that has not begun.
    checkpoint
        What it must have become on the way, if that is known.
    """

    def __init__(self, learner: Learner, checkpoint: Checkpoint | None = None) -> None:
        self.learner, self.checkpoint = learner, checkpoint
        self.difference: str | None = None
        self.checked = 0
        self.faults = 0
        self.compared: int | None = None
        self._ahead: deque[Entry] = deque()
        self._made_at: dict[int, list[Decision | Decisions]] = {}
        self._at = 0
        self._unplaced: set[int] = set()  # decisions that say no place they can have been made at

    def take(self, entry: Entry) -> None:
        """Read one more entry."""
        event = entry.event
        if isinstance(event, Decision | Decisions) and event.learner == self.learner.name:
            if self._at < event.at < entry.position:
                self._made_at.setdefault(event.at, []).append(event)
            else:
                self._unplaced.add(entry.position)
        self._ahead.append(entry)
        while len(self._ahead) > BEHIND_MAX:
            self._fold(self._ahead.popleft())

    def finish(self) -> Finding:
        """Fold what is left, and give what was found."""
        while self._ahead:
            self._fold(self._ahead.popleft())
        if self.checkpoint is not None and self.compared is None:
            self._differ(
                f"the checkpoint is at entry {self.checkpoint.position}, but the log ends at {self._at}: the broker "
                "has lost what came after"
            )
        counters = self.learner.counters
        return Finding(self.learner.name, self._at, counters.decisions, self.checked, self.compared, self.difference)

    def _fold(self, entry: Entry) -> None:
        self._at = entry.position
        counted, fault = applied(self.learner, entry)
        self.faults += fault is not None
        if entry.position in self._unplaced:
            self._unplaced.remove(entry.position)
            if counted:
                self._differ(
                    f"the decision at entry {entry.position} counts, but says no place before it that it was made at: "
                    "it cannot be made again"
                )
        for made in self._made_at.pop(entry.position, []):
            for decision in made:
                self._decide_again(decision)
        if self.checkpoint is not None and self.checkpoint.position == entry.position:
            self._compare(self.checkpoint)

    def _decide_again(self, decision: Decision) -> None:
        learner = self.learner
        if decision.epoch != learner.epoch or learner.closed_until >= decision.slot:
            return  # made before by a former life, or under another membership: it did not count
        self.checked += 1
        again = learner.decide(decision.slot)
        if again.votes != decision.votes:
            self._differ(
                f"slot {decision.slot}: {learner.name!r} decided on the votes {list(decision.votes)}, but at entry "
                f"{decision.at} there were {list(again.votes)}"
            )
        elif again.value != decision.value:
            self._differ(
                f"slot {decision.slot}: {learner.name!r} decided {decision.value:+d}, but with the weights at entry "
                f"{decision.at} the votes give {again.value:+d}"
            )
        elif decision.note is not msgspec.UNSET and again.note != decision.note:
            self._differ(
                f"slot {decision.slot}: {learner.name!r} noted {decision.note}, but at entry {decision.at} its rule "
                f"notes {again.note}"
            )

    def _compare(self, checkpoint: Checkpoint) -> None:
        self.compared = checkpoint.position
        snapshot = self.learner.snapshot()
        for key in sorted(snapshot.keys() | checkpoint.learner.keys()):
            ours, theirs = snapshot.get(key), checkpoint.learner.get(key)
            if ours != theirs:
                self._differ(f"the checkpoint at entry {checkpoint.position} has {key} {theirs}, the log gives {ours}")
        if checkpoint.faults != self.faults:
            self._differ(f"the checkpoint counts {checkpoint.faults} entries of no use, the log has {self.faults}")

    def _differ(self, what: str) -> None:
        if self.difference is None:
            self.difference = what


async def audit(
    log: Log,
    learners: list[Learner],
    store_of: Callable[[str], Path | None],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Finding]:
    """Audit learners that have not begun against a log and their checkpoints.

    Parameters
    ----------
    log
        The log, from its beginning.
    learners
        As they were at the beginning.
    store_of
        Where the checkpoint of each lies, if it is here.
    progress
        Called with the place reached and the last.
    """
    kept = {learner.name: _checkpoint(log, store_of(learner.name)) for learner in learners}
    last = await log.last()  # after the checkpoints were read: a node that runs writes on
    if await log.first() > 1:
        raise LogError(
            f"the log begins at entry {await log.first()}: what came before is gone, and nobody can audit the rest; "
            "keep the whole log (`broker.max_age_s`, `broker.max_bytes`)"
        )
    audits = [Audit(learner, kept[learner.name]) for learner in learners]
    if last:
        async for entry in log.read():
            if entry.position <= last:
                for each in audits:
                    each.take(entry)
            progress(entry.position, last)
            if entry.position >= last:
                break
    return [each.finish() for each in audits]


def _checkpoint(log: Log, path: Path | None) -> Checkpoint | None:
    kept = None if path is None else FileStore(path).load()
    if kept is not None and kept.log != log.identity:
        raise SnapshotError(f"the checkpoint {path} is of another log, {kept.log!r}; this one is {log.identity!r}")
    return kept
