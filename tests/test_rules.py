"""Hand-computed sequences, the published checks on every rule, and exactness of the compiled path."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import CheckFailedError, LabelError, LocalError, SnapshotError, VotesError
from quorate.rules import (
    PWM,
    RULES,
    AverageMajority,
    BaseRule,
    ExtendedPWM,
    PreviousLabel,
    check_rule,
    kernels,
    yield_checks,
)
from quorate.rules.base import Rule


@pytest.mark.parametrize("check", list(yield_checks()), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", RULES)
def test_every_rule_passes_every_published_check(name: str, check: Any) -> None:
    check(RULES[name], random.Random(1))


def test_check_rule_takes_a_function() -> None:
    check_rule(lambda n_learners: PWM(n_learners, bias=False))


# Algorithm 1, by hand. Votes, label, prediction expected, weights (bias, 1, 2) after.
ALGORITHM_1 = [
    ((1, -1), -1, 1, [-1, -1, 1]),  # 0: a tie predicts +1; wrong
    ((1, 1), 1, -1, [0, 0, 2]),  # -1 -1 +1 = -1; wrong
    ((-1, -1), 1, -1, [1, -1, 1]),  # 0 -0 -2 = -2; wrong
    ((1, -1), -1, -1, [1, -1, 1]),  # 1 -1 -1 = -1; right
    ((1, 1), 1, 1, [1, -1, 1]),  # 1 -1 +1 = 1; right
    ((-1, -1), -1, 1, [0, 0, 2]),  # 1 +1 -1 = 1; wrong
    ((1, -1), 1, -1, [1, 1, 1]),  # 0 +0 -2 = -2; wrong
    ((-1, 1), 1, 1, [1, 1, 1]),  # 1 -1 +1 = 1; right
    ((-1, -1), 1, -1, [2, 0, 0]),  # 1 -1 -1 = -1; wrong
]


def test_algorithm_1_by_hand() -> None:
    rule = PWM(2)
    for votes, label, expected, weights in ALGORITHM_1:
        before = rule.weights
        assert rule.predict(votes) == expected
        assert rule.update(votes, label) == (expected != label)
        assert rule.weights == weights
        assert (weights != before) == (expected != label)
    compiled = PWM(2)
    decisions = compiled.run([row[0] for row in ALGORITHM_1], [row[1] for row in ALGORITHM_1])
    assert decisions.tolist() == [row[2] for row in ALGORITHM_1]
    assert compiled.weights == [2, 0, 0]


def test_algorithm_1_without_bias_by_hand() -> None:
    rule = PWM(2, bias=False)
    for votes, label, expected, weights in [
        ((1, -1), -1, 1, [0, -1, 1]),  # a tie
        ((1, 1), -1, 1, [0, -2, 0]),  # -1 +1 = 0, a tie again
        ((-1, 1), -1, 1, [0, -1, -1]),  # 2 +0 = 2; wrong
        ((1, 1), -1, -1, [0, -1, -1]),  # -2; right
    ]:
        assert rule.predict(votes) == expected
        rule.update(votes, label)
        assert rule.weights == weights


def test_algorithm_2_keeps_two_vectors_by_hand() -> None:
    rule = ExtendedPWM(3)
    for votes, label, expected, synchronous, asynchronous in [
        ((1, 1, 1), -1, 1, [-1, -1, -1, -1], [0, 0, 0, 0]),
        ((1, 0, 1), -1, 1, [-1, -1, -1, -1], [-1, -1, 0, -1]),  # the abstainer's weight stays
        ((0, 0, 0), 1, -1, [-1, -1, -1, -1], [0, -1, 0, -1]),  # nobody: the bias alone decides and learns
        ((-1, 1, 0), 1, 1, [-1, -1, -1, -1], [0, -1, 0, -1]),  # 0 +1 = 1; right
        ((-1, -1, -1), 1, 1, [-1, -1, -1, -1], [0, -1, 0, -1]),  # -1 +3 = 2; right
        ((-1, -1, 1), -1, 1, [-2, 0, 0, -2], [0, -1, 0, -1]),  # -1 +1 +1 -1 = 0, a tie; wrong
    ]:
        assert rule.predict(votes) == expected
        rule.update(votes, label)
        assert rule.weights_synchronous == rule.weights == synchronous
        assert rule.weights_asynchronous == asynchronous


def test_pwm_of_constants_learns_a_liar() -> None:
    rule = PWM(2)
    rng = random.Random(0)
    labels = [rng.choice((-1, 1)) for _ in range(100)]
    decisions = rule.run([[-label, rng.choice((-1, 1))] for label in labels], labels)
    assert (decisions[20:] == labels[20:]).all()
    assert rule.weights[1] < 0


def naive_run(votes: Any, labels: Any, bias: bool, extended: bool) -> tuple[list[int], list[list[int]]]:
    """The two algorithms in NumPy's exact 64-bit integers, sharing nothing with the package."""
    vectors = np.zeros((2, votes.shape[1] + 1), np.int64)
    decisions = []
    for row, label in zip(votes, labels, strict=True):
        s = np.concatenate(([int(bias)], row)).astype(np.int64)
        which = int(extended and (row == 0).any())
        decisions.append(1 if vectors[which] @ s >= 0 else -1)
        if decisions[-1] != label:
            vectors[which] += label * s
    return decisions, vectors.tolist()


