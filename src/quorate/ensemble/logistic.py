"""Online logistic regressions, one gradient step a label: what many of them vote while they learn. Compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.ensemble.exponential import exponential
from quorate.rules.inputs import learning_order
from quorate.rules.kernels import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["learn_online", "margin", "online_votes", "step"]

#: With so many features, those of the paper's S1, the kernel is quicker.
_UNROLLED = 3
#: From how many learners on their weights stand side by side.
_MANY = 4


def online_votes(
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    arrivals: NDArray[Any] | None = None,
    *,
    rate: ArrayLike = 0.01,
    intercept_rate: ArrayLike | None = None,
    weights: NDArray[np.float64] | None = None,
    tie: int = 1,
) -> NDArray[np.int8]:
    """What logistic regressions vote while they learn online, one gradient step a label, when that comes.

    Parameters
    ----------
    features
        Of shape (slots, learners, features); or (slots, 1, features), where all learners see the same.
    labels
        Of shape (slots, learners); or (slots, 1), where all learn the same.
    arrivals
        The slot at whose end each label is learned; negative for never. Default: its own.
    rate, intercept_rate
        The step, and that of the intercept, which is the same by default; one for all, or one a learner.
    weights
        What they have learned before, of shape (learners, features + 1), the intercept last; changed in place.
        Default: nothing, with as many learners as there are views, columns of labels or steps.
    tie
        What is voted where the weighted sum is 0.

    Returns
    -------
    votes
        Of shape (slots, learners).

    Examples
    --------
    >>> x = np.array([[[1.0]], [[1.0]], [[-1.0]]])
    >>> weights = np.zeros((1, 2))
    >>> online_votes(x, np.array([[-1], [-1], [1]], np.int8), rate=0.1, weights=weights).ravel().tolist()
    [1, -1, 1]
    >>> weights.round(3).tolist()
    [[-0.148, -0.048]]
    """
    if weights is None:
        n_learners = max(features.shape[1], labels.shape[1], np.size(rate))
        weights = np.zeros((n_learners, features.shape[2] + 1))
    votes = np.empty((len(features), len(weights)), np.int8)
    slots = np.arange(len(features))
    order, learned = (slots, slots + 1) if arrivals is None else learning_order(arrivals)
    learn_online(
        np.ascontiguousarray(features),
        np.ascontiguousarray(labels),
        order,
        learned,
        _each(rate, len(weights)),
        _each(rate if intercept_rate is None else intercept_rate, len(weights)),
        tie,
        weights,
        votes,
    )
    return votes


def _each(rate: ArrayLike, n_learners: int) -> NDArray[np.float64]:
    return np.full(n_learners, rate, np.float64)


@inlined
def _margin(
    weights: NDArray[np.float64], place: int, features: NDArray[np.float64], slot: int, view: int, n_features: int
) -> float:
    """The weighted sum of a learner; its last weight is the intercept."""
    total: float = weights[place, n_features]
    for number in range(n_features):
        total += weights[place, number] * features[slot, view, number]
    return total


@inlined
def _step(
    weights: NDArray[np.float64],
    place: int,
    features: NDArray[np.float64],
    slot: int,
    view: int,
    n_features: int,
    sign: float,
    at: float,
    rate: float,
    intercept_rate: float,
) -> None:
    """One step of a learner down the gradient of the log loss, from where its weighted sum is `at`."""
    right = sign * at
    small = exponential(-abs(right))  # at most 1, whichever form of the slope it makes
    slope = sign * (small if right > 0 else 1.0) / (1 + small)
    for number in range(n_features):
        weights[place, number] += rate * slope * features[slot, view, number]
    weights[place, n_features] += intercept_rate * slope


@compiled
def margin(weights: NDArray[np.float64], row: NDArray[np.float64]) -> float:
    """The weighted sum of one row; the last weight is the intercept."""
    return _margin(weights.reshape(1, -1), 0, row.reshape(1, 1, -1), 0, 0, len(row))


@compiled
def step(weights: NDArray[np.float64], row: NDArray[np.float64], sign: float, rate: float) -> None:
    """One step down the gradient of the log loss, with one row."""
    whole, rows = weights.reshape(1, -1), row.reshape(1, 1, -1)
    _step(whole, 0, rows, 0, 0, len(row), sign, _margin(whole, 0, rows, 0, 0, len(row)), rate, rate)


@compiled
def learn_online(
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    rates: NDArray[np.float64],
    intercept_rates: NDArray[np.float64],
    tie: int,
    weights: NDArray[np.float64],
    votes: NDArray[np.int8],
) -> None:
    """What `online_votes` does, with the order in which labels are learned; `votes` is filled."""
    if len(weights) < _MANY:
        _learn(features, labels, order, learned, rates, intercept_rates, tie, weights, votes)
        return
    together = np.ascontiguousarray(weights.T)
    if features.shape[2] == _UNROLLED:  # a loop of a known length takes two thirds of the time
        _learn_together(features, labels, order, learned, rates, intercept_rates, tie, together, votes, _UNROLLED)
    else:
        n_features = features.shape[2]
        _learn_together(features, labels, order, learned, rates, intercept_rates, tie, together, votes, n_features)
    weights[:] = together.T


@inlined
def _learn_together(
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    rates: NDArray[np.float64],
    intercept_rates: NDArray[np.float64],
    tie: int,
    weights: NDArray[np.float64],
    votes: NDArray[np.int8],
    n_features: int,
) -> None:
    """The same for many learners: their weights stand side by side, several to a step."""
    at, small = np.empty(weights.shape[1]), np.empty(weights.shape[1])
    done = 0
    for slot in range(len(features)):
        due = learned[slot]
        _margins(weights, features, slot, n_features, at)
        for place in range(len(at)):
            votes[slot, place] = 1 if at[place] > 0 else (tie if at[place] == 0 else -1)
        if due == done + 1 and order[done] == slot:  # then the weighted sums of the votes are those of the steps
            _steps(weights, features, labels, slot, n_features, rates, intercept_rates, at, small)
            done += 1
        while done < due:
            _margins(weights, features, order[done], n_features, at)
            _steps(weights, features, labels, order[done], n_features, rates, intercept_rates, at, small)
            done += 1


@inlined
def _margins(
    weights: NDArray[np.float64], features: NDArray[np.float64], slot: int, n_features: int, at: NDArray[np.float64]
) -> None:
    """The weighted sum of each learner."""
    if features.shape[1] > 1:
        for place in range(len(at)):
            total = weights[n_features, place]
            for number in range(n_features):
                total += weights[number, place] * features[slot, place, number]
            at[place] = total
    else:
        for place in range(len(at)):
            at[place] = weights[n_features, place]
        for number in range(n_features):
            value = features[slot, 0, number]
            for place in range(len(at)):
                at[place] += weights[number, place] * value


@inlined
def _steps(
    weights: NDArray[np.float64],
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    slot: int,
    n_features: int,
    rates: NDArray[np.float64],
    intercept_rates: NDArray[np.float64],
    at: NDArray[np.float64],
    small: NDArray[np.float64],
) -> None:
    """One step of each from where its weighted sum is `at`, which is used up, as `small` is."""
    # Short loops: so each is done several at a time.
    for place in range(len(at)):
        small[place] = exponential(-abs(at[place]))
    if labels.shape[1] > 1:
        for place in range(len(at)):
            sign = float(labels[slot, place])
            at[place] = sign * (small[place] if sign * at[place] > 0 else 1.0) / (1 + small[place])
    else:
        sign = float(labels[slot, 0])
        for place in range(len(at)):
            at[place] = sign * (small[place] if sign * at[place] > 0 else 1.0) / (1 + small[place])
    for place in range(len(at)):
        weights[n_features, place] += intercept_rates[place] * at[place]
    for place in range(len(at)):
        at[place] *= rates[place]
    for number in range(n_features):
        if features.shape[1] > 1:
            for place in range(len(at)):
                weights[number, place] += at[place] * features[slot, place, number]
        else:
            value = features[slot, 0, number]
            for place in range(len(at)):
                weights[number, place] += at[place] * value


@inlined
def _learn(
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    rates: NDArray[np.float64],
    intercept_rates: NDArray[np.float64],
    tie: int,
    weights: NDArray[np.float64],
    votes: NDArray[np.int8],
) -> None:
    """The same for few, one after the other."""
    n_features, own_view, own_label = features.shape[2], features.shape[1] > 1, labels.shape[1] > 1
    done = 0
    for slot in range(len(features)):
        due = learned[slot]
        at_once = due == done + 1 and order[done] == slot  # then the weighted sum of the vote is that of the step
        for place in range(len(weights)):
            view = place if own_view else 0
            at = _margin(weights, place, features, slot, view, n_features)
            votes[slot, place] = tie if at == 0 else (1 if at > 0 else -1)
            if at_once:
                sign = float(labels[slot, place if own_label else 0])
                _step(weights, place, features, slot, view, n_features, sign, at, rates[place], intercept_rates[place])
        if at_once:
            done += 1
        while done < due:
            late = order[done]
            for place in range(len(weights)):
                view = place if own_view else 0
                at = _margin(weights, place, features, late, view, n_features)
                sign = float(labels[late, place if own_label else 0])
                _step(weights, place, features, late, view, n_features, sign, at, rates[place], intercept_rates[place])
            done += 1
