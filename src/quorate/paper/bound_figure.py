"""S3: the paper's bounds beside what really happens on a stable stream, and our certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.bounds import certify, paper_b1, paper_b2
from quorate.paper.panels import Advance
from quorate.paper.work import spread
from quorate.rules.kernels import compiled, pwm
from quorate.streams import Gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MUS", "run_bounds"]

N_LEARNERS, N_SLOTS = 8, 1000
#: Where the curves are measured: every 0.1, and closer around the cusp.
MUS = tuple(sorted({round(0.1 * n, 2) for n in range(31)} | {round(1.5 + 0.05 * n, 2) for n in range(13)}))
BATCH = 50
#: Multiples of the plain majority that are tried as comparison vectors.
_MULTIPLES = tuple(1 / n for n in (1, 2, 3, 4, 5, 6, 8))


def run_bounds(
    seed: int,
    n_simulations: int = 10_000,
    n_certified: int = 500,
    jobs: int = 1,
    backend: str | None = None,
    advance: Advance = lambda done: None,
) -> dict[str, Any]:
    """Measure ALONE, AM and PWM against mu, and compute B1, B2, B and the certificate.

    P^O is the error of the plain majority in closed form, as in the paper; P* and v* are those of each simulation, and
    in another reading v* is K, as the learners are equally good. A
    certificate is made for the first `n_certified` simulations, one for each mu.
    """
    batches = [
        (seed, range(first, min(first + BATCH, n_simulations)), n_certified) for first in range(0, n_simulations, BATCH)
    ]
    curves, certificates = [], []
    for batch, certified in spread(_batch, batches, jobs, backend):
        curves.append(batch)
        certificates.append(certified)
        advance(len(batch))
    values = np.concatenate(curves)  # simulations, mus, (alone, AM, PWM, P*, v*)
    found = np.concatenate(certificates)
    streams = [Gaussian(mu=mu, n_learners=N_LEARNERS) for mu in MUS]
    first = np.array([paper_b1(N_LEARNERS, N_SLOTS, stream.optimal_error()) for stream in streams])
    # Few pairs of P* and v* occur, so each bound is computed once.
    pairs, places = np.unique(values[:, :, 3:].reshape(-1, 2), axis=0, return_inverse=True)
    shape = values.shape[:2]
    second = _second(pairs, places, shape)
    bound = np.minimum(np.minimum(first, second), 1.0).mean(axis=0)  # of each sequence, then the mean
    all_best = _second(np.column_stack([pairs[:, 0], np.full(len(pairs), N_LEARNERS)]), places, shape)
    errors = values[:, :, :3] / N_SLOTS
    half = 1.96 * errors.std(axis=0, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0 * errors[0]
    return {
        "simulations": n_simulations,
        "certified": len(found),
        "slots": N_SLOTS,
        "x": list(MUS),
        "measured": {
            name: {"mean": errors[:, :, n].mean(axis=0).tolist(), "half": half[:, n].tolist()}
            for n, name in enumerate(("alone", "am", "pwm"))
        },
        "closed_form": {
            "alone": [stream.alone_error() for stream in streams],
            "am": [stream.optimal_error() for stream in streams],
        },
        "b1": first.tolist(),
        "b2": second.mean(axis=0).tolist(),
        "b2_all_best": all_best.mean(axis=0).tolist(),
        "b": bound.tolist(),
        "certificate": (found.mean(axis=0) / N_SLOTS).tolist(),
        "broken": int((values[: len(found), :, 2] > found).sum()),
        "crossings": _crossings(first - second.mean(axis=0)),
        "crossings_all_best": _crossings(first - all_best.mean(axis=0)),
    }


def _second(pairs: NDArray[np.float64], places: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """B2 of every simulation and mu."""
    bounds = np.array([paper_b2(N_LEARNERS, N_SLOTS, wrong / N_SLOTS, int(tied)) for wrong, tied in pairs])
    second: NDArray[np.float64] = bounds[places.reshape(shape)]
    return second


def _crossings(difference: NDArray[np.float64]) -> list[float]:
    """Where B1 and B2 change places, between the mus by a straight line."""
    found = []
    for n in range(len(MUS) - 1):
        before, after = difference[n], difference[n + 1]
        if before * after < 0:
            found.append(float(MUS[n] + (MUS[n + 1] - MUS[n]) * before / (before - after)))
    return found


def _batch(work: tuple[int, range, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    seed, simulations, n_certified = work
    stream = Gaussian(mu=0.0, n_learners=N_LEARNERS, seed=seed)
    mus = np.array(MUS)
    values = np.empty((len(simulations), len(MUS), 5))
    certified = []
    for place, simulation in enumerate(simulations):
        drawn = stream.simulation(simulation, N_SLOTS)
        noise = np.ascontiguousarray(drawn.features[:, :, 0])
        _curves(noise, drawn.labels, mus, values[place])
        if simulation < n_certified:
            certified.append([_certificate(noise, drawn.labels, mu) for mu in MUS])
    return values, np.array(certified, np.float64).reshape(-1, len(MUS))


def _certificate(noise: NDArray[np.float64], labels: NDArray[np.int8], mu: float) -> int:
    votes = np.where(labels[:, None] * mu + noise >= 0, np.int8(1), np.int8(-1))
    majorities = [[0.0] + [multiple] * N_LEARNERS for multiple in _MULTIPLES]
    return certify(votes, labels, rule="PWM", vectors=majorities, search=False).mistakes_max


@compiled
def _curves(
    noise: NDArray[np.float64], labels: NDArray[np.int8], mus: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    n_slots, n_learners = noise.shape
    votes = np.empty((n_slots, n_learners), np.int8)
    decisions = np.empty(n_slots, np.int8)
    for n in range(len(mus)):
        wrong = np.zeros(n_learners, np.int64)
        by_majority = 0
        for slot in range(n_slots):
            total = 0
            for place in range(n_learners):
                vote = 1 if labels[slot] * mus[n] + noise[slot, place] >= 0 else -1
                votes[slot, place] = vote
                total += vote
                wrong[place] += vote != labels[slot]
            by_majority += (1 if total >= 0 else -1) != labels[slot]
        vectors = np.zeros((1, n_learners + 1), np.int32)
        pwm(votes, labels, vectors, np.int32(1), decisions)
        by_pwm = 0
        for slot in range(n_slots):
            by_pwm += decisions[slot] != labels[slot]
        best = wrong.min()
        values[n, 0] = wrong[0]
        values[n, 1] = by_majority
        values[n, 2] = by_pwm
        values[n, 3] = best
        values[n, 4] = (wrong == best).sum()
