"""The schemes: River's checks, recovery after a drift, their mechanisms at work, and their marks held to account."""

from __future__ import annotations

import itertools
import pickle
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, checks, drift, linear_model, naive_bayes
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from quorate.errors import LocalError, ModelError
from quorate.evaluate import Recording, decide
from quorate.rules import RULES, AdaBoostWeights
from quorate.schemes import (
    DDD,
    DWM,
    SCHEMES,
    SEA,
    AddExp,
    ChunkScheme,
    EnsembleTracker,
    FanBoosting,
    Member,
    MultiPartitionEnsemble,
    WangEnsemble,
)
from quorate.schemes.marks import MEANINGS, entries, markdown
from quorate.streams import Feedback, Uniform

CHUNKED = {name: scheme for name, scheme in SCHEMES.items() if issubclass(scheme, ChunkScheme)}


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}-{place}-{check.__name__}")
        for name, scheme in SCHEMES.items()
        for place, check in enumerate(checks.yield_checks(scheme(**next(scheme._unit_test_params()))))
    ],
)
def test_river_estimator_checks(name: str, check: Any) -> None:
    scheme = SCHEMES[name]
    check(scheme(**next(scheme._unit_test_params())))


def drifting(n: int, seed: int = 0) -> Iterator[tuple[dict[Any, float], bool]]:
    """Two features, 5 % noise; what was positive is negative from the middle on."""
    rng = random.Random(seed)
    for number in range(n):
        x: dict[Any, float] = {"u": rng.uniform(-1, 1), "v": rng.uniform(-1, 1)}
        y = (x["u"] + 0.3 * x["v"] > 0) == (number < n // 2)
        yield x, y if rng.random() > 0.05 else not y


def made(name: str) -> Any:
    if name in CHUNKED:
        options: dict[str, Any] = {"SEA": {"window": 100, "n_members": 5}}.get(name, {})
        return SCHEMES[name](LogisticRegression(), **options)
    options = {"DDD": {"n_members": 5}, "DWM": {"period": 10}}.get(name, {})
    return SCHEMES[name](naive_bayes.GaussianNB(), **options)


N_SLOTS = 4000


def errors_of(model: Any, n_slots: int) -> list[bool]:
    wrong = []
    for x, y in drifting(n_slots):
        wrong.append(model.predict_one(x) != y)
        model.learn_one(x, y)
    return wrong


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_recovers_after_an_abrupt_drift(name: str) -> None:
    n_slots = 3000
    wrong = errors_of(made(name), n_slots)
    fresh = naive_bayes.GaussianNB()  # trained on the new concept only
    alone = []
    for number, (x, y) in enumerate(drifting(n_slots)):
        if number >= n_slots // 2:
            alone.append(fresh.predict_one(x) != y)
            fresh.learn_one(x, y)
    quarter = n_slots // 4
    assert np.mean(wrong[n_slots // 2 - 500 : n_slots // 2]) < 0.15  # it had learned the old concept
    assert np.mean(wrong[n_slots // 2 : n_slots // 2 + 10]) > 0.5  # and the drift hit it
    assert np.mean(wrong[-quarter:]) < np.mean(alone[-quarter:]) + 0.06


@pytest.mark.parametrize("name", CHUNKED)
def test_a_chunk_scheme_waits_for_its_chunk(name: str) -> None:
    scheme = made(name)
    data = list(drifting(N_SLOTS))
    for number, (x, y) in enumerate(data[:100], 1):
        assert len(scheme.members) == 0
        scheme.learn_one(x, y)
        assert (number == 100) == bool(scheme.members)


# The mechanisms


def at_the_drift(scheme: Any, before: int, after: int) -> tuple[list[Member], Any]:
    """Run to the drift; give the members then; run on."""
    data = list(drifting(N_SLOTS))
    for x, y in data[N_SLOTS // 2 - before : N_SLOTS // 2]:
        scheme.learn_one(x, y)
    members = scheme.members
    for x, y in data[N_SLOTS // 2 : N_SLOTS // 2 + after]:
        scheme.learn_one(x, y)
    return members, scheme


def test_fan_turns_old_members_round_and_drops_the_oldest() -> None:
    members, scheme = at_the_drift(FanBoosting(LogisticRegression(), n_members=4), before=400, after=100)
    assert len(scheme.members) == 4
    assert scheme.members[:3] == members[1:]  # the oldest has gone
    assert scheme.weights[0] < 0  # what was right is wrong: boosting weighs it negatively
    assert max(scheme.weights) > 0


def test_wang_silences_members_that_are_worse_than_guessing() -> None:
    members, scheme = at_the_drift(WangEnsemble(LogisticRegression(), n_members=4), before=400, after=100)
    weights = dict(zip(map(id, scheme.members), scheme.weights, strict=True))
    assert all(weights.get(id(member), 0.0) == 0.0 for member in members)
    assert scheme.weights[-1] > 0.1


def test_wangs_weight_is_the_difference_of_mean_squares() -> None:
    """Three in four rows True: guessing has .75 * .25**2 + .25 * .75**2 = .1875. Saying .9 for the truth has .01."""

    class Sure(base.Classifier):
        def learn_one(self, x: Any, y: Any) -> None:
            pass

        def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
            return {x["truth"]: 0.9, not x["truth"]: 0.1}

    scheme = WangEnsemble(Sure(), window=8)
    for number in range(8):
        scheme.learn_one({"truth": number % 4 != 0}, number % 4 != 0)
    assert scheme.weights == pytest.approx([0.1875 - 0.01])


def test_sea_replaces_its_worst_member() -> None:
    _, scheme = at_the_drift(SEA(LogisticRegression(), window=100, n_members=3), before=500, after=800)
    assert scheme.replaced >= 3
    assert len(scheme.members) == 3
    assert scheme.weights == [1.0] * 3


def test_masud_keeps_the_best_of_all_partitions() -> None:
    scheme = MultiPartitionEnsemble(LogisticRegression(), n_members=2, n_partitions=3)
    members, scheme = at_the_drift(scheme, before=500, after=400)
    assert len(members) == len(scheme.members) == 6
    assert not set(map(id, members)) & set(map(id, scheme.members))


def test_avidan_removes_members_that_are_no_better_than_chance() -> None:
    scheme = EnsembleTracker(LogisticRegression())
    data = list(drifting(N_SLOTS))
    for x, y in data[1600:2000]:
        scheme.learn_one(x, y)
    before = scheme.removed
    for x, y in data[2000:2100]:
        scheme.learn_one(x, y)
    assert scheme.removed == before + 5  # all of them, at once
    assert len(scheme.members) == 5


class Constant(base.Classifier):
    """Says what an instance tells it to say, by how many were made before it."""

    made = itertools.count()

    def __init__(self) -> None:
        self.number = next(self.made)
        self.learned = 0

    def clone(self, *arguments: Any, **options: Any) -> Constant:
        return Constant()

    def learn_one(self, x: Any, y: Any) -> None:
        self.learned += 1

    def predict_one(self, x: Any, **kwargs: Any) -> bool:
        return bool(x["say"][self.number] if self.number < len(x["say"]) else False)


def say(*answers: bool | None) -> dict[str, list[bool | None]]:
    """An instance that makes the first expert say the first answer, and so on; the prototype was made before them."""
    return {"say": [None, *answers]}


@pytest.fixture
def counted() -> Any:
    Constant.made = itertools.count()
    return Constant


def test_addexp_by_hand(counted: Any) -> None:
    """Beta .5, gamma .1, at most 3 experts. `say` is what experts 1, 2, ... (0 is the prototype) answer."""
    scheme = AddExp(counted(), n_experts_max=3)
    scheme.learn_one(say(True), True)  # right
    assert scheme.weights == [1.0]
    scheme.learn_one(say(True), False)  # wrong: halved; a second comes with .1 of what was there
    assert scheme.weights == pytest.approx([0.5, 0.1])
    scheme.learn_one(say(True, False), True)  # .5 against .1: right; the second is halved
    assert scheme.weights == pytest.approx([0.5, 0.05])
    scheme.learn_one(say(True, False), False)  # wrong: the first is halved; a third with .1 * .55
    assert scheme.weights == pytest.approx([0.25, 0.05, 0.055])
    # .25 against .105: wrong: the first is halved; the weakest, .05, goes; .1 * .355 comes
    scheme.learn_one(say(False, True, True), True)
    assert scheme.weights == pytest.approx([0.125, 0.055, 0.0355])
    assert [expert.model.learned for expert in scheme.experts] == [5, 2, 1]
    oldest = AddExp(counted(), prune="oldest", n_experts_max=1)
    first = oldest.experts[0]
    oldest.learn_one({"say": [True] * 99}, False)
    assert oldest.experts[0] is not first


def test_addexp_weights_never_vanish(counted: Any) -> None:
    scheme = AddExp(counted(), n_experts_max=2)
    for _ in range(5000):
        scheme.learn_one({"say": [True] * 20_000}, False)
    assert min(scheme.weights) > 0


def test_dwm_by_hand(counted: Any) -> None:
    """Period 1, beta .5, theta .3."""
    scheme = DWM(counted(), period=1, theta=0.3)
    scheme.learn_one(say(True), False)  # wrong: .5, divided to 1; a second comes with 1
    assert scheme.weights == [1.0, 1.0]
    scheme.learn_one(say(True, False), False)  # the first is cut to .5: .5 against 1, right
    assert scheme.weights == [0.5, 1.0]
    scheme.learn_one(say(True, False), False)  # .25: removed
    assert scheme.weights == [1.0]
    assert scheme.removed == 1
    scheme.learn_one(say(None, True), True)
    assert scheme.weights == [1.0]
    slow = DWM(counted(), period=5)
    for number in range(1, 10):
        slow.learn_one({"say": [True] * 99}, False)
        assert len(slow.experts) == 1 + (number >= 5)


def test_ddd_detects_a_drift_and_old_ensembles_help() -> None:
    scheme = DDD(naive_bayes.GaussianNB(), n_members=5, detector=drift.binary.DDM())
    phases = []
    for x, y in drifting(N_SLOTS):
        scheme.learn_one(x, y)
        phases.append((scheme.drifts, scheme.is_after_drift))
    detected = next(slot for slot, (drifts, _) in enumerate(phases) if drifts)
    assert N_SLOTS // 2 <= detected < N_SLOTS // 2 + 300
    assert phases[detected][1]
    assert not phases[-1][1]  # the new ensemble has taken over again


def test_in_ddd_the_high_diversity_ensemble_takes_over_after_a_moderate_drift() -> None:
    takeovers = 0
    for seed in range(3):
        rng = random.Random(seed)
        scheme = DDD(linear_model.LogisticRegression(), n_members=5, detector=drift.binary.DDM(), seed=seed)
        for number in range(3000):
            x = {"u": rng.uniform(-1, 1), "v": rng.uniform(-1, 1)}
            scheme.learn_one(x, x["u"] > (0.0 if number < 1500 else 0.4))
        takeovers += scheme.takeovers
    assert takeovers == 3


def test_in_ddd_the_high_diversity_ensemble_takes_over_where_it_is_best_by_more_than_the_deviations() -> None:
    scheme = DDD(naive_bayes.GaussianNB(), n_members=3)
    scheme._begin_anew()
    new, low, high = scheme._new_low, scheme._old_low, scheme._old_high
    assert low is not None
    assert high is not None
    new.right, new.seen, low.right, low.seen, high.right, high.seen = 50, 100, 50, 100, 90, 100
    scheme._settle(low, high)
    assert scheme.takeovers == 1
    assert scheme._new_low is high
    assert not scheme.is_after_drift


def test_diversity_is_how_often_members_learn() -> None:
    deaf = drift.binary.DDM(drift_threshold=1000, warning_threshold=1000)
    scheme = DDD(naive_bayes.GaussianNB(), n_members=20, detector=deaf, seed=1)
    for x, y in itertools.islice(drifting(N_SLOTS), 500):
        scheme.learn_one(x, y)

    def learned(bag: Any) -> float:
        return float(np.mean([sum(member.model.class_counts.values()) for member in bag.members]))

    assert learned(scheme._new_low) == pytest.approx(500, rel=0.05)  # Poisson(1)
    assert learned(scheme._new_high) == pytest.approx(50, rel=0.15)  # Poisson(0.1)


# Members and misuse


def test_a_prototype_is_never_trained() -> None:
    prototype = naive_bayes.GaussianNB()
    for scheme in (FanBoosting(prototype, window=10), DWM(prototype), DDD(prototype, n_members=2)):
        for x, y in itertools.islice(drifting(100), 30):
            scheme.learn_one(x, y)
    assert sum(prototype.class_counts.values()) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: FanBoosting(LogisticRegression(), window=1),
        lambda: WangEnsemble(LogisticRegression(), n_folds=1),
        lambda: MultiPartitionEnsemble(LogisticRegression(), n_partitions=1),
        lambda: EnsembleTracker(LogisticRegression(), n_members=4, n_kept=4),
        lambda: AddExp(naive_bayes.GaussianNB(), beta=1.0),
        lambda: AddExp(naive_bayes.GaussianNB(), prune="best"),  # type: ignore[arg-type]
        lambda: DWM(naive_bayes.GaussianNB(), period=0),
        lambda: DWM(naive_bayes.GaussianNB(), theta=1.0),
        lambda: DDD(naive_bayes.GaussianNB(), lambda_low=0.1, lambda_high=1.0),
        lambda: DWM(7),
    ],
)
def test_misuse(make: Any) -> None:
    with pytest.raises(LocalError):
        make()


def test_more_than_two_labels() -> None:
    rng = random.Random(0)
    for scheme in (WangEnsemble(naive_bayes.GaussianNB()), DWM(naive_bayes.GaussianNB())):
        right = 0
        for _ in range(600):
            label = rng.choice(["a", "b", "c"])
            x = {"x": {"a": 0.0, "b": 3.0, "c": 6.0}[label] + rng.gauss(0, 1)}
            right += scheme.predict_one(x) == label
            scheme.learn_one(x, label)
        assert right > 350


def test_ties_are_for_plus_one_with_any_labels(counted: Any) -> None:
    for low, high in ((False, True), (-1, 1)):
        scheme = DWM(naive_bayes.GaussianNB())
        scheme._labels = {low: 1, high: 1}
        scheme._experts, scheme._weights = [], []
        assert scheme.predict_one({"x": 0.0}) == high


@pytest.mark.parametrize("name", ["AddExp", "DWM", "DDD"])
def test_a_scikit_learn_member_that_needs_two_classes(name: str) -> None:
    scheme = SCHEMES[name](
        SGDClassifier(loss="log_loss", random_state=0), **({"n_members": 3} if name == "DDD" else {})
    )
    for number in range(20):
        scheme.learn_one({"u": 1.0 + number % 3, "v": 0.0}, True)
        assert scheme.predict_one({"u": 1.0, "v": 0.0}) is True
    wrong = []
    for x, y in itertools.islice(drifting(N_SLOTS), 600):
        wrong.append(scheme.predict_one(x) != y)
        scheme.learn_one(x, y)
    assert np.mean(wrong[300:]) < 0.3


def test_wang_on_a_chunk_of_one_class_follows_the_newest_member() -> None:
    scheme = WangEnsemble(naive_bayes.GaussianNB(), window=20)
    for number in range(40):
        scheme.learn_one({"x": float(number % 5)}, False)
    assert scheme.weights == [1.0]
    assert scheme.predict_one({"x": 1.0}) is False


class Failing(base.Classifier):
    """A member that refuses to learn some rows."""

    def learn_one(self, x: Any, y: Any) -> None:
        if "bad" in x:
            raise RuntimeError("a bad row")

    def predict_one(self, x: Any, **kwargs: Any) -> bool:
        return bool(x.get("x", 0.0) > 0)


@pytest.mark.parametrize("name", CHUNKED)
def test_a_chunk_that_cannot_be_learned_leaves_the_scheme_as_it_was(name: str) -> None:
    kind: Any = SCHEMES[name]
    scheme = kind(Failing(), window=10)
    for number in range(20):
        scheme.learn_one({"x": number - 10.0}, number > 10)
    members, weights = scheme.members, scheme.weights
    bad = [({"x": number - 5.0, "bad": 1.0}, number > 5) for number in range(10)]
    for x, y in bad[:9]:
        scheme.learn_one(x, y)
    with pytest.raises(RuntimeError, match="a bad row"):
        scheme.learn_one(*bad[9])
    assert (scheme.members, scheme.weights) == (members, weights)
    for number in range(10):
        scheme.learn_one({"x": number - 5.0}, number > 5)
    assert scheme.predict_one({"x": 1.0}) in (False, True)


def test_seas_quality_by_hand() -> None:
    scheme = SEA(Constant(), window=10)
    Constant.made = itertools.count()
    judged = [Member(Constant()) for _ in range(3)]
    for place, member in enumerate(judged):
        member.model.number = place
    scheme._members, scheme._weights, scheme._labels = judged[:2], [1.0, 1.0], {False: 1, True: 1}
    xs: list[Any] = [{"say": [True, False, False]}, {"say": [True, True, True]}]
    # Row 1, truth False: P(True) = P(False) = 1/2, the ensemble says True and errs.
    #   member 1 wrong: -(1 - |1/2 - 1/2|) = -1; member 2 and the candidate right: 1 - |1/2 - 1/2| = 1.
    # Row 2, truth True: P(True) = 1, all right: 1 - |1 - 0| = 0.
    assert scheme._qualities(judged, xs, [False, True]) == [-1.0, 1.0, 1.0]


# The marks


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
class TestMarks:
    def test_distributed_needs_only_votes(self, entry: Any) -> None:
        assert entry.ours.dis == (entry.name in RULES)

    def test_dynamic_recovers(self, entry: Any) -> None:
        if entry.name in SCHEMES:
            assert entry.ours.dyn  # test_a_scheme_recovers_after_an_abrupt_drift
            return
        # Learner 1 is right and the others wrong more often than not; from the middle on it is the other way round.
        rng = np.random.default_rng(0)
        labels = rng.choice(np.array([-1, 1], np.int8), 4000)
        chances = np.where(np.arange(4000)[:, None] < 2000, [0.02, 0.6, 0.6], [0.98, 0.1, 0.6])
        votes = np.where(rng.random((4000, 3)) < chances, -labels[:, None], labels[:, None]).astype(np.int8)
        rule = RULES[entry.name](3)
        if isinstance(rule, AdaBoostWeights):
            rule.fit(votes[:1000], labels[:1000])
        wrong = rule.run(votes, labels) != labels
        assert (wrong[3500:].mean() < 0.35) == entry.ours.dyn

    def test_online_changes_with_labels(self, entry: Any) -> None:
        if entry.name in SCHEMES:
            scheme = made(entry.name)
            data = list(itertools.islice(drifting(N_SLOTS), 300))
            before = [scheme.predict_one(x) for x, _ in data]
            for x, y in data:
                scheme.learn_one(x, y)
            assert ([scheme.predict_one(x) for x, _ in data] != before) == entry.ours.onl
        else:
            rule = RULES[entry.name](3)
            before_state = rule.snapshot()
            rule.run([[1, -1, 1], [1, 1, -1], [-1, 1, 1]] * 5, [-1, -1, 1] * 5)
            assert (rule.snapshot() != before_state) == entry.ours.onl

    def test_low_complexity_stores_no_instance(self, entry: Any) -> None:
        if entry.name in RULES:
            assert entry.ours.com  # a rule never sees one
            return
        scheme = made(entry.name)
        data = list(itertools.islice(drifting(N_SLOTS), 60))
        for x, y in data:
            scheme.learn_one(x, y)
        kept = pickle.dumps(scheme)
        stored = sum(struct.pack(">d", x["u"]) in kept for x, _ in data[5:])
        assert (stored < 3) == entry.ours.com

    def test_independent_of_local_classifiers_takes_any(self, entry: Any) -> None:
        if entry.name in RULES:
            assert entry.ours.ind  # a rule never sees one
            return
        scheme = SCHEMES[entry.name](DecisionTreeClassifier(max_depth=2))  # which cannot learn row by row
        try:
            for x, y in itertools.islice(drifting(N_SLOTS), 250):
                scheme.learn_one(x, y)
        except ModelError:
            assert not entry.ours.ind
        else:
            assert entry.ours.ind

    def test_delayed_missing_and_absent(self, entry: Any) -> None:
        assert entry.ours.delay == (entry.name in RULES)
        if entry.name not in RULES:
            return
        rng = np.random.default_rng(1)
        labels = rng.choice(np.array([-1, 1], np.int8), 600)
        votes = np.where(rng.random((600, 3)) < 0.2, -labels[:, None], labels[:, None]).astype(np.int8)
        arrivals, present = Feedback(Uniform(0, 20), 0.7, 0.8, seed=1).realize(600, ["a", "b", "c"])
        recorded = Recording(["a", "b", "c"], np.where(present, votes, np.int8(0)), labels, arrivals)
        assert (decide(recorded, RULES[entry.name](3)) != labels).mean() < 0.35


def test_every_rule_and_scheme_has_its_marks() -> None:
    assert {entry.name for entry in entries()} == ({*RULES, *SCHEMES} - {"PreviousLabel", "MajorityClass"})
    assert list(MEANINGS) == ["DIS", "DYN", "ONL", "COM", "IND", "DEL"]


def test_the_table_in_the_docs_is_made_from_the_code() -> None:
    page = (Path(__file__).parent.parent / "docs" / "schemes.md").read_text()
    assert markdown() in page
