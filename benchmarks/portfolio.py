"""The portfolio's compiled run against River's VotingClassifier with members that take constant time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from river import base, ensemble

from benchmarks.kernel import N_LEARNERS, N_SLOTS_PEER, votes_and_labels
from benchmarks.measure import Timing, in_turn
from quorate.rules import Portfolio

__all__ = ["PEER", "measure"]

PEER = "river ensemble.VotingClassifier"
N_SLOTS = 200_000


class Given(base.Classifier):
    """A member whose vote is in the instance: it takes no time of its own."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """There is nothing to learn."""

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Give the vote."""
        return x[self.name]


def measure(repeats: int) -> dict[str, Timing]:
    """Time both prequentially: predict, then learn, slot after slot."""
    votes, labels = votes_and_labels(N_SLOTS)
    names = [f"learner-{place}" for place in range(N_LEARNERS)]
    rows: list[dict[Hashable, Any]] = [
        dict(zip(names, row, strict=True)) for row in (votes[:N_SLOTS_PEER] > 0).tolist()
    ]
    truths = (labels[:N_SLOTS_PEER] > 0).tolist()

    def river_voting() -> None:
        model = ensemble.VotingClassifier([Given(name) for name in names], use_probabilities=False)
        for x, y in zip(rows, truths, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    return in_turn(
        {
            "quorate Portfolio.run": (lambda: Portfolio(N_LEARNERS).run(votes, labels), N_SLOTS),
            PEER: (river_voting, N_SLOTS_PEER),
        },
        repeats,
    )


if __name__ == "__main__":
    timings = measure(repeats=7)
    for name, timing in timings.items():
        print(
            f"{name:<34} {timing.median * 1e9:10,.0f} ns a slot, {timing.best * 1e9:,.0f} to {timing.worst * 1e9:,.0f}"
        )
    print(f"{timings[PEER].median / timings['quorate Portfolio.run'].median:.0f} times as fast")
