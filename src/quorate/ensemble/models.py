"""Local models of any kind, behind one face: an instance in, a vote out, and perhaps learning."""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Mapping
from importlib.util import find_spec
from typing import Any

from quorate.errors import ModelError

__all__ = ["Classes", "Model", "wrap"]

#: The negative and the positive class.
Classes = tuple[Hashable, Hashable]


class Model(abc.ABC):
    """A local classifier as an ensemble sees it.

    Parameters
    ----------
    name
        The learner it belongs to, for errors.
    estimator
        The user's own object.
    classes
        The negative and the positive class.
    """

    #: Whether this kind of model can learn one instance at a time.
    learns = True

    def __init__(self, name: str, estimator: Any, classes: Classes) -> None:
        self.name = name
        self.estimator = estimator
        self.classes = classes

    @abc.abstractmethod
    def vote(self, x: Any) -> int:
        """Predict one instance: -1, +1, or 0 where it cannot say."""

    def decide(self, x: Any) -> tuple[int, Any]:
        """Vote on an instance whose label may come later; give with the vote what `learn` will need."""
        return self.vote(x), x

    @abc.abstractmethod
    def learn(self, kept: Any, y: Hashable) -> None:
        """Learn the label of an instance, from what `decide` gave."""

    def _vote_of(self, answer: Any) -> int:
        """Turn a class into a vote; no answer is an abstention."""
        if answer is None:
            return 0
        if hasattr(answer, "item"):
            answer = answer.item()
        negative, positive = self.classes
        if answer == positive:
            return 1
        if answer == negative:
            return -1
        raise ModelError(
            f"the model of {self.name!r} answered {answer!r}; the classes are {negative!r} and {positive!r}"
        )


class EnsembleModel(Model):
    """An ensemble in an ensemble. It keeps the votes of each slot itself, as they were cast, until the label comes."""

    def vote(self, x: Any) -> int:
        """Predict one instance."""
        return self._vote_of(self.estimator.predict_one(x))

    def decide(self, x: Any) -> tuple[int, Any]:
        """Let the inner ensemble decide; what is kept is its slot."""
        decision = self.estimator.decide_one(x)
        return decision.value, decision.slot

    def learn(self, kept: Any, y: Hashable) -> None:
        """Give the inner ensemble the label of its slot."""
        self.estimator.label_one(kept, y)


class RiverModel(Model):
    """A River classifier, or anything with `predict_one` and `learn_one`."""

    def vote(self, x: Any) -> int:
        """Predict one instance; a model that has seen nothing abstains."""
        return self._vote_of(self.estimator.predict_one(x))

    def learn(self, kept: Any, y: Hashable) -> None:
        """Learn one labelled instance."""
        self.estimator.learn_one(kept, y)


class SklearnModel(Model):
    """A scikit-learn classifier, which learns if it has `partial_fit`.

    Its columns are the names it was fitted with (`feature_names_in_`), else the features of the first whole instance,
    in its order. An instance that lacks one of them cannot be voted on: the learner abstains.
    """

    def __init__(self, name: str, estimator: Any, classes: Classes) -> None:
        super().__init__(name, estimator, classes)
        self.learns = hasattr(estimator, "partial_fit")
        fitted = getattr(estimator, "feature_names_in_", None)
        self._features: list[Any] | None = None if fitted is None else list(fitted)

    def vote(self, x: Any) -> int:
        """Predict one instance; a model that has seen nothing, or lacks a feature, abstains."""
        from sklearn.exceptions import NotFittedError

        row = self._row(x)
        if row is None:
            return 0
        try:
            return self._vote_of(self.estimator.predict(row)[0])
        except NotFittedError:
            if self.learns:
                return 0
            raise ModelError(
                f"the model of {self.name!r} ({type(self.estimator).__name__}) is not fitted and cannot learn online; "
                "fit it first, or take one with partial_fit"
            ) from None

    def learn(self, kept: Any, y: Hashable) -> None:
        """Learn one labelled instance, unless it lacks a feature."""
        x = kept
        row = self._row(x)
        if row is not None:
            self.estimator.partial_fit(row, [y], classes=sorted(self.classes, key=str))
            if self._features is None and isinstance(x, Mapping):
                self._features = list(x)

    def _row(self, x: Any) -> Any:
        if not isinstance(x, Mapping):
            return [list(x)]
        if self._features is None:
            self._features = self._first_features(x)
        features = list(x) if self._features is None else self._features
        if any(feature not in x for feature in features):
            return None
        row = [[x[feature] for feature in features]]
        if hasattr(self.estimator, "feature_names_in_") and find_spec("pandas"):
            from pandas import DataFrame

            return DataFrame(row, columns=features)  # fitted on a frame, it may pick columns by name
        return row

    def _first_features(self, x: Mapping[Any, Any]) -> list[Any] | None:
        """The columns of an estimator that was fitted without names, or None where it was not fitted."""
        expected = getattr(self.estimator, "n_features_in_", None)
        if expected is None:
            return None
        if len(x) != expected:
            raise ModelError(
                f"the model of {self.name!r} was fitted on {expected} columns without names, and its first instance "
                f"has {len(x)} features ({', '.join(map(str, x))}); give it a view of {expected}"
            )
        return list(x)


class CallableModel(Model):
    """Any function of an instance that answers -1 or +1, a bool, or None for an abstention. It never learns."""

    learns = False

    def vote(self, x: Any) -> int:
        """Ask the function."""
        answer = self.estimator(x)
        if type(answer) is int and (answer == 1 or answer == -1):  # before what takes longer to ask
            return answer
        if hasattr(answer, "item"):
            answer = answer.item()
        if isinstance(answer, bool):
            return 1 if answer else -1
        if answer is None:
            return 0
        if answer in (-1, 1):
            return int(answer)
        raise ModelError(
            f"the model of {self.name!r} answered {answer!r}; a function answers -1, +1, a bool, or None to abstain"
        )

    def learn(self, kept: Any, y: Hashable) -> None:
        """Never called: a function does not learn."""


def wrap(name: str, model: Any, classes: Classes) -> Model:
    """Put a user's model behind the one face.

    >>> wrap("a", lambda x: x["t"] > 20, classes=(False, True)).vote({"t": 30})
    1
    >>> wrap("a", 7, classes=(False, True))
    Traceback (most recent call last):
    ...
    quorate.errors.ModelError: the model of 'a' is 7; give a River or scikit-learn classifier, or a function
    """
    kind: Callable[[str, Any, Classes], Model]
    if hasattr(model, "decide_one") and hasattr(model, "label_one"):
        kind = EnsembleModel
    elif hasattr(model, "predict_one") and hasattr(model, "learn_one"):
        kind = RiverModel
    elif hasattr(model, "predict") and hasattr(model, "fit"):
        kind = SklearnModel
    elif callable(model):
        kind = CallableModel
    else:
        raise ModelError(f"the model of {name!r} is {model!r}; give a River or scikit-learn classifier, or a function")
    return kind(name, model, classes)
