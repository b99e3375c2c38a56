"""What the schemes share: members that are made anew from a prototype, and weighted votes for labels."""

from __future__ import annotations

import abc
import math
import random
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from river import base, linear_model

from quorate.errors import LocalError, ModelError

__all__ = ["ChunkScheme", "Member", "Scheme", "alpha_of", "at_least", "error_under", "raised"]

Instance = dict[Any, Any]

#: How many rows of one class wait for another.
WAITING_ROWS_MAX = 100


class Member:
    """A classifier of an ensemble, made fresh from a prototype of River's or scikit-learn's.

    A scikit-learn classifier gets the features of the rows it was fitted on (of its first row, where it learns one by
    one), in the order in which they appeared; one that an instance lacks is 0.

    Parameters
    ----------
    prototype
        A River classifier, or a scikit-learn classifier. It is cloned, never trained itself.

    Examples
    --------
    >>> from river import naive_bayes
    >>> member = Member(naive_bayes.GaussianNB())
    >>> member.learn_many([{"x": 1.0}, {"x": -1.0}], [True, False])
    >>> member.predict_one({"x": 2.0})
    True
    """

    def __init__(self, prototype: Any) -> None:
        self._is_river = hasattr(prototype, "predict_one")
        if self._is_river:
            self.model = prototype.clone()
        elif hasattr(prototype, "fit") and hasattr(prototype, "predict"):
            from sklearn.base import clone

            self.model = clone(prototype)
        else:
            raise ModelError(f"the member is {prototype!r}; give a River or scikit-learn classifier")
        self._features: list[Any] = []
        self._waiting: list[tuple[Instance, Hashable]] = []
        self._only: Hashable = None  # the label of rows that were all of one class, which most classifiers refuse

    def learn_many(self, xs: Sequence[Instance], ys: Sequence[Hashable]) -> None:
        """Learn some rows, in their order."""
        if self._is_river:
            for x, y in zip(xs, ys, strict=True):
                self.model.learn_one(x, y)
            return
        if len(set(ys)) == 1:
            self._only = ys[0]
            return
        self._only = None
        self._features = list(dict.fromkeys(feature for x in xs for feature in x))
        self.model.fit([self._row(x) for x in xs], list(ys))

    def learn_one(self, x: Instance, y: Hashable, labels: Sequence[Hashable]) -> None:
        """Learn one row; a scikit-learn member needs `partial_fit` for that, and all labels seen so far."""
        if self._is_river:
            self.model.learn_one(x, y)
            return
        if not hasattr(self.model, "partial_fit"):
            raise ModelError(f"{type(self.model).__name__} cannot learn one row at a time: it has no partial_fit")
        self._features = self._features or list(x)
        # scikit-learn wants all classes at its first call. So rows of the first class wait, up to a limit, for a
        # second; and a class that comes later still makes the member begin anew.
        known = getattr(self.model, "classes_", None)
        if known is not None and y not in list(known):
            from sklearn.base import clone

            self.model, known = clone(self.model), None
        if known is None:
            self._waiting = [*self._waiting, (x, y)][-WAITING_ROWS_MAX:]
            if len({label for _, label in self._waiting} | {*labels}) < 2:
                self._only = y
                return
            self._only = None
            rows, self._waiting = self._waiting, []
        else:
            rows = [(x, y)]
        matrix, answers = [self._row(row) for row, _ in rows], [label for _, label in rows]
        self.model.partial_fit(matrix, answers, classes=sorted({*labels, *answers}, key=str))

    def predict_one(self, x: Instance) -> Hashable:
        """The label of an instance; None where nothing was learned."""
        if self._is_river:
            answer: Hashable = self.model.predict_one(x)
            return answer
        if self._only is not None or not hasattr(self.model, "classes_"):
            return self._only
        said: Hashable = _plain(self.model.predict([self._row(x)])[0])
        return said

    def predict_proba_one(self, x: Instance) -> dict[Hashable, float]:
        """The probability of each label, all or nothing where the model has none."""
        if self._is_river:
            try:
                return dict(self.model.predict_proba_one(x))
            except NotImplementedError:  # how River says that a classifier has no probabilities
                return {self.predict_one(x): 1.0}
        if self._only is None and hasattr(self.model, "predict_proba") and hasattr(self.model, "classes_"):
            row = self.model.predict_proba([self._row(x)])[0].tolist()
            return dict(zip(map(_plain, self.model.classes_), row, strict=True))
        return {self.predict_one(x): 1.0}

    def errors(self, xs: Sequence[Instance], ys: Sequence[Hashable]) -> list[bool]:
        """Which rows it gets wrong."""
        if self._is_river or self._only is not None or not hasattr(self.model, "classes_"):
            return [self.predict_one(x) != y for x, y in zip(xs, ys, strict=True)]
        said = self.model.predict([self._row(x) for x in xs])
        return [_plain(answer) != y for answer, y in zip(said, ys, strict=True)]

    def _row(self, x: Instance) -> list[Any]:
        return [x.get(feature, 0.0) for feature in self._features]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


