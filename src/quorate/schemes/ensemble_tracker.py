"""Avidan's ensemble tracking: an on-line ensemble of weak classifiers, stated for feature vectors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from quorate.schemes.base import ChunkScheme, Instance, Member, alpha_of, at_least, error_under, raised

__all__ = ["EnsembleTracker"]


class EnsembleTracker(ChunkScheme):
    """On each chunk the best weak classifiers are picked by boosting, the others replaced by new ones.

    With the distribution D over the chunk's rows, first uniform: `n_kept` times the member with the least error under D
    is picked, weighed ln((1 - e) / e) / 2, and D raised on the rows it got wrong. Members that were not picked are
    removed; new ones are trained on rows drawn by D, and weighed in the same way, until there are `n_members` again.

    Parameters
    ----------
    model
        The prototype of the members: any River or scikit-learn classifier, weak ones as in the source.
    window
        How many rows make a chunk: the pixels of a frame, in the source.
    n_members
        How many members there are.
    n_kept
        How many old members are picked at the most.
    seed
        Draws the rows new members are trained on.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import EnsembleTracker
    >>> model = EnsembleTracker(naive_bayes.GaussianNB())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.80%

    References
    ----------
    [^1]: Avidan, "Ensemble Tracking", IEEE Transactions on Pattern Analysis and Machine Intelligence 29 (2007). The
    source keeps 4 of 5 members, and removes a member that is no better than chance; both are done here.
    """

    def __init__(self, model: Any, window: int = 100, n_members: int = 5, n_kept: int = 4, seed: int = 0) -> None:
        super().__init__(model, window, n_members, seed)
        self.n_kept = n_kept
        at_least("n_kept", n_kept, 0)
        at_least("n_members - n_kept", n_members - n_kept, 1)
        self._removed = 0

    @property
    def removed(self) -> int:
        """How many members were removed so far."""
        return self._removed

    def _learn_chunk(self, xs: list[Instance], ys: list[Hashable]) -> None:
        chances = [1 / len(xs)] * len(xs)
        old = [(member, member.errors(xs, ys)) for member in self._members]
        members: list[Member] = []
        weights: list[float] = []

        def add(member: Member, wrong: list[bool]) -> None:
            nonlocal chances
            members.append(member)
            weights.append(alpha_of(error_under(chances, wrong), len(wrong)))
            chances = raised(chances, wrong, weights[-1])

        while old and len(members) < self.n_kept:
            errors = [error_under(chances, wrong) for _, wrong in old]
            place = min(range(len(old)), key=errors.__getitem__)
            if errors[place] >= 0.5:
                break
            add(*old.pop(place))
        while len(members) < self.n_members:
            drawn = self._rng.choices(range(len(xs)), chances, k=len(xs))
            newcomer = self._trained([xs[row] for row in drawn], [ys[row] for row in drawn])
            add(newcomer, newcomer.errors(xs, ys))
        self._members, self._weights = members, weights
        self._removed += len(old)
