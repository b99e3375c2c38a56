"""Synthetic streams of votes for the portfolio: the paper's three, and worlds the paper does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quorate.ensemble.logistic import online_votes
from quorate.paper.simulation import RATE
from quorate.streams import EventDetection, Gaussian, RotatingHyperplane, SyntheticStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Stream", "changed_streams", "sized_streams", "stretched_streams", "synthetic_streams"]

#: How long a stream is, and the block before it.
N_SLOTS, N_BEFORE = 20_000, 2000


class Stream(NamedTuple):
    """Votes and labels."""

    name: str
    votes: NDArray[np.int8]
    labels: NDArray[np.int8]
    tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    """Those of a block before it, for rules that are fitted."""
    real: bool = False
    """Whether it is one of the paper's real ones."""

    def until(self, n_slots: int) -> Stream:
        """The same, its first slots only."""
        return self._replace(votes=self.votes[:n_slots], labels=self.labels[:n_slots])

    def after(self, n_slots: int) -> Stream:
        """The same, its first slots taken for the block."""
        block = self.votes[:n_slots], self.labels[:n_slots]
        return Stream(self.name, self.votes[n_slots:], self.labels[n_slots:], block, self.real)


def synthetic_streams(seed: int = 23, n_slots: int = N_SLOTS) -> Iterator[Stream]:
    """The streams, one after the other, each with a block before it.

    Examples
    --------
    >>> [stream.name for stream in synthetic_streams(n_slots=10)][:3]
    ['S1', 'S2 published', 'S2 written']
    """
    for stream in _whole(seed, N_BEFORE + n_slots):
        yield stream.after(N_BEFORE)


