"""Kolter and Maloof's dynamic weighted majority."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from quorate.errors import LocalError
from quorate.schemes.base import Instance, Member, at_least
from quorate.schemes.experts import ExpertScheme

__all__ = ["DWM"]


class DWM(ExpertScheme):
    """Every `period` instances wrong experts are cut, weak ones removed, and a mistake of the ensemble adds one.

    For each labelled instance, if its number is a multiple of the period: w_i <- beta * w_i for each expert that was
    wrong; the weights are divided by the largest; experts below theta are removed; if the ensemble, with its new
    weights, was wrong, a new expert of weight 1 comes. Always: all learn the instance.

    Parameters
    ----------
    model
        The prototype of the experts; it must learn one instance at a time.
    period
        How many instances lie between changes of the ensemble.
    beta
        What the weight of a wrong expert is multiplied by.
    theta
        Below which weight an expert is removed.
    n_experts_max
        How many experts there are at the most; the weakest goes first. The source has no such limit.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import DWM
    >>> evaluate.progressive_val_score(datasets.Phishing(), DWM(naive_bayes.GaussianNB()), metrics.Accuracy())
    Accuracy: 87.36%

    References
    ----------
    [^1]: Kolter, Maloof, "Dynamic Weighted Majority: An Ensemble Method for Drifting Concepts", Journal of Machine
    Learning Research 8 (2007). As its pseudo-code has it, the ensemble's own answer, which decides on a new expert, is
    that of the weights after the cut and before the division.
    """

    def __init__(
        self, model: Any, period: int = 50, beta: float = 0.5, theta: float = 0.01, n_experts_max: int = 100
    ) -> None:
        super().__init__(model, n_experts_max)
        self.period = period
        self.beta = beta
        self.theta = theta
        at_least("period", period, 1)
        if not 0 < beta < 1 or not 0 <= theta < 1:
            raise LocalError(f"beta is {beta!r} and theta {theta!r}; both must be between 0 and 1")
        self._seen = 0
        self._removed = 0

    @property
    def removed(self) -> int:
        """How many experts were removed so far."""
        return self._removed

    def _learn(self, x: Instance, y: Hashable) -> None:
        self._seen += 1
        if self._seen % self.period == 0:
            self._change(x, y)
        self._train(x, y)

    def _change(self, x: Instance, y: Hashable) -> None:
        said = [expert.predict_one(x) for expert in self._experts]
        self._weights = [
            weight * (1.0 if answer == y else self.beta) for answer, weight in zip(said, self._weights, strict=True)
        ]
        sums: dict[Hashable, float] = defaultdict(float)
        for answer, weight in zip(said, self._weights, strict=True):
            sums[answer] += weight
        together = max(sums, key=lambda label: (sums[label], label == 1))
        largest = max(self._weights)
        self._weights = [weight / largest for weight in self._weights]
        for place in reversed(range(len(self._weights))):
            if self._weights[place] < self.theta:
                self._remove(place)
                self._removed += 1
        if together != y:
            if len(self._experts) == self.n_experts_max:
                self._remove(min(range(len(self._weights)), key=self._weights.__getitem__))
                self._removed += 1
            self._experts.append(Member(self.model))
            self._weights.append(1.0)
