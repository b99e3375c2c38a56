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
_SLOTS = 4096  # at once: as floats, votes take eight times their room


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
    """Some votes, and what the weights say of them; nothing where they are none.

    Nothing, too, where those absent could turn it over: the weights were found on a block where they had voted.

    >>> with_fitted((1, -1), [2.0, 3.0]), with_fitted((1, 0), [2.0, 3.0]), with_fitted((1, -1), [])
    ((1, -1, -1), (1, 0, 0), (1, -1))
    """
    if not weights:
        return votes
    total = sum(weight * vote for weight, vote in zip(weights, votes, strict=True))
    absent = sum(abs(weight) for weight, vote in zip(weights, votes, strict=True) if vote == 0)
    return *votes, (total > absent) - (total < -absent)


def with_fitted_column(
    votes: NDArray[np.int8], weights: Sequence[float], *, though_absent: bool = False
) -> NDArray[np.int8]:
    """The same for many slots.

    Parameters
    ----------
    votes, weights
        As above.
    though_absent
        Let the weights speak also where those absent could turn it over: in the block itself, in which each is absent
        where its model was trained.
    """
    if not weights:
        return votes
    import numpy as np

    every = np.array(weights)
    result = np.empty((len(votes), len(weights) + 1), np.int8)
    result[:, :-1] = votes
    for start in range(0, len(votes), _SLOTS):
        block = votes[start : start + _SLOTS]
        totals = block.astype(np.float64) @ every
        absent = 0.0 if though_absent or block.all() else (block == 0).astype(np.float64) @ abs(every)
        result[start : start + _SLOTS, -1] = (totals > absent).astype(np.int8) - (totals < -absent)
    return result
