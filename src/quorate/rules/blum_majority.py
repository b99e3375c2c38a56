"""Blum's variant of the weighted majority."""

from __future__ import annotations

import math
from typing import ClassVar

from quorate.rules.powers import PowerRule, checked_factor

__all__ = ["BlumMajority"]


class BlumMajority(PowerRule):
    r"""Wrong learners are demoted always; right ones are promoted when the ensemble errs.

    .. math:: \hat y = \operatorname{sgn}\Big(\sum_j w_j s_j\Big), \qquad
              w_j \leftarrow \beta w_j \;\text{ if }\; s_j = -y, \qquad
              w_j \leftarrow \gamma w_j \;\text{ if }\; s_j = y \;\text{and}\; \hat y \neq y

    Weights start at 1. They are kept as integer powers of beta and gamma (see `quorate.rules.powers`).

    Parameters
    ----------
    n_learners
        How many learners vote.
    beta
        What the weight of a wrong learner is multiplied by.
    gamma
        What the weight of a right learner is multiplied by when the ensemble was wrong.

    Examples
    --------
    >>> rule = BlumMajority(3)
    >>> rule.run([[1, 1, -1], [1, -1, -1], [1, -1, -1]], [-1, -1, 1]).tolist(), rule.weights
    ([1, -1, -1], [0.0, 0.375, 0.25, 0.75])

    References
    ----------
    [^1]: Blum, "Empirical Support for Winnow and Weighted-Majority Algorithms: Results on a Calendar Scheduling
    Domain", Machine Learning 26 (1997). Its weights belong to specialists that may abstain: these stay as they are.
    """

    _kind: ClassVar[int] = 2

    def __init__(self, n_learners: int, beta: float = 0.5, gamma: float = 1.5) -> None:
        factors = [
            checked_factor("beta", beta, above=0, below=1),
            checked_factor("gamma", gamma, above=1, below=math.inf),
        ]
        super().__init__(n_learners, factors)

    @property
    def beta(self) -> float:
        """What the weight of a wrong learner is multiplied by."""
        return self._factors[0]

    @property
    def gamma(self) -> float:
        """What the weight of a right learner is multiplied by when the ensemble was wrong."""
        return self._factors[1]

    def _parameters(self) -> dict[str, float]:
        return {"beta": self.beta, "gamma": self.gamma}

    def _changes(self, vote: int, label: int, erred: bool) -> tuple[int, ...]:
        return int(vote != label), int(erred and vote == label)
