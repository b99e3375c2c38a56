"""S3 of the paper: a stable concept whose best rule is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from quorate.streams.synthetic import Drawn, SyntheticStream

__all__ = ["Gaussian"]


class Gaussian(SyntheticStream):
    r"""No drift: learner i sees :math:`x_i \sim N(y \mu, 1)`, independent of the others, for a fair-coin label y.

    The best local vote is the sign of what is seen; the best rule is the plain majority.

    Parameters
    ----------
    mu
        How far apart the two classes are.
    n_learners
        How many learners observe.
    seed
        The same seed gives the same stream.

    Examples
    --------
    >>> stream = Gaussian(mu=1.0, n_learners=8)
    >>> round(stream.alone_error(), 4), round(stream.optimal_error(), 4)
    (0.1587, 0.0148)
    """

    def __init__(self, mu: float = 1.0, n_learners: int = 8, seed: int = 0) -> None:
        super().__init__(n_learners, n_features=1, seed=seed)
        self.mu = mu

    def _simulate(self, simulation: int) -> Callable[[int], Drawn]:
        of_labels, of_features = self._generators(simulation, parts=2)

        def draw(n_slots: int) -> Drawn:
            labels = np.where(of_labels.random(n_slots) < 0.5, np.int8(1), np.int8(-1))
            noise = of_features.normal(0.0, 1.0, (n_slots, self.n_learners))
            return Drawn((labels[:, None] * self.mu + noise)[:, :, None], labels)

        return draw

    def alone_error(self) -> float:
        """How often one learner that votes the sign of what it sees is wrong."""
        return NormalDist().cdf(-self.mu)

    def optimal_error(self) -> float:
        """How often the plain majority of such votes is wrong; a tie is wrong half of the time."""
        wrong, n = self.alone_error(), self.n_learners
        chance = [math.comb(n, k) * wrong**k * (1 - wrong) ** (n - k) for k in range(n + 1)]
        return sum(chance[n // 2 + 1 :]) + (chance[n // 2] / 2 if n % 2 == 0 else 0.0)
