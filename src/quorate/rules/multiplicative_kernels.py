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
def _sign_of_sum(logs: NDArray[Any], coefficients: NDArray[Any], scaled: NDArray[Any], scale: NDArray[Any]) -> int:
    """The sign of the sum of coefficients times 2 to the power of the logs.

    `scaled` holds these powers, relative to that of the log in `scale`, which is the largest: they are computed again
    where another is the largest.
    """
    largest = -math.inf
    for place in range(len(logs)):
        if coefficients[place] != 0 and logs[place] > largest:
            largest = logs[place]
    if largest == -math.inf:
        return 1
    if largest != scale[0]:
        scale[0] = largest
        for place in range(len(logs)):
            scaled[place] = 2.0 ** (logs[place] - largest)
    total = 0.0
    bound = 0.0
    for place in range(len(logs)):
        if coefficients[place] != 0:
            total += coefficients[place] * scaled[place]
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
def _log(factor_logs: NDArray[Any], counts: NDArray[Any], place: int) -> float:
    log = 0.0
    for factor in range(len(factor_logs)):
        log += factor_logs[factor] * counts[factor, place]
    return log


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
    scaled, scale = np.zeros(n_learners + 1), np.full(1, np.nan)
    for place in range(n_learners):
        logs[place] = _log(factor_logs, counts, place)
    for slot in range(n_slots):
        label = labels[slot]
        for place in range(n_learners):
            vote = votes[slot, place]
            coefficients[place] = (1.0 if vote > 0 else 0.0) if kind == 1 else vote
        decisions[slot] = _sign_of_sum(logs, coefficients, scaled, scale)
        erred = decisions[slot] != label
        if not erred and kind < 2:
            continue
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
            logs[place] = _log(factor_logs, counts, place)
            scaled[place] = 2.0 ** (logs[place] - scale[0])


def run_shared(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    mantissas: list[float],
    exponents: list[int],
    beta: float,
    alpha: float,
    variable: bool,
) -> tuple[NDArray[np.int8], list[float], list[int]]:
    """Run fixed (or variable) share; give the decisions and the weights, as mantissas and exponents."""
    fractions, powers = np.array(mantissas), np.array(exponents, np.int64)
    decisions = np.empty(len(votes), np.int8)
    _shared(votes, labels, fractions, powers, beta, alpha, variable, decisions)
    return decisions, fractions.tolist(), powers.tolist()


@compiled
def _scaled(value: float, power: int) -> float:
    """`math.ldexp` for any power: below what a float can hold it is 0."""
    return 0.0 if power < -1100 else math.ldexp(value, np.int32(power))  # type: ignore[arg-type]


@compiled
def _shared(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    mantissas: NDArray[np.float64],
    exponents: NDArray[np.int64],
    beta: float,
    alpha: float,
    variable: bool,
    decisions: NDArray[np.int8],
) -> None:
    n_slots, n_learners = votes.shape
    given = np.zeros(n_learners)
    logs = np.zeros(n_learners)
    coefficients = np.zeros(n_learners)
    powers, reference = np.zeros(n_learners), np.zeros(1)
    for slot in range(n_slots):
        label = labels[slot]
        reference[0] = np.nan  # every weight may have changed
        for place in range(n_learners):
            logs[place] = exponents[place]
            coefficients[place] = mantissas[place] * votes[slot, place]
        decisions[slot] = _sign_of_sum(logs, coefficients, powers, reference)
        voters = 0
        givers = 0
        largest = np.int64(0)
        for place in range(n_learners):
            vote = votes[slot, place]
            if vote == 0:
                continue
            voters += 1
            if vote != label:
                mantissas[place], raised = math.frexp(mantissas[place] * beta)
                exponents[place] += raised
            if vote != label or not variable:
                if givers == 0 or exponents[place] > largest:
                    largest = exponents[place]
                givers += 1
        if voters < 2 or givers == 0:
            continue
        pool = 0.0
        for place in range(n_learners):
            vote = votes[slot, place]
            given[place] = 0.0
            if vote != 0 and (vote != label or not variable):
                given[place] = _scaled(alpha * mantissas[place], exponents[place] - largest)
                pool += given[place]
        for place in range(n_learners):
            vote = votes[slot, place]
            if vote == 0:
                continue
            gives = vote != label or not variable
            gotten = (pool - given[place]) / (voters - 1)
            kept = mantissas[place] * (1 - alpha) if gives else mantissas[place]
            scale = max(exponents[place], largest) if gotten > 0 else exponents[place]
            total = _scaled(kept, exponents[place] - scale)
            if gotten > 0:
                total += _scaled(gotten, largest - scale)
            mantissas[place], raised = math.frexp(total)
            exponents[place] = scale + raised


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
