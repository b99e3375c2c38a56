"""When a node writes a checkpoint, and how: in the thread where its model works, after what that has yet to do."""

from __future__ import annotations

from typing import Any

from quorate.errors import LocalError, SnapshotError
from quorate.learner import Learner
from quorate.node.checkpoint import Checkpoint, Store
from quorate.node.voter import Voter

__all__ = ["Keeper"]


class Keeper:
    """Writes checkpoints now and then.

    Parameters
    ----------
    store
        Where; None for nowhere.
    every_slots, every_s
        After how many decisions, or after how long.
    """

    def __init__(self, store: Store | None, every_slots: int, every_s: float) -> None:
        if every_slots < 1 or every_s <= 0:
            raise LocalError(f"checkpoint_slots is {every_slots} and checkpoint_s {every_s}; both must be above 0")
        self.store, self.every_slots, self.every_s = store, every_slots, every_s
        self._decisions = 0
        self._when = 0.0
        self._writing = False

    def load(self, log: str, now: float) -> Checkpoint | None:
        """The checkpoint to begin from, if there is one; it must be of this log."""
        self._when = now
        kept = self.store.load() if self.store is not None else None
        if kept is not None and kept.log != log:
            raise SnapshotError(
                f"the checkpoint is of the log {kept.log!r}, and this one is {log!r}; move the "
                "checkpoint away to begin anew"
            )
        return kept

    def is_due(self, learner: Learner, now: float) -> bool:
        """Whether it is time for the next."""
        due = learner.n_decisions - self._decisions >= self.every_slots or now - self._when >= self.every_s
        return self.store is not None and due and not self._writing

    def save(self, log: str, position: int, faults: int, learner: Learner, voter: Voter | None, now: float) -> None:
        """Write a checkpoint of now; what the model has yet to do until now, it does first."""
        if self.store is None:
            return
        self._decisions, self._when = learner.n_decisions, now
        place = (log, position, -1 if voter is None else voter.resume, faults, learner.snapshot())
        if voter is None:
            self.store.save(Checkpoint(*place))
        else:
            self._writing = True
            voter.worker.post(self._write, self.store, place, voter, voter.state())

    def _write(self, store: Store, place: tuple[str, int, int, int, dict[str, Any]], voter: Voter, state: Any) -> None:
        store.save(Checkpoint(*place, voter.pickled(state)))
        self._writing = False
