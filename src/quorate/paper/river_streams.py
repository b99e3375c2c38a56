"""Streams that nothing of the portfolio was chosen on: what River draws, voted on by models trained on its head."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from quorate._extras import load
from quorate.paper.ensembles import voted
from quorate.paper.portfolio_streams import Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from river.datasets.base import Dataset

__all__ = ["river_streams"]

#: How many rows a stream has; eight models are trained on the first two fifths, or half where that is less.
N_ROWS = 40_000


def river_streams(seed: int, n_rows: int = N_ROWS) -> Iterator[Stream]:
    """The streams of River's generators, three times each as a rule: the votes of three kinds of ensembles.

    Examples
    --------
    >>> [stream.name for stream in river_streams(1, n_rows=400)][:4]
    ['SEA, regressions', 'SEA, trees too', 'Agrawal, regressions', 'Agrawal, views']
    """
    for world, make in _worlds().items():
        yield from voted(world, _table(make(seed), n_rows), "label", True)


def _worlds() -> dict[str, Callable[[int], list[Dataset]]]:
    """What is drawn from a seed, one after the other: a world that jumps is a row of generators."""
    load("river", "Drawing River's streams")
    from river.datasets import synth

    return {
        "SEA": lambda seed: [synth.SEA(variant=kind, noise=0.1, seed=seed + kind) for kind in range(4)],
        "Agrawal": lambda seed: [
            synth.Agrawal(classification_function=kind, perturbation=0.05, seed=seed + kind) for kind in (0, 3, 1, 6)
        ],
        "Agrawal, steady": lambda seed: [synth.Agrawal(classification_function=4, seed=seed)],
        "Sine": lambda seed: [
            synth.Sine(classification_function=kind, has_noise=True, seed=seed + kind) for kind in (0, 1, 2, 3) * 2
        ],
        "Mixed": lambda seed: [synth.Mixed(classification_function=kind, seed=seed + kind) for kind in (0, 1, 0, 1, 0)],
        "STAGGER": lambda seed: [
            synth.STAGGER(classification_function=kind, seed=seed + kind) for kind in (0, 1, 2, 0)
        ],
        "Hyperplane": lambda seed: [
            synth.Hyperplane(n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05, seed=seed)
        ],
        "RandomRBF": lambda seed: [
            synth.RandomRBFDrift(
                n_features=10,
                n_centroids=20,
                n_drift_centroids=10,
                change_speed=0.0005,
                seed_model=seed,
                seed_sample=seed,
            )
        ],
        "RandomTree": lambda seed: [
            synth.RandomTree(n_num_features=5, n_cat_features=3, seed_tree=seed, seed_sample=seed)
        ],
    }


def _table(parts: Sequence[Dataset], n_rows: int) -> pa.Table:
    import pyarrow as pa

    rows = [
        {**{str(name): value for name, value in features.items()}, "label": bool(label)}
        for part in parts
        for features, label in islice(part, n_rows // len(parts))
    ]
    return pa.Table.from_pylist(rows)
