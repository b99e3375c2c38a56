"""PWM's compiled run against River's own perceptron, over the same votes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from river import linear_model

from benchmarks.measure import Timing, in_turn
from benchmarks.part import Options, Part, right
from quorate.rules import PWM, ExtendedPWM

__all__ = ["N_LEARNERS", "measure", "run"]

PEER = "river linear_model.Perceptron"

N_LEARNERS = 16
N_SLOTS = 1_000_000
N_SLOTS_PEER = 10_000


def votes_and_labels(n_slots: int, seed: int = 0, mistakes: float = 0.3) -> tuple[Any, Any]:
    """Draw votes that are each wrong with the same probability."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array([-1, 1], np.int8), n_slots)
    wrong = rng.random((n_slots, N_LEARNERS)) < mistakes
    return np.where(wrong, -labels[:, None], labels[:, None]), labels


def measure(repeats: int) -> dict[str, Timing]:
    """Time the prequential run: predict, then learn, slot after slot."""
    votes, labels = votes_and_labels(N_SLOTS)
    names = [f"learner-{place}" for place in range(N_LEARNERS)]
    rows: list[dict[Hashable, int]] = [dict(zip(names, row, strict=True)) for row in votes[:N_SLOTS_PEER].tolist()]
    truths = (labels[:N_SLOTS_PEER] > 0).tolist()

    def river_perceptron() -> None:
        model = linear_model.Perceptron()
        for x, y in zip(rows, truths, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    def loop() -> None:
        rule = PWM(N_LEARNERS)
        for row, label in zip(votes[:N_SLOTS_PEER].tolist(), labels[:N_SLOTS_PEER].tolist(), strict=True):
            rule.predict(row)
            rule.update(row, label)

    return in_turn(
        {
            "quorate PWM.run": (lambda: PWM(N_LEARNERS).run(votes, labels), N_SLOTS),
            "quorate ExtendedPWM.run": (lambda: ExtendedPWM(N_LEARNERS).run(votes, labels), N_SLOTS),
            "quorate PWM, one slot at a time": (loop, N_SLOTS_PEER),
            "river linear_model.Perceptron": (river_perceptron, N_SLOTS_PEER),
        },
        repeats,
    )


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    timings = measure(options.repeats)
    table = right(Table("program", "ns a slot", "spread", f"times as fast as {PEER}", title=f"K = {N_LEARNERS}"))
    for name, timing in timings.items():
        ratio = timings[PEER].median / timing.median
        spread = f"{timing.best * 1e9:,.1f} to {timing.worst * 1e9:,.1f}"
        table.add_row(name, f"{timing.median * 1e9:,.1f}", spread, f"{ratio:,.1f}")
    console.print(table)
    return Part({"seconds_a_slot": {name: timing._asdict() for name, timing in timings.items()}})
