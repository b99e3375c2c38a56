"""Fan, Stolfo and Zhang's on-line AdaBoost: the paper's OnAda."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from quorate.schemes.base import ChunkScheme, Instance, Member, alpha_of, error_under, raised

__all__ = ["FanBoosting"]


class FanBoosting(ChunkScheme):
    r"""AdaBoost over the members, run again on every chunk, with one new member a chunk.

    On a chunk of W rows, with the distribution D over them, first uniform: for each member, oldest first, and then for
    a new one trained on W rows drawn by D,

    .. math:: \varepsilon = \sum_n D(n) [h(x_n) \neq y_n], \quad
              \alpha = \tfrac12 \ln \frac{1-\varepsilon}{\varepsilon}, \quad
              D(n) \leftarrow D(n) e^{\pm\alpha} / Z

    (+ where it was wrong). The oldest member goes when there are too many. A label gets the sum of the weights of those
    that say it.

    Parameters
    ----------
    model
        The prototype of the members: any River or scikit-learn classifier.
    window
        How many rows make a chunk.
    n_members
        How many members there are at the most.
    seed
        Draws the rows a new member is trained on.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import FanBoosting
    >>> model = FanBoosting(naive_bayes.GaussianNB())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 84.00%

    References
    ----------
    [^1]: Fan, Stolfo, Zhang, "The Application of AdaBoost for Distributed, Scalable and On-line Learning", KDD 1999.
    The source leaves open whether a new member is trained on drawn or on weighted rows; they are drawn, since not every
    classifier takes weights.
    """

    def __init__(self, model: Any, window: int = 100, n_members: int = 8, seed: int = 0) -> None:
        super().__init__(model, window, n_members, seed)

    def _learn_chunk(self, xs: list[Instance], ys: list[Hashable]) -> None:
        chances = [1 / len(xs)] * len(xs)
        weights: list[float] = []

        def weigh(member: Member) -> None:
            nonlocal chances
            wrong = member.errors(xs, ys)
            weights.append(alpha_of(error_under(chances, wrong), len(xs)))
            chances = raised(chances, wrong, weights[-1])

        for member in self._members:
            weigh(member)
        drawn = self._rng.choices(range(len(xs)), chances, k=len(xs))
        newcomer = self._trained([xs[row] for row in drawn], [ys[row] for row in drawn])
        weigh(newcomer)
        self._members = [*self._members, newcomer][-self.n_members :]
        self._weights = weights[-self.n_members :]
