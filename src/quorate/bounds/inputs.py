"""What a bound is computed from: votes, labels and when they came, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quorate.errors import LabelError, VotesError
from quorate.rules.inputs import as_arrivals, as_labels, as_matrix
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["checked", "checked_arrivals"]


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
    shape = np.shape(votes)
    if len(shape) != 2 or 0 in shape:
        raise VotesError(f"votes has shape {shape}; give at least one slot and one learner: (slots, learners)")
    matrix = as_matrix(votes, shape[1])
    given = np.asarray(labels)
    gaps = np.zeros(len(matrix), bool)
    if unknown and given.shape == (len(matrix),):
        gaps = given == 0
        given = np.where(gaps, 1, given)
    truth = np.where(gaps, np.int8(0), as_labels(given, len(matrix)))
    if not truth.any():
        raise LabelError(
            f"none of the {len(matrix)} slots has a label; without labels nothing can be said about mistakes"
        )
    return matrix, truth


def checked_arrivals(arrivals: ArrayLike | None, labels: NDArray[np.int8]) -> NDArray[np.int64]:
    """When each label came; NEVER where it did not. Default: at once."""
    came = np.arange(len(labels)) if arrivals is None else as_arrivals(arrivals, len(labels))
    return np.where((labels == 0) | (came < 0), NEVER, came)
