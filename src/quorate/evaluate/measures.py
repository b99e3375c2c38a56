"""Measures over the slots of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["rolling_mean"]


def rolling_mean(values: NDArray[Any], window: int) -> NDArray[np.float64]:
    """The mean of the last `window` values, at each place; of mistakes, that is the rolling error.

    At the beginning, where there are fewer, it is the mean of those.

    >>> rolling_mean(np.array([True, False, False, True]), window=2).tolist()
    [1.0, 0.5, 0.0, 0.5]
    """
    total = np.concatenate(([0], np.cumsum(values)))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((total[ends] - total[starts]) / (ends - starts))
