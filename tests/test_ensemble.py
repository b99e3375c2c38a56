"""The in-process ensemble: models of every kind, views, streams, late labels, hierarchies, cascades."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from river import base, checks, datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing, tree
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from quorate import PWM, AverageMajority, Cascade, Ensemble, ExtendedPWM, Portfolio
from quorate.errors import LabelError, LocalError, MembersError, ModelError, SlotError


def estimators() -> list[base.Classifier]:
    online = {"a": linear_model.LogisticRegression(), "b": naive_bayes.GaussianNB()}
    nested = Ensemble({"inner": Ensemble([linear_model.LogisticRegression()]), "tree": tree.HoeffdingTreeClassifier()})
    return [
        Ensemble(online),
        Ensemble(online, rule=PWM(2, bias=False), fixed=["b"]),
        Ensemble(list(online.values()), rule=AverageMajority, views={"0": ["https", "is_popular"]}),
        nested,
        Cascade(Ensemble(online)),
        Cascade(nested),
    ]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{type(model).__name__}-{place}-{check.__name__}")
        for place, model in enumerate(estimators())
        for check in checks.yield_checks(model)
    ],
)
def test_river_estimator_checks(model: base.Classifier, check: Any) -> None:
    check(model.clone())


def points(n: int, seed: int = 0) -> list[tuple[dict[str, float], bool]]:
    rng = random.Random(seed)
    rows = [{"u": rng.uniform(-1, 1), "v": rng.uniform(-1, 1), "w": rng.uniform(-1, 1)} for _ in range(n)]
    return [(row, row["u"] + row["v"] > 0) for row in rows]


def test_learn_one_is_algorithm_1_over_the_votes() -> None:
    model = Ensemble([lambda x: x["u"] > 0, lambda x: x["v"] > 0, lambda x: x["w"] > 0], rule=PWM)
    rule = PWM(3)
    for x, y in points(300):
        votes = [1 if x[feature] > 0 else -1 for feature in "uvw"]
        assert model.predict_one(x) == (rule.predict(votes) > 0)
        model.learn_one(x, y)
        rule.update(votes, 1 if y else -1)
        assert list(model.weights.values()) == rule.weights


def test_late_labels_train_on_the_votes_as_issued() -> None:
    model = Ensemble([lambda x: x["u"] > 0, lambda x: x["v"] > 0], rule=ExtendedPWM, horizon=30)
    data = points(200)
    rng = random.Random(1)
    decided = []
    for slot, (x, _y) in enumerate(data):
        decision = model.decide_one(x)
        assert decision.slot == slot
        decided.append(decision)
        late = slot - rng.randint(0, 20)
        if late >= 0:
            model.label_one(late, data[late][1])
    assert model.learner.counters.decisions == 200
    assert model.learner.counters.labels > 100
    assert model.learner.counters.duplicate_labels > 0


def test_a_model_learns_when_its_label_comes_and_not_before() -> None:
    model = Ensemble({"online": naive_bayes.GaussianNB()})
    first = model.decide_one({"u": 1.0})
    assert first.votes == (0,)  # a model that has seen nothing abstains
    second = model.decide_one({"u": -1.0})
    assert model.label_one(second.slot, False)
    assert model.decide_one({"u": 1.0}).votes == (-1,)
    assert not model.label_one(second.slot, True)  # again: ignored, and not trained on
    assert not model.label_one(99, True)


def test_an_instance_is_kept_as_it_was() -> None:
    model = Ensemble({"online": naive_bayes.GaussianNB()})
    x = {"u": 1.0}
    slot = model.decide_one(x).slot
    x["u"] = -100.0
    model.label_one(slot, True)
    gaussians = model.models["online"].gaussians  # type: ignore[call-overload]
    assert gaussians[True]["u"].mu == 1.0


class Brittle(base.Classifier):
    """A classifier that refuses some instances."""

    def __init__(self) -> None:
        self.learned = 0

    def learn_one(self, x: Any, y: Any) -> None:
        if "bad" in x:
            raise KeyError("bad")
        self.learned += 1

    def predict_one(self, x: Any, **kwargs: Any) -> bool:
        if "worse" in x:
            raise KeyError("worse")
        return True


def test_a_model_that_cannot_learn_is_named_and_the_others_learn() -> None:
    models = {"a": Brittle(), "b": Brittle(), "c": Brittle()}
    model = Ensemble(models, views={"b": lambda x: {"bad": 1}})
    with pytest.raises(ModelError, match="slot 0 is labelled, but models could not learn it: 'b': KeyError"):
        model.learn_one({"u": 1.0}, True)
    assert [each.learned for each in models.values()] == [1, 0, 1]
    assert model.learner.counters.labels == 1


def test_a_model_that_cannot_vote_leaves_everything_as_it_was() -> None:
    model = Ensemble({"a": Brittle(), "b": Brittle()}, views={"b": lambda x: {"worse": 1}})
    before = model.learner.snapshot()
    with pytest.raises(KeyError):
        model.learn_one({"u": 1.0}, True)
    with pytest.raises(KeyError):
        model.predict_one({"u": 1.0})
    assert model.learner.snapshot() == before


def test_a_view_is_asked_once_a_slot() -> None:
    asked: list[int] = []
    model = Ensemble({"a": naive_bayes.GaussianNB()}, views={"a": lambda x: asked.append(1) or x})  # type: ignore[func-returns-value]
    model.label_one(model.decide_one({"u": 1.0}).slot, True)
    assert len(asked) == 1


def test_an_inner_ensemble_learns_from_the_votes_it_cast() -> None:
    """Its member changes its mind between the decision and the label; the label is for what was said."""
    mood = {"says": True}
    inner = Ensemble({"i": lambda x: mood["says"]}, rule=ExtendedPWM)
    outer = Ensemble({"inner": inner})
    slot = outer.decide_one({}).slot
    mood["says"] = False
    outer.label_one(slot, False)
    assert inner.weights == {"bias": -1, "i": -1}
    assert inner.learner.counters.mistakes == 1
    assert inner.learner.counters.decisions == 1


def test_a_label_past_the_horizon_trains_nobody() -> None:
    trained = naive_bayes.GaussianNB()
    model = Ensemble({"a": trained}, horizon=1)
    slots = [model.decide_one({"u": 1.0}).slot for _ in range(3)]
    assert not model.label_one(slots[0], True)
    assert model.label_one(slots[1], True)
    assert sum(trained.class_counts.values()) == 1


@pytest.mark.parametrize("slot", [-1, "x", 1.5, None])
def test_what_is_no_slot_is_the_callers_fault(slot: Any) -> None:
    model = Ensemble([lambda x: True])
    model.decide_one({}, slot=np.int64(3))  # type: ignore[arg-type]
    assert model.label_one(np.int64(3), True)  # type: ignore[arg-type]
    with pytest.raises(SlotError):
        model.label_one(slot, True)
    if slot is not None:
        with pytest.raises(SlotError):
            model.decide_one({}, slot=slot)


def test_what_is_kept_for_labels_is_bounded() -> None:
    model = Ensemble({"online": naive_bayes.GaussianNB()}, horizon=10)
    for _ in range(100):
        model.decide_one({"u": 1.0})
    assert len(model._kept) == 11
    assert model.learner.counters.expired_slots == 89


def test_a_fixed_model_is_never_retrained() -> None:
    fixed, online = naive_bayes.GaussianNB(), naive_bayes.GaussianNB()
    fixed.learn_one({"u": 1.0}, True)
    model = Ensemble({"fixed": fixed, "online": online}, fixed=["fixed"])
    for x, y in points(20):
        model.learn_one({"u": x["u"]}, y)
    assert sum(fixed.class_counts.values()) == 1
    assert sum(online.class_counts.values()) == 20
    everything = Ensemble({"fixed": fixed}, fixed=True)
    everything.learn_one({"u": 0.0}, False)
    assert sum(fixed.class_counts.values()) == 1
    assert sum(model.clone().models["fixed"].class_counts.values()) == 1  # type: ignore[call-overload]
    assert sum(model.clone().models["online"].class_counts.values()) == 0  # type: ignore[call-overload]


def test_scikit_learn_models_with_and_without_partial_fit() -> None:
    data = points(400)
    matrix = np.array([[x[feature] for feature in "uvw"] for x, _ in data])
    truth = np.array([y for _, y in data])
    batch = DecisionTreeClassifier(max_depth=3, random_state=0).fit(matrix[:100], truth[:100])
    model = Ensemble({"online": SGDClassifier(random_state=0), "batch": batch}, classes=(False, True))
    with pytest.raises(ModelError, match=r"'batch' was fitted on 3 columns without names.*has 1 features \(u\)"):
        model.vote_one({"u": 1.0})
    wrong = 0
    for x, y in data[100:]:
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    assert wrong < 75  # of 300
    assert model.vote_one({"u": 1.0}) == {"online": 0, "batch": 0}  # features are lacking: both abstain


def test_an_unfitted_model_that_cannot_learn_is_refused() -> None:
    model = Ensemble({"batch": LogisticRegression()})
    with pytest.raises(ModelError, match=r"'batch' \(LogisticRegression\) is not fitted and cannot learn online"):
        model.predict_one({"u": 1.0})


def test_a_frame_fitted_model_gets_its_features_by_name() -> None:
    import pandas

    frame = pandas.DataFrame({"b": [0, 0, 1, 1], "a": [5, 6, 5, 6]})
    model = Ensemble({"m": DecisionTreeClassifier(random_state=0).fit(frame, [False, False, True, True])})
    assert model.vote_one({"a": 5, "b": 1}) == {"m": 1}
    assert model.vote_one({"a": 5, "b": 0}) == {"m": -1}


def test_views_and_streams() -> None:
    def seen_by(x: dict[str, float]) -> int:
        return 1 if set(x) == {"u"} else -1

    viewed = Ensemble({"a": seen_by, "b": seen_by, "c": lambda x: x}, views={"a": ["u"], "c": lambda x: None})
    assert viewed.vote_one({"u": 1.0, "v": 2.0}) == {"a": 1, "b": -1, "c": 0}
    assert viewed.vote_one({"v": 2.0}) == {"a": 0, "b": -1, "c": 0}
    streamed = Ensemble({"a": seen_by, "b": seen_by}, streams=True)
    assert streamed.vote_one({"b": {"u": 1.0}}) == {"a": 0, "b": 1}
    with pytest.raises(MembersError, match="views names 'bb', who is no learner; did you mean 'b'"):
        Ensemble({"a": seen_by, "b": seen_by}, views={"bb": ["u"]})
    with pytest.raises(MembersError, match="the view of 'a' is 'age'; give a list"):
        Ensemble({"a": seen_by}, views={"a": "age"})


def test_hierarchies_of_any_depth() -> None:
    def leaf(feature: str) -> Any:
        return lambda x: x[feature] > 0

    region = {name: Ensemble({"u": leaf("u"), "v": leaf("v")}) for name in ("north", "south")}
    country = Ensemble({**region, "w": leaf("w")})
    world = Ensemble({"country": country, "guess": leaf("w")})
    wrong = []
    for x, _ in points(1000):
        wrong.append(world.predict_one(x) != (x["u"] > 0))
        world.learn_one(x, x["u"] > 0)
    assert sum(wrong[500:]) < 25
    assert region["north"].learner.counters.labels == 1000


@pytest.mark.parametrize("classes", [("DOWN", "UP"), (-1, 1), (0, 1), (1, 0), (None, ("any", "hashable"))])
def test_any_two_classes(classes: Any) -> None:
    model = Ensemble([lambda x: x["u"] > 0, naive_bayes.GaussianNB()], classes=classes)
    for x, y in points(100):
        assert model.predict_one(x) in classes
        model.learn_one(x, classes[y])
    assert set(model.predict_proba_one({"u": 1.0, "v": 0.0, "w": 0.0})) == set(classes)
    with pytest.raises(LabelError, match="label 'neither' is neither of the classes"):
        model.learn_one({"u": 1.0}, "neither")


def test_probabilities_agree_with_the_decision_even_at_a_tie() -> None:
    model = Ensemble([lambda x: x["u"] > 0, lambda x: x["v"] > 0])
    for x, y in points(300):
        shares = model.predict_proba_one(x)
        assert max(shares, key=lambda label: shares[label]) == model.predict_one(x)
        model.learn_one(x, y)


def test_a_given_rule_is_a_parameter_and_stays_untouched() -> None:
    rule = PWM(1)
    model = Ensemble([lambda x: True], rule=rule)
    model.learn_one({}, False)
    assert rule.weights == [0, 0]
    assert list(model.weights.values()) == [-1, -1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"models": {}}, MembersError, "models is empty"),
        ({"models": {"a": 7}}, ModelError, "the model of 'a' is 7"),
        ({"models": {"a b": abs}}, MembersError, "'a b' is no learner's name"),
        ({"models": {"a": abs}, "rule": PWM(2)}, MembersError, "the rule is for 2 learners"),
        ({"models": {"a": abs}, "fixed": ["b"]}, MembersError, "fixed is ['b']"),
        ({"models": {"a": abs}, "fixed": "a"}, MembersError, "fixed is 'a'"),
        ({"models": {"a": abs}, "classes": (1,)}, LocalError, "classes is (1,)"),
        ({"models": {"a": abs}, "classes": (1, 1)}, LocalError, "classes is (1, 1)"),
    ],
)
def test_misuse(arguments: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error) as caught:
        Ensemble(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("answer", [2, 0.5, "yes", float("nan")])
def test_a_function_that_answers_nonsense_is_named(answer: Any) -> None:
    model = Ensemble({"site": lambda x: answer})
    with pytest.raises(ModelError, match="the model of 'site' answered"):
        model.learn_one({}, True)
    assert model.learner.counters.decisions == 0


def test_a_slot_that_goes_backwards_is_refused_before_any_vote() -> None:
    model = Ensemble([lambda x: True])
    model.decide_one({}, slot=7)
    assert model.decide_one({}).slot == 8
    before = model.learner.snapshot()
    with pytest.raises(SlotError, match="slot 7 cannot be closed"):
        model.decide_one({}, slot=7)
    assert model.learner.snapshot() == before


def test_a_cascade_of_many_classes() -> None:
    scaled = Ensemble([preprocessing.StandardScaler() | linear_model.LogisticRegression(), naive_bayes.GaussianNB()])
    model = Cascade(scaled)
    assert model.predict_one({"x": 1.0}) is None
    assert model.predict_proba_one({"x": 1.0}) == {}
    data = datasets.ImageSegments().take(1500)
    accuracy = evaluate.progressive_val_score(data, model, metrics.Accuracy()).get()
    assert accuracy > 0.5  # of seven classes
    assert len(model.classes) == 7
    for x, _ in datasets.ImageSegments().take(50):
        shares = model.predict_proba_one(x)
        assert max(shares, key=lambda label: shares[label]) == model.predict_one(x)
        assert sum(shares.values()) == pytest.approx(1.0)


def test_a_cascade_with_fixed_members_made_for_each_class() -> None:
    def made(label: Any) -> Ensemble:
        return Ensemble({"f": lambda x: x["colour"] == label})

    model = Cascade(made)
    colours = ["red", "green", "blue", ("any", "hashable")]
    rng = random.Random(0)
    for _ in range(200):
        colour = rng.choice(colours)
        model.learn_one({"colour": colour}, colour)
    assert all(model.predict_one({"colour": colour}) == colour for colour in colours)


def test_the_number_of_classes_is_bounded() -> None:
    model = Cascade(Ensemble([lambda x: True]), classes_max=2)
    model.learn_one({}, "a")
    model.learn_one({}, "b")
    with pytest.raises(LocalError, match="label 'c' is class number 3; classes_max is 2"):
        model.learn_one({}, "c")
    assert model.classes == ["a", "b"]


def test_a_cascade_is_not_changed_by_what_it_cannot_learn() -> None:
    model = Cascade(Ensemble({"a": Brittle()}))
    with pytest.raises(ModelError):
        model.learn_one({"bad": 1}, "red")
    assert model.classes == []
    assert model.predict_one({}) is None
    with pytest.raises(LocalError, match=r"a cascade asks yes or no: \(False, True\)"):
        Cascade(Ensemble([lambda x: True], classes=("n", "p")))


def test_an_ensemble_says_what_it_trusts_if_its_rule_does() -> None:
    models = {"u": lambda x: x["u"] > 0, "v": lambda x: x["v"] > 0}
    ensemble = Ensemble(models)
    for turn in range(50):
        ensemble.learn_one({"u": turn % 3 - 1, "v": turn % 2}, turn % 3 == 2)
    shares = ensemble.explain()
    assert shares == ensemble.learner.rule.explain(["u", "v"])  # type: ignore[attr-defined]
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["u"] > 4 * shares["v"]
    with pytest.raises(LocalError, match="PWM does not explain what it trusts; its weights are in `weights`"):
        Ensemble(models, rule=PWM).explain()


def test_a_rule_is_given_by_name_by_class_or_as_it_is() -> None:
    models = [lambda x: x["u"] > 0, lambda x: x["v"] > 0]
    taught = Portfolio(2).fit([[1, -1]] * 50, [-1] * 50)
    kept = taught.snapshot()
    assert type(Ensemble(models, rule="PWM").learner.rule) is PWM
    assert type(Ensemble(models, rule=AverageMajority).learner.rule) is AverageMajority
    ensemble = Ensemble(models, rule=taught)
    ensemble.learn_one({"u": 1, "v": 1}, True)
    assert ensemble.learner.rule.snapshot() != kept == taught.snapshot()
    for rule, message in (
        ("PMW", "did you mean 'PWM'"),
        (7, "rule is 7; give a rule"),
        (Portfolio(3), "for 3 learners"),
    ):
        with pytest.raises(LocalError, match=message):
            Ensemble(models, rule=rule)  # type: ignore[arg-type]
