"""Votes, labels and runs that the tests of the portfolio share."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import Portfolio
from quorate.rules.portfolio_kernels import Trace
from quorate.streams import NEVER


def drawn(
    seed: int, n_slots: int, n_learners: int, wrong: float = 0.35, absent: float = 0.0
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array([-1, 1], np.int8), n_slots)
    votes = np.where(rng.random((n_slots, n_learners)) < wrong, -labels[:, None], labels[:, None]).astype(np.int8)
    votes[rng.random(votes.shape) < absent] = 0
    return votes, labels


def traced(votes: Any, labels: Any, arrivals: Any = None) -> tuple[Portfolio, Trace, Any]:
    rule = Portfolio(votes.shape[1])
    n_labels = len(labels) if arrivals is None else int((arrivals != NEVER).sum())
    trace = Trace(len(labels), votes.shape[1], np.arange(n_labels))
    return rule, trace, rule._traced(votes, labels, arrivals, trace)


def silenced(n_learners: int, n_slots_each: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """One learner after the other is always right, and then silent for good; those to come guess."""
    rng = np.random.default_rng(n_learners)
    labels = rng.choice(np.array([-1, 1], np.int8), n_learners * n_slots_each)
    votes = rng.choice(np.array([-1, 1], np.int8), (len(labels), n_learners))
    for place in range(n_learners):
        its = slice(place * n_slots_each, (place + 1) * n_slots_each)
        votes[its, place] = labels[its]
        votes[its, :place] = 0
    return votes, labels
