"""The compiled batch path of the multiplicative rules: the same arithmetic as their loops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.rules.kernels import compiled
from quorate.rules.powers import NOTHING, SURE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["run_fixed", "run_powers", "run_shared"]


def run_powers(
    kind: int,
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    powers: list[list[int]],
    logs: list[float],
    threshold: float,
) -> tuple[NDArray[np.int8], list[list[int]]]:
    """Run a rule whose weights are powers: 0 weighted majority, 1 Winnow2, 2 Blum's, 3 the always updating majority.

    Examples
    --------
    >>> votes, labels = np.array([[1, -1, 1]] * 2, np.int8), np.array([-1, -1], np.int8)
    >>> decisions, powers = run_powers(0, votes, labels, [[0, 0, 0]], [-1.0], 0.0)
    >>> decisions.tolist(), powers
    ([1, 1], [[2, 0, 2]])
    """
    counts = np.array(powers, np.int64)
    decisions = np.empty(len(votes), np.int8)
    _powers(kind, votes, labels, counts, np.array(logs), threshold, decisions)
    return decisions, counts.tolist()


@compiled
def _sign_of_sum(logs: NDArray[Any], coefficients: NDArray[Any]) -> int:
    largest = -math.inf
    for place in range(len(logs)):
        if coefficients[place] != 0 and logs[place] > largest:
            largest = logs[place]
    if largest == -math.inf:
        return 1
    total = 0.0
    bound = 0.0
    for place in range(len(logs)):
        if coefficients[place] != 0:
            total += coefficients[place] * 2.0 ** (logs[place] - largest)
            bound += abs(coefficients[place])
    if abs(total) > SURE * bound:
        return 1 if total > 0 else -1
    left = 0.0
    before = largest
    for place in np.argsort(-logs):
        coefficient, log = coefficients[place], logs[place]
        if coefficient == 0:
            continue
        if abs(left) < NOTHING:
            left = 0.0
        elif before - log > 60 or abs(left) * 2.0 ** (before - log) > 2 * bound:
            break
        left = left * 2.0 ** min(before - log, 60.0) + coefficient
        before = log
    return 1 if left > -NOTHING else -1


@compiled
def _powers(
    kind: int,
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    counts: NDArray[np.int64],
    factor_logs: NDArray[np.float64],
    threshold: float,
    decisions: NDArray[np.int8],
) -> None:
    n_slots, n_learners = votes.shape
    logs = np.zeros(n_learners + 1)  # the last is the threshold's, 1 to every power
    coefficients = np.zeros(n_learners + 1)
    coefficients[n_learners] = -threshold
    for slot in range(n_slots):
        label = labels[slot]
        for place in range(n_learners):
            log = 0.0
            for factor in range(len(factor_logs)):
                log += factor_logs[factor] * counts[factor, place]
            logs[place] = log
            vote = votes[slot, place]
            coefficients[place] = (1.0 if vote > 0 else 0.0) if kind == 1 else vote
        decisions[slot] = _sign_of_sum(logs, coefficients)
        erred = decisions[slot] != label
        for place in range(n_learners):
            vote = votes[slot, place]
            if vote == 0:
                continue
            if kind == 1:
                if erred and vote > 0:
                    counts[0, place] += label
            elif vote != label:
                if erred or kind >= 2:
                    counts[0, place] += 1
            elif erred and kind == 2:
                counts[1, place] += 1


def run_shared(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    weights: list[float],
    beta: float,
    alpha: float,
    variable: bool,
) -> tuple[NDArray[np.int8], list[float], int]:
    """Run fixed (or variable) share; give the decisions, the weights, and how often they were scaled up."""
    shares = np.array(weights)
    decisions = np.empty(len(votes), np.int8)
    scalings = _shared(votes, labels, shares, beta, alpha, variable, decisions)
    return decisions, shares.tolist(), int(scalings)


@compiled
def _shared(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    weights: NDArray[np.float64],
    beta: float,
    alpha: float,
    variable: bool,
    decisions: NDArray[np.int8],
) -> int:
    n_slots, n_learners = votes.shape
    scalings = 0
    for slot in range(n_slots):
        total = 0.0
        bound = 0.0
        for place in range(n_learners):
            total += weights[place] * votes[slot, place]
            bound += weights[place] * abs(votes[slot, place])
        decisions[slot] = 1 if total >= -NOTHING * bound else -1
        voters = 0
        pool = 0.0
        for place in range(n_learners):
            vote = votes[slot, place]
            if vote != 0:
                voters += 1
                wrong = vote != labels[slot]
                if wrong:
                    weights[place] *= beta
                if wrong or not variable:
                    pool += alpha * weights[place]
        if voters > 1:
            for place in range(n_learners):
                vote = votes[slot, place]
                if vote != 0:
                    gives = vote != labels[slot] or not variable
                    given = alpha * weights[place] if gives else 0.0
                    weights[place] = (weights[place] - given) + (pool - given) / (voters - 1)
        if weights.max() < 2.0**-500:
            for place in range(n_learners):
                weights[place] *= 2.0**500
            scalings += 1
    return scalings


def run_fixed(votes: NDArray[np.int8], weights: list[float]) -> NDArray[np.int8]:
    """Decide by weights that never change."""
    decisions = np.empty(len(votes), np.int8)
    _fixed(votes, np.array(weights), decisions)
    return decisions


@compiled
def _fixed(votes: NDArray[np.int8], weights: NDArray[np.float64], decisions: NDArray[np.int8]) -> None:
    n_slots, n_learners = votes.shape
    for slot in range(n_slots):
        total = 0.0
        bound = 0.0
        for place in range(n_learners):
            total += weights[place] * votes[slot, place]
            bound += abs(weights[place] * votes[slot, place])
        decisions[slot] = 1 if total >= -NOTHING * bound else -1
