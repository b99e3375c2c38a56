"""When a node writes a checkpoint, and how: in the thread where its model works, after what that has yet to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from quorate.errors import LocalError, LogError, SnapshotError
from quorate.learner import Learner
from quorate.node.checkpoint import Checkpoint, Store
from quorate.node.voter import Voter

__all__ = ["Keeper"]

#: How much of its time a node may spend on checkpoints for the sake of slots: one that catches up goes through many.
WRITING_PART = 0.05


class Keeper:
    """Writes checkpoints now and then.

    Parameters
    ----------
    store
        Where; None for nowhere.
    every_slots, every_s
        After how many decisions, or after how long. Where decisions come quicker than checkpoints can be written,
        after more of them: all that is written takes a small part of the time.
    """

    def __init__(self, store: Store | None, every_slots: int, every_s: float) -> None:
        if every_slots < 1 or every_s <= 0:
            raise LocalError(f"checkpoint_slots is {every_slots} and checkpoint_s {every_s}; both must be above 0")
        self.store, self.every_slots, self.every_s = store, every_slots, every_s
        self._began = ""
        self._decisions = 0
        self._when = 0.0
        self._took_s = 0.0  # the last one
        self._writing = False

    def load(self, log: str, learner: Learner, now: float) -> Checkpoint | None:
        """The checkpoint to begin from, if there is one; it must be of this log, and of such a learner."""
        self._when = now
        kept = self.store.load() if self.store is not None else None
        if kept is not None and kept.log != log:
            raise SnapshotError(
                f"the checkpoint is of the log {kept.log!r}, and this one is {log!r}; move the "
                "checkpoint away to begin anew"
            )
        self._began = _digest(learner)
        if kept is not None:
            _compare(kept, learner)
            self._began = kept.began
        return kept

    def check_not_ahead(self, position: int, last: int) -> None:
        """Refuse to go on where the log ends before what was read of it."""
        if last < position:
            raise LogError(
                f"the log ends at entry {last}, but the checkpoint is at {position}: the broker has lost "
                "what came after; move the checkpoint away to begin anew"
            )

    def is_due(self, learner: Learner, now: float) -> bool:
        """Whether it is time for the next."""
        if self.store is None or self._writing:
            return False
        since_s = now - self._when
        if learner.n_decisions - self._decisions >= self.every_slots and since_s >= self._took_s / WRITING_PART:
            return True
        return since_s >= self.every_s

    def save(
        self,
        log: str,
        position: int,
        faults: int,
        learner: Learner,
        voter: Voter | None,
        clock: Callable[[], float],
    ) -> None:
        """Write a checkpoint of now; what the model has yet to do until now, it does first."""
        if self.store is None:
            return
        self._decisions, self._when = learner.n_decisions, clock()
        place = (log, position, -1 if voter is None else voter.resume, faults, learner.snapshot())
        self._took_s = clock() - self._when
        if voter is None:
            self._write(self.store, place, clock)
        else:
            self._writing = True
            voter.worker.post(self._write, self.store, place, clock, voter, voter.state())

    def _write(
        self,
        store: Store,
        place: tuple[str, int, int, int, dict[str, Any]],
        clock: Callable[[], float],
        voter: Voter | None = None,
        state: tuple[Any, ...] = (),
    ) -> None:
        begin = clock()
        store.save(Checkpoint(*place, b"" if voter is None else voter.pickled(state), self._began))
        self._took_s += clock() - begin
        self._writing = False


def _compare(kept: Checkpoint, learner: Learner) -> None:
    """Refuse to go on from a checkpoint as somebody else: whoever folds the log anew would become another."""
    begun = learner.snapshot()
    for key in ("name", "members", "rule", "horizon", "open_slots_max"):
        then, now = (_founded(state, key) for state in (kept.learner, begun))
        if then is not None and then != now:
            raise SnapshotError(
                f"the checkpoint is of a learner whose {key} was {then!r}, and is now {now!r}; set it back, or move "
                "the checkpoint away to begin anew"
            )
    if kept.began and not learner.n_decisions and kept.began != _digest(learner):
        raise SnapshotError(
            "the checkpoint is of a learner whose rule had learned something else before the stream than it has now; "
            "set it back (`ensemble.rule_file`), or move the checkpoint away to begin anew"
        )


def _digest(learner: Learner) -> str:
    """What tells a rule from one that has learned something else."""
    return hashlib.sha256(json.dumps(learner.rule.snapshot(), sort_keys=True).encode()).hexdigest()


def _founded(state: dict[str, Any], key: str) -> Any:
    """What a learner began with; None where its state does not tell, or is damaged."""
    try:
        if key == "rule":
            return state["rule"]["rule"]
        if key == "members" and state["epoch"]:
            return state["former"].get("0")
        return state[key]
    except (KeyError, TypeError, AttributeError):
        return None
