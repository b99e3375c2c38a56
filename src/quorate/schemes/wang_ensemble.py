"""Wang and others' accuracy-weighted ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from quorate.schemes.base import ChunkScheme, Instance, Member, at_least

__all__ = ["WangEnsemble"]


class WangEnsemble(ChunkScheme):
    r"""One new member a chunk, and weights by how far each member beats guessing on the newest chunk.

    .. math:: w_i = \mathrm{MSE}_r - \mathrm{MSE}_i, \quad
              \mathrm{MSE}_i = \frac1W \sum_n (1 - p_i(y_n | x_n))^2, \quad
              \mathrm{MSE}_r = \sum_c p(c) (1 - p(c))^2

    The newest member was trained on that chunk, so its error is found by cross-validation. Members whose weight is not
    above 0 are silent; the best `n_members` are kept. A label gets the weighted sum of the members' probabilities.

    Parameters
    ----------
    model
        The prototype of the members: any River or scikit-learn classifier.
    window
        How many rows make a chunk.
    n_members
        How many members there are at the most.
    n_folds
        In how many folds the newest member is validated.
    seed
        Nothing is random here; it is there so that all chunk schemes are made alike.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import WangEnsemble
    >>> evaluate.progressive_val_score(datasets.Phishing(), WangEnsemble(naive_bayes.GaussianNB()), metrics.Accuracy())
    Accuracy: 85.92%

    References
    ----------
    [^1]: Wang, Fan, Yu, Han, "Mining Concept-Drifting Data Streams Using Ensemble Classifiers", KDD 2003. The source
    does not say what happens when nobody beats guessing, as on a chunk of one class: then the newest member is alone.
    """

    def __init__(self, model: Any, window: int = 100, n_members: int = 8, n_folds: int = 10, seed: int = 0) -> None:
        super().__init__(model, window, n_members, seed)
        self.n_folds = n_folds
        at_least("n_folds", n_folds, 2)

    def _learn_chunk(self, xs: list[Instance], ys: list[Hashable]) -> None:
        guess = sum(count / len(ys) * (1 - count / len(ys)) ** 2 for count in Counter(ys).values())
        weighed = [(guess - _mse(member, xs, ys), member) for member in self._members]
        weighed.append((guess - self._validated(xs, ys), self._trained(xs, ys)))
        best = sorted(range(len(weighed)), key=lambda place: -weighed[place][0])[: self.n_members]
        if all(weight <= 0 for weight, _ in weighed):  # a chunk of one class, for instance: nobody beats guessing
            self._members, self._weights = [weighed[-1][1]], [1.0]
            return
        self._members = [weighed[place][1] for place in sorted(best)]
        self._weights = [max(0.0, weighed[place][0]) for place in sorted(best)]

    def _ballots(self, x: Instance) -> list[tuple[Hashable, float]]:
        return [
            (label, weight * chance)
            for member, weight in zip(self._members, self._weights, strict=True)
            for label, chance in member.predict_proba_one(x).items()
        ]

    def _validated(self, xs: list[Instance], ys: list[Hashable]) -> float:
        folds = min(self.n_folds, len(xs))
        total = 0.0
        for fold in range(folds):
            held = range(fold, len(xs), folds)
            rest = [row for row in range(len(xs)) if row % folds != fold]
            member = self._trained([xs[row] for row in rest], [ys[row] for row in rest])
            total += _mse(member, [xs[row] for row in held], [ys[row] for row in held]) * len(held)
        return total / len(xs)


def _mse(member: Member, xs: Sequence[Instance], ys: Sequence[Hashable]) -> float:
    missed = [1 - member.predict_proba_one(x).get(y, 0.0) for x, y in zip(xs, ys, strict=True)]
    return sum(miss * miss for miss in missed) / len(missed)
