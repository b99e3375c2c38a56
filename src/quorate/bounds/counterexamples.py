"""Sequences on which the paper's bounds fail."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from quorate.errors import LocalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decision_list", "late_labels"]

#: More learners take too long: the mistakes grow eightfold with each two.
LEARNERS_MAX = 12


def decision_list(n_learners: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Votes and labels on which PWM is wrong in every slot, though one fixed rule is right in all of them.

    The label is a decision list: its sign alternates with the place of the first learner that votes +1. That is a
    weighted majority with weights that double from learner to learner. Of all vote vectors the first that PWM gets
    wrong is presented, again and again, until there is none.

    Returns
    -------
    votes, labels
        Of shapes (slots, learners) and (slots,).

    Examples
    --------
    >>> from quorate.rules import PWM
    >>> votes, labels = decision_list(n_learners=4)
    >>> votes.shape, int((PWM(4).run(votes, labels) != labels).sum())
    ((23, 4), 23)
    """
    if not 1 <= n_learners <= LEARNERS_MAX:
        raise LocalError(f"n_learners is {n_learners}; this sequence is made for 1 to {LEARNERS_MAX}")
    patterns = np.array(list(itertools.product((-1, 1), repeat=n_learners)))
    first = np.where((patterns == 1).any(axis=1), np.argmax(patterns == 1, axis=1), n_learners)
    truth = np.where(first % 2 == 0, 1, -1)
    with_bias = np.column_stack([np.ones(len(patterns), np.int64), patterns])
    margins = np.zeros(len(patterns), np.int64)
    chosen: list[int] = []
    while len(wrong := np.flatnonzero(np.where(margins >= 0, 1, -1) != truth)):
        chosen.append(int(wrong[0]))
        margins += truth[wrong[0]] * (with_bias @ with_bias[wrong[0]])
    return patterns[chosen].astype(np.int8), truth[chosen].astype(np.int8)


def late_labels(delay: int) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int64]]:
    """Two learners, one always right, and labels that come `delay` slots late: PWM is wrong in every slot.

    Returns
    -------
    votes, labels, arrivals
        Of 2 (delay + 1) slots.

    Examples
    --------
    >>> votes, labels, arrivals = late_labels(delay=50)
    >>> votes.shape, labels[0], labels[-1]
    ((102, 2), np.int8(-1), np.int8(1))
    """
    if delay < 0:
        raise LocalError(f"delay is {delay}; it must be at least 0")
    half = delay + 1
    # Until the first label comes the weights are 0 and say +1; the update makes them (-1, 1, 1), which says -1 to
    # votes that differ, whoever is right.
    labels = np.repeat(np.array([-1, 1], np.int8), half)
    votes = np.column_stack([labels, np.full(2 * half, -1, np.int8)])
    return votes, labels, np.arange(2 * half, dtype=np.int64) + delay
