"""What a synthetic stream gives: one view a learner, a label, and perhaps labels of their own."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quorate.errors import LocalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Arrays", "Drawn", "Observation", "SyntheticStream"]

_BLOCK_SLOTS = 256


class Observation(NamedTuple):
    """One slot of a stream."""

    views: Mapping[str, Mapping[str, float]]
    """What each learner sees."""
    label: int
    """The truth, -1 or +1."""
    local_labels: Mapping[str, int] | None = None
    """What each learner's own model learns, where it is not the label."""


class Drawn(NamedTuple):
    """Some slots of one simulation; shapes as in `Arrays`, without the first dimension."""

    features: NDArray[np.float64]
    labels: NDArray[np.int8]
    local_labels: NDArray[np.int8] | None = None

    @property
    def learned_labels(self) -> NDArray[np.int8]:
        """What the local models learn: a column a learner, or one for all."""
        return self.labels[:, None] if self.local_labels is None else self.local_labels


class Arrays(NamedTuple):
    """Many simulations of a stream at once."""

    features: NDArray[np.float64]
    """Of shape (simulations, slots, learners, features)."""
    labels: NDArray[np.int8]
    """Of shape (simulations, slots)."""
    local_labels: NDArray[np.int8] | None = None
    """Of shape (simulations, slots, learners), where the stream has them."""


class SyntheticStream(abc.ABC):
    """A stream that is drawn from a seed: slot by slot without end, or many simulations at once.

    Each simulation has its own part of the seed, and each kind of draw its own generator. So a longer stream begins as
    a shorter one does, and the first simulation is what iterating gives.

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
        if n_learners < 1 or n_features < 1:
            raise LocalError(f"n_learners is {n_learners} and n_features {n_features}; both must be at least 1")
        self.n_learners = n_learners
        self.n_features = n_features
        self.seed = seed

    @property
    def names(self) -> list[str]:
        """The learners, in the order of the arrays."""
        return [f"learner-{place}" for place in range(1, self.n_learners + 1)]

    @abc.abstractmethod
    def _simulate(self, simulation: int) -> Callable[[int], Drawn]:
        """Begin a simulation: each call of what this gives draws so many more slots."""

    def simulation(self, simulation: int, n_slots: int) -> Drawn:
        """Draw one whole simulation."""
        return self._simulate(simulation)(n_slots)

    def arrays(self, n_slots: int, n_simulations: int = 1) -> Arrays:
        """Draw many whole simulations."""
        drawn = [self.simulation(simulation, n_slots) for simulation in range(n_simulations)]
        local = [each.local_labels for each in drawn if each.local_labels is not None]
        return Arrays(
            np.stack([each.features for each in drawn]),
            np.stack([each.labels for each in drawn]),
            np.stack(local) if local else None,
        )

    def __iter__(self) -> Iterator[Observation]:
        """Give slot after slot, for ever."""
        names = self.names
        keys = [f"x{place}" for place in range(1, self.n_features + 1)]
        draw = self._simulate(0)
        while True:
            features, labels, local_labels = draw(_BLOCK_SLOTS)
            for slot, label in enumerate(labels.tolist()):
                rows = features[slot].tolist()
                views = {name: dict(zip(keys, row, strict=True)) for name, row in zip(names, rows, strict=True)}
                own = None if local_labels is None else dict(zip(names, local_labels[slot].tolist(), strict=True))
                yield Observation(views, label, own)

    def take(self, n_slots: int) -> Iterator[Observation]:
        """Give the first `n_slots` slots, one by one."""
        return islice(self, n_slots)

    def _generators(self, simulation: int, parts: int) -> list[np.random.Generator]:
        return [np.random.default_rng([self.seed, simulation, part]) for part in range(parts)]
