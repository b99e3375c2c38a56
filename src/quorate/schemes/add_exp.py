"""Kolter and Maloof's additive expert ensemble, discrete form."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

from quorate.errors import LocalError
from quorate.schemes.base import Instance, Member
from quorate.schemes.experts import ExpertScheme

__all__ = ["AddExp"]


class AddExp(ExpertScheme):
    """Wrong experts are multiplied by beta; a mistake of the ensemble adds an expert of gamma times the total weight.

    For each labelled instance: w_i <- beta * w_i for each expert that was wrong; if the ensemble was wrong, a new
    expert of weight gamma * sum(w) comes, and when there are too many, the oldest or the weakest goes first; all learn
    the instance.

    Parameters
    ----------
    model
        The prototype of the experts; it must learn one instance at a time.
    beta
        What the weight of a wrong expert is multiplied by.
    gamma
        The part of the total weight a new expert gets.
    prune
        Which expert goes: the `oldest`, for which the source proves its bound, or the `weakest`, which does better.
    n_experts_max
        How many experts there are at the most.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import AddExp
    >>> evaluate.progressive_val_score(datasets.Phishing(), AddExp(naive_bayes.GaussianNB()), metrics.Accuracy())
    Accuracy: 88.00%

    References
    ----------
    [^1]: Kolter, Maloof, "Using Additive Expert Ensembles to Cope with Concept Drift", ICML 2005 (AddExp.D).
    """

    def __init__(
        self,
        model: Any,
        beta: float = 0.5,
        gamma: float = 0.1,
        prune: Literal["oldest", "weakest"] = "weakest",
        n_experts_max: int = 10,
    ) -> None:
        super().__init__(model, n_experts_max)
        self.beta = beta
        self.gamma = gamma
        self.prune = prune
        if not 0 < beta < 1 or not 0 < gamma < 1:
            raise LocalError(f"beta is {beta!r} and gamma {gamma!r}; both must be between 0 and 1")
        if prune not in ("oldest", "weakest"):
            raise LocalError(f"prune is {prune!r}; it is 'oldest' or 'weakest'")

    def _learn(self, x: Instance, y: Hashable) -> None:
        erred = self.predict_one(x) != y
        total = sum(self._weights)  # before the cut, as in the source
        self._weights = [
            weight * (1.0 if expert.predict_one(x) == y else self.beta)
            for expert, weight in zip(self._experts, self._weights, strict=True)
        ]
        if erred:
            if len(self._experts) == self.n_experts_max:
                weakest = min(range(len(self._weights)), key=self._weights.__getitem__)
                self._remove(0 if self.prune == "oldest" else weakest)
            self._experts.append(Member(self.model))
            self._weights.append(self.gamma * total)
        self._keep_in_range()
        self._train(x, y)
