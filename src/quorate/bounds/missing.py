"""Mistakes that nobody saw: how many there can be, given those that were seen."""

from __future__ import annotations

import math

from quorate._extras import load
from quorate.bounds.inputs import checked_chances
from quorate.errors import LocalError

__all__ = ["all_mistakes_max", "chance_of_so_few", "failure_chance"]

#: By how much a chance that was computed in floating point is held to be too small.
OUTWARD = 1e-6


def failure_chance(seen: int, confidence: float) -> float:
    """The part of 1 - confidence spent on `seen`: the parts of all counts 0, 1, 2, ... sum to it.

    >>> failure_chance(0, 0.95), round(sum(failure_chance(seen, 0.95) for seen in range(100_000)), 4)
    (0.025000000000000022, 0.05)
    """
    return (1 - confidence) / ((seen + 1) * (seen + 2))


def all_mistakes_max(seen_max: int, probability: float, confidence: float) -> int:
    """The most mistakes there were, with some confidence, if at most `seen_max` of them were in labelled slots.

    Each label comes with at least this probability whatever happened before, mistakes included. Then of the first m
    mistakes at least as many are seen as in m throws of such a coin, so the chance that no more than u were seen is at
    most that of the binomial distribution; `docs/guarantees.md` has the argument.

    Parameters
    ----------
    seen_max
        How many mistakes were made in slots whose labels came, at most; it may depend on everything that happened.
    probability
        How likely a label comes, at least.
    confidence
        With which probability the answer holds for the whole run.

    Examples
    --------
    >>> all_mistakes_max(100, probability=0.5, confidence=0.95), all_mistakes_max(100, 1.0, 0.95)
    (273, 100)
    """
    checked_chances(probability, confidence)
    if seen_max < 0:
        raise LocalError(f"seen_max is {seen_max}; a number of mistakes is at least 0")
    if probability == 1:
        return seen_max
    betainc = load("scipy.special", "A certificate for missing labels").betainc
    allowed = failure_chance(seen_max, confidence) * (1 - OUTWARD)

    def chance(mistakes: int) -> float:  # of the binomial distribution, for more mistakes than are seen
        return float(betainc(mistakes - seen_max, seen_max + 1, 1 - probability))

    low, high = seen_max, 2 * seen_max + 2  # `low` mistakes are always possible
    while chance(high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if chance(middle) > allowed:
            low = middle
        else:
            high = middle
    return low


def chance_of_so_few(seen: int, mistakes: int, probability: float) -> float:
    """The chance that of so many mistakes at most `seen` are seen, summed term by term.

    >>> round(chance_of_so_few(1, 3, 0.5), 12)
    0.5
    """
    if probability == 1:
        return float(seen >= mistakes)
    log_seen, log_missed = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(
            math.lgamma(mistakes + 1)
            - math.lgamma(count + 1)
            - math.lgamma(mistakes - count + 1)
            + count * log_seen
            + (mistakes - count) * log_missed
        )
        for count in range(min(seen, mistakes) + 1)
    )
