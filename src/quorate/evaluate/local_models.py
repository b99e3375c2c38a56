"""Local models that are trained once, each on its own rows, and then only vote."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._extras import load
from quorate.errors import ModelError, QuorateError
from quorate.evaluate import plain_logistic
from quorate.streams.columns import Kind

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["LocalModel", "model_from_text", "take", "train"]

#: How many columns the categories of one column become at the most; the rarest share one.
CATEGORIES_MAX = 1000


class LocalModel:
    """A trained model, its columns, and how it votes on a table.

    Parameters
    ----------
    name
        The learner it belongs to.
    columns
        What it sees.
    vote
        From a table of these columns to votes.
    """

    def __init__(self, name: str, columns: Sequence[str], vote: Callable[[pa.Table], NDArray[np.int8]]) -> None:
        self.name = name
        self.columns = list(columns)
        self._vote = vote

    def vote(self, table: pa.Table) -> NDArray[np.int8]:
        """Vote on every row: -1, +1, or 0 where the model abstains."""
        try:
            return self._vote(table.select(self.columns))
        except Exception as error:
            raise _as_model_error(self.name, "vote", error) from error


def train(
    name: str, model: Any, table: pa.Table, labels: NDArray[np.int8], kinds: dict[str, Kind], columns: Sequence[str]
) -> LocalModel:
    """Train a copy of a model on its own rows.

    Parameters
    ----------
    name
        The learner it belongs to.
    model
        A scikit-learn classifier (it gets numbers standardised and categories one-hot, missing numbers as the mean of
        its rows), a River classifier (it learns row by row, compiled where it is a plain logistic regression), or a
        function of a row, which is not trained.
    table, labels
        The rows it is trained on.
    kinds
        The kind of each column.
    columns
        Which columns it sees.
    """
    seen = table.select(list(columns))
    try:
        if hasattr(model, "predict_one"):
            quick = plain_logistic.taught(model, seen, labels)
            return LocalModel(name, columns, quick or _voting_rows(name, _taught(model, seen, labels)))
        if hasattr(model, "fit"):
            return LocalModel(name, columns, _fitted(name, model, seen, labels, kinds))
    except Exception as error:
        raise _as_model_error(name, "learn", error) from error
    if callable(model):
        return LocalModel(name, columns, _voting_rows(name, model))
    raise ModelError(f"the model of {name!r} is {model!r}; give a River or scikit-learn classifier, or a function")


def take(name: str, model: Any, columns: Sequence[str]) -> LocalModel:
    """Take a model that was given fitted, as it is.

    A scikit-learn classifier gets the columns it was fitted with, as a frame if it knows their names. Its classes, and
    those of a River classifier, must be -1 and +1 or False and True.
    """
    if not hasattr(model, "fit") or hasattr(model, "predict_one"):
        return LocalModel(name, columns, _voting_rows(name, getattr(model, "predict_one", model)))

    def vote(rows: pa.Table) -> NDArray[np.int8]:
        frame = rows.to_pandas()
        said = model.predict(frame if hasattr(model, "feature_names_in_") else frame.to_numpy())
        return _signs(name, said)

    return LocalModel(name, list(getattr(model, "feature_names_in_", columns)), vote)


def _signs(name: str, said: Any) -> NDArray[np.int8]:
    answers = np.asarray(said)
    if answers.dtype == np.bool_:
        answers = np.where(answers, 1, -1)
    wrong = ~np.isin(answers, (-1, 1))
    if wrong.any():
        raise ModelError(f"the model of {name!r} answered {answers[wrong][0]!r}; its classes must be -1 and +1")
    return answers.astype(np.int8)


def _as_model_error(name: str, verb: str, error: Exception) -> QuorateError:
    """A user's model failed, which is its fault or that of its columns, not a defect here."""
    if isinstance(error, QuorateError):
        return error
    return ModelError(f"the model of {name!r} could not {verb}: {type(error).__name__}: {error}")


