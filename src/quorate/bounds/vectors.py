"""Comparison vectors: any one gives a valid certificate; these give small ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quorate._extras import load
from quorate.bounds.patterns import Patterns

__all__ = ["Vector", "found_vectors", "plain_vectors"]

#: The vectors a linear SVM gives are kept as integers over this.
SCALE = 2**20
#: One vector is looked for with each of these penalties.
PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
#: The search looks at so many patterns at the most, the most frequent ones; what it finds holds for all.
PATTERNS_MAX = 20_000


class Vector(NamedTuple):
    """A comparison vector, times `scale`, bias first; and the argument it stands for."""

    argument: str
    vector: list[int]
    scale: int


def plain_vectors(patterns: Patterns) -> Iterator[Vector]:
    """The best learner, several together, one negated, the two constant answers, and nothing at all."""
    losses = patterns.n_slots - patterns.totals  # the hinge losses of each column alone: 2 wrong + abstained
    unit = np.eye(len(losses), dtype=np.int64)
    best = 1 + int(np.argmin(losses[1:]))
    yield Vector("best learner", unit[best].tolist(), 1)
    tied = np.flatnonzero(losses[1:] == losses[best]) + 1
    if len(tied) > 1:
        yield Vector("best learners together", unit[tied].sum(axis=0).tolist(), len(tied))
    opposed = 1 + int(np.argmax(losses[1:]))
    yield Vector("best learner, negated", (-unit[opposed]).tolist(), 1)
    for sign in (1, -1):
        yield Vector(f"always {sign:+d}", (sign * unit[0]).tolist(), 1)
    yield Vector("every slot", (0 * unit[0]).tolist(), 1)


def found_vectors(patterns: Patterns) -> Iterator[Vector]:
    """What a linear SVM finds with several penalties."""
    svm = load("sklearn.svm", "Finding a comparison vector")
    exceptions = load("sklearn.exceptions", "Finding a comparison vector")
    rows, counts = patterns.rows, patterns.counts
    if not len(rows):
        return
    if len(rows) > PATTERNS_MAX:
        most = np.argsort(-counts, kind="stable")[:PATTERNS_MAX]
        rows, counts = rows[most], counts[most]
    # Every row and its opposite, so that there are two classes whatever the labels are.
    both = np.concatenate([rows, -rows]).astype(np.float64)
    classes = np.repeat([1, -1], len(rows))
    weights = np.concatenate([counts, counts]) / 2.0
    for penalty in PENALTIES:
        model = svm.LinearSVC(C=penalty, loss="hinge", fit_intercept=False, max_iter=5000, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)  # a vector that is not the best holds too
            model.fit(both, classes, sample_weight=weights)
        yield Vector("comparison vector", np.rint(model.coef_[0] * SCALE).astype(np.int64).tolist(), SCALE)
