"""Members for River's ensembles that take no time of their own, so that only the ensemble is timed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

__all__ = ["GivenClassifier", "GivenRegressor", "Work"]


class GivenClassifier(base.Classifier):
    """A classifier whose vote is in the instance."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """There is nothing to learn."""

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Give the vote."""
        return x[self.name]

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Give the vote, for certain."""
        return {True: 1.0, False: 0.0} if x[self.name] else {True: 0.0, False: 1.0}


class GivenRegressor(base.Regressor):
    """A regressor whose vote is in the instance."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """There is nothing to learn."""

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Give the vote."""
        return 1.0 if x[self.name] else -1.0


class Work:
    """Votes and labels as Quorate and as River take them.

    Parameters
    ----------
    n_learners, n_slots
        How many.
    mistakes
        How likely each vote is wrong.
    """

    def __init__(self, n_learners: int, n_slots: int, mistakes: float = 0.05) -> None:
        rng = np.random.default_rng(0)
        signs = rng.choice(np.array([-1, 1], np.int8), n_slots)
        votes = np.where(rng.random((n_slots, n_learners)) < mistakes, -signs[:, None], signs[:, None])
        self.names = [f"learner-{place}" for place in range(n_learners)]
        self.votes: list[list[int]] = votes.tolist()
        self.labels: list[int] = signs.tolist()
        self.instances: list[dict[Hashable, Any]] = [
            dict(zip(self.names, row, strict=True)) for row in (votes > 0).tolist()
        ]
        self.truths: list[bool] = (signs > 0).tolist()
