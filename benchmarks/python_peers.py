"""River's and scikit-learn's perceptrons over votes, prequentially: predict, then learn, slot after slot."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from river import linear_model
from sklearn.linear_model import Perceptron

__all__ = ["RIVER", "SKLEARN", "SKLEARN_WHOLE", "programs"]

RIVER = "River Perceptron"
SKLEARN = "scikit-learn Perceptron"
#: What scikit-learn is made for: it learns the whole matrix in one call, and predicts nothing.
SKLEARN_WHOLE = "scikit-learn, learning only"

N_VOTES_RIVER, N_SLOTS_RIVER = 2**16, 2_000
N_SLOTS_SKLEARN = 100
N_VOTES_WHOLE = 2**20


def programs(votes: Any, labels: Any) -> dict[str, tuple[Callable[[], object], int]]:
    """What to time, and how many slots each works through; what they want to be given is made beforehand."""
    n_learners = votes.shape[1]
    n_river = min(N_SLOTS_RIVER, N_VOTES_RIVER // n_learners, len(votes))
    names = [f"learner-{place}" for place in range(n_learners)]
    rows: list[dict[Hashable, int]] = [dict(zip(names, row, strict=True)) for row in votes[:n_river].tolist()]
    truths = (labels[:n_river] > 0).tolist()
    n_whole = min(N_VOTES_WHOLE // n_learners, len(votes))
    matrix, classes = votes[:n_whole].astype(np.float64), np.array([-1, 1])

    def river() -> None:
        model = linear_model.Perceptron()
        for x, y in zip(rows, truths, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    def one_by_one() -> None:
        model = Perceptron()
        model.partial_fit(matrix[:1], labels[:1], classes=classes)  # it cannot predict before it has learned
        for slot in range(N_SLOTS_SKLEARN):
            model.predict(matrix[slot : slot + 1])
            model.partial_fit(matrix[slot : slot + 1], labels[slot : slot + 1])

    return {
        RIVER: (river, n_river),
        SKLEARN: (one_by_one, N_SLOTS_SKLEARN),
        SKLEARN_WHOLE: (
            lambda: Perceptron(shuffle=False).partial_fit(matrix, labels[:n_whole], classes=classes),
            n_whole,
        ),
    }