@given(
    n_learners=st.one_of(st.integers(1, 20), st.integers(1, 300)),
    n_slots=st.integers(0, 120),
    absent=st.sampled_from([0.0, 0.01, 0.5]),
    bias=st.booleans(),
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from([np.int8, np.int16, np.int64, np.float64]),
)
@settings(max_examples=150, deadline=None)
def test_run_equals_the_loop_and_the_naive_algorithm(
    n_learners: int, n_slots: int, absent: float, bias: bool, seed: int, dtype: Any
) -> None:
    rng = np.random.default_rng(seed)
    votes = np.where(rng.random((n_slots, n_learners)) < absent, 0, rng.choice([-1, 1], (n_slots, n_learners)))
    labels = rng.choice([-1, 1], n_slots)
    for kind, extended in ((PWM, False), (ExtendedPWM, True)):
        ran, looped = kind(n_learners, bias), kind(n_learners, bias)
        decisions = ran.run(np.asfortranarray(votes.astype(dtype)), labels).tolist()
        expected, vectors = naive_run(votes, labels, bias, extended)
        assert decisions == expected
        assert ran.weights == vectors[0]
        loop = []
        for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
            loop.append(looped.predict(row))
            looped.update(row, label)
        assert decisions == loop
        assert ran.snapshot() == looped.snapshot()
        if isinstance(ran, ExtendedPWM):
            assert ran.weights_asynchronous == vectors[1]


@pytest.mark.parametrize("size", [2**30, 2**31, 2**40, 2**62, 2**63, 2**70])
def test_weights_stay_exact_past_every_machine_width(size: int) -> None:
    snapshot = {"rule": "PWM", "bias": True, "weights": [0, size, -size, 1], "schema": 1}
    votes = [[1, 1, 1], [1, 1, -1], [-1, 1, 1], [1, -1, 1]] * 5
    labels = [-1, 1, 1, -1] * 5
    ran, looped = PWM.restore(snapshot), PWM.restore(snapshot)
    decisions = ran.run(votes, labels).tolist()
    expected = []
    for row, label in zip(votes, labels, strict=True):
        expected.append(looped.predict(row))
        looped.update(row, label)
    assert decisions == expected
    assert ran.weights == looped.weights
    assert kernels.fits([ran.weights], 20) == (size < 2**62)


