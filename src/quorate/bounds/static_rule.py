"""P^O: the fixed weights that would have made the fewest mistakes, and the proof that none makes fewer."""

from __future__ import annotations

import math
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from quorate._extras import load
from quorate.bounds.inputs import checked
from quorate.bounds.patterns import Patterns, numbered
from quorate.bounds.separable import (
    contradiction,
    crossing_pairs,
    is_contradiction,
    mistakes_of,
    separating_weights,
)
from quorate.bounds.vectors import found_vectors
from quorate.errors import LocalError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["StaticRule", "best_static_rule"]

#: The exact method is for so many learners at the most.
LEARNERS_MAX = 20
#: Pairs of patterns that are compared before the first search, at the most, and sets that are taken from them.
PAIRS_MAX, CUTS_MAX = 100_000, 10_000
#: With more patterns no linear SVM is asked where to begin.
FITTED_MAX = 5_000
#: Real weights become integers by the first of these factors that loses nothing.
_FACTORS = (*range(1, 33), 2**10, 2**20)


class StaticRule(msgspec.Struct, frozen=True):
    """Fixed weights, how often they are wrong, and how often any must be.

    Parameters
    ----------
    weights
        Integers, bias first.
    mistakes
        In how many slots they are wrong, counted exactly; a margin of 0 says +1.
    mistakes_min
        No fixed weights are wrong in fewer slots: proven.
    n_slots
        Of how many.
    seconds
        How long it took.
    """

    weights: list[int]
    mistakes: int
    mistakes_min: int
    n_slots: int
    seconds: float

    @property
    def is_exact(self) -> bool:
        """Whether the best is found and proven."""
        return self.mistakes == self.mistakes_min

    @property
    def error(self) -> float:
        """P^O, or what is above it by at most the gap."""
        return self.mistakes / self.n_slots

    @property
    def error_min(self) -> float:
        """What P^O is at least."""
        return self.mistakes_min / self.n_slots

    @property
    def gap(self) -> int:
        """By how many mistakes these weights may be worse than the best; 0 when exact."""
        return self.mistakes - self.mistakes_min


def best_static_rule(
    votes: ArrayLike, labels: ArrayLike, *, bias: bool = True, time_limit_s: float = 60.0, seed: int = 0
) -> StaticRule:
    """Find the fixed weights with the fewest mistakes over given votes and labels.

    Which patterns of votes to get wrong is a covering problem: of every set of patterns that no weights get right
    together one must be given up, at the cost of its slots. HiGHS solves it over the sets known so far; those its
    answer contradicts are added, until there is none. Every set is checked in exact arithmetic.

    Parameters
    ----------
    votes, labels
        Of shapes (slots, learners) and (slots,).
    bias
        Whether there is a virtual learner that always votes +1.
    time_limit_s
        When to stop, with the best weights so far and the gap that is left. Counting the patterns of long runs, and
        HiGHS where it cannot stop at once, may overrun it a little.
    seed
        Chooses which sets are found first.

    Examples
    --------
    A majority of three is right, but no learner is:

    >>> votes = [[1, 1, -1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]
    >>> found = best_static_rule(votes, [1, 1, 1, -1, -1, -1])
    >>> found.weights, found.mistakes, found.is_exact
    ([0, 1, 1, 1], 0, True)
    """
    matrix, truth = checked(votes, labels)
    if matrix.shape[1] > LEARNERS_MAX:
        raise LocalError(
            f"the exact method is for at most {LEARNERS_MAX} learners, and there are {matrix.shape[1]}; "
            "take fewer, or use certify, which needs no best rule"
        )
    if time_limit_s <= 0:
        raise LocalError(f"time_limit_s is {time_limit_s}; it must be above 0")
    rows = np.column_stack([np.full(len(matrix), int(bias), np.int8), matrix])
    return _Search(rows, truth, bias, time_limit_s, seed).run()


