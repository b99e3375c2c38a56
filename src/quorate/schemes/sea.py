"""Street and Kim's streaming ensemble algorithm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from quorate.schemes.base import ChunkScheme, Instance, Member

__all__ = ["SEA"]


class SEA(ChunkScheme):
    """Plain votes; a candidate a chunk replaces the worst member if it is better for the ensemble.

    The candidate trained on the chunk before is judged on the new one, beside the members. Its quality grows with
    each row it gets right, the more the closer the ensemble's vote was, and falls with each it gets wrong:

        right, and so is the ensemble     + 1 - |P1 - P2|
        right, where the ensemble errs    + 1 - |P1 - PC|
        wrong                             - (1 - |PC - PT|)

    P1 and P2 are the two largest shares of the vote, PC that of the right label, PT that of the member's own.

    Parameters
    ----------
    model
        The prototype of the members: any River or scikit-learn classifier.
    window
        How many rows make a chunk.
    n_members
        How many members there are at the most.
    seed
        Nothing is random here; it is there so that all chunk schemes are made alike.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import SEA
    >>> evaluate.progressive_val_score(datasets.Phishing(), SEA(naive_bayes.GaussianNB()), metrics.Accuracy())
    Accuracy: 70.64%

    References
    ----------
    [^1]: Street, Kim, "A Streaming Ensemble Algorithm (SEA) for Large-Scale Classification", KDD 2001. The source keeps
    25 members and reads 500 rows a chunk.
    """

    def __init__(self, model: Any, window: int = 500, n_members: int = 25, seed: int = 0) -> None:
        super().__init__(model, window, n_members, seed)
        self._candidate: Member | None = None
        self._replaced = 0

    @property
    def replaced(self) -> int:
        """How many members a better candidate has replaced."""
        return self._replaced

    def _learn_chunk(self, xs: list[Instance], ys: list[Hashable]) -> None:
        candidate = self._trained(xs, ys)  # first: what cannot be learned must change nothing
        if self._candidate is not None:
            if len(self._members) < self.n_members:
                self._members.append(self._candidate)
            else:
                qualities = self._qualities([*self._members, self._candidate], xs, ys)
                worst = min(range(len(self._members)), key=qualities.__getitem__)
                if qualities[-1] > qualities[worst]:
                    self._members[worst] = self._candidate
                    self._replaced += 1
            self._weights = [1.0] * len(self._members)
        self._candidate = candidate
        if not self._members:  # the first chunk: better one member than none
            self._members, self._weights = [self._candidate], [1.0]
            self._candidate = None

    def _qualities(self, judged: list[Member], xs: list[Instance], ys: list[Hashable]) -> list[float]:
        qualities = [0.0] * len(judged)
        for x, y in zip(xs, ys, strict=True):
            said = [member.predict_one(x) for member in judged]
            votes = Counter(said[: len(self._members)])
            shares = {label: count / len(self._members) for label, count in votes.items()}
            ranked = sorted(shares.values(), reverse=True)
            first, second = ranked[0], ranked[1] if len(ranked) > 1 else 0.0
            right = shares.get(y, 0.0)
            together = self.predict_one(x)
            for place, answer in enumerate(said):
                if answer != y:
                    qualities[place] -= 1 - abs(right - shares.get(answer, 0.0))
                elif together == y:
                    qualities[place] += 1 - abs(first - second)
                else:
                    qualities[place] += 1 - abs(first - right)
        return qualities
