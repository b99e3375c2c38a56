"""The portfolio's compiled run against River's VotingClassifier with members that take constant time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from river import ensemble

from benchmarks.constant import GivenClassifier
from benchmarks.measure import in_turn
from benchmarks.part import Check, Options, Part, right
from benchmarks.votes import draw
from quorate.rules import Portfolio

__all__ = ["run"]

OURS, PEER = "Portfolio.run", "River VotingClassifier"
DELAY = 100
FITTED, LATE = "fitted on a block", f"labels {DELAY} slots late"
N_LEARNERS = 16
N_SLOTS, N_SLOTS_PEER = 200_000, 10_000
N_SLOTS_PEER_QUICK = 2_000
N_BLOCK = 2_000
WRONG = 0.3
ASKED = 50


def run(options: Options, console: Console) -> Part:
    """Time both prequentially: predict, then learn, slot after slot."""
    n_peer = N_SLOTS_PEER_QUICK if options.quick else N_SLOTS_PEER
    votes, labels = draw(N_SLOTS, N_LEARNERS, WRONG)
    names = [f"learner-{place}" for place in range(N_LEARNERS)]
    rows: list[dict[Hashable, Any]] = [dict(zip(names, row, strict=True)) for row in (votes[:n_peer] > 0).tolist()]
    truths = (labels[:n_peer] > 0).tolist()

    def river_voting() -> None:
        model = ensemble.VotingClassifier([GivenClassifier(name) for name in names], use_probabilities=False)
        for x, y in zip(rows, truths, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    fitted = Portfolio(N_LEARNERS).fit(votes[:N_BLOCK], labels[:N_BLOCK]).snapshot()
    arrivals = np.arange(N_SLOTS) + DELAY
    timings = in_turn(
        {
            OURS: (lambda: Portfolio(N_LEARNERS).run(votes, labels), N_SLOTS),
            FITTED: (lambda: Portfolio.restore(fitted).run(votes, labels), N_SLOTS),
            LATE: (lambda: Portfolio(N_LEARNERS).run(votes, labels, arrivals), N_SLOTS),
            PEER: (river_voting, n_peer),
        },
        options.repeats,
    )
    table = right(Table(f"K = {N_LEARNERS}", "ns a slot", "spread", title="the portfolio"))
    for name, timing in timings.items():
        spread = f"{timing.best * 1e9:,.0f} to {timing.worst * 1e9:,.0f}"
        table.add_row(name, f"{timing.median * 1e9:,.0f}", spread)
    console.print(table)
    check = Check(f"{OURS} against {PEER}, K = {N_LEARNERS}", timings[PEER].median / timings[OURS].median, ASKED)
    return Part({"seconds_a_slot": {name: timing._asdict() for name, timing in timings.items()}}, [check])
