"""Votes over which PWM errs about as often as asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.rules import PWM

__all__ = ["draw", "draw_for", "with_absences"]


def draw(n_slots: int, n_learners: int, wrong: float, seed: int = 0) -> tuple[Any, Any]:
    """Draw labels, and votes that are each wrong with the same probability."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array([-1, 1], np.int8), n_slots)
    votes = np.empty((n_slots, n_learners), np.int8)
    for first in range(0, n_slots, 2**14):
        some = slice(first, first + 2**14)
        errs = rng.integers(0, 2**16, votes[some].shape, np.uint16) < round(wrong * 2**16)
        votes[some] = np.where(errs, -labels[some, None], labels[some, None])
    return votes, labels


def draw_for(n_slots: int, n_learners: int, mistakes: float) -> tuple[Any, Any]:
    """Draw votes over which PWM, once it has learned, errs in about this part of the slots."""
    n_tried = min(n_slots, max(20_000, 4_000_000 // n_learners))
    low, high = 0.0, 0.5
    for _ in range(10):
        wrong = (low + high) / 2
        votes, labels = draw(n_tried, n_learners, wrong)
        errs = PWM(n_learners).run(votes, labels) != labels
        low, high = (low, wrong) if errs[n_tried // 2 :].mean() > mistakes else (wrong, high)
    return draw(n_slots, n_learners, (low + high) / 2)


def with_absences(votes: Any, seed: int = 1) -> Any:
    """The same votes, but in half of the slots a learner abstains."""
    absent = votes.copy()
    slots = np.flatnonzero(np.random.default_rng(seed).random(len(votes)) < 0.5)
    absent[slots, slots % votes.shape[1]] = 0
    return absent
