"""Littlestone and Warmuth's weighted majority."""

from __future__ import annotations

from typing import ClassVar

from quorate.rules.powers import PowerRule, checked_factor

__all__ = ["WeightedMajority"]


class WeightedMajority(PowerRule):
    r"""When the ensemble errs, the weights of those that were wrong are multiplied by beta.

    .. math:: \hat y = \operatorname{sgn}\Big(\sum_j w_j s_j\Big), \qquad
              w_j \leftarrow \beta w_j \;\text{ if }\; \hat y \neq y \;\text{and}\; s_j = -y

    Weights start at 1. The number of mistakes is at most
    :math:`(\ln K + m \ln(1/\beta)) / \ln(2/(1+\beta))` on every sequence, m that of the best learner. The weights are
    kept as integer powers of beta (see `quorate.rules.powers`).

    Parameters
    ----------
    n_learners
        How many learners vote.
    beta
        What the weight of a wrong learner is multiplied by.

    Examples
    --------
    >>> rule = WeightedMajority(3)
    >>> rule.run([[1, 1, -1], [1, -1, -1], [1, -1, -1]], [-1, -1, 1]).tolist(), rule.weights
    ([1, -1, -1], [0.0, 0.5, 0.25, 0.5])

    References
    ----------
    [^1]: Littlestone, Warmuth, "The Weighted Majority Algorithm", Information and Computation 108 (1994). Where the
    source leaves the prediction at a tie open, it is +1.
    """

    _kind: ClassVar[int] = 0

    def __init__(self, n_learners: int, beta: float = 0.5) -> None:
        super().__init__(n_learners, [checked_factor("beta", beta, above=0, below=1)])

    @property
    def beta(self) -> float:
        """What the weight of a wrong learner is multiplied by."""
        return self._factors[0]

    def _parameters(self) -> dict[str, float]:
        return {"beta": self.beta}

    def _changes(self, vote: int, label: int, erred: bool) -> tuple[int, ...]:
        return (int(erred and vote != label),)
