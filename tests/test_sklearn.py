"""The scikit-learn face: the library's own estimator checks, and what they do not see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from quorate import PWM, AverageMajority, Portfolio
from quorate.errors import LocalError
from quorate.sklearn import EnsembleClassifier

ONLINE = [("sgd", SGDClassifier(random_state=0)), ("bayes", GaussianNB())]
BATCH = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]


@parametrize_with_checks(
    [EnsembleClassifier(BATCH), EnsembleClassifier(ONLINE, rule=PWM), EnsembleClassifier(ONLINE, rule=AverageMajority)]
)  # type: ignore[untyped-decorator]
def test_scikit_learn_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_it_classifies(load: Any) -> None:
    X, y = load(return_X_y=True)
    model = EnsembleClassifier([("l", make_pipeline(StandardScaler(), LogisticRegression())), *BATCH[1:]])
    assert cross_val_score(model, X, y, cv=3).mean() > 0.88


def test_fit_learns_weights_from_rows_a_model_has_not_seen() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    y[:] = X[:, 0] > 0
    noise = DecisionTreeClassifier(random_state=0)  # fits any noise it is given
    flipped = np.where(rng.random(400) < 0.2, 1 - y, y)
    given: list[Any] = []

    class Spy(PWM):
        def _run(self, votes: Any, labels: Any) -> Any:
            given.append((votes == labels[:, None]).mean(axis=0))
            return super()._run(votes, labels)

    model = EnsembleClassifier([("tree", noise), ("linear", LogisticRegression())], rule=Spy).fit(X, flipped)
    # On the rows it was fitted on the tree is never wrong; on others it is much worse than the line.
    assert model.estimators_[0].score(X, flipped) == 1.0
    tree, line = given[0]
    assert tree + 0.05 < line < 0.85


def test_partial_fit_is_prequential() -> None:
    X, y = make_classification(600, random_state=0)
    model = EnsembleClassifier(ONLINE, rule=PWM)
    rule = PWM(2)
    models = [SGDClassifier(random_state=0), GaussianNB()]
    for start in range(0, 600, 50):
        rows = slice(start, start + 50)
        votes = np.zeros((50, 2), int)
        if start:
            votes = np.column_stack([np.where(each.predict(X[rows]) == 1, 1, -1) for each in models])
        rule.run(votes, np.where(y[rows] == 1, 1, -1))
        for each in models:
            each.partial_fit(X[rows], y[rows], classes=[0, 1])
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        assert model.rules_[0].weights == rule.weights


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_rows_of_a_batch_are_decided_before_their_labels_are_learned(n_classes: int) -> None:
    """Of a stream whose labels come in runs: what the last label is worth depends on how late labels are."""
    rng = np.random.default_rng(3)
    y = np.cumsum(rng.random(600) < 0.1) % n_classes
    X = y[:, None] + rng.normal(0, 1.5, (600, 2))
    model = EnsembleClassifier(ONLINE)
    rules, told_at_once = ([Portfolio(2) for _ in range(n_classes - 1)] for _ in range(2))
    models = [SGDClassifier(random_state=0), GaussianNB()]
    for start in range(0, 600, 30):
        rows = slice(start, start + 30)
        places = np.full((30, 2), -1)
        if start:
            places = np.column_stack([each.predict(X[rows]) for each in models])
        for stage, rule in enumerate(rules):
            place = n_classes - 1 - stage
            asked = [row for row in range(30) if y[start + row] <= place]
            votes = [[0 if said < 0 else 1 if said == place else -1 for said in places[row]] for row in asked]
            notes = [rule.note(each) for each in votes]
            for row, each, note in zip(asked, votes, notes, strict=True):
                rule.update(each, 1 if y[start + row] == place else -1, note=note)
            told_at_once[stage].run(votes, np.where(y[start:][asked] == place, 1, -1))
        for each in models:
            each.partial_fit(X[rows], y[rows], classes=range(n_classes))
        model.partial_fit(X[rows], y[rows], classes=range(n_classes))
        assert [rule.snapshot() for rule in model.rules_] == [rule.snapshot() for rule in rules]
    for rule, other in zip(rules, told_at_once, strict=True):
        assert other.explain()["last label"] > 1.5 * rule.explain()["last label"]


def test_fixed_estimators_are_given_fitted_and_stay_so() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = LogisticRegression(max_iter=500).fit(X, y)
    before = fitted.coef_.copy()
    model = EnsembleClassifier([("l", fitted), ("p", Perceptron().fit(X, y))], fixed=True).fit(X, y)
    assert model.score(X, y) > 0.9
    model.partial_fit(X, y)
    assert model.estimators_[0] is fitted
    assert (fitted.coef_ == before).all()
    with pytest.raises(NotFittedError):
        EnsembleClassifier([("l", LogisticRegression())], fixed=True).fit(X, y)


def test_a_fixed_model_that_knows_more_classes_abstains_where_it_says_one() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = LogisticRegression(max_iter=500).fit(X, y)
    two = y != 1
    model = EnsembleClassifier([("l", fitted)], fixed=True).fit(X[two], y[two])
    said = fitted.predict(X)
    assert (model._answers(X)[:, 0] == np.where(said == 1, -1, said // 2)).all()
    assert (said == 1).sum() > 40
    assert set(model.predict(X)) == {0, 2}


def test_frozen_estimators_survive_cross_validation() -> None:
    from sklearn.frozen import FrozenEstimator

    X, y = load_breast_cancer(return_X_y=True)
    fitted = [(name, FrozenEstimator(estimator.fit(X, y))) for name, estimator in [("t", DecisionTreeClassifier())]]
    assert cross_val_score(EnsembleClassifier(fitted, fixed=True), X, y, cv=3).min() > 0.9


def test_members_of_a_frame_may_see_different_columns() -> None:
    from sklearn.compose import make_column_transformer

    frame, y = load_iris(return_X_y=True, as_frame=True)
    members = [
        (column, make_pipeline(make_column_transformer((StandardScaler(), [column])), LogisticRegression()))
        for column in frame.columns
    ]
    model = EnsembleClassifier(members).fit(frame, y)
    assert model.score(frame, y) > 0.7
    assert model.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={frame.columns[0]: "other"}))


def test_partial_fit_is_not_begun_by_what_it_refuses() -> None:
    X, y = load_iris(return_X_y=True)
    model = EnsembleClassifier(ONLINE)
    with pytest.raises(ValueError, match="which is not among the classes"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="needs classes in its first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"in the first call it was \[0, 1, 2\]"):
        model.partial_fit(X, y, classes=[0, 1])


def test_misuse() -> None:
    X, y = load_iris(return_X_y=True)
    assert not hasattr(EnsembleClassifier(BATCH), "partial_fit")
    with pytest.raises(ValueError, match="needs classes in its first call"):
        EnsembleClassifier(ONLINE).partial_fit(X, y)
    with pytest.raises(ValueError, match="which is not among the classes"):
        EnsembleClassifier(ONLINE).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="estimators is empty"):
        EnsembleClassifier([]).fit(X, y)


def test_probabilities_agree_with_predictions() -> None:
    X, y = load_iris(return_X_y=True)
    model = EnsembleClassifier(BATCH).fit(X[::2], y[::2])
    shares = model.predict_proba(X)
    assert shares.shape == (150, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(X)).all()


def test_a_rule_is_given_by_name_by_class_or_as_it_is() -> None:
    X, y = np.array([[-1.0], [1.0]] * 20), np.array([0, 1] * 20)
    models = [("bayes", GaussianNB()), ("linear", LogisticRegression())]
    taught = Portfolio(2).fit([[1, -1]] * 50, [-1] * 50)
    kept = taught.snapshot()
    for rule, kind in (("PWM", PWM), (taught, Portfolio), (None, Portfolio)):
        model = EnsembleClassifier(models, rule=rule).fit(X, y)
        assert type(model.rules_[0]) is kind
        assert (model.predict(X) == y).all()
    assert taught.snapshot() == kept
    with pytest.raises(LocalError, match="did you mean 'PWM'"):
        EnsembleClassifier(models, rule="PMW").fit(X, y)
