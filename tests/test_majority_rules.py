"""The majority family: sequences worked out by hand from each source, the laws, and exactness for ever."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import LocalError, SnapshotError
from quorate.rules import (
    RULES,
    AdaBoostWeights,
    AverageMajority,
    BlumMajority,
    FixedShare,
    WeightedMajority,
    Winnow2,
)
from quorate.rules.powers import sign_of_sum

# Each row: votes, label, the decision by hand, the weights (without the bias) after.
Sequence = list[tuple[tuple[int, ...], int, int, tuple[float, ...]]]

WEIGHTED_MAJORITY: Sequence = [  # beta = 0.5, from (1, 1, 1)
    ((1, 1, -1), -1, 1, (0.5, 0.5, 1)),  # 1 + 1 - 1; wrong: 1 and 2 are halved
    ((1, 1, -1), 1, 1, (0.5, 0.5, 1)),  # 0.5 + 0.5 - 1 = 0, a tie; right
    ((1, -1, -1), 1, -1, (0.5, 0.25, 0.5)),  # -1; wrong
    ((1, -1, -1), -1, -1, (0.5, 0.25, 0.5)),  # -0.25; right, and nobody is demoted
    ((-1, 1, 1), -1, 1, (0.5, 0.125, 0.25)),  # 0.25; wrong
    ((1, -1, -1), 1, 1, (0.5, 0.125, 0.25)),  # 0.125; right
    ((0, 1, -1), 1, -1, (0.5, 0.125, 0.125)),  # -0.125; wrong; the abstainer stays
    ((0, -1, 1), -1, 1, (0.5, 0.125, 0.0625)),  # 0, a tie; wrong
    ((0, 0, 0), -1, 1, (0.5, 0.125, 0.0625)),  # nobody: a tie; wrong, and nobody to demote
]

WINNOW2: Sequence = [  # alpha = 2, threshold 2, from (1, 1, 1, 1)
    ((1, -1, -1, -1), 1, -1, (2, 1, 1, 1)),  # 1 < 2; wrong: promoted
    ((1, -1, -1, -1), 1, 1, (2, 1, 1, 1)),  # 2, at the threshold; right
    ((-1, 1, 1, -1), -1, 1, (2, 0.5, 0.5, 1)),  # 2; wrong: demoted
    ((-1, 1, 1, 1), -1, 1, (2, 0.25, 0.25, 0.5)),  # 2; wrong
    ((-1, 1, 1, 1), 1, -1, (2, 0.5, 0.5, 1)),  # 1; wrong
    ((1, 1, -1, -1), -1, 1, (1, 0.25, 0.5, 1)),  # 2.5; wrong
    ((1, 0, 1, 1), 1, 1, (1, 0.25, 0.5, 1)),  # 2.5; right
    ((-1, -1, -1, -1), 1, -1, (1, 0.25, 0.5, 1)),  # 0; wrong, but nobody said +1
    ((1, 0, 0, 1), 1, 1, (1, 0.25, 0.5, 1)),  # 2, at the threshold
]

BLUM: Sequence = [  # beta = 0.5, gamma = 1.5, from (1, 1, 1)
    ((1, 1, -1), -1, 1, (0.5, 0.5, 1.5)),  # wrong: 1, 2 demoted, 3 promoted
    ((1, -1, -1), -1, -1, (0.25, 0.5, 1.5)),  # right, and yet 1 is demoted
    ((1, 1, -1), 1, -1, (0.375, 0.75, 0.75)),  # -0.75; wrong
    ((1, -1, 1), -1, 1, (0.1875, 1.125, 0.375)),  # 0.375; wrong
    ((-1, 1, -1), 1, 1, (0.09375, 1.125, 0.1875)),  # 0.5625; right: 1, 3 demoted
    ((1, 0, -1), 1, -1, (0.140625, 1.125, 0.09375)),  # -0.09375; wrong; 2 abstains
    ((-1, 1, 1), -1, 1, (0.2109375, 0.5625, 0.046875)),  # 1.078125; wrong
    ((0, 0, 1), -1, 1, (0.2109375, 0.5625, 0.0234375)),  # wrong
]

FIXED_SHARE: Sequence = [  # beta = 0.5, alpha = 0.25, from (1, 1, 1); in 512ths from the second row on
    ((1, 1, -1), -1, 1, (0.5625, 0.5625, 0.875)),  # (.5, .5, 1), pool .5
    ((1, -1, -1), -1, -1, (200 / 512, 290 / 512, 390 / 512)),  # (.28125, .5625, .875), pool .4296875
    ((1, 1, -1), 1, 1, (210.625 / 512, 266.875 / 512, 207.5 / 512)),  # (200, 290, 195), pool 171.25
    ((-1, 1, -1), -1, -1, (200.5859375 / 512, 152.34375 / 512, 198.6328125 / 512)),  # pool 137.890625
    # 1 abstains and takes no part: (., 152.34375, 99.31640625), pool 62.9150390625, one other to give to
    ((0, 1, -1), 1, -1, (200.5859375 / 512, 139.0869140625 / 512, 112.5732421875 / 512)),
    (
        (1, -1, -1),
        -1,
        -1,
        (106.67724609375 / 512, 130.9234619140625 / 512, 114.3524169921875 / 512),
    ),  # pool 87.98828125
    ((0, 0, 1), -1, 1, (106.67724609375 / 512, 130.9234619140625 / 512, 57.17620849609375 / 512)),  # alone: no share
    # (106.677.., 65.461.., 57.176..), pool 57.32879638671875
    ((1, -1, 1), 1, 1, (95.337677001953125 / 512, 69.57798004150390625 / 512, 64.39952850341796875 / 512)),
]

VARIABLE_SHARE: Sequence = [  # beta = 0.5, alpha = 0.25; only the wrong ones give
    ((1, 1, -1), -1, 1, (0.4375, 0.4375, 1.125)),  # .5 each gives .125: pool .25
    ((1, -1, -1), -1, -1, (0.1640625, 0.46484375, 1.15234375)),  # .21875 gives .0546875
    ((-1, -1, -1), 1, -1, (0.16259765625, 0.256591796875, 0.471435546875)),  # all wrong: as fixed share
    ((1, 1, 1), 1, 1, (0.16259765625, 0.256591796875, 0.471435546875)),  # all right: nobody gives
    ((1, -1, 0), 1, -1, (0.16259765625 + 0.032073974609375, 0.096221923828125, 0.471435546875)),  # 2: .128.. gives 1/4
    ((0, 0, -1), -1, -1, (0.194671630859375, 0.096221923828125, 0.471435546875)),
    ((0, 1, 0), -1, 1, (0.194671630859375, 0.0481109619140625, 0.471435546875)),  # alone: demoted, nobody to give to
    ((1, 0, -1), -1, -1, (0.07300186157226562, 0.0481109619140625, 0.4957695007324219)),  # .0973.. gives .0243..
]

AVERAGE: Sequence = [
    ((1, 1, -1), -1, 1, (1, 1, 1)),
    ((1, -1, -1), 1, -1, (1, 1, 1)),
    ((1, -1, 0), -1, 1, (1, 1, 1)),  # a tie
    ((0, 0, 0), 1, 1, (1, 1, 1)),  # a tie
    ((-1, -1, -1), 1, -1, (1, 1, 1)),
    ((0, 0, -1), 1, -1, (1, 1, 1)),
    ((0, 1, -1), -1, 1, (1, 1, 1)),
    ((1, 1, 1), 1, 1, (1, 1, 1)),
]


@pytest.mark.parametrize(
    ("make", "sequence"),
    [
        (lambda: WeightedMajority(3), WEIGHTED_MAJORITY),
        (lambda: Winnow2(4), WINNOW2),
        (lambda: BlumMajority(3), BLUM),
        (lambda: FixedShare(3), FIXED_SHARE),
        (lambda: FixedShare(3, variable=True), VARIABLE_SHARE),
        (lambda: AverageMajority(3), AVERAGE),
    ],
    ids=["WeightedMajority", "Winnow2", "BlumMajority", "FixedShare", "variable share", "AverageMajority"],
)
def test_a_sequence_worked_out_by_hand(make: Any, sequence: Sequence) -> None:
    assert len(sequence) >= 8
    rule = make()
    for votes, label, decision, weights in sequence:
        assert rule.predict(votes) == decision
        before = rule.weights
        assert rule.update(votes, label) == (rule.weights != before)
        assert rule.weights[1:] == pytest.approx(weights, rel=1e-12)
    compiled = make()
    decisions = compiled.run([row[0] for row in sequence], [row[1] for row in sequence])
    assert decisions.tolist() == [row[2] for row in sequence]
    assert compiled.snapshot() == rule.snapshot()


def test_adaboost_weights_by_hand() -> None:
    """Four slots. Learner 1 is right in three: alpha = ln(.875 / .375) / 2, and D becomes (.1875 x 3, .4375).

    Learner 2 is right in the first alone, so under D in .1875: alpha = ln(.3125 / .9375) / 2 = -ln(3) / 2.
    """
    rule = AdaBoostWeights(2).fit([[1, 1], [-1, 1], [1, -1], [-1, -1]], [1, -1, 1, 1])
    one, two = math.log(7 / 3) / 2, -math.log(3) / 2
    assert rule.weights == pytest.approx([0, one, two])
    # .4236 and -.5493
    decided = {
        (1, 1): -1,
        (1, -1): 1,
        (-1, 1): -1,
        (-1, -1): 1,
        (1, 0): 1,
        (0, 1): -1,
        (-1, 0): -1,
        (0, -1): 1,
        (0, 0): 1,
    }
    for votes, decision in decided.items():
        assert rule.predict(votes) == decision
        assert not rule.update(votes, -decision)
    assert rule.run(list(decided), [1] * 9).tolist() == list(decided.values())
    assert rule.weights == pytest.approx([0, one, two])
    assert AdaBoostWeights(1).fit([[1]] * 4, [1] * 4).weights[1] == pytest.approx(math.log(1.125 / 0.125) / 2)


def exact(kind: str, votes: list[list[int]], labels: list[int], beta: Fraction, gamma: Fraction) -> list[int]:
    """The rules in rational numbers, straight from their sources."""
    n = len(votes[0])
    weights = [Fraction(1)] * n
    decisions = []
    for row, label in zip(votes, labels, strict=True):
        if kind == "winnow":
            total: Any = sum(w for w, s in zip(weights, row, strict=True) if s > 0) - Fraction(n, 2)
        else:
            total = sum(w * s for w, s in zip(weights, row, strict=True))
        decisions.append(1 if total >= 0 else -1)
        erred = decisions[-1] != label
        for j, s in enumerate(row):
            if kind == "winnow":
                weights[j] *= (1 / beta if label > 0 else beta) if erred and s > 0 else 1
            elif s == -label:
                weights[j] *= beta if erred or kind in ("blum", "always") else 1
            elif s == label and erred and kind == "blum":
                weights[j] *= gamma
    return decisions


@st.composite
def sequences(draw: st.DrawFn, size_max: int = 150) -> tuple[list[list[int]], list[int]]:
    """Votes of few kinds, so that exact ties and long droughts are common."""
    n = draw(st.integers(1, 5))
    patterns = draw(
        st.lists(st.lists(st.sampled_from([-1, 1, 1, -1, 0]), min_size=n, max_size=n), min_size=1, max_size=4)
    )
    chosen = draw(
        st.lists(st.tuples(st.sampled_from(patterns), st.sampled_from([-1, 1])), min_size=1, max_size=size_max)
    )
    return [list(row) for row, _ in chosen], [label for _, label in chosen]


@given(sequences(), st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)]))
@settings(max_examples=300, deadline=None)
def test_no_decision_differs_from_rational_arithmetic(case: tuple[Any, Any], beta: Fraction) -> None:
    votes, labels = case
    n, gamma = len(votes[0]), Fraction(3, 2)
    for kind, rule in {
        "wm": WeightedMajority(n, float(beta)),
        "blum": BlumMajority(n, float(beta), float(gamma)),
        "always": FixedShare(n, float(beta), alpha=0),
        "winnow": Winnow2(n, float(1 / beta)) if beta != Fraction(3, 4) else Winnow2(n),
    }.items():
        power = Fraction(1, 2) if kind == "winnow" and beta == Fraction(3, 4) else beta
        assert rule.run(votes, labels).tolist() == exact(kind, votes, labels, power, gamma)


@given(st.lists(st.tuples(st.integers(-3000, 3000), st.integers(-2, 2)), min_size=1, max_size=12))
def test_the_sign_of_a_sum_of_powers_is_exact(terms: list[tuple[int, int]]) -> None:
    total = sum(Fraction(2) ** power * coefficient for power, coefficient in terms)
    assert sign_of_sum([power for power, _ in terms], [coefficient for _, coefficient in terms]) == (
        1 if total >= 0 else -1
    )


@given(sequences(), st.floats(0.05, 0.95))
@settings(max_examples=300, deadline=None)
def test_weighted_majority_never_exceeds_its_published_bound(case: tuple[Any, Any], beta: float) -> None:
    votes, labels = case
    if any(0 in row for row in votes):
        votes = [[vote or 1 for vote in row] for row in votes]  # the bound is for learners that always vote
    n = len(votes[0])
    mistakes = int((WeightedMajority(n, beta).run(votes, labels) != labels).sum())
    best = min(sum(row[j] != label for row, label in zip(votes, labels, strict=True)) for j in range(n))
    assert mistakes <= (math.log(n) + best * math.log(1 / beta)) / math.log(2 / (1 + beta)) + 1e-9


@given(sequences())
@settings(max_examples=100, deadline=None)
def test_fixed_share_without_sharing_is_the_always_updating_majority(case: tuple[Any, Any]) -> None:
    votes, labels = case
    n = len(votes[0])
    rule = FixedShare(n, alpha=0)
    assert rule.run(votes, labels).tolist() == exact("always", votes, labels, Fraction(1, 2), Fraction(1))
    wrong = [sum(row[j] == -label for row, label in zip(votes, labels, strict=True)) for j in range(n)]
    assert rule.weights[1:] == pytest.approx([0.5**each for each in wrong])


def test_blum_demotes_on_correct_predictions_and_weighted_majority_does_not() -> None:
    votes, label = (1, 1, -1), 1
    blum, plain = BlumMajority(3), WeightedMajority(3)
    assert blum.predict(votes) == plain.predict(votes) == label
    assert blum.update(votes, label)
    assert not plain.update(votes, label)
    assert (blum.weights[1:], plain.weights[1:]) == ([1, 1, 0.5], [1, 1, 1])


@pytest.mark.parametrize("name", RULES)
def test_ties_predict_plus_one_everywhere(name: str) -> None:
    if name == "Winnow2":
        assert RULES[name](2).predict([1, -1]) == 1  # at its threshold
    else:
        assert RULES[name](2).predict([1, -1]) == 1
        assert RULES[name](2).predict([0, 0]) == 1


TEN_MILLION = 10_000_000


@pytest.mark.parametrize(
    "make",
    [WeightedMajority, BlumMajority, FixedShare, lambda n: FixedShare(n, alpha=0), Winnow2],
    ids=["WeightedMajority", "BlumMajority", "FixedShare", "without sharing", "Winnow2"],
)
def test_ten_million_slots_neither_under_nor_overflow(make: Any) -> None:
    """Everybody is wrong for ten million slots: all weights fall alike, and the rule must go on as a new one would."""
    rule = make(3)
    votes = np.ones((TEN_MILLION, 3), np.int8)
    if isinstance(rule, Winnow2):  # promoted and demoted in turn: learner 1 up, all down, for ever
        votes[::2, 1:] = -1
        labels_all = np.where(np.arange(TEN_MILLION) % 2 == 0, 1, -1).astype(np.int8)
    else:
        labels_all = np.full(TEN_MILLION, -1, np.int8)
    rule.run(votes, labels_all)
    rng = np.random.default_rng(0)
    labels = rng.choice(np.array([-1, 1], np.int8), 300)
    noise = rng.choice(np.array([-1, 1], np.int8), (300, 2))
    decisions = rule.run(np.column_stack([labels, noise]), labels)
    shown = str(rule.snapshot()).lower()
    assert "nan" not in shown
    assert "inf" not in shown
    if not isinstance(rule, Winnow2):  # whose weights stand against a threshold, so that falling is a change
        fresh = make(3).run(np.column_stack([labels, noise]), labels)
        assert (decisions == fresh).all()


@pytest.mark.parametrize("variable", [False, True])
def test_who_is_absent_for_long_does_not_drown_the_others(variable: bool) -> None:
    """Learner 1 is away, its weight as it was; the others' fall by 2**-5000 and must still be told apart."""
    rng = np.random.default_rng(0)
    labels = rng.choice(np.array([-1, 1], np.int8), 20_000)
    wrong = rng.random((20_000, 2)) < [0.1, 0.45]
    votes = np.column_stack([np.zeros(20_000, np.int8), np.where(wrong, -labels[:, None], labels[:, None])])
    rule = FixedShare(3, variable=variable)
    decisions = rule.run(votes, labels)
    assert (decisions[15_000:] != labels[15_000:]).mean() == pytest.approx(
        (decisions[:5000] != labels[:5000]).mean(), abs=0.03
    )
    assert rule.weights == [0.0, 1.0, 0.0, 0.0]  # shown: too small for a float, but kept
    assert FixedShare.restore(rule.snapshot()).snapshot() == rule.snapshot()


