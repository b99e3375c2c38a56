"""PWM over a whole matrix, with weights of 8 bits while they fit, then of 16, then of as many as it takes.

PWM's weights are small integers for as long as most streams last, and the narrower a weight, the more of them
`quorate.rules.lanes` takes at a time. A narrow run stops before a weight could leave its type, and a wider one goes on
from there, so that every width gives exactly the same. It looks at each vote once, and checks it as it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.rules import lanes
from quorate.rules.inputs import are_signs
from quorate.rules.kernels import compiled, fits, pwm, wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["run_pwm"]

#: The narrow types, and for how many learners no sum can leave 16 bits (of pairs of products) or 32.
NARROW: tuple[tuple[type[np.int8 | np.int16], int], ...] = ((np.int8, 4096), (np.int16, 32768))
#: The fewest mistakes for which a narrow run goes on.
ROOM_LEAST = 8
CACHE_LINE = 64

Rows = Callable[..., tuple[int, bool]]


def run_pwm(
    votes: NDArray[np.int8], labels: NDArray[np.int8], weights: list[list[int]], bias: bool
) -> tuple[NDArray[np.int8], list[list[int]]] | None:
    """Run PWM over a matrix of votes.

    Parameters
    ----------
    votes, labels
        C-ordered, of shapes (N, K) and (N,); their values need not have been checked.
    weights
        One weight vector, or two: the first for rows without an abstention, the second for the others.
    bias
        Whether the first weight of a vector is learned.

    Returns
    -------
    decisions, weights
        The N decisions, and the weight vectors after the last row. None where a value is not a vote or a label, and
        where the sums may need more than 64 bits.

    Examples
    --------
    >>> votes, labels = np.array([[1], [1]], np.int8), np.array([-1, -1], np.int8)
    >>> decisions, weights = run_pwm(votes, labels, [[0, 0]], True)
    >>> decisions.tolist(), weights
    ([1, -1], [[-1, -1]])
    >>> run_pwm(2 * votes, labels, [[0, 0]], True) is None
    True
    """
    if not fits(weights, len(votes)):
        return None
    vectors = np.array(weights, dtype=np.int64)
    decisions = np.empty(len(votes), dtype=np.int8)
    is_few = len(vectors) == 1 and votes.shape[1] <= lanes.FEW
    slot: int | None = 0
    for kind, n_learners_max in NARROW[is_few:]:
        if slot is not None and votes.shape[1] <= n_learners_max:
            slot = _run_narrow(votes, labels, slot, vectors, bias, kind, _few_rows if is_few else _rows, decisions)
    if slot is not None and slot < len(votes):
        votes, labels = votes[slot:], labels[slot:]
        if not (are_signs(votes, zero=True) and are_signs(labels, zero=False)):
            return None
        vectors = vectors.astype(wide(vectors.tolist(), len(votes)))
        pwm(votes, labels, vectors, vectors.dtype.type(bias), decisions[slot:])
    return None if slot is None else (decisions, vectors.tolist())


def _run_narrow(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    slot: int,
    vectors: NDArray[np.int64],
    bias: bool,
    kind: type[np.int8 | np.int16],
    rows: Rows,
    decisions: NDArray[np.int8],
) -> int | None:
    """Run from a slot on for as long as the weights fit; give the slot to go on from, or None where a value is bad."""
    n_slots, n_learners = votes.shape
    mask = np.zeros(-(-n_learners // lanes.LANES) * lanes.LANES, np.int8)
    mask[:n_learners] = -1
    # A row is read in whole vectors, so that the last rows, which end with the matrix, are read from a copy.
    n_inside = max((votes.size - len(mask)) // n_learners + 1, 0)
    last = np.zeros((n_slots - n_inside) * n_learners + len(mask), np.int8)
    last[: -len(mask)] = votes[n_inside:].reshape(-1)
    largest, shifted = np.iinfo(kind).max, kind is np.int8
    if np.abs(vectors[:, 1:]).max() > largest:
        return slot
    narrow = _aligned((len(vectors), len(mask)), kind)
    narrow[:, :n_learners] = vectors[:, 1:]
    thresholds = shifted * vectors[:, 1:].sum(axis=1) - vectors[:, 0]
    done = 1
    while slot < n_slots and done:
        stop = n_inside if slot < n_inside else n_slots
        piece = votes[slot:].reshape(-1) if slot < n_inside else last[(slot - n_inside) * n_learners :]
        weights, truth, out = narrow.reshape(-1), labels[slot:stop], decisions[slot:stop]
        done, good = rows(piece, n_learners, truth, weights, thresholds, bias, mask, largest, out)
        if not good:
            return None
        slot += done
    vectors[:, 1:] = narrow[:, :n_learners]
    vectors[:, 0] = shifted * vectors[:, 1:].sum(axis=1) - thresholds
    return slot


def _aligned(shape: tuple[int, int], kind: type[np.int8 | np.int16]) -> NDArray[Any]:
    """Zeros that begin with a cache line: a vector that lies across two of them is slow to write and read again."""
    n_bytes = shape[0] * shape[1] * np.dtype(kind).itemsize
    room = np.zeros(n_bytes + CACHE_LINE, np.int8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + n_bytes].view(kind).reshape(shape)


@compiled
def _room(weights: NDArray[Any], largest: int) -> int:
    """How many mistakes can be made before a weight is larger than `largest`."""
    room = largest
    for weight in weights:
        left = largest - abs(int(weight))
        if left < room:
            room = left
    return room


@compiled
def _rows(
    votes: NDArray[np.int8],
    n_learners: int,
    labels: NDArray[np.int8],
    weights: NDArray[Any],
    thresholds: NDArray[np.int64],
    bias: bool,
    mask: NDArray[np.int8],
    largest: int,
    decisions: NDArray[np.int8],
) -> tuple[int, bool]:
    """Run while a weight cannot become larger than `largest`; give for how many slots, and whether all was good."""
    width = len(mask)
    two = len(thresholds) == 2
    seen = lanes.nothing()
    odd = 0
    which = 0
    done = len(labels)
    room = _room(weights, largest)
    for slot in range(len(labels)):
        at = slot * n_learners
        if two:
            which = 1 if lanes.absent(votes, at, width, mask) else 0
        total, seen = lanes.row(votes, at, weights, which * width, width, seen)
        label = labels[slot]
        odd |= (label + 1) & ~2
        decision = 1 if total >= thresholds[which] else -1
        decisions[slot] = decision
        if decision != label:
            if room < ROOM_LEAST:
                room = _room(weights, largest)
                if room < ROOM_LEAST:
                    done = slot
                    break
            room -= 1
            thresholds[which] += lanes.learn(votes, at, label, weights, which * width, width, mask) - bias * label
    return done, odd == 0 and lanes.highest(seen) <= 2


@compiled
def _few_rows(
    votes: NDArray[np.int8],
    n_learners: int,
    labels: NDArray[np.int8],
    weights: NDArray[Any],
    thresholds: NDArray[np.int64],
    bias: bool,
    mask: NDArray[np.int8],
    largest: int,
    decisions: NDArray[np.int8],
) -> tuple[int, bool]:
    """The same for one vector of up to `lanes.FEW` weights, held in a register."""
    seen = lanes.nothing_few()
    odd = 0
    done = len(labels)
    held, threshold = lanes.hold(weights, 0), thresholds[0]
    room = _room(weights, largest)
    for slot in range(len(labels)):
        at = slot * n_learners
        total, seen = lanes.few(votes, at, held, seen)
        label = labels[slot]
        odd |= (label + 1) & ~2
        decision = 1 if total >= threshold else -1
        decisions[slot] = decision
        if decision != label:
            if room < ROOM_LEAST:
                lanes.keep(weights, 0, held)
                room = _room(weights, largest)
                if room < ROOM_LEAST:
                    done = slot
                    break
            room -= 1
            threshold -= bias * label
            held = lanes.learn_few(votes, at, label, held, mask)
    lanes.keep(weights, 0, held)
    thresholds[0] = threshold
    return done, odd == 0 and lanes.highest(seen) <= 2
