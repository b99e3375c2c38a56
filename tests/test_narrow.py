"""PWM's compiled run: every number of learners, every width of the weights, and values that are no votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import LabelError, VotesError
from quorate.rules import PWM, ExtendedPWM, lanes, narrow

WIDTHS = (1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 1024)


def exact(votes: Any, labels: Any, vectors: list[list[int]], bias: bool) -> tuple[list[int], list[list[int]]]:
    """The rule in NumPy's 64-bit integers, sharing nothing with the package."""
    weights = np.array(vectors, np.int64)
    decisions = []
    for row, label in zip(votes.astype(np.int64), labels.tolist(), strict=True):
        which = int(len(weights) == 2 and (row == 0).any())
        decisions.append(1 if weights[which, 0] + weights[which, 1:] @ row >= 0 else -1)
        if decisions[-1] != label:
            weights[which, 0] += bias * label
            weights[which, 1:] += label * row
    return decisions, weights.tolist()


def slots(rng: np.random.Generator, n_slots: int, n_learners: int, absent: float) -> tuple[Any, Any]:
    votes = rng.choice(np.array([-1, 1], np.int8), (n_slots, n_learners))
    votes[rng.random(votes.shape) < absent] = 0
    return votes, rng.choice(np.array([-1, 1], np.int8), n_slots)


@given(
    n_learners=st.one_of(st.sampled_from(WIDTHS), st.integers(1, 300)),
    n_slots=st.integers(0, 150),
    absent=st.sampled_from([0.0, 0.003, 0.3]),
    n_vectors=st.sampled_from([1, 2]),
    bias=st.booleans(),
    near=st.sampled_from([0, 90, 110, 119, 120, 127, 128, 32700, 32759, 32767, 32768, 2**31 - 9, 2**40]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=300, deadline=None)
def test_every_width_gives_the_same(
    n_learners: int, n_slots: int, absent: float, n_vectors: int, bias: bool, near: int, seed: int
) -> None:
    """Weights start just below the end of a type, so that a run must widen on its way, or at once."""
    rng = np.random.default_rng(seed)
    votes, labels = slots(rng, n_slots, n_learners, absent)
    vectors = rng.integers(-near, near, (n_vectors, n_learners + 1), endpoint=True)
    vectors[:, 0] *= bias
    ran = narrow.run_pwm(votes, labels, vectors.tolist(), bias)
    assert ran is not None
    decisions, learned = ran
    assert (decisions.tolist(), learned) == exact(votes, labels, vectors.tolist(), bias)


@pytest.mark.parametrize("n_learners", [3, 16, 17, 100])
@pytest.mark.parametrize("edge", [2**7, 2**15])
def test_a_weight_walks_through_the_end_of_its_type(n_learners: int, edge: int) -> None:
    """Everybody is always wrong and the label changes with the votes, so that each weight falls by 1 a mistake."""
    votes = np.ones((200, n_learners), np.int8)
    votes[::2] = -1
    labels = -votes[:, 0]
    rng = np.random.default_rng(n_learners)
    start = [[0, *(edge - 5 - rng.integers(0, 3, n_learners)).tolist()]]
    for sign in (1, -1):
        vectors = [[sign * weight for weight in start[0]]]
        truth = sign * labels
        ran = narrow.run_pwm(votes, truth, vectors, True)
        assert ran is not None
        assert (ran[0].tolist(), ran[1]) == exact(votes, truth, vectors, True)
    grown = [[0] + [sign * (edge - 60) for sign in rng.choice([-1, 1], n_learners).tolist()]]
    pushed = np.tile(-np.sign(grown[0][1:]).astype(np.int8), (200, 1))
    ran = narrow.run_pwm(pushed, -np.ones(200, np.int8), grown, False)
    assert ran is not None
    assert (ran[0].tolist(), ran[1]) == exact(pushed, -np.ones(200, np.int8), grown, False)


def test_more_learners_than_8_bits_allow() -> None:
    rng = np.random.default_rng(5)
    for n_learners in (4096, 4097, 32768, 32769):
        votes, labels = slots(rng, 20, n_learners, 0.0)
        vectors = [[0, *rng.choice([-119, 119], n_learners).tolist()]]
        ran = narrow.run_pwm(votes, labels, vectors, True)
        assert ran is not None
        assert (ran[0].tolist(), ran[1]) == exact(votes, labels, vectors, True)


@given(
    n_learners=st.sampled_from(WIDTHS),
    n_slots=st.integers(1, 80),
    value=st.sampled_from([-128, -127, -2, 2, 3, 100, 127]),
    near=st.sampled_from([0, 130, 40000]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_a_value_that_is_no_vote_is_seen_wherever_it_is(
    n_learners: int, n_slots: int, value: int, near: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    votes, labels = slots(rng, n_slots, n_learners, 0.1)
    place = tuple(rng.integers((n_slots, n_learners)).tolist())
    bad = votes.copy()
    bad[place] = value
    for kind in (PWM, ExtendedPWM):
        rule = kind(n_learners)
        before = rule.snapshot()
        with pytest.raises(VotesError, match=rf"votes\[{place[0]}, {place[1]}\] is {value};"):
            rule.run(bad, labels)
        assert rule.snapshot() == before
    labels[place[0]] = 0 if value == 2 else value
    with pytest.raises(LabelError, match=rf"labels\[{place[0]}\] is"):
        PWM(n_learners).run(votes, labels)
    start = [[0] + [near] * n_learners]
    assert narrow.run_pwm(bad, np.ones(n_slots, np.int8), start, True) is None
    assert narrow.run_pwm(votes, labels, start, True) is None


def test_arrays_may_be_read_only_and_lie_anywhere() -> None:
    rng = np.random.default_rng(7)
    for n_learners in (lanes.FEW, lanes.LANES):
        votes, labels = slots(rng, 101, n_learners, 0.0)
        room = np.full(votes.size + 3, 55, np.int8)
        for offset in range(4):
            moved = room[offset : offset + votes.size].reshape(votes.shape)
            moved[:] = votes
            moved.flags.writeable = offset > 0
            assert PWM(n_learners).run(moved, labels).tolist() == PWM(n_learners).run(votes.tolist(), labels).tolist()
