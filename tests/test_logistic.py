"""Online logistic regressions in compiled loops: many together are what each is alone, and the exponential is right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quorate.ensemble.exponential import exponential
from quorate.ensemble.logistic import online_votes
from quorate.rules.kernels import numba

_run = numba.njit(lambda x: exponential(x))


@settings(max_examples=2000, deadline=None)
@given(st.floats(-708, 0))
@example(-0.0)
@example(-5e-324)
@example(-0.5 * math.log(2))
@example(-708.0)
def test_the_exponential_is_that_of_the_library(x: float) -> None:
    assert abs(_run(x) - math.exp(x)) <= 3 * math.ulp(math.exp(x))


@pytest.mark.parametrize("x", [-708.1, -1e300, -math.inf])
def test_the_exponential_of_very_little_is_nothing(x: float) -> None:
    assert _run(x) == 0
    assert math.isnan(_run(math.nan))


@pytest.mark.parametrize("n_learners", [1, 8])
def test_what_is_no_number_votes_alike_alone_and_together(n_learners: int) -> None:
    features = np.full((1, 1, 2), math.nan)
    votes = online_votes(features, np.ones((1, 1), np.int8), weights=np.ones((n_learners, 3)), tie=1)
    assert votes.tolist() == [[-1] * n_learners]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_learners=st.integers(1, 9),
    n_features=st.integers(1, 5),
    own_views=st.booleans(),
    own_labels=st.booleans(),
    late=st.booleans(),
)
def test_many_together_are_what_each_is_alone(
    seed: int, n_learners: int, n_features: int, own_views: bool, own_labels: bool, late: bool
) -> None:
    """To the last bit, and so on every machine alike."""
    rng, n_slots = np.random.default_rng(seed), 30
    features = rng.normal(size=(n_slots, n_learners if own_views else 1, n_features)).round(1)
    labels = rng.choice(np.array([-1, 1], np.int8), (n_slots, n_learners if own_labels else 1))
    arrivals = np.arange(n_slots) + rng.integers(0, 9, n_slots) if late else None
    if arrivals is not None:
        arrivals[rng.random(n_slots) < 0.2] = -1
    rates = rng.random((2, n_learners))
    weights = rng.normal(size=(n_learners, n_features + 1)).round(1)
    together = weights.copy()
    votes = online_votes(features, labels, arrivals, rate=rates[0], intercept_rate=rates[1], weights=together, tie=-1)
    for place in range(n_learners):
        alone = weights[place : place + 1].copy()
        view = features[:, place : place + 1] if own_views else features
        own = labels[:, place : place + 1] if own_labels else labels
        said = online_votes(
            view, own, arrivals, rate=rates[0, place], intercept_rate=rates[1, place], weights=alone, tie=-1
        )
        assert votes[:, place].tolist() == said[:, 0].tolist()
        assert together[place].tolist() == alone[0].tolist()
