"""What a rule accepts: votes, labels and matrices of them, checked, with errors that name value and place."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quorate.errors import LabelError, LocalError, VotesError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "are_plain",
    "are_signs",
    "as_array",
    "as_arrivals",
    "as_count",
    "as_label",
    "as_labels",
    "as_matrix",
    "as_place",
    "as_votes",
    "learning_order",
]

_VOTE_VALUES = frozenset((-1, 0, 1))
_ONLY_INTS = frozenset((int,))


def as_count(n_learners: object) -> int:
    """Check a number of learners.

    >>> as_count(0)
    Traceback (most recent call last):
    ...
    quorate.errors.LocalError: n_learners is 0; an ensemble has at least 1 learner
    """
    try:
        count = operator.index(n_learners)  # type: ignore[arg-type]
    except TypeError:
        raise LocalError(f"n_learners is {n_learners!r}; it must be an integer") from None
    if count < 1 or isinstance(n_learners, bool):
        raise LocalError(f"n_learners is {n_learners!r}; an ensemble has at least 1 learner")
    return count


def as_place(place: object, n_learners: int) -> int:
    """Check the place of a learner, counted from 0.

    >>> as_place(3, n_learners=3)
    Traceback (most recent call last):
    ...
    quorate.errors.LocalError: place is 3; the learners have places 0 to 2
    """
    if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < n_learners:
        return place
    raise LocalError(f"place is {place!r}; the learners have places 0 to {n_learners - 1}")


def as_votes(votes: Sequence[int], n_learners: int) -> tuple[int, ...]:
    """Check the votes of one slot; booleans count as -1 and +1.

    >>> as_votes([True, False, 0], 3)
    (1, -1, 0)
    >>> as_votes([1, -1], 3)
    Traceback (most recent call last):
    ...
    quorate.errors.VotesError: 2 votes were given for 3 learners; give one a learner, 0 for an abstention
    """
    try:
        checked = tuple(votes.tolist() if hasattr(votes, "tolist") else votes)
    except TypeError:
        raise VotesError(f"votes is {votes!r}; give a sequence of -1, 0 and +1, one a learner") from None
    if len(checked) != n_learners:
        raise VotesError(
            f"{len(checked)} votes were given for {n_learners} learners; give one a learner, 0 for an abstention"
        )
    if _ONLY_INTS.issuperset(map(type, checked)) and _VOTE_VALUES.issuperset(checked):
        return checked
    return tuple(_as_vote(vote, place) for place, vote in enumerate(checked))


def _as_vote(vote: Any, place: int) -> int:
    vote = _plain(vote)
    if isinstance(vote, bool):
        return 1 if vote else -1
    if isinstance(vote, (int, float)) and vote in _VOTE_VALUES:
        return int(vote)
    raise VotesError(f"votes[{place}] is {vote!r}; votes are -1, 0 or +1")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def as_label(label: object) -> int:
    """Check one label; booleans count as -1 and +1.

    >>> as_label(0)
    Traceback (most recent call last):
    ...
    quorate.errors.LabelError: label is 0; a label is -1 or +1
    """
    label = _plain(label)
    if isinstance(label, bool):
        return 1 if label else -1
    if isinstance(label, (int, float)) and label in (-1, 1):
        return int(label)
    raise LabelError(f"label is {label!r}; a label is -1 or +1")


def as_matrix(votes: ArrayLike, n_learners: int) -> NDArray[np.int8]:
    """Check a matrix of votes, one row a slot and one column a learner, and give it as int8.

    >>> as_matrix([[1, 0.5]], 2)
    Traceback (most recent call last):
    ...
    quorate.errors.VotesError: votes[0, 1] is 0.5; votes are -1, 0 or +1
    """
    import numpy as np

    matrix = as_array(votes, "votes", VotesError)
    if matrix.ndim == 1 and matrix.size == 0:
        matrix = matrix.reshape(0, n_learners)
    if matrix.ndim != 2 or matrix.shape[1] != n_learners:
        raise VotesError(f"votes has shape {matrix.shape}; it must be (N, {n_learners}), one column a learner")
    signed = _as_signs(matrix, zero=True)
    if signed is None:
        row, column = np.argwhere(~np.isin(matrix, (-1, 0, 1)))[0].tolist()
        raise VotesError(f"votes[{row}, {column}] is {_shown(matrix[row, column])}; votes are -1, 0 or +1")
    return signed


def as_labels(labels: ArrayLike, n_slots: int) -> NDArray[np.int8]:
    """Check the labels of a run and give them as int8.

    >>> as_labels([1, 0, -1], 3)
    Traceback (most recent call last):
    ...
    quorate.errors.LabelError: labels[1] is 0; a label is -1 or +1
    """
    import numpy as np

    array = as_array(labels, "labels", LabelError)
    if array.shape != (n_slots,):
        raise LabelError(f"labels has shape {array.shape}; votes has {n_slots} rows, so it must be ({n_slots},)")
    signed = _as_signs(array, zero=False)
    if signed is None:
        place = int(np.flatnonzero(~np.isin(array, (-1, 1)))[0])
        raise LabelError(f"labels[{place}] is {_shown(array[place])}; a label is -1 or +1")
    return signed


def as_arrivals(arrivals: ArrayLike, n_slots: int) -> NDArray[np.int64]:
    """Check when labels come: at the end of which slot, or a negative number for never.

    >>> as_arrivals([], 0).dtype
    dtype('int64')
    >>> as_arrivals([0, 0], 2)
    Traceback (most recent call last):
    ...
    quorate.errors.LabelError: arrivals[1] is 0; a label comes at the end of its slot or later
    """
    import numpy as np

    array = as_array(arrivals, "arrivals", LabelError)
    if array.shape == (0,) == (n_slots,):  # an empty list has no type of its own
        return array.astype(np.int64)
    if array.shape != (n_slots,) or array.dtype.kind not in "iu":
        raise LabelError(f"arrivals has shape {array.shape} and type {array.dtype}; give one whole number a slot")
    early = np.flatnonzero((array >= 0) & (array < np.arange(n_slots)))
    if len(early):
        raise LabelError(f"arrivals[{early[0]}] is {array[early[0]]}; a label comes at the end of its slot or later")
    return array.astype(np.int64, copy=False)


def learning_order(arrivals: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The slots in the order in which their labels are learned, and how many are by the end of each slot.

    >>> import numpy as np
    >>> order, learned = learning_order(np.array([2, 1, -1, 9]))
    >>> order.tolist(), learned.tolist()
    ([1, 0], [0, 1, 2, 2])
    """
    import numpy as np

    came = np.flatnonzero((arrivals >= 0) & (arrivals < len(arrivals)))
    order = came[np.argsort(arrivals[came], kind="stable")]
    return order, np.cumsum(np.bincount(arrivals[came], minlength=len(arrivals)))


