"""The compiled batch path of the rules: the same arithmetic as their loops, on whole matrices.

Weights are 32-bit here while no sum can leave 32 bits, 64-bit while none can leave 64; `fits` tells when a rule
must stay with Python's integers. Compiled code is cached on disk, where a place for that is writable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from quorate._extras import load
from quorate.rules.inputs import learning_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["compiled", "fits", "inlined", "late_order", "pwm", "pwm_late", "run_pwm_late", "wide"]

numba = load("numba", "A rule's compiled run")

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def compiled(function: FunctionT, divisors_checked: bool = True) -> FunctionT:
    """Compile a function on its first call, keeping the result on disk where that is possible.

    Parameters
    ----------
    function
        What is compiled.
    divisors_checked
        Whether a division by 0 raises, as in Python. Where none can be 0, the look at each takes a third of the time.
    """
    options = {"nogil": True, "error_model": "python" if divisors_checked else "numpy"}
    try:
        fast: FunctionT = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable place for a cache: compile anew in each process
        fast = numba.njit(**options)(function)
    return fast


def inlined(function: FunctionT) -> FunctionT:
    """Make a function part of every kernel that calls it: a call, or a slice to call it with, costs too much."""
    part: FunctionT = numba.njit(inline="always", nogil=True)(function)
    return part


def fits(weights: list[list[int]], n_slots: int) -> bool:
    """Whether 64 bits hold every weight and every sum of weights over the next `n_slots` slots."""
    largest = max(max(max(vector), -min(vector)) for vector in weights)
    # Almost always this is enough, and a sum takes longer.
    return (largest + n_slots) * len(weights[0]) < 2**63 or _largest_sum(weights, n_slots) < 2**63


def wide(weights: list[list[int]], n_slots: int) -> type[np.int32 | np.int64]:
    """The narrower of 32 and 64 bits that holds every sum of weights over the next `n_slots` slots."""
    return np.int32 if _largest_sum(weights, n_slots) < 2**31 else np.int64


def _largest_sum(weights: list[list[int]], n_slots: int) -> int:
    return max(sum(map(abs, vector)) + n_slots * len(vector) for vector in weights)


def run_pwm_late(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    arrivals: NDArray[Any],
    weights: list[list[int]],
    bias: bool,
) -> tuple[NDArray[np.int8], list[list[int]]]:
    """Run PWM over a matrix of checked votes whose labels come when they come.

    Parameters
    ----------
    votes, labels
        Checked and C-ordered, of shapes (N, K) and (N,).
    weights, bias
        As for `quorate.rules.narrow.run_pwm`.
    arrivals
        The slot at whose end each label is learned, in the order of the slots where several are; negative or past the
        last slot where it never is.

    Examples
    --------
    >>> two = np.array([[1], [1]], np.int8)
    >>> run_pwm_late(two, np.array([-1, -1], np.int8), np.array([1, 1]), [[0, 0]], True)[0].tolist()
    [1, 1]
    """
    vectors = np.array(weights, dtype=wide(weights, len(votes)))
    decisions = np.empty(len(votes), dtype=np.int8)
    order, learned = learning_order(arrivals)
    pwm_late(votes, labels, order, learned, vectors, vectors.dtype.type(bias), decisions)
    return decisions, vectors.tolist()


@compiled
def late_order(arrivals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What `learning_order` gives, for other compiled code: as many steps as there are slots.

    >>> order, learned = late_order(np.array([2, 1, -1, 9]))
    >>> order.tolist(), learned.tolist()
    ([1, 0], [0, 1, 2, 2])
    """
    n_slots = len(arrivals)
    learned = np.zeros(n_slots, np.int64)
    for slot in range(n_slots):
        if 0 <= arrivals[slot] < n_slots:
            learned[arrivals[slot]] += 1
    n_learned = 0
    for slot in range(n_slots):
        n_learned += learned[slot]
        learned[slot] = n_learned - learned[slot]  # where its labels begin, and once they are in, where they end
    order = np.empty(n_learned, np.int64)
    for slot in range(n_slots):
        if 0 <= arrivals[slot] < n_slots:
            order[learned[arrivals[slot]]] = slot
            learned[arrivals[slot]] += 1
    return order, learned


@compiled
def _which(votes: NDArray[np.int8], slot: int, two: bool) -> int:
    """The weight vector of a slot: the second of two where somebody abstains."""
    if two:
        for place in range(votes.shape[1]):
            if votes[slot, place] == 0:
                return 1
    return 0


@compiled
def _decision(votes: NDArray[np.int8], slot: int, vectors: NDArray[Any], which: int) -> int:
    margin = vectors[which, 0]
    for place in range(votes.shape[1]):
        margin += vectors[which, place + 1] * votes[slot, place]
    return 1 if margin >= 0 else -1


@compiled
def _correct(votes: NDArray[np.int8], slot: int, label: int, vectors: NDArray[Any], which: int, bias: Any) -> None:
    vectors[which, 0] += bias * label
    for place in range(votes.shape[1]):
        vectors[which, place + 1] += label * votes[slot, place]


@compiled
def pwm(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    vectors: NDArray[Any],
    bias: Any,
    decisions: NDArray[np.int8],
) -> None:
    """Decide slot by slot, learning each label at once. Compiled."""
    two = len(vectors) == 2
    for slot in range(len(votes)):
        which = _which(votes, slot, two)
        decision = _decision(votes, slot, vectors, which)
        decisions[slot] = decision
        if decision != labels[slot]:
            _correct(votes, slot, labels[slot], vectors, which, bias)


@compiled
def pwm_late(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    vectors: NDArray[Any],
    bias: Any,
    decisions: NDArray[np.int8],
) -> None:
    """Decide slot by slot, learning labels in their order; what `learning_order` gives says when. Compiled."""
    two = len(vectors) == 2
    done = 0
    for slot in range(len(votes)):
        decisions[slot] = _decision(votes, slot, vectors, _which(votes, slot, two))
        while done < learned[slot]:
            late = order[done]
            which = _which(votes, late, two)
            if _decision(votes, late, vectors, which) != labels[late]:
                _correct(votes, late, labels[late], vectors, which, bias)
            done += 1
