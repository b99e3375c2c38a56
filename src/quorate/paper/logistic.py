"""Online logistic regression, one gradient step a label. Compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quorate.rules.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["margin", "step"]


@compiled
def margin(weights: NDArray[np.float64], row: NDArray[np.float64]) -> float:
    """The weighted sum; the last weight is the intercept."""
    total: float = weights[len(row)]
    for place in range(len(row)):
        total += weights[place] * row[place]
    return total


@compiled
def step(weights: NDArray[np.float64], row: NDArray[np.float64], sign: float, rate: float) -> None:
    """One step down the gradient of the log loss."""
    right = sign * margin(weights, row)
    # The two forms are equal; each is used where its exponential is at most 1.
    slope = math.exp(-right) / (1 + math.exp(-right)) if right > 0 else 1 / (1 + math.exp(right))
    change = rate * sign * slope
    for place in range(len(row)):
        weights[place] += change * row[place]
    weights[len(row)] += change
