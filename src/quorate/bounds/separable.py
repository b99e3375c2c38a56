"""Which patterns one weight vector can get right together, in exact arithmetic where it matters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from quorate._extras import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["contradiction", "crossing_pairs", "is_contradiction", "mistakes_of", "separating_weights"]

_ZERO = 1e-9


def contradiction(
    signed: NDArray[np.int64], positive: NDArray[np.bool_], generator: np.random.Generator, time_limit_s: float = 60.0
) -> NDArray[np.int64] | None:
    """A smallest set of rows that no weight vector gets right together, or None where one gets all right.

    By Motzkin's theorem there is none exactly where some non-negative combination of the rows, not only of those
    labelled +1 (a margin of 0 is right there), is 0. A vertex of these combinations is a smallest such set.

    Parameters
    ----------
    signed
        Patterns times label, bias first.
    positive
        Which of them have the label +1.
    generator
        Chooses among them.
    time_limit_s
        After which it ends with a `TimeoutError`.

    Examples
    --------
    Exclusive or:

    >>> rows = np.array([[1, 1, 1], [1, -1, -1], [-1, -1, 1], [-1, 1, -1]])
    >>> contradiction(rows, np.array([True, True, False, False]), np.random.default_rng(0))
    array([0, 1, 2, 3])
    """
    linprog = load("scipy.optimize", "The best static rule").linprog
    n_rows = len(signed)
    if not n_rows:
        return None
    balance = np.vstack([signed.T, ~positive])
    total = np.zeros(len(balance))
    total[-1] = 1.0
    limit = {"time_limit": time_limit_s}
    solved = linprog(generator.random(n_rows) + 0.1, A_eq=balance, b_eq=total, method="highs-ds", options=limit)
    if solved.status == 1:
        raise TimeoutError
    return None if solved.x is None else np.flatnonzero(solved.x > _ZERO)


def is_contradiction(rows: Sequence[Sequence[int]], positive: Sequence[bool]) -> bool:
    """Whether rows contradict each other, decided exactly; they must be a smallest such set.

    Their combination that is 0 is then unique but for its length, and every part of it has the same sign.

    >>> is_contradiction([[1, 1, 1], [1, -1, -1], [-1, -1, 1], [-1, 1, -1]], [True, True, False, False])
    True
    >>> is_contradiction([[1, 1, 1], [-1, -1, 1]], [True, False])
    False
    """
    columns = [[Fraction(row[place]) for row in rows] for place in range(len(rows[0]))]
    pivots: list[int] = []
    for place in range(len(rows)):
        line = next((each for each in columns[len(pivots) :] if each[place]), None)
        if line is None:
            continue
        columns.remove(line)
        line = [value / line[place] for value in line]
        columns = [
            [value - each[place] * unit for value, unit in zip(each, line, strict=True)] if each[place] else each
            for each in columns
        ]
        columns.insert(len(pivots), line)
        pivots.append(place)
    free = [place for place in range(len(rows)) if place not in pivots]
    if len(free) != 1:
        return False
    parts = [Fraction(0)] * len(rows)
    parts[free[0]] = Fraction(1)
    for line, place in zip(columns, pivots, strict=False):
        parts[place] = -line[free[0]]
    return min(parts) >= 0 and any(part > 0 and not plus for part, plus in zip(parts, positive, strict=True))


def crossing_pairs(
    patterns: NDArray[np.int8], positive: NDArray[np.bool_], pairs_max: int
) -> Iterator[tuple[int, int, int, int]]:
    """Two patterns labelled +1 and two labelled -1 with the same sum: no weight vector gets all four right.

    >>> patterns = np.array([[1, 1, 1], [1, -1, -1], [1, 1, -1], [1, -1, 1]], np.int8)
    >>> list(crossing_pairs(patterns, np.array([True, True, False, False]), pairs_max=100))
    [(0, 1, 2, 3)]
    """
    plus, minus = np.flatnonzero(positive).tolist(), np.flatnonzero(~positive).tolist()
    if len(plus) ** 2 + len(minus) ** 2 > 2 * pairs_max:
        return
    sums = defaultdict(list)
    for one, other in combinations(plus, 2):
        sums[(patterns[one] + patterns[other]).tobytes()].append((one, other))
    for one, other in combinations(minus, 2):
        for pair in sums.get((patterns[one] + patterns[other]).tobytes(), ()):
            yield (*pair, one, other)


def separating_weights(
    signed: NDArray[np.int64], least: NDArray[np.int64], time_limit_s: float = 60.0
) -> NDArray[np.float64] | None:
    """The smallest real weights that give each row at least its least margin; None where none were found in time.

    >>> separating_weights(np.array([[1, 1], [-1, 1]]), np.array([1, 1])).tolist()
    [0.0, 1.0]
    """
    linprog = load("scipy.optimize", "The best static rule").linprog
    n_columns = signed.shape[1]
    if not len(signed):
        return np.zeros(n_columns)
    limit = {"time_limit": time_limit_s}
    both = np.hstack([-signed, signed])
    solved = linprog(np.ones(2 * n_columns), A_ub=both, b_ub=-least, method="highs", options=limit)
    return None if solved.x is None else solved.x[:n_columns] - solved.x[n_columns:]


def mistakes_of(
    weights: Sequence[int], patterns: NDArray[np.int64], plus: NDArray[np.int64], minus: NDArray[np.int64]
) -> int:
    """In how many slots integer weights are wrong; a margin of 0 says +1.

    >>> mistakes_of([0, 1], np.array([[1, 1], [1, -1]]), plus=np.array([5, 1]), minus=np.array([2, 7]))
    3
    """
    return int(np.where(patterns @ np.array(weights, np.int64) >= 0, minus, plus).sum())
