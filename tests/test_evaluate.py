"""Measurement: measures against their definitions, delays through the one learner, results that save themselves."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose, datasets, linear_model, naive_bayes, optim, preprocessing, stream
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from quorate import PWM, AverageMajority, Ensemble, ExtendedPWM, Learner, Portfolio
from quorate.ensemble.logistic import online_votes
from quorate.errors import LabelError, LocalError, ModelError, SourceError
from quorate.evaluate import (
    Recording,
    compare,
    compare_votes,
    decide,
    fading_mean,
    interval,
    measure,
    model_from_text,
    plain_logistic,
    prequential,
    rolling_mean,
)
from quorate.evaluate.compare import UNFITTED
from quorate.evaluate.trust import shares_over_time
from quorate.rules import RULES, AdaBoostWeights, MajorityClass, PreviousLabel
from quorate.schemes import DWM
from quorate.streams import NEVER, EventDetection, Feedback, Gaussian, Uniform
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
    assert fading_mean(values, factor, step=7) == pytest.approx(faded[::7])


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
    result = prequential(linear_model.LogisticRegression(), datasets.Phishing(), 2000)
    assert result.facts["slots"] == 1250  # the stream ends first
    assert 1 - result["model"].mean("error") == pytest.approx(expected)
    assert {row.name for row in result.rows if row.kind == "baseline"} == {"PreviousLabel", "MajorityClass"}
    assert result.document()["versions"]["river"]


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
    result = prequential(linear_model.LogisticRegression(), datasets.Phishing(), 1250, Feedback(delay=6))
    assert (result.decisions[0]["model"] == expected).all()


def test_prequential_with_an_ensemble_and_absent_learners() -> None:
    source = Gaussian(mu=1.0, n_learners=3, seed=2)
    data = [(dict(observation.views), observation.label > 0) for observation in source.take(400)]
    ensemble = Ensemble(
        {name: linear_model.LogisticRegression() for name in source.names}, streams=True, rule=AverageMajority
    )
    result = prequential(ensemble, data, 400, Feedback(Uniform(0, 9), 0.8, {"learner-2": 0.5}, seed=3))
    decisions, recorded = result.decisions[0]["model"], result.recordings[0]
    assert (decisions[100:] != recorded.labels[100:]).mean() < 0.15
    assert 0.4 < (recorded.votes[:, 1] == 0).mean() < 0.6
    again = decide(recorded, AverageMajority(3))
    assert (again == decisions).all()
    with pytest.raises(LocalError, match="streams=True"):
        prequential(naive_bayes.GaussianNB(), data, 10, Feedback(observe_prob=0.5))
    with pytest.raises(LocalError, match="labels come up to 50 slots late, but the ensemble's horizon is 5"):
        prequential(Ensemble([naive_bayes.GaussianNB()], horizon=5), data, 100, Feedback(50))


def test_prequential_over_quorates_own_streams() -> None:
    """S2: each model learns its local event, and the rule the common label."""
    source = EventDetection.as_published(seed=1)
    ensemble = Ensemble(
        {name: linear_model.LogisticRegression(optimizer=optim.SGD(0.5)) for name in source.names}, streams=True
    )
    result = prequential(ensemble, source, 3000)
    assert result["model"].mean("error") < 0.1 < result["PreviousLabel"].mean("error")
    alone = (result.recordings[0].votes[1000:, 0] != result.recordings[0].labels[1000:]).mean()
    assert alone > 0.4  # a local event says little of the common one
    _, _, events = source.arrays(3000)
    assert events is not None
    assert (result.recordings[0].votes[1000:, 0] == events[0, 1000:, 0]).mean() > 0.97


def test_prequential_with_classes_of_its_own() -> None:
    data = [({"x": 1.0 if number % 3 else -1.0}, "UP" if number % 3 else "DOWN") for number in range(50)]
    result = prequential(naive_bayes.GaussianNB(), data, 50, Feedback(60), classes=("DOWN", "UP"))
    assert (result.recordings[0].labels == 1).sum() == 33
    with pytest.raises(LabelError, match="slot 0 has the label 'DOWN'"):
        prequential(naive_bayes.GaussianNB(), data, 50)
    with pytest.raises(LocalError, match="nothing to measure"):
        prequential(naive_bayes.GaussianNB(), [], 50)


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


@pytest.mark.parametrize(
    "model",
    [
        linear_model.LogisticRegression(),
        linear_model.LogisticRegression(optim.SGD(0.3), intercept_lr=0.0, intercept_init=-2.0),
        linear_model.LogisticRegression(optim.SGD(30.0), intercept_lr=5.0),  # far from its labels, both ways
    ],
)
@pytest.mark.parametrize("views", [False, True])
def test_a_plain_logistic_regression_votes_as_rivers(monkeypatch: pytest.MonkeyPatch, model: Any, views: bool) -> None:
    features, labels, _ = Gaussian(mu=0.8, n_learners=4, seed=1).arrays(1200)
    columns = {f"x{place}": features[0, :, place, 0] for place in range(4)}
    columns["x1"] = pa.array(columns["x1"], mask=np.arange(1200) % 7 == 0)  # some are missing
    table = pa.table({**columns, "y": labels[0]})
    vote_of = plain_logistic.taught(model, table.drop_columns(["y"]), labels[0])
    assert vote_of is not None
    compiled = compare(table, "y", models=[model], learners=4, views=views)
    monkeypatch.setattr(plain_logistic, "plain", lambda model: None)
    by_river = compare(table, "y", models=[model], learners=4, views=views)
    assert (compiled.recordings[0].votes == by_river.recordings[0].votes).all()
    assert compiled.document()["rows"] == by_river.document()["rows"]


def test_the_weights_of_a_plain_logistic_regression_are_rivers() -> None:
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(500, 5)), rng.choice(np.array([-1, 1], np.int8), 500)
    model = linear_model.LogisticRegression(optim.SGD(0.2), intercept_lr=0.5)
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label > 0)
    weights = np.zeros((1, 6))
    online_votes(rows[:, None], labels[:, None], rate=0.2, intercept_rate=0.5, weights=weights)
    assert np.allclose(weights[0], [*(model.weights[place] for place in range(5)), model.intercept], 1e-12, 1e-12)


def test_what_is_no_plain_logistic_regression_is_left_to_river() -> None:
    assert plain_logistic.plain(naive_bayes.GaussianNB()) is None
    for model in (
        linear_model.LogisticRegression(optim.Adam()),
        linear_model.LogisticRegression(optim.SGD(optim.schedulers.InverseScaling(0.1))),
        linear_model.LogisticRegression(l1=0.1),
        linear_model.LogisticRegression(loss=optim.losses.Log(weight_pos=2.0)),
        linear_model.LogisticRegression(clip_gradient=0.5),
        linear_model.LogisticRegression(initializer=optim.initializers.Normal()),
    ):
        assert plain_logistic.plain(model) is None
    words = pa.table({"x": ["a", "b"]})
    assert plain_logistic.taught(linear_model.LogisticRegression(), words, np.array([-1, 1], np.int8)) is None


def test_adaboost_is_fitted_on_the_rows_the_others_were_trained_on() -> None:
    data = table().drop_columns(["sky", "late"])
    comparison = compare(data, "y", learners=3, train_rows=50)
    features = np.column_stack([data[f"x{place}"].to_numpy() for place in range(4)])
    labels = data["y"].to_numpy()
    tuning = np.zeros((150, 3), int)
    for place in range(3):
        own = slice(50 * place, 50 * place + 50)
        scaler = StandardScaler().fit(features[own])
        model = LogisticRegression(max_iter=1000).fit(scaler.transform(features[own]), labels[own])
        tuning[:, place] = model.predict(scaler.transform(features[:150]))
        tuning[own, place] = 0
    rule = AdaBoostWeights(3).fit(tuning, labels[:150])
    votes = comparison.recordings[0].votes
    assert (comparison.decisions[0]["AdaBoostWeights"] == rule.run(votes, labels[150:])).all()
    assert comparison.tuning is not None
    fitted = Portfolio(3).fit(*comparison.tuning)
    assert (comparison.decisions[0]["Portfolio"] == fitted.run(votes, labels[150:])).all()
    assert comparison.facts["fitted"] == ["Portfolio", "AdaBoostWeights"]
    begun = comparison.portfolio()
    assert begun is not None
    assert begun.snapshot() == Portfolio(3).fit(*comparison.tuning).snapshot()
    unfitted = comparison.decisions[0]["Portfolio, unfitted"]
    assert (unfitted == Portfolio(3).run(votes, labels[150:])).all()
    trusted = comparison.document()["curves"]["portfolio"]["shares"]
    assert trusted == shares_over_time(comparison.recordings[0], comparison.tuning)["shares"]
    assert trusted != shares_over_time(comparison.recordings[0])["shares"]
    recorded = recording(5)
    without = compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()])
    assert {"AdaBoostWeights", "Portfolio, unfitted"}.isdisjoint(without.decisions[0])
    assert without.facts["fitted"] == []
    alone = compare(data, "y", learners=1)
    assert alone.tuning is None  # it was trained on all of the block


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
    assert comparison.portfolio() is None
    every = compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()], {**RULES, **mine})
    assert {"mine", *RULES} - {"AdaBoostWeights"} <= {row.name for row in every.rows}
    with pytest.raises(LocalError, match="are named 'PWM'; rename one"):
        compare_votes(["PWM", "b", "c", "d"], recorded.votes, recorded.labels, [Feedback()])
    with pytest.raises(LocalError, match="are named 'a'; rename one"):
        compare_votes(["a", "b", "c", "a"], recorded.votes, recorded.labels, [Feedback()])
    with pytest.raises(LocalError, match="at least one"):
        compare_votes(recorded.names, recorded.votes, recorded.labels, [])
    with pytest.raises(LocalError, match="the rule named 'Portfolio' is a PWM; give it another name"):
        compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()], {"Portfolio": PWM})
    own = Portfolio(4).fit(recorded.votes[:50], recorded.labels[:50])
    with pytest.raises(LocalError, match="'Portfolio' is one that was fitted or has run; give it another name"):
        compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()], {"Portfolio": lambda _: own})


def test_nobody_else_has_the_name_of_the_unfitted_portfolio() -> None:
    recorded = recording(4)
    block = recorded.votes[:50], recorded.labels[:50]
    rules = {"Portfolio": Portfolio, UNFITTED: PWM}
    with pytest.raises(LocalError, match="are named 'Portfolio, unfitted'; rename one"):
        compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()], rules, block)
    with pytest.raises(LocalError, match="are named 'Portfolio, unfitted'; rename one"):
        compare_votes([UNFITTED, "b", "c", "d"], recorded.votes, recorded.labels, [Feedback()], tuning=block)
    compared = compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()], rules)
    pwm = PWM(4).run(recorded.votes, recorded.labels)
    assert (compared.decisions[0][UNFITTED] == pwm).all()  # without a block there is no other


def csv(path: Path, rows: list[str], header: str = "x,y") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_third_class_that_comes_late_is_refused(tmp_path: Path) -> None:
    rows = [f"{number},{'yes' if number % 2 else 'no'}" for number in range(200_000)]
    file = csv(tmp_path / "a.csv", [*rows, "1,maybe"])
    assert file.stat().st_size > 1_500_000  # more than one block
    with pytest.raises(LocalError, match="holds 3 values"):
        compare(file, "y", learners=2)
    assert compare(file, "y", positive="yes", learners=2).facts["slots"] == 196_001


def test_booleans_are_the_same_classes_in_every_format(tmp_path: Path) -> None:
    rows = [{"x": float(number % 7), "y": number % 7 > 3} for number in range(400)]
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows))
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    results = [
        compare(source, "y", positive="True", learners=2)
        for source in (lines, tmp_path / "a.parquet", pa.Table.from_pylist(rows))
    ]
    assert len({json.dumps(result.document()["rows"]) for result in results}) == 1


def test_a_nan_label_is_no_label(tmp_path: Path) -> None:
    labels = [1.0, 0.0, float("nan")] * 100
    pyarrow.parquet.write_table(pa.table({"x": np.arange(300.0), "y": labels}), tmp_path / "a.parquet")
    result = compare(tmp_path / "a.parquet", "y", positive=1, learners=2)
    assert result.facts["rows_without_label"] == 100


def test_na_is_a_class_where_the_format_has_missing_values(tmp_path: Path) -> None:
    data = pa.table({"x": np.arange(300.0), "y": ["NA", "EU", "EU"] * 100})
    assert compare(data, "y", positive="NA", learners=2).facts["rows_without_label"] == 0
    text = csv(tmp_path / "a.csv", [f"{number},{'NA' if number % 3 else 'EU'}" for number in range(300)])
    with pytest.raises(LocalError, match="are all 'EU'"):
        compare(text, "y", learners=2)


def test_a_typo_among_numbers_is_a_bad_row_and_not_a_column_of_categories(tmp_path: Path) -> None:
    rows = [f"{number % 50 - 25},{'a' if number % 50 > 25 else 'b'}" for number in range(1000)]
    rows[600] = "oops,a"
    file = csv(tmp_path / "a.csv", rows)
    with pytest.raises(SourceError, match=r"line 602: column 'x' holds 'oops'.*or is it a category"):
        compare(file, "y", learners=2)
    result = compare(file, "y", learners=2, on_bad_row="skip")
    assert result.facts["columns"] == {"x": "number"}
    assert result.facts["rows_skipped"] == 1
    assert compare(file, "y", learners=2, types={"x": "category"}).facts["columns"] == {"x": "category"}


def test_a_column_can_be_left_out() -> None:
    data = table().append_column("when", pa.array([None] * 600, pa.timestamp("s")))
    with pytest.raises(SourceError, match="column 'when' holds timestamp"):
        compare(data, "y", learners=2)
    assert "when" not in compare(data, "y", learners=2, drop=["when"]).facts["columns"]


def test_a_learner_that_abstains_is_judged_on_every_slot() -> None:
    data = table(400)

    def picky(row: dict[str, Any]) -> bool | None:
        return True if row["x0"] > 1 else None

    result = compare(data, "y", models=[picky], learners=1, train_rows=1)
    assert result["learner-1"].repeats[0].slots == 399
    always = (data["y"].to_numpy()[1:] != 1).mean()
    assert result["learner-1"].mean("error") == pytest.approx(always)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lasso(), "is no classifier"),
        (KMeans(2), "is no classifier"),
        (lambda row: int(row["x0"] > 0), "answered 0; a function answers -1, \\+1, a bool, or None"),
        (naive_bayes.GaussianNB(), "could not learn"),  # text is not for it
    ],
    ids=["a regressor", "a clusterer", "zeros and ones", "text"],
)
def test_models_that_are_not_fit_for_it(model: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        compare(table(), "y", models=[model], learners=1)


def test_models_that_were_fitted_elsewhere_are_taken_as_they_are() -> None:
    data = table().drop_columns(["sky", "late"])
    frame_ = data.to_pandas()
    named = LogisticRegression().fit(frame_[["x0", "x2"]], frame_["y"])
    plain = DecisionTreeClassifier(random_state=0).fit(frame_.drop(columns="y").to_numpy(), frame_["y"])
    river = naive_bayes.GaussianNB()
    for row in data.to_pylist():
        river.learn_one({"x1": row["x1"]}, row["y"] > 0)
    result = compare(data, "y", models=[named, plain, river], learners=3, fitted=True)
    assert result.facts["rows_train"] == 0
    votes = result.recordings[0].votes
    assert (votes[:, 0] == named.predict(frame_[["x0", "x2"]])).all()
    assert (votes[:, 1] == data["y"].to_numpy()).all()  # a tree knows its own rows
    assert votes.shape == (600, 3)
    with pytest.raises(LocalError, match="models given fitted take none"):
        compare(data, "y", models=[named], fitted=True, train_rows=5)


def test_missing_numbers_are_the_mean_and_unseen_categories_are_nothing() -> None:
    """One number, one category; a logistic regression on both, by hand with scikit-learn."""
    rng = np.random.default_rng(3)
    x = rng.normal(2.0, 1.0, 300)
    sky = rng.choice(["blue", "grey"], 300)
    y = np.where(x + (sky == "blue") + rng.normal(0, 0.5, 300) > 2.5, 1, -1)
    given: list[Any] = x.tolist()
    skies: list[Any] = sky.tolist()
    given[5] = given[250] = None
    skies[251] = "never seen"
    skies[252] = None
    votes = (
        compare(
            pa.table({"x": given, "sky": skies, "y": y}), "y", models=[LogisticRegression()], learners=1, train_rows=200
        )
        .recordings[0]
        .votes[:, 0]
    )
    mean = np.mean([value for value in given[:200] if value is not None])
    filled = np.array([mean if value is None else value for value in given])
    scaled = (filled - filled[:200].mean()) / filled[:200].std()
    hot = np.column_stack([scaled, np.array(skies) == "blue", np.array(skies) == "grey"]).astype(float)
    model = LogisticRegression().fit(hot[:200], y[:200])
    assert (votes == model.predict(hot[200:])).all()


def test_a_learners_temporal_kappa_is_against_the_previous_label() -> None:
    recorded = recording(8)
    result = compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback()])
    previous = PreviousLabel(4).run(recorded.votes, recorded.labels)
    expected = 1 - (recorded.votes[:, 0] != recorded.labels).mean() / (previous != recorded.labels).mean()
    assert result["n0"].mean("kappa_temporal") == pytest.approx(expected)


def test_every_block_of_a_saved_result_is_right(tmp_path: Path, monkeypatch: Any) -> None:
    from quorate.evaluate import result as result_module

    monkeypatch.setattr(result_module, "BLOCK_SLOTS", 70)
    recorded = recording(9, delay=Uniform(0, 5))
    comparison = compare_votes(recorded.names, recorded.votes, recorded.labels, [Feedback(Uniform(0, 5), seed=9)])
    comparison.save_parquet(tmp_path / "a.parquet")
    saved = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert saved["slot"].to_pylist() == list(range(300))
    assert saved["arrival"].to_pylist() == comparison.recordings[0].arrivals.tolist()
    assert saved["vote:n3"].to_pylist() == recorded.votes[:, 3].tolist()
    assert saved["decision:PWM"].to_pylist() == comparison.decisions[0]["PWM"].tolist()


def test_a_scheme_gets_the_rows_and_the_late_labels_of_the_rules() -> None:
    data = table(300)
    result = compare(data, "y", learners=2, train_rows=50, delay=7, label_prob=0.8, seed=3, schemes=["DWM"])
    member = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    scheme = DWM(member)
    rows = [
        (
            {key: value for key, value in row.items() if key not in ("sky", "y")} | {f"sky={row['sky']}": 1.0},
            row["y"] > 0,
        )
        for row in data.to_pylist()
    ]
    for x, y in rows[:100]:
        scheme.learn_one(x, y)
    expected = []
    arrivals = result.recordings[0].arrivals
    for slot, (x, _) in enumerate(rows[100:]):
        expected.append(1 if scheme.predict_one(x) else -1)
        for labelled in np.flatnonzero(arrivals == slot).tolist():
            scheme.learn_one(*rows[100 + labelled])
    assert result.decisions[0]["DWM"].tolist() == expected
    assert result["DWM"].kind == "scheme"
    assert result["DWM"].mean("error") == pytest.approx((np.array(expected) != result.recordings[0].labels).mean())


def test_a_result_has_its_curves() -> None:
    result = compare(table(), "y", learners=2, window=40)
    curves = result.document()["curves"]
    assert (curves["window"], curves["fading_factor"]) == (40, 0.999)
    wrong = result.decisions[0]["PWM"] != result.recordings[0].labels
    assert curves["windowed_error"]["PWM"] == pytest.approx(rolling_mean(wrong, 40).tolist(), abs=1e-6)
    assert curves["fading_error"]["PWM"] == pytest.approx(fading_mean(wrong).tolist(), abs=1e-6)


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
        (frame(["a", "b"] * 30), {"models": []}, "models is empty"),
        (frame(["a", "b"] * 30), {"models": [min, max], "learners": 1}, "2 models are given for 1 learners"),
        (frame(["a", "b"] * 30), {"train_rows": 0}, "train_rows is 0"),
        (
            frame(["a", "b"] * 30),
            {"rules": {"learner-1": PWM}, "learners": 2},
            "baselines are named 'learner-1'; rename one",
        ),
        (frame(["a", "b"] * 30), {"rules": {"MajorityClass": PWM}, "learners": 2}, "named 'MajorityClass'; rename one"),
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


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(
        [*RULES.values(), PreviousLabel, MajorityClass, partial(PWM, bias=False), partial(ExtendedPWM, bias=False)]
    ),
    st.integers(1, 5),
    st.integers(0, 80),
    st.sampled_from([0, 3, 40]),
    st.floats(0, 1),
    st.sampled_from([1.0, 0.7]),
    st.integers(0, 2**32),
)
def test_a_run_with_late_labels_is_what_the_learner_does(
    make: Any, n_learners: int, n_slots: int, late: int, label_prob: float, observe_prob: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    votes = generator.choice((-1, 1), (n_slots, n_learners)).astype(np.int8)
    votes[generator.random(votes.shape) > observe_prob] = 0
    labels = generator.choice((-1, 1), n_slots).astype(np.int8)
    arrivals = np.arange(n_slots) + generator.integers(0, late + 1, n_slots)
    arrivals[generator.random(n_slots) > label_prob] = NEVER
    names = [f"l{place}" for place in range(n_learners)]
    recording = Recording(names, votes, labels, arrivals)
    learned, run = make(n_learners), make(n_learners)
    by_learner = decide(recording, learned, watch=lambda slot, learner: None)
    assert run.run(votes, labels, arrivals).tolist() == by_learner.tolist()
    assert run.snapshot() == learned.snapshot()
    assert decide(recording, make(n_learners)).tolist() == by_learner.tolist()
