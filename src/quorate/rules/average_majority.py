"""Plain majority: every vote counts one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from quorate.errors import SnapshotError
from quorate.rules.base import BaseRule, read_state

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["AverageMajority"]

_BLOCK_SLOTS = 1 << 16  # how much of a long stream is summed at once


class AverageMajority(BaseRule):
    r"""Every vote counts one and nothing is learned: :math:`\hat y = \operatorname{sgn}(\sum_j s_j)`.

    A tie predicts +1, as everywhere.

    Parameters
    ----------
    n_learners
        How many learners vote.

    Examples
    --------
    >>> AverageMajority(3).run([[1, -1, -1], [1, 0, -1]], [1, 1]).tolist()
    [-1, 1]

    References
    ----------
    [^1]: Gao, Fan, Han, "On Appropriate Assumptions to Mine Data Streams", ICDM 2007.
    """

    @property
    def weights(self) -> list[int]:
        """A bias of 0, then 1 a learner."""
        return [0] + [1] * self.n_learners

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the votes that is +1; 1/2 where nobody voted."""
        voted = sum(map(abs, votes))
        return votes.count(1) / voted if voted else 0.5

    def _predict(self, votes: tuple[int, ...]) -> int:
        return 1 if sum(votes) >= 0 else -1

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        return False

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        import numpy as np

        decisions = np.empty(len(votes), np.int8)
        for first in range(0, len(votes), _BLOCK_SLOTS):
            block = slice(first, first + _BLOCK_SLOTS)
            decisions[block] = np.where(votes[block].sum(axis=1, dtype=np.int64) >= 0, 1, -1)
        return decisions

    def _join(self) -> None:
        pass

    def _leave(self, place: int) -> None:
        pass

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {"rule": type(self).__name__, "n_learners": self.n_learners, "schema": 1}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        if state.n_learners < 1:
            raise SnapshotError(f"snapshot field 'n_learners' is {state.n_learners}; it must be at least 1")
        return cls(state.n_learners)


class _State(msgspec.Struct):
    rule: str
    n_learners: int
    schema: int = 1
