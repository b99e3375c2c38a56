"""What a synthetic stream gives: one view a learner, a label, and perhaps labels of their own."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Arrays", "Observation", "SyntheticStream"]


class Observation(NamedTuple):
    """One slot of a stream."""

    views: Mapping[str, Mapping[str, float]]
    """What each learner sees."""
    label: int
    """The truth, -1 or +1."""
    local_labels: Mapping[str, int] | None = None
    """What each learner's own model learns, where it is not the label."""


class Arrays(NamedTuple):
    """Many simulations of a stream at once."""

    features: NDArray[np.float64]
    """Of shape (simulations, slots, learners, features)."""
    labels: NDArray[np.int8]
    """Of shape (simulations, slots)."""
    local_labels: NDArray[np.int8] | None = None
    """Of shape (simulations, slots, learners), where the stream has them."""


class SyntheticStream(abc.ABC):
    """A stream that is drawn from a seed, slot by slot or many simulations at once.

    Parameters
    ----------
    n_learners
        How many learners observe it.
    n_features
        How many features each sees.
    seed
        The same seed gives the same stream.
    """

    def __init__(self, n_learners: int, n_features: int, seed: int) -> None:
        self.n_learners = n_learners
        self.n_features = n_features
        self.seed = seed

    @property
    def names(self) -> list[str]:
        """The learners, in the order of the arrays."""
        return [f"learner-{place}" for place in range(1, self.n_learners + 1)]

    @abc.abstractmethod
    def arrays(self, n_slots: int, n_simulations: int = 1) -> Arrays:
        """Draw whole simulations, each from its own part of the seed: the first is what iterating gives."""

    def take(self, n_slots: int) -> Iterator[Observation]:
        """Give the first `n_slots` slots, one by one."""
        features, labels, local_labels = self.arrays(n_slots)
        names = self.names
        keys = [f"x{place}" for place in range(1, self.n_features + 1)]
        for slot in range(n_slots):
            views = {
                name: dict(zip(keys, row, strict=True))
                for name, row in zip(names, features[0, slot].tolist(), strict=True)
            }
            local = None if local_labels is None else dict(zip(names, local_labels[0, slot].tolist(), strict=True))
            yield Observation(views, int(labels[0, slot]), local)

    def _generators(self, simulation: int, parts: int) -> list[np.random.Generator]:
        """One generator a kind of draw, so that a longer stream begins as a shorter one does."""
        return [np.random.default_rng([self.seed, simulation, part]) for part in range(parts)]
