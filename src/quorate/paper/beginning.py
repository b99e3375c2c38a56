"""Simulations as they begin: what is drawn, and what online local models vote that learn every label at once.

Of S1, which needs the most of them, it is one compiled step, in memory that is taken once a thread: threads that
share Python's lock wait for each other between short steps, and fresh memory costs a third of the draws.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from quorate.ensemble.logistic import learn_online, online_votes
from quorate.rules.kernels import compiled
from quorate.streams import RotatingHyperplane, SyntheticStream
from quorate.streams.synthetic import Drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["begun"]

_memory = threading.local()


def begun(stream: SyntheticStream, simulation: int, n_slots: int, rate: float) -> tuple[Drawn, NDArray[np.int8]]:
    """Draw one whole simulation, and let the local models vote; its features last until the thread's next call.

    >>> stream = RotatingHyperplane(seed=1)
    >>> (quick, votes), slow = begun(stream, 3, 500, rate=0.03), stream.simulation(3, 500)
    >>> bool((quick.features == slow.features).all() and (quick.labels == slow.labels).all())
    True
    >>> bool((votes == online_votes(slow.features, slow.learned_labels, rate=0.03)).all())
    True
    """
    if type(stream) is not RotatingHyperplane:
        drawn = stream.simulation(simulation, n_slots)
        return drawn, online_votes(drawn.features, drawn.learned_labels, rate=rate)
    of_features, of_moves = stream._generators(simulation, parts=2)
    features = _own("features", (n_slots, stream.n_learners, stream.n_features))
    moves = _own("moves", (n_slots + 1, stream.n_relevant * stream.n_features))
    of_features.random(out=features)  # many at once are quicker than one by one in compiled code
    of_moves.standard_normal(out=moves)
    labels, votes = np.empty((n_slots, 1), np.int8), np.empty((n_slots, stream.n_learners), np.int8)
    order, learned = np.arange(n_slots), np.arange(1, n_slots + 1)
    rates, weights = np.full(stream.n_learners, rate, np.float64), np.zeros((stream.n_learners, stream.n_features + 1))
    _walk(moves, stream.step, features, labels, order, learned, rates, weights, votes)
    return Drawn(features, labels[:, 0]), votes


def _own(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The thread's memory of a name."""
    own: NDArray[np.float64] | None = getattr(_memory, name, None)
    if own is None or own.shape != shape:
        own = np.empty(shape)
        setattr(_memory, name, own)
    return own


@compiled
def _walk(
    moves: NDArray[np.float64],
    step: float,
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    rates: NDArray[np.float64],
    weights: NDArray[np.float64],
    votes: NDArray[np.int8],
) -> None:
    """Make features of numbers from 0 to 1, labels of them and of the moves, and let models learn these and vote."""
    n_slots, n_learners, n_features = features.shape
    normal = moves[0]
    for slot in range(n_slots):
        row = features[slot].reshape(n_learners * n_features)
        for number in range(len(row)):
            row[number] = 2.0 * row[number] - 1.0
        total = 0.0
        for number in range(len(normal)):
            total += row[number] * normal[number]
            normal[number] += step * moves[slot + 1, number]
        labels[slot, 0] = 1 if total >= 0 else -1
    learn_online(features, labels, order, learned, rates, rates, 1, weights, votes)