def test_bool_votes_are_signs() -> None:
    bools = np.array([[True, False], [False, False]])
    assert PWM(2).run(bools, [False, True]).tolist() == PWM(2).run(np.where(bools, 1, -1), [-1, 1]).tolist()
    rule = AverageMajority(3)
    assert rule.predict([False, False, True]) == rule.predict(np.array([False, False, True])) == -1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("votes", "labels", "error", "message"),
    [
        ([[1, 1]], [1], VotesError, r"votes has shape (1, 2); it must be (N, 3)"),
        ([1, 1, 1], [1], VotesError, r"votes has shape (3,)"),
        ([[1, 1], [1, 1, 1]], [1, 1], VotesError, "not a rectangular array"),
        ([[1, 2, 1]], [1], VotesError, "votes[0, 1] is 2; votes are -1, 0 or +1"),
        ([[1, 1, 1], [1, 1, 0.5]], [1, 1], VotesError, "votes[1, 2] is 0.5"),
        ([[1, 1, float("nan")]], [1], VotesError, "votes[0, 2] is nan"),
        ([["a", "b", "c"]], [1], VotesError, "must hold integers or booleans"),
        (np.array([[255, 1, 1]], np.uint8), [1], VotesError, "votes[0, 0] is 255"),
        ([[1, 1, 1]], [0], LabelError, "labels[0] is 0; a label is -1 or +1"),
        ([[1, 1, 1]], [float("nan")], LabelError, "labels[0] is nan"),
        ([[1, 1, 1]], [1, 1], LabelError, "labels has shape (2,); votes has 1 rows"),
    ],
)
def test_run_names_the_offending_value_and_place(votes: Any, labels: Any, error: Any, message: str) -> None:
    rule = PWM(3)
    rule.update([1, 1, 1], -1)
    before = rule.snapshot()
    with pytest.raises(error) as caught:
        rule.run(votes, labels)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert rule.snapshot() == before


@pytest.mark.parametrize("n_learners", [0, -1, 2.0, "3", None, True])
def test_a_rule_needs_learners(n_learners: Any) -> None:
    with pytest.raises(LocalError, match="n_learners"):
        PWM(n_learners)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema 2; this release reads schema 1"),
        ({"weights": None}, "weights"),
        ({"weights": [0]}, "'weights' has 1 weights"),
        ({"weights": [0, 1.5]}, "weights"),
        ({"bias": False, "weights": [3, 1]}, "bias weight of 3 though bias is off"),
        ({"rule": "ExtendedPWM"}, "of rule 'ExtendedPWM', not of 'PWM'"),
    ],
)
def test_a_damaged_rule_snapshot_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        PWM.restore({"rule": "PWM", "bias": True, "weights": [0, 1], "schema": 1} | change)
    assert message in str(caught.value)


def test_a_rule_snapshot_without_schema_is_refused() -> None:
    with pytest.raises(SnapshotError, match="no field 'schema'"):
        PWM.restore({"rule": "PWM", "bias": True, "weights": [0, 1]})


@pytest.mark.parametrize(
    ("votes", "labels"),
    [
        ([[True, False, 1]], [-1]),
        ([[True, False, True], [1, 0, -1]], [1, -1]),
        ([[1, 0, -1], [1, 1, -1]], [False, 1]),
        ([[1.0, 0, -1], [np.True_, -1, np.int8(1)]], [1, np.False_]),
    ],
)
def test_bools_among_numbers_are_signs_in_run_as_in_the_loop(votes: Any, labels: Any) -> None:
    ran, looped = PWM(3), PWM(3)
    decisions = ran.run(votes, labels).tolist()
    expected = []
    for row, label in zip(votes, labels, strict=True):
        expected.append(looped.predict(row))
        looped.update(row, label)
    assert decisions == expected
    assert ran.weights == looped.weights


def test_a_masked_array_is_refused() -> None:
    masked = np.ma.masked_array([[1, 1]], mask=[[False, True]])
    with pytest.raises(VotesError, match="masked array"):
        PWM(2).run(masked, [1])


@pytest.mark.parametrize("kind", [PWM, ExtendedPWM])
def test_the_bias_is_settled_at_birth(kind: Any) -> None:
    with pytest.raises(AttributeError):
        kind(2).bias = False