def _whole(seed: int, n_slots: int) -> Iterator[Stream]:
    hyperplane = RotatingHyperplane(seed=seed)
    yield Stream("S1", hyperplane.perfect_votes(0, n_slots), hyperplane.simulation(0, n_slots).labels)
    yield _online("S2 published", EventDetection.as_published(seed=seed), n_slots)
    yield _online("S2 written", EventDetection.as_written(seed=seed), n_slots)
    yield _online("S3 mu=0.5", Gaussian(mu=0.5, seed=seed), n_slots)
    yield _online("S3 mu=1", Gaussian(mu=1.0, seed=seed), n_slots)
    rng = np.random.default_rng(seed)
    fair = _labels(rng, np.full(n_slots, 0.5))
    yield Stream("one good", _votes(rng, fair, np.array([0.9] + [0.6] * 7)), fair)
    length = 4000
    jumps = np.repeat(rng.uniform(0.2, 0.9, (-(-n_slots // length), 8)), length, axis=0)[:n_slots]
    yield Stream("jumps", _votes(rng, fair, jumps), fair)
    runs = np.where(np.cumsum(rng.random(n_slots) < 0.05) % 2 == 0, np.int8(1), np.int8(-1))
    yield Stream("runs", _votes(rng, runs, np.full(8, 0.6)), runs)
    skewed = _labels(rng, np.full(n_slots, 0.2))
    yield Stream("skewed", _votes(rng, skewed, rng.uniform(0.5, 0.8, 8)), skewed)
    season = _labels(rng, 0.5 + 0.35 * np.sin(np.arange(n_slots) / 400))
    yield Stream("season", _votes(rng, season, rng.uniform(0.5, 0.8, 8)), season)
    turned = np.full((n_slots, 8), 0.55)
    turned[:, 0] = np.where(np.arange(n_slots) // length % 2 == 0, 0.1, 0.9)
    yield Stream("turncoat", _votes(rng, fair, turned), fair)
    evens_turn = np.arange(n_slots) // 48 % 2 == 0
    good = evens_turn[:, None] == (np.arange(8) % 2 == 0)
    yield Stream("turns", _votes(rng, fair, np.where(good, 0.85, 0.55)), fair)


def stretched_streams(seed: int, n_slots: int = N_SLOTS) -> Iterator[Stream]:
    """Streams with long stretches of one label, on which about half of the learners are stuck; each with a block.

    >>> [stream.name for stream in stretched_streams(1, n_slots=10)][:3]
    ['quiet half, 1 good', 'quiet half, 2 good', 'long runs, 1 good']
    """
    rng, n_all = np.random.default_rng(seed), N_BEFORE + n_slots
    for kind in ("quiet half", "long runs", "bursts"):
        for n_good in (1, 2):
            labels = _stretches(rng, kind, n_all)
            votes = _votes(rng, labels, np.array([0.99] * n_good + [0.7] * (4 - n_good) + [0.55] * 4))
            stuck = rng.random(8) < 0.5
            stuck[:n_good] = False
            votes[:, stuck] = np.where(rng.random((n_all, int(stuck.sum()))) < 0.98, np.int8(-1), np.int8(1))
            yield Stream(f"{kind}, {n_good} good", votes, labels).after(N_BEFORE)


def sized_streams(n_learners: int, seed: int = 31, n_slots: int = N_SLOTS) -> Iterator[Stream]:
    """Streams of any number of learners: one is good, all are of mixed quality, that changes, or most vote alike.

    >>> [stream.name for stream in sized_streams(3, n_slots=10)]
    ['one good of 3', 'mixed 3', 'jumps of 3', 'alike 3']
    """
    rng, n_all = np.random.default_rng(seed), N_BEFORE + n_slots
    labels = _labels(rng, np.full(n_all, 0.5))
    jumps = np.repeat(rng.uniform(0.3, 0.9, (-(-n_all // 4000), n_learners)), 4000, axis=0)[:n_all]
    qualities = {
        f"one good of {n_learners}": np.array([0.9] + [0.55] * (n_learners - 1)),
        f"mixed {n_learners}": rng.uniform(0.45, 0.75, n_learners),
        f"jumps of {n_learners}": jumps,
    }
    for name, right in qualities.items():
        yield Stream(name, _votes(rng, labels, right), labels).after(N_BEFORE)
    followed, own = _votes(rng, labels, np.full(1, 0.6)), _votes(rng, labels, np.full(n_learners, 0.7))
    alike = np.where(rng.random(own.shape) < 0.8, followed, own)
    yield Stream(f"alike {n_learners}", alike, labels).after(N_BEFORE)


def changed_streams(seed: int, n_slots: int = N_SLOTS) -> Iterator[Stream]:
    """Streams whose learners are not what they were in the block: others are good now, or those that were are contrary.

    >>> [stream.name for stream in changed_streams(1, n_slots=10)]
    ['others good', 'all drawn anew', 'the best contrary']
    """
    rng, n_all = np.random.default_rng(seed), N_BEFORE + n_slots
    labels = _labels(rng, np.full(n_all, 0.5))
    drawn = rng.uniform(0.5, 0.9, (2, 8))
    best = np.sort(drawn[0])[::-1]
    pairs = {
        "others good": (np.array([0.9] + [0.6] * 7), np.array([0.6] * 7 + [0.9])),
        "all drawn anew": (drawn[0], drawn[1]),
        "the best contrary": (best, np.concatenate((1 - best[:2], best[2:]))),
    }
    for name, (then, now) in pairs.items():
        right = np.repeat(np.stack((then, now)), [N_BEFORE, n_slots], axis=0)
        yield Stream(name, _votes(rng, labels, right), labels).after(N_BEFORE)


def _stretches(rng: np.random.Generator, kind: str, n_slots: int) -> NDArray[np.int8]:
    if kind == "quiet half":
        half = N_BEFORE + (n_slots - N_BEFORE) // 2
        chances = np.full(n_slots, 0.3)
        chances[:N_BEFORE], chances[N_BEFORE:half] = 0.5, 0.0
        return _labels(rng, chances)
    if kind == "long runs":
        return np.where(np.cumsum(rng.random(n_slots) < 0.002) % 2 == 0, np.int8(1), np.int8(-1))
    labels = np.full(n_slots, -1, np.int8)
    for begin in np.flatnonzero(rng.random(n_slots) < 0.001):
        labels[begin : begin + rng.integers(20, 200)] = 1
    return labels


def _online(name: str, stream: SyntheticStream, n_slots: int) -> Stream:
    """The votes of online logistic regressions."""
    drawn = stream.simulation(0, n_slots)
    votes = online_votes(drawn.features, drawn.learned_labels, rate=RATE)
    return Stream(name, votes, drawn.labels)


def _labels(rng: np.random.Generator, chances: NDArray[np.float64]) -> NDArray[np.int8]:
    return np.where(rng.random(len(chances)) < chances, np.int8(1), np.int8(-1))


def _votes(rng: np.random.Generator, labels: NDArray[np.int8], right: NDArray[np.float64]) -> NDArray[np.int8]:
    """Votes that are right with the given chances, one a learner, or one a slot and learner."""
    shape = (len(labels), right.shape[-1])
    return np.where(rng.random(shape) < right, labels[:, None], -labels[:, None]).astype(np.int8)
