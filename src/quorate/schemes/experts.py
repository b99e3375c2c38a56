"""What AddExp and DWM share: experts that come and go, and learn every instance."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from quorate.schemes.base import Instance, Member, Scheme, at_least

__all__ = ["ExpertScheme"]

_SMALL = 2.0**-500


class ExpertScheme(Scheme):
    """A scheme whose members, here called experts as in the sources, learn each instance as it comes.

    Parameters
    ----------
    model
        The prototype of the experts.
    n_experts_max
        How many there are at the most.
    """

    def __init__(self, model: Any, n_experts_max: int) -> None:
        super().__init__(model)
        self.n_experts_max = n_experts_max
        at_least("n_experts_max", n_experts_max, 1)
        self._experts: list[Member] = [Member(model)]
        self._weights = [1.0]

    @property
    def experts(self) -> list[Member]:
        """The experts, oldest first."""
        return list(self._experts)

    @property
    def weights(self) -> list[float]:
        """Their weights."""
        return list(self._weights)

    def _ballots(self, x: Instance) -> list[tuple[Hashable, float]]:
        return [(expert.predict_one(x), weight) for expert, weight in zip(self._experts, self._weights, strict=True)]

    def _remove(self, place: int) -> None:
        del self._experts[place], self._weights[place]

    def _train(self, x: Instance, y: Hashable) -> None:
        for expert in self._experts:
            expert.learn_one(x, y, list(self._labels))

    def _keep_in_range(self) -> None:
        """Scale weights that have all become small by a power of two, which is exact."""
        if max(self._weights) < _SMALL:
            self._weights = [weight / _SMALL for weight in self._weights]
