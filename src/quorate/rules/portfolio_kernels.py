"""The portfolio's compiled batch path: the steps of `quorate.rules.portfolio_steps`, on arrays."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from quorate.rules import portfolio_steps as steps
from quorate.rules.inputs import learning_order
from quorate.rules.kernels import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Trace", "run_portfolio"]

# Some are always awake, as the constants are, and no share vanishes: nothing is divided by 0.
_compiled = partial(compiled, divisors_checked=False)
# Numba's cache of `_at_once` and `_late` notices a change of this file only, and of the types they are called with, to
# which a default belongs: this one changes with the steps.
_STEPS = crc32(inspect.getsource(steps).encode())
_ask = inlined(steps.ask)
_weigh = inlined(steps.weigh)
_learn = inlined(steps.learn)


class Trace:
    """What the members and the copies of a portfolio answered in each slot, and how they stood.

    Parameters
    ----------
    n_slots, n_voters
        How long the run is, and how many vote.
    points
        The labels, counted as they are learned and growing, before which the shares are kept.
    """

    def __init__(self, n_slots: int, n_voters: int, points: NDArray[np.int64]) -> None:
        self.points = points
        self.answers = np.empty((n_slots, steps.N_MEMBERS), np.int8)
        self.copies = np.empty((n_slots, steps.N_COPIES), np.int8)
        self.shares = np.empty((len(points), steps.N_COPIES * (steps.N_MEMBERS + 2 * n_voters)))
        self.top = np.empty((len(points), steps.N_COPIES))


def run_portfolio(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    arrivals: NDArray[np.int64] | None,
    state: dict[str, list[float]],
    trace: Trace | None = None,
    tables: list[float] = steps.TABLES,
) -> tuple[NDArray[np.int8], dict[str, list[float]]]:
    """Run a portfolio over checked votes; give the decisions and the state after the last slot.

    Parameters
    ----------
    votes, labels
        Checked and C-ordered, of shapes (N, K) and (N,).
    arrivals
        The slot at whose end each label is learned, negative for never; None for its own.
    state
        The lists of a portfolio, by name.
    trace
        Where to write down what was answered in each slot.
    tables
        Other numbers than those of the steps, for an ablation.

    Examples
    --------
    >>> from quorate.rules import Portfolio
    >>> ones = np.ones((5, 1), np.int8)
    >>> run_portfolio(ones, -ones[:, 0], None, Portfolio(1)._state)[0].tolist()
    [1, 1, 1, 1, -1]
    """
    arrays = {name: np.array(values, np.float64) for name, values in state.items()}
    decisions = np.empty(len(votes), np.int8)
    table = np.array(tables)
    kept = (arrays["linear"], arrays["winnow"], arrays["recent"], arrays["shares"], arrays["top"], arrays["last"])
    if arrivals is None and trace is None:
        _at_once(votes, labels, *kept, table, decisions)
    else:
        trace = trace or Trace(len(votes), votes.shape[1], np.empty(0, np.int64))
        order, learned = learning_order(np.arange(len(votes)) if arrivals is None else arrivals)
        _late(
            votes,
            labels,
            order,
            learned,
            *kept,
            table,
            decisions,
            trace.answers,
            trace.copies,
            trace.points,
            trace.shares,
            trace.top,
        )
    return decisions, {name: values.tolist() for name, values in arrays.items()}


@_compiled
def _at_once(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    linear: Any,
    winnow: Any,
    recent: Any,
    shares: Any,
    top: Any,
    last: Any,
    tables: Any,
    decisions: NDArray[np.int8],
    _steps: int = _STEPS,
) -> None:
    answers, copies = np.zeros(steps.N_MEMBERS, np.int8), np.zeros(steps.N_COPIES, np.int8)
    scratch = np.zeros(steps.N_SCRATCH)
    assert votes.shape[1] < 2**31  # tells LLVM that no index is negative: to look at each takes a tenth of the time
    for slot in range(len(votes)):
        row = votes[slot]
        _ask(row, last[0], linear, winnow, recent, answers, scratch)
        decisions[slot] = _weigh(row, answers, shares, top, copies, tables, scratch)
        _learn(row, labels[slot], answers, copies, linear, winnow, recent, shares, top, last, tables, scratch)


@_compiled
def _late(
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    linear: Any,
    winnow: Any,
    recent: Any,
    shares: Any,
    top: Any,
    last: Any,
    tables: Any,
    decisions: NDArray[np.int8],
    answers: NDArray[np.int8],
    copies: NDArray[np.int8],
    points: NDArray[np.int64],
    shares_kept: NDArray[np.float64],
    top_kept: NDArray[np.float64],
    _steps: int = _STEPS,
) -> None:
    spare, spare_copies = np.zeros(steps.N_MEMBERS, np.int8), np.zeros(steps.N_COPIES, np.int8)
    scratch = np.zeros(steps.N_SCRATCH)
    assert votes.shape[1] < 2**31
    done = 0
    point = 0
    for slot in range(len(votes)):
        _ask(votes[slot], last[0], linear, winnow, recent, answers[slot], scratch)
        decisions[slot] = _weigh(votes[slot], answers[slot], shares, top, copies[slot], tables, scratch)
        while done < learned[slot]:
            late = order[done]
            if point < len(points) and points[point] == done:
                shares_kept[point] = shares
                top_kept[point] = top
                point += 1
            _ask(votes[late], answers[late, 2] * abs(last[0]), linear, winnow, recent, spare, scratch)
            _weigh(votes[late], answers[late], shares, top, spare_copies, tables, scratch)
            _learn(
                votes[late],
                labels[late],
                answers[late],
                copies[late],
                linear,
                winnow,
                recent,
                shares,
                top,
                last,
                tables,
                scratch,
            )
            done += 1
