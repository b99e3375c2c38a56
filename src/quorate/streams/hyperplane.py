"""S1 of the paper: a hyperplane that rotates slowly, each learner seeing some of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from quorate.errors import LocalError
from quorate.streams.synthetic import Drawn, SyntheticStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RotatingHyperplane"]


class RotatingHyperplane(SyntheticStream):
    r"""Gradual drift: the label is the side of a hyperplane whose normal takes a random walk.

    Learner i sees :math:`x_i`, uniform in :math:`[-1, 1]^3`. The label is +1 where
    :math:`\sum_{i \le R} \theta_i \cdot x_i \ge 0`, over the R relevant learners only; the others see noise. Each
    :math:`\theta_{i,l}` starts as N(0, 1) and moves by N(0, `drift`) a slot.

    Parameters
    ----------
    n_learners
        How many learners observe.
    n_relevant
        How many of them, the first ones, see what the label depends on.
    drift
        How fast the hyperplane moves.
    drift_is
        Whether `drift` is the standard deviation or the variance of a step; the paper does not say.
    n_features
        How many dimensions each learner sees.
    seed
        The same seed gives the same stream.

    Examples
    --------
    >>> stream = RotatingHyperplane(n_learners=2, n_relevant=1, seed=1)
    >>> views, label, _ = next(stream.take(1))
    >>> label, {name: round(value, 3) for name, value in views["learner-1"].items()}
    (1, {'x1': 0.024, 'x2': 0.901, 'x3': -0.712})
    >>> stream.arrays(n_slots=100, n_simulations=5).features.shape
    (5, 100, 2, 3)
    """

    def __init__(
        self,
        n_learners: int = 16,
        n_relevant: int = 8,
        drift: float = 0.1,
        drift_is: Literal["standard deviation", "variance"] = "standard deviation",
        n_features: int = 3,
        seed: int = 0,
    ) -> None:
        super().__init__(n_learners, n_features, seed)
        if not 1 <= n_relevant <= n_learners:
            raise LocalError(f"n_relevant is {n_relevant}; it must be from 1 to n_learners, {n_learners}")
        if drift < 0:
            raise LocalError(f"drift is {drift}; it must not be negative")
        if drift_is not in ("standard deviation", "variance"):
            raise LocalError(f"drift_is is {drift_is!r}; it is 'standard deviation' or 'variance'")
        self.n_relevant = n_relevant
        self.drift = drift
        self.drift_is = drift_is

    @property
    def step(self) -> float:
        """The standard deviation of one step of one parameter."""
        return self.drift if self.drift_is == "standard deviation" else math.sqrt(self.drift)

    def _simulate(self, simulation: int) -> Callable[[int], Drawn]:
        draw_whole = self._with_normals(simulation)
        return lambda n_slots: draw_whole(n_slots)[0]

    def _with_normals(self, simulation: int) -> Callable[[int], tuple[Drawn, NDArray[np.float64]]]:
        of_features, of_moves = self._generators(simulation, parts=2)
        normal = of_moves.normal(0.0, 1.0, self.n_relevant * self.n_features)

        def draw(n_slots: int) -> tuple[Drawn, NDArray[np.float64]]:
            nonlocal normal
            features = of_features.uniform(-1, 1, (n_slots, self.n_learners, self.n_features))
            normals = np.empty((n_slots + 1, normal.size))
            normals[0] = normal
            if self.step:
                of_moves.standard_normal(out=normals[1:])
                normals[1:] *= self.step
                np.cumsum(normals, axis=0, out=normals)
            else:
                normals[1:] = normal
            normal = normals[-1]  # the first of the next slots
            own = normals[:-1].reshape(n_slots, self.n_relevant, self.n_features)
            sums = np.einsum("slf,slf->s", features[:, : self.n_relevant], own)
            labels = np.where(sums >= 0, np.int8(1), np.int8(-1))
            return Drawn(features, labels), normals[:-1]

        return draw

    def perfect_votes(self, simulation: int, n_slots: int) -> NDArray[np.int8]:
        """What learners vote that know their own part of the hyperplane; who sees noise votes by its first number.

        >>> stream = RotatingHyperplane(seed=1)
        >>> votes, labels = stream.perfect_votes(0, 1000), stream.simulation(0, 1000).labels
        >>> round(float((votes[:, 0] != labels).mean()), 3), round(float((votes[:, 15] != labels).mean()), 3)
        (0.393, 0.498)
        """
        drawn, normals = self._with_normals(simulation)(n_slots)
        own = normals.reshape(n_slots, self.n_relevant, self.n_features)
        margins = drawn.features[:, :, 0].copy()
        margins[:, : self.n_relevant] = (drawn.features[:, : self.n_relevant] * own).sum(axis=2)
        return np.where(margins >= 0, np.int8(1), np.int8(-1))