class _Search:
    def __init__(
        self, rows: NDArray[np.int8], truth: NDArray[np.int8], bias: bool, time_limit_s: float, seed: int
    ) -> None:
        self.began = time.monotonic()
        self.ends = self.began + time_limit_s
        self.generator = np.random.default_rng(seed)
        self.n_slots = len(truth)
        first, which, counts = numbered(rows)
        every = rows[first]
        plus = np.bincount(which[truth > 0], minlength=len(every))
        minus = counts - plus
        self.patterns, self.plus, self.minus = every.astype(np.int64), plus, minus
        self.floor = int(np.minimum(minus, plus).sum())  # of patterns with both labels, whatever is said to them
        open_ones = minus != plus
        self.positive = (plus > minus)[open_ones]
        self.unsigned = every[open_ones]
        self.signed = self.unsigned.astype(np.int64) * np.where(self.positive, 1, -1)[:, None]
        self.costs = np.abs(plus - minus)[open_ones]
        self.least = np.where(self.positive, int(bias), 1)  # without a bias a margin of 0 cannot be moved
        crossing = islice(crossing_pairs(self.unsigned, self.positive, PAIRS_MAX), CUTS_MAX)
        self.cuts = [[*pairs] for pairs in crossing]
        self.known = {frozenset(cut) for cut in self.cuts}
        self.weights: list[int] = []
        self.mistakes = self.n_slots + 1
        self.lower = self.floor

    def run(self) -> StaticRule:
        self._begin()
        self._pack()
        given_up = np.zeros(len(self.costs), bool)
        while self.lower < self.mistakes and self._separate(given_up) and self.left_s > 0:
            self._pack()
            answer = self._cover()
            if answer is None or (answer == given_up).all():
                break
            given_up = answer
        if self.left_s > 0:
            self._tidy()
        took = time.monotonic() - self.began
        return StaticRule(self.weights, self.mistakes, min(self.lower, self.mistakes), self.n_slots, took)

    @property
    def left_s(self) -> float:
        return self.ends - time.monotonic()

    def _pack(self) -> None:
        """A first lower bound: charge each set to its cheapest pattern, and what is charged to all of its patterns."""
        left = self.costs.copy()
        paid = 0
        for cut in self.cuts:
            cost = left[cut].min()
            left[cut] -= cost
            paid += int(cost)
        self.lower = max(self.lower, self.floor + paid)

    def _begin(self) -> None:
        """Begin with the learners, their opposites, the constants, and what a linear SVM finds."""
        n_columns = self.signed.shape[1]
        self._try([0] * n_columns)
        for place in range(n_columns):
            for sign in (1, -1):
                self._try([sign * (place == each) for each in range(n_columns)])
        if len(self.signed) <= FITTED_MAX:
            for vector in found_vectors(Patterns(self.signed.astype(np.int8), self.costs)):
                self._try(vector.vector)

    def _try(self, weights: list[int]) -> int:
        mistakes = mistakes_of(weights, self.patterns, self.plus, self.minus)
        if mistakes < self.mistakes:
            self.mistakes, self.weights = mistakes, weights
        return mistakes

    def _tidy(self) -> None:
        """Take smaller weights that get the same patterns right, where there are any."""
        margins = self.signed @ np.array(self.weights, np.int64)
        self._integers(np.where(self.positive, margins >= 0, margins > 0), self.mistakes)

    def _integers(self, right: NDArray[np.bool_], goal: int) -> None:
        """Try the smallest integer weights that get these patterns right, making no more mistakes than the goal."""
        weights = separating_weights(self.signed[right], self.least[right], max(self.left_s, 0.01))
        if weights is None:
            return
        for factor in _FACTORS:
            whole = np.rint(weights * factor).astype(np.int64).tolist()
            if self._try(whole) <= goal:
                self.weights = whole
                return

    def _separate(self, given_up: NDArray[np.bool_]) -> bool:
        """Find contradictions among what is not given up, giving up more until there is none.

        Returns
        -------
        bool
            Whether there were any; if not, what was given up is enough, and the search is over.
        """
        left = ~given_up
        while self.left_s > 0:
            places = np.flatnonzero(left)
            try:
                found = contradiction(self.signed[places], self.positive[places], self.generator, self.left_s)
            except TimeoutError:
                break
            if found is None:
                goal = self.floor + int(self.costs[~left].sum())
                if goal < self.mistakes:
                    self._integers(left, goal)
                break
            cut = places[found]
            members = frozenset(cut.tolist())
            if members not in self.known and is_contradiction(self.signed[cut].tolist(), self.positive[cut].tolist()):
                self.known.add(members)
                self.cuts.append(cut.tolist())
            left[cut[np.argmin(self.costs[cut])]] = False
        return bool((left != ~given_up).any())

    def _cover(self) -> NDArray[np.bool_] | None:
        """Solve the covering problem over the known sets; None where nothing better than the best can be found."""
        if not self.cuts:
            return None
        optimize = load("scipy.optimize", "The best static rule")
        sparse = load("scipy.sparse", "The best static rule")
        n_patterns = len(self.costs)
        lines = np.repeat(np.arange(len(self.cuts)), [len(cut) for cut in self.cuts])
        members = np.concatenate([np.array(cut, np.int64) for cut in self.cuts])
        table = sparse.csr_matrix((np.ones(len(lines)), (lines, members)), shape=(len(self.cuts), n_patterns))
        better = optimize.LinearConstraint(self.costs[None, :], -np.inf, self.mistakes - 1 - self.floor)
        solved: Any = optimize.milp(
            self.costs,
            constraints=[optimize.LinearConstraint(table, 1, np.inf), better],
            integrality=np.ones(n_patterns),
            bounds=optimize.Bounds(0, 1),
            options={"time_limit": max(self.left_s, 0.01), "mip_rel_gap": 0.0},
        )
        if solved.status == 2:  # infeasible: fewer mistakes than the best ones are not possible
            self.lower = self.mistakes
            return None
        if solved.mip_dual_bound is not None and math.isfinite(solved.mip_dual_bound):
            self.lower = max(self.lower, self.floor + math.ceil(solved.mip_dual_bound - 1e-6))
        return None if solved.x is None else solved.x > 0.5
