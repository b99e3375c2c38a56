"""What a rule must beat to be worth anything: answers that need no votes at all.

They are rules, so that a learner feeds them the same late, missing and disordered labels as any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quorate.errors import SnapshotError
from quorate.rules.base import BaseRule, read_state

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MajorityClass", "PreviousLabel"]

_BLOCK_SLOTS = 1 << 20  # how much of a long stream is summed at once


class _Voteless(BaseRule):
    """A rule whose only state is a number that labels move; +1 where it is not negative."""

    _lean_max = 2**62  # beyond what anybody counts to, and a run in 64 bits stays exact

    def __init__(self, n_learners: int) -> None:
        super().__init__(n_learners)
        self._lean = 0

    @property
    def weights(self) -> list[int]:
        """The lean towards +1 as the bias, and 0 for every learner: votes do not count."""
        return [self._lean] + [0] * self.n_learners

    def _predict(self, votes: tuple[int, ...]) -> int:
        return 1 if self._lean >= 0 else -1

    def _join(self) -> None:
        pass

    def _leave(self, place: int) -> None:
        pass

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {"rule": type(self).__name__, "n_learners": self.n_learners, "lean": self._lean, "schema": 1}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        if state.n_learners < 1:
            raise SnapshotError(f"snapshot field 'n_learners' is {state.n_learners}; it must be at least 1")
        if abs(state.lean) > cls._lean_max:
            raise SnapshotError(f"snapshot field 'lean' is {state.lean}; no run of {cls.__name__} leads there")
        rule = cls(state.n_learners)
        rule._lean = state.lean
        return rule


class _State(msgspec.Struct):
    rule: str
    n_learners: int
    lean: int
    schema: int = 1


class PreviousLabel(_Voteless):
    """Answer the label that was received last; +1 before any.

    On a stream whose labels come in runs this is hard to beat, which is why every comparison shows it.

    Parameters
    ----------
    n_learners
        How many learners vote; their votes are not looked at.

    Examples
    --------
    >>> PreviousLabel(1).run([[1], [1], [1], [1]], [-1, -1, 1, 1]).tolist()
    [1, -1, -1, 1]
    """

    _lean_max = 1

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        changed = self._lean != label
        self._lean = label
        return changed

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        import numpy as np

        if not len(labels):
            return labels.copy()
        decisions = np.concatenate(([np.int8(self._predict(()))], labels[:-1]))
        self._lean = int(labels[-1])
        return decisions


class MajorityClass(_Voteless):
    """Answer the label that was received most often so far; +1 at a tie.

    Parameters
    ----------
    n_learners
        How many learners vote; their votes are not looked at.

    Examples
    --------
    >>> MajorityClass(1).run([[1], [1], [1], [1]], [-1, -1, 1, 1]).tolist()
    [1, -1, -1, -1]
    """

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        self._lean += label
        return True

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        import numpy as np

        decisions = np.empty_like(labels)
        for first in range(0, len(labels), _BLOCK_SLOTS):
            block = labels[first : first + _BLOCK_SLOTS]
            leans = self._lean + np.cumsum(block, dtype=np.int64)
            before = np.concatenate(([self._lean], leans[:-1]))
            decisions[first : first + _BLOCK_SLOTS] = np.where(before >= 0, 1, -1)
            self._lean = int(leans[-1])
        return decisions
