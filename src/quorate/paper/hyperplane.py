"""S1's stream for many simulations: what `RotatingHyperplane.simulation` draws, compiled where that is quicker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quorate.rules.kernels import compiled
from quorate.streams import RotatingHyperplane, SyntheticStream
from quorate.streams.synthetic import Drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["drawn"]


def drawn(stream: SyntheticStream, simulation: int, n_slots: int) -> Drawn:
    """Draw one whole simulation of a stream; quicker for S1's, and without holding up other threads.

    >>> stream = RotatingHyperplane(seed=1)
    >>> quick, slow = drawn(stream, 3, 500), stream.simulation(3, 500)
    >>> bool((quick.features == slow.features).all() and (quick.labels == slow.labels).all())
    True
    """
    if type(stream) is not RotatingHyperplane:
        return stream.simulation(simulation, n_slots)
    of_features, of_moves = stream._generators(simulation, parts=2)
    features = of_features.random((n_slots, stream.n_learners, stream.n_features))  # many at once are quicker here
    labels = np.empty(n_slots, np.int8)
    _walk(of_moves, stream.step, stream.n_relevant, features, labels)
    return Drawn(features, labels)


@compiled
def _walk(
    of_moves: np.random.Generator,
    step: float,
    n_relevant: int,
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
) -> None:
    n_slots, n_learners, n_features = features.shape
    normal = np.empty((n_relevant, n_features))
    for place in range(n_relevant):
        for number in range(n_features):
            normal[place, number] = of_moves.standard_normal()
    for slot in range(n_slots):
        for place in range(n_learners):
            for number in range(n_features):
                features[slot, place, number] = 2.0 * features[slot, place, number] - 1.0
        total = 0.0
        for place in range(n_relevant):
            for number in range(n_features):
                total += features[slot, place, number] * normal[place, number]
                if step > 0:
                    normal[place, number] += step * of_moves.standard_normal()
        labels[slot] = 1 if total >= 0 else -1
