"""What a portfolio trusted, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import LocalError
from quorate.evaluate.recording import Recording
from quorate.rules import Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.rules.inputs import learning_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["shares_over_time"]


def shares_over_time(
    recording: Recording,
    tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None,
    points: int = 200,
) -> dict[str, Any]:
    """Run a portfolio over a recording, and give the shares of its members as they were at some labels.

    Parameters
    ----------
    recording
        Votes, labels and arrivals.
    tuning
        Votes and labels from before, which the portfolio is fitted on. Default: it is not.
    points
        At how many labels, evenly spread.

    Returns
    -------
    dict
        ``slots``, at whose end the labels came, and ``shares``, a list a member.

    Examples
    --------
    >>> labels = np.array([1, -1] * 100, np.int8)
    >>> votes = np.stack((-labels, np.ones_like(labels)), axis=1)  # the first is always wrong
    >>> trusted = shares_over_time(Recording(["ann", "bob"], votes, labels, np.arange(200)), points=3)
    >>> trusted["slots"], [round(share, 3) for share in trusted["shares"]["PWM"]]
    ([0, 100, 199], [0.07, 0.272, 0.282])
    """
    if points < 1:
        raise LocalError(f"points is {points}; give 1 or more")
    votes, labels = np.ascontiguousarray(recording.votes, np.int8), np.ascontiguousarray(recording.labels, np.int8)
    arrivals = np.asarray(recording.arrivals, np.int64)
    order, _ = learning_order(arrivals)
    if not len(order):
        return {"slots": [], "shares": {}}
    from quorate.rules.portfolio_kernels import Trace

    labels_shown = np.unique(np.linspace(0, len(order) - 1, points).round().astype(np.int64))
    rule = Portfolio(votes.shape[1])
    if tuning is not None:
        rule.fit(*tuning)
    trace = Trace(len(labels), rule.n_voters, labels_shown)
    rule._traced(votes, labels, arrivals, trace)
    shares = trace.shares.reshape(len(labels_shown), -1, steps.N_COPIES)
    shares = shares / shares.sum(axis=1, keepdims=True)
    by_member = np.einsum("pmc,pc->pm", shares, trace.top / trace.top.sum(axis=1, keepdims=True))
    found = zip(rule.explain(recording.names), by_member.T.round(6).tolist(), strict=True)
    return {"slots": arrivals[order[labels_shown]].tolist(), "shares": dict(found)}