def test_the_lean_of_a_baseline_is_one_that_can_be() -> None:
    with pytest.raises(SnapshotError, match="'lean' is 5; no run of PreviousLabel leads there"):
        PreviousLabel.restore({"rule": "PreviousLabel", "n_learners": 1, "lean": 5, "schema": 1})


class Broken(PWM):
    """Each subclass below breaks one convention that `check_rule` must see."""


class _Impure(Broken):
    def _predict(self, votes: tuple[int, ...]) -> int:
        self._bias_weight += 1
        return super()._predict(votes)


class _RunsWrong(Broken):
    def _run(self, votes: Any, labels: Any) -> Any:
        return -super()._run(votes, labels)


class _RunForgets(Broken):
    def _run(self, votes: Any, labels: Any) -> Any:
        return PWM(self.n_learners)._run(votes, labels)


class _LiesAboutChange(Broken):
    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        super()._update(votes, label, synchronous)
        return False


class _ForgetsOnRestore(Broken):
    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Any:
        return cls(len(snapshot["weights"]) - 1)


class _MovesAbstainers(Broken):
    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        changed = super()._update(votes, label, synchronous)
        self._weights = [weight + changed for weight in self._weights]
        return changed


class _KeepsTheDead(Broken):
    def _leave(self, place: int) -> None:
        del self._weights[0]


class _NotesInVain(Broken):
    """What it says late is judged as of now, in the run; the loop goes by the notes."""

    def note(self, votes: Any) -> int:
        return self.predict(votes) + 1

    def is_note(self, note: Any) -> bool:
        return note in (0, 2)

    def update(self, votes: Any, label: int, *, synchronous: bool | None = None, note: int | None = None) -> bool:
        return (note is None or note - 1 != label) and super().update(votes, label, synchronous=synchronous)


class _NotesAtLength(_NotesInVain, Broken):
    def note(self, votes: Any) -> int:
        return 1 << 32


class _TakesAnything(Broken):
    def predict(self, votes: Any) -> int:
        return self._predict(tuple(votes))


class _KnowsNoMembershipOfThen(Broken):
    def update(self, votes: Any, label: int) -> bool:  # type: ignore[override]
        return super().update(votes, label)


class _WeighsNobody(Broken):
    @property
    def weights(self) -> list[int]:
        return [0]


class _Shares(Broken):
    common: ClassVar[list[int]] = []

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        self.common.append(label)
        return super()._update(votes, label, synchronous)

    def snapshot(self) -> dict[str, Any]:
        return super().snapshot() | {"seen": len(self.common)}


@pytest.mark.parametrize("broken", Broken.__subclasses__())
def test_check_rule_sees_a_broken_rule(broken: type[BaseRule]) -> None:
    with pytest.raises((CheckFailedError, TypeError), match=broken.__name__):
        check_rule(broken)


def test_a_rule_with_notes_is_told_that_its_run_needs_arrivals() -> None:
    class Deaf(_NotesInVain):
        def run(self, votes: Any, labels: Any) -> Any:  # type: ignore[override]
            return super().run(votes, labels)

    with pytest.raises(CheckFailedError, match="Deaf: it takes notes, and its run no arrivals"):
        check_rule(Deaf)


def test_a_rule_that_inherits_nothing_can_satisfy_the_protocol() -> None:
    class Mine:
        """A rule written without the base class."""

        def __init__(self, n_learners: int) -> None:
            self.inner = PWM(n_learners)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

        @property
        def n_learners(self) -> int:
            return self.inner.n_learners

        @property
        def weights(self) -> list[int]:
            return self.inner.weights

        @classmethod
        def restore(cls, snapshot: dict[str, Any]) -> Any:
            mine = cls(1)
            mine.inner = PWM.restore(snapshot)
            return mine

    assert isinstance(Mine(2), Rule)
    check_rule(Mine)
