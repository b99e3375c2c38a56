"""The compiled batch path of the rules: the same arithmetic as their loops, on whole matrices.

Weights are 32-bit here while no sum can leave 32 bits, 64-bit while none can leave 64; `fits` tells when a rule
must stay with Python's integers. Compiled code is cached on disk, where a place for that is writable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from quorate._extras import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["compiled", "fits", "run_pwm"]

numba = load("numba", "A rule's compiled run")

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def compiled(function: FunctionT) -> FunctionT:
    """Compile a function on its first call, keeping the result on disk where that is possible."""
    try:
        fast: FunctionT = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable place for a cache: compile anew in each process
        fast = numba.njit(nogil=True)(function)
    return fast


def fits(weights: list[list[int]], n_slots: int) -> bool:
    """Whether 64 bits hold every weight and every sum of weights over the next `n_slots` slots."""
    return _largest_sum(weights, n_slots) < 2**63


def _largest_sum(weights: list[list[int]], n_slots: int) -> int:
    return max(sum(abs(weight) + n_slots for weight in vector) for vector in weights)


def run_pwm(
    votes: NDArray[np.int8], labels: NDArray[np.int8], weights: list[list[int]], bias: bool
) -> tuple[NDArray[np.int8], list[list[int]]]:
    """Run PWM over a matrix of checked votes.

    Parameters
    ----------
    votes, labels
        Checked and C-ordered, of shapes (N, K) and (N,).
    weights
        One weight vector, or two: the first for rows without an abstention, the second for the others.
    bias
        Whether the first weight of a vector is learned.

    Returns
    -------
    decisions, weights
        The N decisions, and the weight vectors after the last row.

    Examples
    --------
    >>> decisions, weights = run_pwm(np.array([[1], [1]], np.int8), np.array([-1, -1], np.int8), [[0, 0]], True)
    >>> decisions.tolist(), weights
    ([1, -1], [[-1, -1]])
    """
    narrow = _largest_sum(weights, len(votes)) < 2**31
    vectors = np.array(weights, dtype=np.int32 if narrow else np.int64)
    decisions = np.empty(len(votes), dtype=np.int8)
    _pwm(votes, labels, vectors, vectors.dtype.type(bias), decisions)
    return decisions, vectors.tolist()


@compiled
def _pwm(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    vectors: NDArray[Any],
    bias: Any,
    decisions: NDArray[np.int8],
) -> None:
    n_slots, n_learners = votes.shape
    two = len(vectors) == 2
    for slot in range(n_slots):
        which = 0
        if two:
            for place in range(n_learners):
                if votes[slot, place] == 0:
                    which = 1
                    break
        margin = vectors[which, 0]
        for place in range(n_learners):
            margin += vectors[which, place + 1] * votes[slot, place]
        decision = 1 if margin >= 0 else -1
        decisions[slot] = decision
        if decision != labels[slot]:
            vectors[which, 0] += bias * labels[slot]
            for place in range(n_learners):
                vectors[which, place + 1] += labels[slot] * votes[slot, place]
