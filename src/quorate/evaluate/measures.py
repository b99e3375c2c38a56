"""How wrong decisions were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["rolling_error"]


def rolling_error(wrong: NDArray[np.bool_], window: int) -> NDArray[np.float64]:
    """The share of mistakes among the last `window` slots, at each slot; fewer at the beginning.

    >>> rolling_error(np.array([True, False, False, True]), window=2).tolist()
    [1.0, 0.5, 0.0, 0.5]
    """
    total = np.concatenate(([0], np.cumsum(wrong)))
    ends = np.arange(1, len(wrong) + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((total[ends] - total[starts]) / (ends - starts))
