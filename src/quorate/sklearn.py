"""The in-process ensemble with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from quorate._extras import load
from quorate.rules import NotingRule, Rule, made_rule
from quorate.rules.shares import cascade_shares, share_behind

load("sklearn", "quorate.sklearn")
import numpy as np  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402  # after the error that names the extra
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.metaestimators import available_if  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EnsembleClassifier"]


def _all_learn_online(ensemble: EnsembleClassifier) -> bool:
    missing = [name for name, estimator in ensemble.estimators if not hasattr(estimator, "partial_fit")]
    if missing and not ensemble.fixed:
        raise AttributeError(
            f"{', '.join(missing)} cannot learn online: no partial_fit; give them fitted, with fixed=True"
        )
    return True


class EnsembleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers that vote, and a rule that weighs the votes, row after row.

    `fit` learns the weights from votes on rows a model was not fitted on (by cross-validation), in shuffled order; then
    every model is fitted on all. `partial_fit` goes on as a stream does: vote, weigh, learn. More than two
    classes are a cascade, one rule for each class but the first: "this one, or one before it?".

    Parameters
    ----------
    estimators
        Names and classifiers.
    rule
        How votes are weighed: a rule for as many learners, which is copied, its class or its name, or any function from
        the number of learners to a rule. Default: `Portfolio`.
    fixed
        Whether the estimators were given fitted and are never retrained: then `fit` learns only the weights. Where the
        ensemble itself is cloned, as in cross-validation, give them as scikit-learn's `FrozenEstimator`.
    cv
        In how many folds `fit` makes the votes; fewer where a class has fewer rows.
    random_state
        The order in which `fit` gives rows to the rule: files are often sorted by class, and a rule that tracks a
        changing world would take that for one. For rows whose order matters, use `partial_fit`.

    Attributes
    ----------
    classes_
        The classes.
    estimators_
        The fitted estimators, in order.
    rules_
        The rule of each stage of the cascade: its first singles out the last class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from quorate.sklearn import EnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = EnsembleClassifier([
    ...     ("linear", LogisticRegression(max_iter=5000)), ("bayes", GaussianNB()),
    ...     ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ... ]).fit(X[:400], y[:400])
    >>> round(model.score(X[400:], y[400:]), 3)
    0.935
    >>> shares = model.rules_[0].explain()
    >>> max(shares, key=shares.get)
    'Winnow2 for -1'
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        rule: Rule | Callable[[int], Rule] | str | None = None,
        fixed: bool = False,
        cv: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.estimators = estimators
        self.rule = rule
        self.fixed = fixed
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the models and the weights anew."""
        X, y = self._checked(X, y, reset=True)
        check_classification_targets(y)
        self._begin(np.unique(y))
        if self.fixed:
            answers = self._answers(X)
        else:
            answers = self._answers_of_others(X, y)
            for estimator in self.estimators_:
                estimator.fit(X, y)
        order = check_random_state(self.random_state).permutation(len(y))
        self._learn(answers[order], y[order])
        return self

    @available_if(_all_learn_online)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with more rows: the votes of the models as they are teach the rule, then the models learn.

        All rows of a call are decided before the label of any is learned, as whoever predicts and then learns a batch
        decides them. So the last label, which a portfolio listens to, is that of the batch before.

        Parameters
        ----------
        X, y
            More rows and their classes.
        classes
            All classes there will be; needed in the first call.
        """
        first = not hasattr(self, "rules_")
        if first and classes is None:
            raise ValueError("partial_fit needs classes in its first call: all classes there will be")
        known = np.unique(classes) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes is {list(classes)}; in the first call it was {known.tolist()}")
        X, y = self._checked(X, y, reset=first)
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(f"y holds {unknown[0]!r}, which is not among the classes {known.tolist()}")
        if first:
            self._begin(known)
        self._learn(self._answers(X), y, together=True)
        if not self.fixed:
            for estimator in self.estimators_:
                estimator.partial_fit(X, y, classes=self.classes_)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the classes of rows."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the share of the weight behind each class: a degree of agreement, not calibrated."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, skip_check_array=hasattr(X, "iloc"))
        # Many rows get the same votes, and a rule is pure: each pattern is asked once.
        patterns, which = np.unique(self._answers(X), axis=0, return_inverse=True)
        return np.array([self._shares(pattern) for pattern in patterns])[which.ravel()]

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """Check the data; a frame stays one, for members that pick columns by name."""
        if not hasattr(X, "iloc"):
            return validate_data(self, X, y, reset=reset)  # type: ignore[no-any-return]
        validate_data(self, X, reset=reset, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _begin(self, classes: NDArray[Any]) -> None:
        if not self.estimators:
            raise ValueError("estimators is empty; an ensemble has at least 1 learner")
        self.classes_ = classes
        self.estimators_ = [estimator if self.fixed else clone(estimator) for _name, estimator in self.estimators]
        self.rules_ = [made_rule(self.rule, len(self.estimators_)) for _ in classes[1:]]

    def _answers(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """What each model says of each row, as places in `classes_`; -1 where it cannot say."""
        answers = np.full((len(X), len(self.estimators_)), -1)
        for place, estimator in enumerate(self.estimators_):
            try:
                answers[:, place] = self._places(estimator.predict(X))
            except NotFittedError:
                if self.fixed:
                    raise
        return answers

    def _answers_of_others(self, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
        """What each model says of each row when it was fitted on other rows."""
        folds = min(self.cv, np.unique(y, return_counts=True)[1].min())
        said = [
            cross_val_predict(clone(estimator), X, y, cv=folds) if folds >= 2 else clone(estimator).fit(X, y).predict(X)
            for estimator in self.estimators_
        ]
        return self._places(np.column_stack(said))

    def _places(self, answers: NDArray[Any]) -> NDArray[np.int64]:
        """Answers as places in `classes_`; a fixed model may know classes that are not among them: -1."""
        places = np.minimum(np.searchsorted(self.classes_, answers), len(self.classes_) - 1)
        return np.where(self.classes_[places] == answers, places, -1)

    def _learn(self, answers: NDArray[np.int64], y: NDArray[Any], *, together: bool = False) -> None:
        truth = np.searchsorted(self.classes_, y)
        for stage, rule in enumerate(self.rules_):
            place = len(self.classes_) - 1 - stage
            asked = truth <= place  # later classes were told apart by earlier stages
            votes, labels = _votes(answers[asked], place), np.where(truth[asked] == place, 1, -1)
            if together and isinstance(rule, NotingRule):  # others end alike, whenever a slot was decided
                rule.run(votes, labels, np.full(len(labels), len(labels) - 1))
            else:
                rule.run(votes, labels)

    def _shares(self, answers: NDArray[np.int64]) -> list[float]:
        """The share behind each class, the classes in their order."""
        stages = (_votes(answers, place) for place in range(len(self.classes_) - 1, 0, -1))
        return cascade_shares(
            [share_behind(rule, tuple(votes.tolist())) for rule, votes in zip(self.rules_, stages, strict=True)]
        )[::-1]


def _votes(answers: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    return np.where(answers < 0, 0, np.where(answers == place, 1, -1))
