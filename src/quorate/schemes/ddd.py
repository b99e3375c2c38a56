"""Minku and Yao's diversity for dealing with drifts."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any

from river import drift, linear_model

from quorate.errors import LocalError
from quorate.schemes.base import Instance, Member, Scheme, at_least

__all__ = ["DDD"]


class _Bag:
    """Online bagging: each member learns each instance k times, k drawn from a Poisson distribution."""

    def __init__(self, model: Any, n_members: int, rng: random.Random) -> None:
        self.members = [Member(model) for _ in range(n_members)]
        self.rng = rng
        self.right = 0
        self.seen = 0

    def learn(self, x: Instance, y: Hashable, rate: float, labels: list[Hashable]) -> None:
        for member in self.members:
            for _ in range(self._poisson(rate)):
                member.learn_one(x, y, labels)

    def _poisson(self, rate: float) -> int:
        count, product, limit = 0, self.rng.random(), math.exp(-rate)
        while product > limit:
            count += 1
            product *= self.rng.random()
        return count

    def predict(self, x: Instance) -> Hashable:
        votes = Counter(answer for member in self.members if (answer := member.predict_one(x)) is not None)
        return max(votes, key=lambda label: (votes[label], label == 1)) if votes else None

    def score(self, x: Instance, y: Hashable) -> bool:
        right = self.predict(x) == y
        self.right += right
        self.seen += 1
        return right

    @property
    def accuracy(self) -> float:
        return self.right / self.seen if self.seen else 0.0

    @property
    def deviation(self) -> float:
        return math.sqrt(self.accuracy * (1 - self.accuracy) / self.seen) if self.seen else 0.0

    def forget_score(self) -> None:
        self.right = self.seen = 0


class DDD(Scheme):
    r"""Two online ensembles of low and of high diversity; after a drift the old ones help until the new have learned.

    Before a drift the low-diversity ensemble (online bagging with Poisson(:math:`\lambda_l`)) answers, and one of high
    diversity (:math:`\lambda_h`) learns little beside it. When the detector reports a drift, both become old ones, two
    new ones start, and the new low, the old low and the old high answer together, weighed by their accuracy since then.
    The old ones now learn with :math:`\lambda_l`, so that the high-diversity one, which was least committed to the old
    concept, can take to the new one. The time after a drift ends when the new low ensemble is the best of the three, or
    the old high one is so by more than their deviations: then that takes over.

    Parameters
    ----------
    model
        The prototype of the members; it must learn one instance at a time.
    lambda_low, lambda_high
        The rates of the two kinds of ensembles: the lower the rate, the higher the diversity.
    n_members
        How many members each ensemble has.
    multiplier
        W, what the weight of the old low-diversity ensemble is multiplied by.
    detector
        A binary drift detector of River's that is told of each mistake. Default: EDDM, as in the source.
    seed
        Draws how often each member learns an instance.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import DDD
    >>> model = DDD(naive_bayes.GaussianNB(), n_members=5)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.00%

    References
    ----------
    [^1]: Minku, Yao, "DDD: A New Ensemble Approach for Dealing with Concept Drift", IEEE Transactions on Knowledge and
    Data Engineering 24 (2012), Algorithm 1.
    """

    def __init__(
        self,
        model: Any,
        lambda_low: float = 1.0,
        lambda_high: float = 0.1,
        n_members: int = 25,
        multiplier: float = 1.0,
        detector: Any = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model)
        self.lambda_low = lambda_low
        self.lambda_high = lambda_high
        self.n_members = n_members
        self.multiplier = multiplier
        self.detector = detector
        self.seed = seed
        at_least("n_members", n_members, 1)
        if not (0 < lambda_high <= lambda_low <= 100) or multiplier <= 0:
            raise LocalError(
                f"lambda_low is {lambda_low!r}, lambda_high {lambda_high!r} and multiplier {multiplier!r}; "
                "they must be above 0, lambda_high at most lambda_low, and that at most 100"
            )
        self._rng = random.Random(seed)
        self._new_low, self._new_high = self._bag(), self._bag()
        self._old_low: _Bag | None = None
        self._old_high: _Bag | None = None
        self._detector = drift.binary.EDDM() if detector is None else detector.clone()
        self._drifts = 0
        self._takeovers = 0

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": linear_model.LogisticRegression(), "n_members": 3}

    def _bag(self) -> _Bag:
        return _Bag(self.model, self.n_members, self._rng)

    @property
    def drifts(self) -> int:
        """How many drifts were detected."""
        return self._drifts

    @property
    def takeovers(self) -> int:
        """How often the old high-diversity ensemble took over."""
        return self._takeovers

    @property
    def is_after_drift(self) -> bool:
        """Whether old ensembles are answering too."""
        return self._old_low is not None

    def _ballots(self, x: Instance) -> list[tuple[Hashable, float]]:
        if self._old_low is None or self._old_high is None:
            return [(self._new_low.predict(x), 1.0)]
        trio = [(self._new_low, 1.0), (self._old_low, self.multiplier), (self._old_high, 1.0)]
        return [(bag.predict(x), bag.accuracy * factor) for bag, factor in trio]

    def _learn(self, x: Instance, y: Hashable) -> None:
        right = self._new_low.score(x, y)
        self._new_high.score(x, y)
        for bag in (self._old_low, self._old_high):
            if bag is not None:
                bag.score(x, y)
        self._detector.update(not right)
        if self._detector.drift_detected:
            self._begin_anew()
        if self._old_low is not None and self._old_high is not None:
            self._settle(self._old_low, self._old_high)
        labels = list(self._labels)
        self._new_low.learn(x, y, self.lambda_low, labels)
        self._new_high.learn(x, y, self.lambda_high, labels)
        for bag in (self._old_low, self._old_high):
            if bag is not None:
                bag.learn(x, y, self.lambda_low, labels)

    def _begin_anew(self) -> None:
        self._drifts += 1
        old_high = self._old_high
        better = old_high is None or self._new_low.accuracy > old_high.accuracy
        self._old_low = self._new_low if better or old_high is None else old_high
        self._old_high = self._new_high
        self._new_low, self._new_high = self._bag(), self._bag()
        self._old_low.forget_score()
        self._old_high.forget_score()

    def _settle(self, old_low: _Bag, old_high: _Bag) -> None:
        """End the time after a drift where one ensemble has become the best."""
        new, floor = self._new_low, old_high.accuracy - old_high.deviation
        if new.accuracy > old_high.accuracy and new.accuracy > old_low.accuracy:
            self._old_low = self._old_high = None
        elif floor > new.accuracy + new.deviation and floor > old_low.accuracy + old_low.deviation:
            self._new_low = old_high
            self._old_low = self._old_high = None
            self._takeovers += 1
