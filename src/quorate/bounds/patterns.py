"""Slots counted by what they show: the votes times the label, which is all that the perceptron argument needs."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Patterns", "counted", "numbered"]

#: The most columns whose base-3 number fits into 63 bits.
_COLUMNS_IN_A_NUMBER = 39


class Patterns(NamedTuple):
    """Distinct rows, how often each was there, and what is known of slots that were not told apart.

    Parameters
    ----------
    rows, counts
        The patterns and their slots.
    uncounted, sums
        How many slots are in no pattern, and the sums of their columns.

    Examples
    --------
    >>> patterns = counted(np.array([[1, 1], [1, -1], [1, 1]], np.int8))
    >>> patterns.n_slots, patterns.totals.tolist()
    (3, [3, 1])
    """

    rows: NDArray[np.int8]
    counts: NDArray[np.int64]
    uncounted: int = 0
    sums: tuple[int, ...] = ()

    @property
    def n_slots(self) -> int:
        """All slots."""
        return int(self.counts.sum()) + self.uncounted

    @property
    def totals(self) -> NDArray[np.int64]:
        """The sums of the columns over all slots: how much oftener each was right than wrong."""
        totals: NDArray[np.int64] = self.counts @ self.rows.astype(np.int64)
        return totals + np.array(self.sums, np.int64) if self.uncounted else totals

    def hinge(self, vector: Sequence[int], scale: int) -> int:
        """The sum of hinge losses of `vector` / `scale`, times `scale`: exact, or above it for uncounted slots.

        >>> counted(np.array([[1, 1], [1, -1], [1, 1]], np.int8)).hinge([0, 3], scale=2)
        5
        """
        longest = sum(map(abs, vector))
        if longest + scale < 2**62:
            losses = np.maximum(scale - self.rows.astype(np.int64) @ np.array(vector, np.int64), 0).tolist()
        else:
            losses = [max(scale - sum(map(mul, vector, row)), 0) for row in self.rows.tolist()]
        counted: int = sum(map(mul, losses, self.counts.tolist()))
        # max(0, q - m) is q - m, or at most |v| - q more where the margin m exceeds q.
        told: int = sum(map(mul, vector, self.sums))
        return counted + self.uncounted * max(scale, longest) - told


def numbered(rows: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row is first, which of them each row is, and how often each is there.

    >>> first, which, counts = numbered(np.array([[1, 0], [1, -1], [1, 0]], np.int8))
    >>> first.tolist(), which.tolist(), counts.tolist()
    ([1, 0], [1, 0, 1], [1, 2])
    """
    n_columns = rows.shape[1]
    if n_columns <= _COLUMNS_IN_A_NUMBER:
        keys: NDArray[Any] = (rows + np.int8(1)).astype(np.int64) @ 3 ** np.arange(n_columns - 1, -1, -1)
    else:
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, n_columns))).ravel()
    _, first, which, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return first, which.ravel(), counts


def counted(rows: NDArray[np.int8]) -> Patterns:
    """Count the distinct rows of a matrix of -1, 0 and +1.

    >>> counted(np.array([[1, 0], [1, -1], [1, 0]], np.int8))
    Patterns(rows=array([[ 1, -1], [ 1, 0]], dtype=int8), counts=array([1, 2]), uncounted=0, sums=())
    """
    first, _, counts = numbered(rows)
    return Patterns(rows[first], counts)
