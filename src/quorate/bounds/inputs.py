"""What a bound is computed from: votes, labels and when they came, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quorate.errors import LabelError, LocalError, VotesError
from quorate.rules.inputs import as_array, as_arrivals, as_labels, as_matrix
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PROBABILITY_MIN", "checked", "checked_arrivals", "checked_chances"]

#: Labels that come less often than this say nothing.
PROBABILITY_MIN = 1e-9


def checked(votes: ArrayLike, labels: ArrayLike, *, unknown: bool = False) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Check votes and labels of some slots; with `unknown`, a label may be 0: it never came.

    >>> checked([[1, -1]], [])
    Traceback (most recent call last):
    ...
    quorate.errors.LabelError: labels has shape (0,); votes has 1 rows, so it must be (1,)
    >>> checked([[1, -1]], [0], unknown=True)
    Traceback (most recent call last):
    ...
    quorate.errors.LabelError: none of the 1 slots has a label; without labels nothing can be said about mistakes
    """
    given = as_array(votes, "votes", VotesError)
    if given.ndim != 2 or 0 in given.shape:
        raise VotesError(f"votes has shape {given.shape}; give at least one slot and one learner: (slots, learners)")
    matrix = as_matrix(given, given.shape[1])
    told = as_array(labels, "labels", LabelError)
    gaps = np.zeros(len(matrix), bool)
    if unknown and told.shape == gaps.shape and told.dtype.kind != "b":
        gaps = told == 0
        told = np.where(gaps, 1, told)
    truth = np.where(gaps, np.int8(0), as_labels(told, len(matrix)))
    if not truth.any():
        raise LabelError(
            f"none of the {len(matrix)} slots has a label; without labels nothing can be said about mistakes"
        )
    return matrix, truth


def checked_arrivals(
    arrivals: ArrayLike | None, labels: NDArray[np.int8], horizon: int | None = None
) -> NDArray[np.int64]:
    """When each label is learned; NEVER where it is not, as it does not come or is past the horizon.

    A label that is not known, but comes after the last slot, is late.

    >>> checked_arrivals([0, 3, 9], np.array([1, 1, 0]), horizon=1).tolist()
    [0, -1, -1]
    >>> checked_arrivals([0, 3, 9], np.array([1, 1, 0])).tolist()
    [0, 3, 9]
    """
    n_slots = len(labels)
    if horizon is not None and (not isinstance(horizon, int) or isinstance(horizon, bool) or horizon < 0):
        raise LocalError(f"horizon is {horizon!r}; it must be an integer of at least 0")
    came = np.arange(n_slots) if arrivals is None else as_arrivals(arrivals, n_slots)
    never = (came < 0) | ((labels == 0) & (came < n_slots))
    if horizon is not None:
        never |= came - np.arange(n_slots) > horizon
    return np.where(never, NEVER, came)


def checked_chances(probability: float | None, confidence: float) -> None:
    """Check how likely a label comes, and how sure a certificate is to be."""
    if probability is not None and not PROBABILITY_MIN <= probability <= 1:
        raise LocalError(f"the probability that a label comes is {probability}; it must be from {PROBABILITY_MIN} to 1")
    if not 0 < confidence < 1:
        raise LocalError(f"confidence is {confidence}; it must be between 0 and 1")