class Scheme(base.Classifier):
    """An ensemble that retrains its members, with River's face."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._labels: dict[Hashable, int] = {}  # those seen, and how often

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": linear_model.LogisticRegression()}

    @property
    def _multiclass(self) -> bool:
        return False

    @abc.abstractmethod
    def _ballots(self, x: Instance) -> list[tuple[Hashable, float]]:
        """The label and the weight of each member's vote."""

    @abc.abstractmethod
    def _learn(self, x: Instance, y: Hashable) -> None:
        """Learn from one labelled instance, which is the scheme's own."""

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from an instance and its label."""
        y = _plain(y)
        self._labels[y] = self._labels.get(y, 0) + 1
        self._learn(dict(x), y)

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """Give the share of the weight behind each label: a degree of agreement, not calibrated."""
        binary = set(self._labels) <= {False, True}
        shares: dict[Any, float] = dict.fromkeys((False, True) if binary else self._labels, 0.0)
        for label, weight in self._ballots(dict(x)):
            if label in shares:
                shares[label] += weight
        # A weight may be negative, against its label: what matters is who is above whom.
        least = min(shares.values(), default=0.0)
        shares = {label: share - min(least, 0.0) for label, share in shares.items()}
        total = sum(shares.values())
        if total <= 0:
            return {label: 1 / len(shares) for label in shares}
        return {label: share / total for label, share in shares.items()}

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """Predict the label of an instance; a tie is for True, as everywhere."""
        shares = self.predict_proba_one(x)
        return max(shares, key=lambda label: (round(shares[label], 12), label == 1)) if shares else None


class ChunkScheme(Scheme):
    """A scheme that waits for `window` labelled rows and then learns from them together.

    Parameters
    ----------
    model
        The prototype of the members.
    window
        How many rows make a chunk.
    n_members
        How many members there are at the most.
    seed
        Draws what is random.
    """

    def __init__(self, model: Any, window: int, n_members: int, seed: int) -> None:
        super().__init__(model)
        self.window = window
        self.n_members = n_members
        self.seed = seed
        at_least("window", window, 2)
        at_least("n_members", n_members, 1)
        self._rng = random.Random(seed)
        self._chunk: tuple[list[Instance], list[Hashable]] = ([], [])
        self._members: list[Member] = []
        self._weights: list[float] = []

    @property
    def members(self) -> list[Member]:
        """The members, oldest first."""
        return list(self._members)

    @property
    def weights(self) -> list[float]:
        """Their weights."""
        return list(self._weights)

    def _ballots(self, x: Instance) -> list[tuple[Hashable, float]]:
        return [(member.predict_one(x), weight) for member, weight in zip(self._members, self._weights, strict=True)]

    def _learn(self, x: Instance, y: Hashable) -> None:
        xs, ys = self._chunk
        xs.append(x)
        ys.append(y)
        if len(xs) == self.window:
            self._chunk = ([], [])
            self._learn_chunk(xs, ys)

    @abc.abstractmethod
    def _learn_chunk(self, xs: list[Instance], ys: list[Hashable]) -> None:
        """Learn from a whole chunk."""

    def _trained(self, xs: Sequence[Instance], ys: Sequence[Hashable]) -> Member:
        member = Member(self.model)
        member.learn_many(xs, ys)
        return member


def raised(chances: list[float], wrong: list[bool], alpha: float) -> list[float]:
    """AdaBoost's distribution after a classifier of weight alpha: higher on the rows it got wrong.

    >>> [round(chance, 3) for chance in raised([0.25] * 4, [True, False, False, False], alpha_of(0.25, 10**9))]
    [0.5, 0.167, 0.167, 0.167]
    """
    scaled = [chance * math.exp(alpha if bad else -alpha) for chance, bad in zip(chances, wrong, strict=True)]
    total = sum(scaled)
    return [chance / total for chance in scaled]


def error_under(chances: list[float], wrong: list[bool]) -> float:
    """The error under a distribution."""
    return sum(chance for chance, bad in zip(chances, wrong, strict=True) if bad)


def alpha_of(error: float, n_rows: int) -> float:
    """AdaBoost's weight of a classifier with a weighted error, finite also where that is 0 or 1.

    >>> round(alpha_of(0.25, n_rows=100), 3)
    0.543
    """
    smooth = 1 / (2 * n_rows)
    return math.log((1 - error + smooth) / (error + smooth)) / 2


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a parameter that is too small."""
    if not value >= least:
        raise LocalError(f"{name} is {value!r}; it must be at least {least}")
