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

__all__ = ["largest_shares", "shares_over_time"]

#: What members that are not told apart are called.
OTHERS = "others"


def shares_over_time(
    recording: Recording,
    tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None,
    points: int = 200,
    members_max: int = 64,
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
    members_max
        How many members are told apart: those that were trusted most. The others are summed up as ``others``.

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
    if points < 1 or members_max < 1:
        raise LocalError(f"points is {points} and members_max {members_max}; give 1 or more of each")
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
    return {"slots": arrivals[order[labels_shown]].tolist(), "shares": largest_shares(dict(found), members_max)}


def largest_shares(shares: dict[str, list[float]], members_max: int) -> dict[str, list[float]]:
    """The members that were trusted most, for long or at some time, in their order; and the others together, if any.

    >>> largest_shares({"ann": [0.1, 0.1], "PWM": [0.9, 0.0], "last label": [0.0, 0.9]}, members_max=2)
    {'PWM': [0.9, 0.0], 'last label': [0.0, 0.9], 'others': [0.1, 0.1]}
    """
    if len(shares) <= members_max:
        return shares
    told = [name for name in shares if name != OTHERS]
    chosen = sorted(told, key=lambda name: -sum(share * share for share in shares[name]))[:members_max]
    others = [round(1 - sum(each), 6) for each in zip(*(shares[name] for name in chosen), strict=True)]
    return {name: series for name, series in shares.items() if name in chosen} | {OTHERS: others}