def _fitted(
    name: str, model: Any, table: pa.Table, labels: NDArray[np.int8], kinds: dict[str, Kind]
) -> Callable[[pa.Table], NDArray[np.int8]]:
    load("sklearn", "Training local models")
    from sklearn.base import clone, is_classifier
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if len(np.unique(labels)) == 1:
        only = labels[0]  # rows of one class teach nothing else, and most classifiers refuse them
        return lambda rows: np.full(rows.num_rows, only, np.int8)
    if not is_classifier(model):
        raise ModelError(f"the model of {name!r} is {model!r}, which is no classifier")
    encoder = _Encoder(table.column_names, kinds)
    numbers = [place for place, column in enumerate(table.column_names) if kinds[column] == "number"]
    categories = [place for place, column in enumerate(table.column_names) if kinds[column] == "category"]
    pipeline = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore", max_categories=CATEGORIES_MAX), categories),
            sparse_threshold=0,  # not every classifier takes sparse rows
        ),
        clone(model),
    )
    pipeline.fit(encoder.encode(table, learn=True), labels)

    def vote(rows: pa.Table) -> NDArray[np.int8]:
        return _signs(name, pipeline.predict(encoder.encode(rows)))

    return vote


class _Encoder:
    """Tables as matrices: numbers as they are, categories by a code in the order in which they appeared.

    A missing category is code -1, one that was never seen in training -2: the one-hot encoding has no column for it.
    """

    def __init__(self, columns: list[str], kinds: dict[str, Kind]) -> None:
        self._codes: dict[str, dict[str | None, int] | None] = {
            column: {None: -1} if kinds[column] == "category" else None for column in columns
        }

    def encode(self, table: pa.Table, *, learn: bool = False) -> NDArray[np.float64]:
        import pyarrow.compute as pc

        matrix = np.empty((table.num_rows, len(self._codes)))
        for place, (column, codes) in enumerate(self._codes.items()):
            values = table[column].combine_chunks()
            if codes is None:
                matrix[:, place] = pc.fill_null(values, float("nan")).to_numpy(zero_copy_only=False)
                continue
            encoded = values.dictionary_encode(null_encoding="encode")
            known = [
                codes.setdefault(value, len(codes) - 1) if learn else codes.get(value, -2)
                for value in encoded.dictionary.to_pylist()
            ]
            matrix[:, place] = np.array(known or [0], np.float64)[encoded.indices.to_numpy()]
        return matrix


def _taught(model: Any, table: pa.Table, labels: NDArray[np.int8]) -> Callable[[dict[str, Any]], Any]:
    taught = model.clone()
    for row, label in zip(_rows(table), labels.tolist(), strict=True):
        taught.learn_one(row, label > 0)
    vote: Callable[[dict[str, Any]], Any] = taught.predict_one
    return vote


def _voting_rows(name: str, answer: Callable[[dict[str, Any]], Any]) -> Callable[[pa.Table], NDArray[np.int8]]:
    from quorate.ensemble.models import wrap

    model = wrap(name, answer, (False, True))
    return lambda table: np.array([model.vote(row) for row in _rows(table)], np.int8)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as River has them: a missing value is a feature that is not there."""
    return [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]


def model_from_text(text: str) -> Any:
    """Find a model by its import path: a class is called, an estimator copied, a function taken as it is.

    With ``()`` at the end, what is there is called, and its answer is the model.

    >>> model_from_text("sklearn.tree:DecisionTreeClassifier")
    DecisionTreeClassifier()
    >>> model_from_text("sklearn.tree.NoSuchThing")
    Traceback (most recent call last):
    ...
    quorate.errors.ModelError: no model is at 'sklearn.tree.NoSuchThing': module 'sklearn.tree' has no 'NoSuchThing'
    """
    path = text.removesuffix("()")
    module_name, _, name = path.rpartition(":" if ":" in path else ".")
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, ValueError) as error:
        raise ModelError(f"no model is at {text!r}: {error}") from None
    except AttributeError:
        raise ModelError(f"no model is at {text!r}: module {module_name!r} has no {name!r}") from None
    if isinstance(found, type) or path != text:
        try:
            return found()
        except TypeError as error:
            raise ModelError(f"the model at {text!r} cannot be made without arguments: {error}") from None
    return copy.deepcopy(found) if hasattr(found, "fit") or hasattr(found, "learn_one") else found
