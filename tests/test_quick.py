"""The quick ways of a learner and of PWM: what they do is what the slow ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import PWM, Decision, ExtendedPWM, Label, Learner, Portfolio, Vote
from quorate.errors import VotesError
from quorate.events import Labels
from quorate.learner import Input, perceptrons
from quorate.packing import CODE_OF, codes_of, pack, pack_codes

NAMES = ["a", "b", "c", "d", "e"]


def slowly(learner: Learner, kind: str, slot: int, place: int, value: int) -> Any:
    """Let it happen through the table of life alone."""
    if kind == "vote":
        return learner._fold.step(slot, Input.VOTE, (place, value))
    if kind == "label":
        return learner._fold.step(slot, Input.LABEL, value)
    decision = learner.decide(slot)
    learner._fold.step(slot, Input.CLOSE, decision)
    return decision


def quickly(learner: Learner, kind: str, slot: int, place: int, value: int) -> Any:
    if kind == "vote":
        return learner.receive(Vote(slot, NAMES[place], value))
    return learner.receive(Label(slot, value)) if kind == "label" else learner.close(slot)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["vote", "vote", "vote", "close", "label"]),
            st.integers(0, 12),
            st.integers(0, 4),
            st.sampled_from([-1, 1]),
        ),
        max_size=120,
    ),
    st.sampled_from([ExtendedPWM, PWM, Portfolio]),
    st.sampled_from([0, 2, 50]),
    st.sampled_from([1, 3, 64]),
)
def test_the_quick_way_is_that_of_the_table(story: Any, rule: Any, horizon: int, open_slots_max: int) -> None:
    quick, slow = (Learner("a", NAMES, rule(5), horizon, open_slots_max) for _ in range(2))
    gone = 0
    for kind, ahead, place, value in story:
        slot = max(0, gone + ahead - 6)
        if kind == "close":
            slot = max(slot, quick.closed_until + 1)
            gone = slot
        assert quickly(quick, kind, slot, place, value) == slowly(slow, kind, slot, place, value)
        assert quick.snapshot() == slow.snapshot()


@pytest.mark.parametrize("make", [PWM, ExtendedPWM])
@pytest.mark.parametrize("n_learners", [1, 7, 16, 70])
@pytest.mark.parametrize("absent", [0.0, 0.1])
def test_many_rows_at_once_are_rows_one_by_one(
    monkeypatch: pytest.MonkeyPatch, make: Any, n_learners: int, absent: float
) -> None:
    monkeypatch.setattr(perceptrons, "_VOTES_MAX", 100 * n_learners)  # several parts
    rng = np.random.default_rng(n_learners)
    votes = rng.choice([-1, 1], (300, n_learners))
    votes[rng.random(votes.shape) < absent] = 0
    labels = rng.choice([-1, 0, 1], 300).tolist()
    rows = b"".join(pack(row) for row in votes.tolist())
    many, single = make(n_learners), make(n_learners)
    updates = perceptrons.learned(many, rows, n_learners, bytes(CODE_OF[label] for label in labels))
    changed = [single.update(row, label) for row, label in zip(votes.tolist(), labels, strict=True) if label]
    assert (updates, many.snapshot()) == (sum(changed), single.snapshot())
    codes = perceptrons.decided(many, rows, n_learners)
    assert codes == bytes(CODE_OF[single.predict(row)] for row in votes.tolist())
    assert codes_of(pack_codes(codes), len(codes)) == codes


@pytest.mark.parametrize("make", [PWM, ExtendedPWM])
@pytest.mark.parametrize("noise", [0.0, 0.005, 0.05])
def test_long_stretches_without_a_mistake_are_learned_together(make: Any, noise: float) -> None:
    rng = np.random.default_rng(int(1000 * noise))
    votes = rng.choice([-1, 1], (3000, 6))
    labels = np.where(rng.random(3000) < noise, -votes[:, 0], votes[:, 0])
    labels[rng.random(3000) < 0.1] = 0
    rows = b"".join(pack(row) for row in votes.tolist())
    many, single = make(6), make(6)
    updates = perceptrons.learned(many, rows, 6, bytes(CODE_OF[label] for label in labels.tolist()))
    pairs = zip(votes.tolist(), labels.tolist(), strict=True)
    assert updates == sum(single.update(row, label) for row, label in pairs if label)
    assert many.snapshot() == single.snapshot()


def test_weights_that_no_float_holds_are_left_to_the_loop() -> None:
    rule = PWM.restore({"rule": "PWM", "bias": True, "weights": [0, 1 << 53], "schema": 1})
    assert not perceptrons.fits(rule)
    assert perceptrons.fits(PWM(1))
    assert not perceptrons.fits(Portfolio(1))


@pytest.mark.parametrize("n_slots", [4, 200])
def test_weights_that_a_batch_may_carry_past_what_a_float_holds_are_learned_one_by_one(n_slots: int) -> None:
    rule = PWM.restore({"rule": "PWM", "bias": True, "weights": [0, (1 << 53) - 3], "schema": 1})
    batch, single = (Learner("a", ["a"], PWM.restore(rule.snapshot())) for _ in range(2))
    for learner in (batch, single):
        for slot in range(n_slots):
            learner.receive(Vote(slot, "a", -1))
            learner.close(slot)
    batch.receive(Labels.pack(0, [1] * n_slots))
    for slot in range(n_slots):
        single.receive(Label(slot, 1))
    assert batch.snapshot() == single.snapshot()


@pytest.mark.parametrize("make", [PWM, ExtendedPWM])
def test_what_is_remembered_hides_no_fault_and_no_abstention(make: Any) -> None:
    rule = make(2)
    rule.update([1, 1], -1)
    assert rule.predict([1, 1]) == rule.predict((True, 1.0)) == rule.predict(np.array([1, 1])) == -1
    assert rule.predict([-1, -1]) == rule.predict([False, False]) == 1
    assert rule.predict([0, 0]) == (-1 if make is PWM else 1)
    for wrong in ([1, 2], [1, None], [1, "1"], [1], [[1], 1]):
        with pytest.raises(VotesError):
            rule.predict(wrong)
    rule.join()
    rule.leave(0)
    assert rule.predict([1, 1]) == (1 if sum(rule.weights) >= 0 else -1)


def test_a_decision_of_a_watched_learner_is_the_same() -> None:
    class Silent:
        def on_decision(self, stale: bool) -> None: ...
        def on_label(self, *told: Any) -> None: ...
        def on_change(self, *told: Any) -> None: ...

    learner = Learner("a", NAMES)
    learner.watch(Silent())
    learner.receive(Vote(1, "b", -1))
    assert learner.close(1) == Decision(1, "a", 1, (0, -1, 0, 0, 0))
