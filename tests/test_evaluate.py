"""Measurement: measures against their definitions, delays through the one learner, results that save themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, linear_model, naive_bayes, stream
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score
from sklearn.tree import DecisionTreeClassifier

from quorate import PWM, AverageMajority, Ensemble, ExtendedPWM, Learner
from quorate.errors import LocalError, ModelError, SourceError
from quorate.evaluate import (
    Recording,
    compare,
    compare_votes,
    decide,
    fading_mean,
    interval,
    measure,
    model_from_text,
    prequential,
    rolling_mean,
)
from quorate.rules import RULES, PreviousLabel
from quorate.streams import NEVER, Feedback, Gaussian, Uniform
from tests.reference import Reference

SIGNS = st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=60)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_measures_are_those_of_scikit_learn(data: st.DataObject) -> None:
    labels = np.array(data.draw(SIGNS))
    decisions = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(labels), max_size=len(labels))))
    previous = PreviousLabel(1).run(np.ones((len(labels), 1), np.int8), labels)
    measures = measure(decisions, labels, previous)
    assert measures.error == pytest.approx((decisions != labels).mean())
    if len(set(labels)) == 2:
        assert measures.balanced_error == pytest.approx(1 - balanced_accuracy_score(labels, decisions))
        assert measures.kappa == pytest.approx(cohen_kappa_score(labels, decisions))
    # Temporal kappa by its definition: (p0 - p') / (1 - p'), p' the accuracy of repeating the previous label.
    repeated = np.concatenate(([1], labels[:-1])) == labels
    if not repeated.all():
        accuracy, chance = 1 - measures.error, repeated.mean()
        assert measures.kappa_temporal == pytest.approx((accuracy - chance) / (1 - chance))


def test_what_cannot_be_beaten() -> None:
    ones = np.ones(5, np.int8)
    assert measure(ones, ones, ones).kappa == 0
    assert measure(-ones, ones, ones).kappa_temporal == float("-inf")


@given(st.lists(st.booleans(), min_size=1, max_size=50), st.integers(1, 60), st.floats(0.5, 1))
def test_rolling_and_fading_by_their_definitions(wrong: list[bool], window: int, factor: float) -> None:
    values = np.array(wrong)
    rolled = [np.mean(wrong[max(0, end - window) : end]) for end in range(1, len(wrong) + 1)]
    assert rolling_mean(values, window) == pytest.approx(rolled)
    assert rolling_mean(values, window, step=3) == pytest.approx(rolled[::3])
    faded = []
    for end in range(1, len(wrong) + 1):
        weights = factor ** np.arange(end - 1, -1, -1.0)
        faded.append(float((weights * values[:end]).sum() / weights.sum()))
    assert fading_mean(values, factor) == pytest.approx(faded)


def test_the_interval_is_students() -> None:
    values = [0.1, 0.14, 0.12, 0.11]
    expected = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert interval(values) == pytest.approx(expected)
    assert interval([0.1]) is None


def recording(seed: int, n_slots: int = 300, n_learners: int = 4, **feedback: Any) -> Recording:
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array([-1, 1], np.int8), n_slots)
    votes = np.where(rng.random((n_slots, n_learners)) < 0.3, -labels[:, None], labels[:, None])
    names = [f"n{place}" for place in range(n_learners)]
    arrivals, present = Feedback(seed=seed, **feedback).realize(n_slots, names)
    return Recording(names, np.where(present, votes, np.int8(0)), labels, arrivals)


@given(seed=st.integers(0, 1000), label_prob=st.floats(0, 1), observe_prob=st.floats(0.3, 1), delay=st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_late_labels_are_those_of_the_naive_reference(
    seed: int, label_prob: float, observe_prob: float, delay: int
) -> None:
    recorded = recording(seed, delay=Uniform(0, delay), label_prob=label_prob, observe_prob=observe_prob)
    reference = Reference(recorded.names, horizon=10**9)
    expected = []
    for slot in range(300):
        for name, vote in zip(recorded.names, recorded.votes[slot].tolist(), strict=True):
            if vote:
                reference.vote(slot, name, vote)
        expected.append(reference.close(slot))
        for labelled in range(slot + 1):
            if recorded.arrivals[labelled] == slot:
                reference.label(labelled, int(recorded.labels[labelled]))
    assert decide(recorded, ExtendedPWM(4)).tolist() == expected


def test_labels_still_outstanding_at_the_end_stay_outstanding() -> None:
    recorded = recording(1, n_slots=100, delay=40)
    seen: list[Learner] = []
    decide(recorded, PWM(4), watch=lambda slot, learner: seen.append(learner))
    assert seen[-1].counters.labels == 60
    assert len(seen[-1].pending_slots) == 40


@pytest.mark.parametrize("name", RULES)
def test_the_compiled_way_is_the_learners_way(name: str) -> None:
    recorded = recording(2)
    assert recorded.is_perfect
    watched = decide(recorded, RULES[name](4), watch=lambda slot, learner: None)
    assert (decide(recorded, RULES[name](4)) == watched).all()


def test_a_short_horizon_gives_labels_up() -> None:
    recorded = recording(3, delay=20)
    assert (decide(recorded, PWM(4), horizon=19) == decide(recording(3, label_prob=0.0), PWM(4))).all()
    with pytest.raises(LocalError, match="votes has shape"):
        decide(Recording(["a"], recorded.votes, recorded.labels, recorded.arrivals), PWM(1))


# prequential: ensembles and single models


def test_prequential_without_delays_is_rivers_progressive_validation() -> None:
    from river import evaluate, metrics

    expected = evaluate.progressive_val_score(
        datasets.Phishing(), linear_model.LogisticRegression(), metrics.Accuracy()
    ).get()
    decisions, recorded = prequential(linear_model.LogisticRegression(), datasets.Phishing(), 2000)
    assert len(decisions) == 1250  # the stream ends first
    assert 1 - (decisions != recorded.labels).mean() == pytest.approx(expected)


def test_prequential_with_delays_is_rivers_question_and_answer() -> None:
    """River reveals what is outstanding at the end, but its predictions are issued before: they must agree."""
    questions: dict[int, Any] = {}
    model = linear_model.LogisticRegression()
    for i, x, y in stream.simulate_qa(datasets.Phishing(), moment=None, delay=7):
        if y is None:
            questions[i] = model.predict_one(x)
        else:
            model.learn_one(x, y)
    expected = np.array([1 if answer else -1 for _, answer in sorted(questions.items())])
    # River reveals a label before the question 7 slots later, we after its decision: one slot less of delay.
    decisions, _ = prequential(linear_model.LogisticRegression(), datasets.Phishing(), 1250, Feedback(delay=6))
    assert (decisions == expected).all()


def test_prequential_with_an_ensemble_and_absent_learners() -> None:
    source = Gaussian(mu=1.0, n_learners=3, seed=2)
    data = [(dict(observation.views), observation.label > 0) for observation in source.take(400)]
    ensemble = Ensemble(
        {name: linear_model.LogisticRegression() for name in source.names}, streams=True, rule=AverageMajority
    )
    decisions, recorded = prequential(ensemble, data, 400, Feedback(Uniform(0, 9), 0.8, {"learner-2": 0.5}, seed=3))
    assert (decisions[100:] != recorded.labels[100:]).mean() < 0.15
    assert 0.4 < (recorded.votes[:, 1] == 0).mean() < 0.6
    again = decide(recorded, AverageMajority(3))
    assert (again == decisions).all()
    with pytest.raises(LocalError, match="streams=True"):
        prequential(naive_bayes.GaussianNB(), data, 10, Feedback(observe_prob=0.5))
    with pytest.raises(LocalError, match="labels come up to 50 slots late, but the ensemble's horizon is 5"):
        prequential(Ensemble([naive_bayes.GaussianNB()], horizon=5), data, 100, Feedback(50))


# compare


def table(n_rows: int = 600, seed: int = 0) -> pa.Table:
    features, labels, _ = Gaussian(mu=0.8, n_learners=4, seed=seed).arrays(n_rows)
    columns: dict[str, Any] = {f"x{place}": features[0, :, place, 0] for place in range(4)}
    columns["sky"] = ["blue" if label > 0 else "grey" for label in labels[0]]
    columns["late"] = np.arange(n_rows) % 5
    columns["y"] = labels[0]
    return pa.table(columns)


def test_compare_is_ranked_and_has_the_baselines() -> None:
    comparison = compare(table().drop_columns(["sky", "late"]), "y", learners=4)
    errors = [row.mean("error") for row in comparison.rows]
    assert errors == sorted(errors)
    kinds = {row.name: row.kind for row in comparison.rows}
    assert kinds["PreviousLabel"] == kinds["MajorityClass"] == "baseline"
    assert kinds["PWM"] == "rule"
    assert kinds["learner-4"] == "learner"
    assert comparison.facts["rows_train"] == 300
    assert comparison.facts["rows_train_each"] == 75
    assert comparison.facts["slots"] == 300
    assert comparison.facts["positive"] == "1"


def test_the_votes_are_those_of_models_trained_on_their_own_rows() -> None:
    data = table()
    comparison = compare(data, "y", learners=3, train_rows=50, models=[DecisionTreeClassifier(random_state=0)])
    features = np.column_stack([data[f"x{place}"].to_numpy() for place in range(4)] + [data["late"].to_numpy()])
    features = np.column_stack([features, (np.array(data["sky"].to_pylist()) == "blue").astype(float)])
    labels = data["y"].to_numpy()
    for place in range(3):
        rows = slice(50 * place, 50 * place + 50)
        tree = DecisionTreeClassifier(random_state=0).fit(features[rows], labels[rows])
        expected = tree.predict(features[150:])
        assert (comparison.recordings[0].votes[:, place] == expected).all()


def test_views_split_the_columns() -> None:
    data = table().drop_columns(["sky", "late"])
    split = compare(data, "y", learners=2, views=True)
    assert [each["columns"] for each in split.facts["learners"]] == [2, 2]
    named = compare(data, "y", learners=2, views=[["x0", "x2"], ["x1", "x3"]])
    assert (split.recordings[0].votes == named.recordings[0].votes).all()


def test_missing_values_and_new_categories_do_not_stop_it() -> None:
    rows = table(400).to_pylist()
    for number, row in enumerate(rows):
        if number % 7 == 0:
            row["x1"] = None
        if number % 11 == 0:
            row["sky"] = None
        if number > 300:
            row["sky"] = f"never seen {number}"
        if number % 50 == 13:
            row["y"] = None
    comparison = compare(pa.Table.from_pylist(rows), "y", learners=2)
    assert comparison.facts["rows_without_label"] == 8
    assert comparison["AverageMajority"].mean("error") < 0.4


def test_rows_of_one_class_train_a_constant() -> None:
    data = table(400)
    ordered = data.take(np.argsort(data["y"].to_numpy(), kind="stable"))
    comparison = compare(ordered, "y", positive=1, learners=2, train_rows=50)
    assert set(comparison.recordings[0].votes.ravel().tolist()) == {-1}


def test_delays_from_a_column() -> None:
    comparison = compare(table(), "y", learners=2, train_rows=50, delay="column:late")
    arrivals = comparison.recordings[0].arrivals
    assert ((arrivals - np.arange(500)) == (np.arange(100, 600) % 5)).all()
    assert comparison.facts["learners"][0]["columns"] == 5  # the delay is not a feature
    with pytest.raises(LocalError, match="no column of numbers 'sky'"):
        compare(table(), "y", delay="column:sky")


def test_repeats_have_their_own_seeds_and_an_interval() -> None:
    comparison = compare(table(), "y", learners=4, label_prob=0.3, seed=5, repeat=3)
    assert comparison.facts["seeds"] == [5, 6, 7]
    row = comparison["PWM"]
    assert len(row.repeats) == 3
    bounds = row.interval("error")
    assert bounds is not None
    assert bounds[0] < row.mean("error") < bounds[1]
    again = compare(table(), "y", learners=4, label_prob=0.3, seed=5, repeat=3)
    assert again.document() == comparison.document()


def test_a_result_saves_itself(tmp_path: Path) -> None:
    comparison = compare(table(), "y", learners=2, label_prob=0.5, repeat=2)
    comparison.save_json(tmp_path / "c.json")
    comparison.save_parquet(tmp_path / "c.parquet")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["versions"]["quorate"]
    assert document["seeds"] == [0, 1]
    assert document["rows"][0]["error"] == comparison.rows[0].mean("error")
    saved = pyarrow.parquet.read_table(tmp_path / "c.parquet").to_pandas()
    second = saved[saved["repeat"] == 1]
    assert len(second) == 300
    wrong = (second["decision:PWM"] != second["label"]).mean()
    assert wrong == pytest.approx(comparison["PWM"].repeats[1].error)
    assert (second["arrival"] == NEVER).mean() == pytest.approx(0.5, abs=0.1)
    facts = json.loads(pyarrow.parquet.read_schema(tmp_path / "c.parquet").metadata[b"quorate"])
    assert facts["seeds"] == [0, 1]


def test_rules_of_ones_own_are_compared_with_the_baselines_beside() -> None:
    recorded = recording(4)
    mine = {"mine": lambda n_learners: PWM(n_learners, bias=False)}
    comparison = compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()], mine)
    assert {row.name for row in comparison.rows if row.kind != "learner"} == {"mine", "PreviousLabel", "MajorityClass"}
    with pytest.raises(LocalError, match="at least one"):
        compare_votes(recorded.names, recorded.votes, recorded.labels, [])


def frame(labels: list[Any]) -> pa.Table:
    return pa.table({"x": np.arange(len(labels), dtype=float), "y": labels})


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (frame(["a", "b", "c"] * 30), {}, "the label 'y' holds 3 values ('a', 'b', 'c'); say which one is positive"),
        (frame(["a"] * 90), {}, "are all 'a'"),
        (frame(["a"] * 90), {"positive": "a"}, "holds only 'a': there is nothing to tell apart"),
        (frame(["a", "b"] * 30), {"positive": "z"}, "no row has the label 'z'; there are 'a', 'b'"),
        (frame(["a", "b"]), {}, "too few to train 8 learners"),
        (frame(["a", "b"] * 30), {"learners": 4, "train_rows": 15}, "too few to train 4 learners on 15 rows"),
        (frame(["a", "b"] * 30), {"learners": 0}, "learners is 0"),
        (frame(["a", "b"] * 30), {"learners": 2, "views": True}, "1 columns cannot be split over 2 learners"),
        (frame(["a", "b"] * 30), {"learners": 1, "views": [["z"]]}, "views name the column 'z'"),
        (frame([None] * 30), {}, "it is empty"),
        (pa.table({"y": [1, -1] * 30}), {}, "no column besides the label"),
        (frame(["a", "b"] * 30), {"models": [7], "learners": 1}, "the model of 'learner-1' is 7"),
    ],
)
def test_misuse_of_compare(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(LocalError) as caught:
        compare(source, "y", **options)
    assert message in str(caught.value)


def test_no_label_column() -> None:
    with pytest.raises(SourceError, match="there is no column 'z'; there are x, y"):
        compare(frame(["a", "b"] * 30), "z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere:Nothing", "No module named 'nowhere'"),
        ("sklearn.tree:Nothing", "has no 'Nothing'"),
        ("Nothing", "no model is at 'Nothing'"),
        ("river.ensemble:VotingClassifier", "cannot be made without arguments"),
    ],
)
def test_no_such_model(text: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        model_from_text(text)
    assert message in str(caught.value)


def test_models_from_text() -> None:
    assert isinstance(model_from_text("sklearn.linear_model.LogisticRegression"), LogisticRegression)
    assert isinstance(model_from_text("river.naive_bayes:GaussianNB"), naive_bayes.GaussianNB)
    assert model_from_text("math:isnan")(0.0) is False
