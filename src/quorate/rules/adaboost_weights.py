"""AdaBoost's weights for given learners, fitted once and then never changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from quorate.errors import SnapshotError
from quorate.rules.base import BaseRule, read_state
from quorate.rules.inputs import as_labels, as_matrix
from quorate.rules.powers import NOTHING
from quorate.rules.shares import share_of

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["AdaBoostWeights"]


class AdaBoostWeights(BaseRule):
    r"""Fixed weights, fitted offline on a block of votes and labels.

    One round a learner, in the order given: with the distribution D over the block's slots, first uniform,

    .. math:: \alpha_j = \tfrac12 \ln \frac{W_+ + 1/2N}{W_- + 1/2N}, \qquad
              D(n) \leftarrow D(n) e^{-\alpha_j y^{(n)} s_j^{(n)}} / Z

    where :math:`W_\pm` is the weight under D of the slots where learner j was right or wrong. Then
    :math:`\hat y = \operatorname{sgn}(\sum_j \alpha_j s_j)`, and no label changes anything. Before `fit` every vote
    counts one.

    Parameters
    ----------
    n_learners
        How many learners vote.

    Examples
    --------
    >>> rule = AdaBoostWeights(2).fit([[1, 1], [-1, 1], [1, -1], [-1, -1]], [1, -1, 1, 1])
    >>> [round(weight, 3) for weight in rule.weights]
    [0.0, 0.424, -0.549]
    >>> rule.update([1, 1], -1)
    False

    References
    ----------
    [^1]: Freund, Schapire, "A Decision-Theoretic Generalization of On-Line Learning and an Application to Boosting",
    Journal of Computer and System Sciences 55 (1997). The source makes a new hypothesis in each round; here they are
    given, so each has one round. The 1/2N keeps a learner that is never wrong from an infinite weight, and an
    abstention counts as neither right nor wrong (both after Schapire and Singer, 1999).
    """

    def __init__(self, n_learners: int) -> None:
        super().__init__(n_learners)
        self._alphas = [1.0] * self.n_learners

    @property
    def weights(self) -> list[float]:
        """The weights, a bias of 0 first."""
        return [0.0, *self._alphas]

    def fit(self, votes: ArrayLike, labels: ArrayLike) -> Self:
        """Fit the weights on a block of votes and labels, anew."""
        import numpy as np

        matrix = as_matrix(votes, self.n_learners)
        right = matrix * as_labels(labels, len(matrix))[:, None]  # +1 right, -1 wrong, 0 absent
        if not len(right):
            return self
        chances = np.full(len(right), 1 / len(right))
        smooth = 1 / (2 * len(right))
        for place in range(self.n_learners):
            good, bad = float(chances[right[:, place] > 0].sum()), float(chances[right[:, place] < 0].sum())
            self._alphas[place] = math.log((good + smooth) / (bad + smooth)) / 2
            chances *= np.exp(-self._alphas[place] * right[:, place])
            chances /= chances.sum()
        return self

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the weight that stands behind +1, from 0 to 1; 1/2 where nobody has any."""
        return share_of(self.weights, votes)

    def _predict(self, votes: tuple[int, ...]) -> int:
        total = bound = 0.0
        for weight, vote in zip(self._alphas, votes, strict=True):
            total += weight * vote
            bound += abs(weight * vote)
        return 1 if total >= -NOTHING * bound else -1

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        return False

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        from quorate.rules.multiplicative_kernels import run_fixed

        return run_fixed(votes, self._alphas)

    def _join(self) -> None:
        self._alphas.append(0.0)  # it was not there when the weights were fitted

    def _leave(self, place: int) -> None:
        del self._alphas[place]

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {"rule": type(self).__name__, "alphas": list(self._alphas), "schema": 1}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        if not state.alphas:
            raise SnapshotError("snapshot field 'alphas' is empty; there must be one weight a learner")
        rule = cls(len(state.alphas))
        rule._alphas = state.alphas
        return rule


class _State(msgspec.Struct):
    rule: str
    alphas: list[float]
    schema: int = 1
