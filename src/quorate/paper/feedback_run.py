"""What becomes of one simulation in one setting: late and missing labels, absent learners, PWM. Compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quorate.ensemble.logistic import learn_online
from quorate.rules.kernels import compiled, late_order, pwm_late
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["run"]


@compiled
def run(
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    taught: NDArray[np.int8],
    perfect: NDArray[np.int8],
    delays: NDArray[np.float64],
    delay_max: int,
    gaps: NDArray[np.float64],
    label_prob: float,
    absences: NDArray[np.float64],
    observe_prob: float,
    everybody: bool,
    rate: float,
    weights: NDArray[np.int32],
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int8], tuple[float, float]]:
    """Give the votes, when labels come to learner 1, which slots it observes, and what it decides with PWM.

    Last comes how often it is wrong where it observes, by itself and with PWM; NaN where it never does.

    Parameters
    ----------
    features, labels, taught
        What was drawn, and what the local models learn of it.
    perfect
        The votes where everybody observes every slot and learns every label at once.
    delays, gaps, absences
        The uniform numbers of `quorate.streams.Feedback`, a row a slot, of absences a column a learner; not read
        where no label is late, none is missing, or nobody absent.
    delay_max, label_prob, observe_prob, everybody
        As in `quorate.paper.simulation.Setting`.
    rate
        The step of the local models.
    weights
        The two weight vectors of PWM, which aggregates as many learners as they have places; changed in place.
    """
    n_slots, n_learners = perfect.shape
    n_used = weights.shape[1] - 1
    arrivals, at_once = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    present, votes = np.empty((n_slots, n_learners), np.bool_), np.empty((n_slots, n_learners), np.int8)
    for slot in range(n_slots):
        at_once[slot] = arrivals[slot] = slot
        if delay_max > 0:
            arrivals[slot] += math.floor(delays[slot, 0] * (delay_max + 1))
        if label_prob < 1 and gaps[slot, 0] >= label_prob:
            arrivals[slot] = NEVER
        for place in range(n_learners):
            votes[slot, place] = perfect[slot, place]
            may_miss = observe_prob < 1 and (everybody or place == 0)
            present[slot, place] = not may_miss or absences[slot, place] < observe_prob
    if observe_prob < 1 or label_prob < 1 or delay_max > 0:
        for place in range(n_learners if everybody and observe_prob < 1 else 1):
            _learn_again(features, taught, place, at_once if place else arrivals, present, rate, votes)
    used, decisions = np.empty((n_slots, n_used), np.int8), np.empty(n_slots, np.int8)
    for slot in range(n_slots):
        for place in range(n_used):
            used[slot, place] = votes[slot, place]
        if not everybody and not present[slot, 0]:
            arrivals[slot] = NEVER  # what learner 1 does not observe it neither decides nor learns
    order, learned = late_order(arrivals)
    pwm_late(used, labels, order, learned, weights, np.int32(1), decisions)
    n_observed = alone = pwm = 0
    for slot in range(n_slots):
        if present[slot, 0]:  # nor can it decide it alone
            n_observed += 1
            alone += votes[slot, 0] != labels[slot]
            pwm += decisions[slot] != labels[slot]
    errors = (alone / n_observed, pwm / n_observed) if n_observed else (np.nan, np.nan)
    return votes, arrivals, present[:, 0], decisions, errors


@compiled
def _learn_again(
    features: NDArray[np.float64],
    taught: NDArray[np.int8],
    place: int,
    arrivals: NDArray[np.int64],
    present: NDArray[np.bool_],
    rate: float,
    votes: NDArray[np.int8],
) -> None:
    """Let a local model vote where it is present, learning labels as they come."""
    n_slots, _, n_features = features.shape
    views, labels, came = np.empty((n_slots, 1, n_features)), np.empty((n_slots, 1), np.int8), np.empty_like(arrivals)
    for slot in range(n_slots):
        for number in range(n_features):
            views[slot, 0, number] = features[slot, place, number]
        labels[slot, 0] = taught[slot, place if taught.shape[1] > 1 else 0]
        came[slot] = arrivals[slot] if present[slot, place] else NEVER
    order, learned = late_order(came)
    own, rates, weights = np.empty((n_slots, 1), np.int8), np.full(1, rate), np.zeros((1, n_features + 1))
    learn_online(views, labels, order, learned, rates, rates, 1, weights, own)
    for slot in range(n_slots):
        votes[slot, place] = own[slot, 0] if present[slot, place] else 0
