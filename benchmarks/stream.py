"""End to end on a stream: eight online logistic regressions and what combines them, predict, then learn, row by row.

The rows are drawn, with the shape of the electricity data: 45,312 of 8 numbers from 0 to 1. All eight see all numbers
and differ in their step. Quorate combines them by PWM; River by its VotingClassifier, whose equal weights are less
work; MOA by its WeightedMajorityAlgorithm over its SGD with the log loss, timed inside the Java virtual machine.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from river import ensemble, linear_model, optim

from benchmarks import peers
from benchmarks.measure import Timing, in_turn, timing
from benchmarks.part import Check, Options, Part, right
from quorate import PWM
from quorate.ensemble.logistic import online_votes
from quorate.evaluate import compare, plain_logistic

__all__ = ["run"]

OURS, RIVER, MOA = "quorate, compiled", "river ensemble.VotingClassifier", "MOA WeightedMajorityAlgorithm"
COMPARE, COMPARE_RIVER = "quorate compare", "quorate compare, models left to River"
N_SLOTS, N_SLOTS_QUICK, N_SLOTS_RIVER, N_FEATURES = 45_312, 10_000, 2000, 8
#: The step of each learner.
RATES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
#: What must be shown, as times as fast.
LEAST = {RIVER: 150.0, MOA: 15.0}


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    n_slots = N_SLOTS_QUICK if options.quick else N_SLOTS
    features, labels = rows(n_slots)

    def moa_half() -> list[float]:
        try:
            return moa(features, labels, options.repeats)
        except peers.LeftOutError as reason:
            console.print(f"left out: {reason}")
            return []

    before = moa_half()  # MOA cannot take turns with the others: a half of it is before them and a half after them
    timings = measure(features, labels, options.repeats)
    if before and (after := moa_half()):
        timings[MOA] = timing([*before, *after])
    ours = timings[OURS].median
    table = right(Table("program", "slots a second", "spread", "quorate is so many times as fast", title="end to end"))
    for name, each in timings.items():
        spread = f"{1 / each.worst:,.0f} to {1 / each.best:,.0f}"
        table.add_row(name, f"{1 / each.median:,.0f}", spread, f"{each.median / ours:,.1f}")
    console.print(table)
    checks = [
        Check(f"end to end: times as fast as {name}", timings[name].median / ours, least)
        for name, least in LEAST.items()
        if name in timings
    ]
    return Part({"seconds_a_slot": {name: each._asdict() for name, each in timings.items()}}, checks)


def rows(n_slots: int) -> tuple[Any, Any]:
    """Draw rows, and labels by a plane that turns slowly."""
    rng = np.random.default_rng(0)
    features = rng.random((n_slots, N_FEATURES))
    planes = np.cumsum(rng.normal(0, 0.02, (n_slots, N_FEATURES)), axis=0) + rng.normal(0, 1, N_FEATURES)
    sums = ((features - 0.5) * planes).sum(axis=1) + rng.normal(0, 0.1, n_slots)
    return features, np.where(sums >= 0, np.int8(1), np.int8(-1))


def measure(features: Any, labels: Any, repeats: int) -> dict[str, Timing]:
    """Time Quorate and River."""
    n_slots, views, column = len(labels), features[:, None, :], labels[:, None]
    names = [f"x{place}" for place in range(N_FEATURES)]
    instances: list[dict[Hashable, Any]] = [
        dict(zip(names, row, strict=True)) for row in features[:N_SLOTS_RIVER].tolist()
    ]
    truths = (labels[:N_SLOTS_RIVER] > 0).tolist()
    table = pa.table({**dict(zip(names, features.T, strict=True)), "y": labels})

    def ours() -> None:
        PWM(len(RATES)).run(online_votes(views, column, rate=RATES), labels)

    def by_river() -> None:
        model = ensemble.VotingClassifier([_regression(rate) for rate in RATES], use_probabilities=False)
        for x, y in zip(instances, truths, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    def comparing(some: Any) -> None:
        compare(some, "y", models=[_regression(rate) for rate in RATES], rules={"PWM": PWM}, train_rows=100)

    def comparing_by_river() -> None:
        known = plain_logistic.plain
        plain_logistic.plain = lambda model: None
        try:
            comparing(table.slice(0, N_SLOTS_RIVER))
        finally:
            plain_logistic.plain = known

    return in_turn(
        {
            OURS: (ours, n_slots),
            COMPARE: (lambda: comparing(table), n_slots),
            COMPARE_RIVER: (comparing_by_river, N_SLOTS_RIVER),
            RIVER: (by_river, N_SLOTS_RIVER),
        },
        repeats,
    )


def _regression(rate: float) -> Any:
    return linear_model.LogisticRegression(optim.SGD(rate), intercept_lr=rate)


def moa(features: Any, labels: Any, repeats: int) -> list[float]:
    """Time MOA; seconds a slot."""
    data = np.column_stack((features, labels > 0)).astype("<f8").tobytes()
    lines = peers.in_java("Stream.java", data, [len(labels), N_FEATURES, repeats, *RATES])
    return [float(seconds) for seconds, _ in lines]
