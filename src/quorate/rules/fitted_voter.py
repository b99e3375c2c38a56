"""Weights that were fitted on a block of votes and labels, as one more voter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorate.rules.adaboost_weights import AdaBoostWeights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["fitted_weights", "is_whole", "with_fitted", "with_fitted_column"]

_ONE, _MOST = 2**20, 2**40


def fitted_weights(votes: NDArray[np.int8], labels: ArrayLike) -> list[float]:
    """What `AdaBoostWeights` finds, in whole numbers: their sums are the same in whatever order.

    >>> import numpy as np
    >>> fitted_weights(np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]], np.int8), [1, -1, 1, 1])
    [444228.0, -575989.0]
    """
    weights = AdaBoostWeights(votes.shape[1]).fit(votes, labels).weights[1:]
    return [float(round(weight * _ONE)) for weight in weights]


def is_whole(weight: float) -> bool:
    """Whether a weight is one of these.

    >>> is_whole(444228.0), is_whole(0.5), is_whole(1e300)
    (True, False, False)
    """
    return abs(weight) < _MOST and float(weight).is_integer()


def with_fitted(votes: tuple[int, ...], weights: Sequence[float]) -> tuple[int, ...]:
    """Some votes, and what the weights say of them, which is nothing where they are none.

    >>> with_fitted((1, -1), [2.0, 3.0]), with_fitted((1, -1), [])
    ((1, -1, -1), (1, -1))
    """
    if not weights:
        return votes
    total = sum(weight * vote for weight, vote in zip(weights, votes, strict=True))
    return *votes, (total > 0) - (total < 0)


def with_fitted_column(votes: NDArray[np.int8], weights: Sequence[float]) -> NDArray[np.int8]:
    """The same for many slots."""
    if not weights:
        return votes
    import numpy as np

    totals = np.zeros(len(votes))
    for column, weight in zip(votes.T, weights, strict=True):  # votes as floats would be eight times the votes
        totals += column * weight
    return np.column_stack((votes, np.sign(totals).astype(np.int8)))