def as_array(values: ArrayLike, name: str, error: type[LocalError]) -> NDArray[Any]:
    """Make an array of numbers or booleans; booleans among numbers become -1 and +1.

    >>> as_array([True, -1, False], "labels", LabelError).tolist()
    [1, -1, -1]
    """
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        raise error(f"{name} is a masked array; give 0 for an abstention, and leave slots without a label out")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "iuf" and isinstance(values, (list, tuple)):
            array = np.asarray(_bools_as_signs(values))  # NumPy would make an abstention of a False among numbers
    except (ValueError, TypeError) as reason:
        raise error(f"{name} is not a rectangular array: {reason}") from None
    if array.dtype.kind not in "biuf" and array.size:
        raise error(f"{name} holds {array.dtype} values; it must hold integers or booleans")
    return array


def _bools_as_signs(values: Any) -> Any:
    import numpy as np

    if isinstance(values, (list, tuple)):
        return [_bools_as_signs(value) for value in values]
    return (1 if values else -1) if isinstance(values, (bool, np.bool_)) else values


def _as_signs(array: NDArray[Any], *, zero: bool) -> NDArray[np.int8] | None:
    """Give the array as C-ordered int8, or None where a value is not a vote (or label)."""
    import numpy as np

    if array.dtype == np.bool_:
        return np.where(array, np.int8(1), np.int8(-1))
    if not are_signs(array, zero=zero):
        return None
    signed = np.ascontiguousarray(array, dtype=np.int8)
    return signed if array.dtype.kind != "f" or np.array_equal(signed, array) else None


def are_signs(array: NDArray[Any], *, zero: bool) -> bool:
    """Whether an array of whole numbers holds only -1 and +1, and 0 where that is allowed."""
    if array.size and not (array.min() >= -1 and array.max() <= 1):  # not: a NaN compares false
        return False
    return zero or bool(array.all())


def are_plain(votes: object, labels: object, n_learners: int) -> bool:
    """Whether both are the arrays that compiled code reads, of whose values alone is nothing known.

    >>> import numpy as np
    >>> are_plain(np.zeros((5, 2), np.int8), np.ones(5, np.int8), 2), are_plain([[1, 1]], [1], 2)
    (True, False)
    """
    import numpy as np

    return (
        type(votes) is np.ndarray
        and type(labels) is np.ndarray
        and votes.dtype == labels.dtype == np.int8
        and votes.ndim == 2
        and votes.shape[1] == n_learners
        and labels.shape == votes.shape[:1]
        and votes.flags.c_contiguous
        and labels.flags.c_contiguous
    )


def _shown(value: Any) -> str:
    plain = _plain(value)
    return "nan" if isinstance(plain, float) and math.isnan(plain) else repr(plain)