def test_variable_share_keeps_the_smallest_weights() -> None:
    rule = FixedShare(3, variable=True)
    rule.run([[1, -1, -1]] * 3000, [1] * 3000)
    assert rule.weights[1] > 0.9
    assert FixedShare.restore(rule.snapshot()).predict([0, 1, -1]) == 1


def test_winnows_share_agrees_with_its_decision() -> None:
    rule = Winnow2(4)
    assert rule.share((1, 1, -1, -1)) == 0.5  # at the threshold
    assert rule.share((1, 1, 1, -1)) == 0.6
    assert rule.share((-1, -1, -1, -1)) == 0.0


def test_a_weight_too_small_for_a_float_still_counts() -> None:
    """Learner 1 errs 3,000 times, then learner 2 does 3,001 times: learner 1 must be ahead again, by one."""
    rule = FixedShare(2, alpha=0)
    rule.run([[1, -1]] * 3000, [-1] * 3000)
    assert rule.weights[1] == 0.0  # shown, not kept
    assert rule.predict([1, -1]) == -1
    rule.run([[-1, 1]] * 3001, [-1] * 3001)
    assert rule.predict([1, -1]) == 1
    assert rule.predict([-1, 1]) == -1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightedMajority(2, beta=1.0), "beta is 1.0; it must be above 0 and below 1"),
        (lambda: WeightedMajority(2, beta=0.0), "beta is 0.0"),
        (lambda: WeightedMajority(2, beta=math.nan), "beta is nan"),
        (lambda: BlumMajority(2, gamma=1.0), "gamma is 1.0; it must be above 1"),
        (lambda: Winnow2(2, alpha=1), "alpha is 1; it must be above 1"),
        (lambda: Winnow2(2, threshold=0), "threshold is 0"),
        (lambda: FixedShare(2, alpha=1.0), "alpha is 1.0"),
        (lambda: FixedShare(2, alpha=-0.1), "alpha is -0.1"),
    ],
)
def test_parameters_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(LocalError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (WeightedMajority(2), {"powers": [[0, 1], [0, 1]]}),
        (WeightedMajority(2), {"powers": []}),
        (WeightedMajority(2), {"powers": [[]]}),
        (WeightedMajority(2), {"parameters": {"beta": 7}}),
        (WeightedMajority(2), {"parameters": {"gamma": 0.5}}),
        (BlumMajority(2), {"powers": [[0, 1], [0]]}),
        (FixedShare(2), {"mantissas": []}),
        (FixedShare(2), {"mantissas": [0.0, 0.5]}),
        (FixedShare(2), {"exponents": [1]}),
        (FixedShare(2), {"exponents": [1, 10**19]}),
        (FixedShare(2), {"powers": [1, 1]}),
        (FixedShare(2, alpha=0), {"powers": [1]}),
        (AdaBoostWeights(2), {"alphas": []}),
    ],
)
def test_a_damaged_snapshot_is_refused(rule: Any, change: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError):
        type(rule).restore(rule.snapshot() | change)


def test_a_newcomer_is_trusted_as_little_as_the_least() -> None:
    for rule in (WeightedMajority(2), FixedShare(2), FixedShare(2, alpha=0), BlumMajority(2)):
        rule.update([1, -1], -1)
        rule.join()
        assert rule.weights[3] == min(rule.weights[1:3])
    winnow = Winnow2(2)
    winnow.join()
    assert winnow.threshold == 1.5
    assert Winnow2(2, threshold=1).threshold == 1
