"""Local models over a stream: trained on its head, each on its own rows, they vote on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate._extras import load
from quorate.errors import LocalError
from quorate.evaluate.labelled import LabelledTables
from quorate.evaluate.local_models import LocalModel, take, train

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["TRAIN_ROWS", "Voting", "vote"]

#: The rows each local model is trained on, where nobody says and the stream is long enough.
TRAIN_ROWS = 2000


class Voting(NamedTuple):
    """The votes of some models on a stream."""

    votes: NDArray[np.int8]
    labels: NDArray[np.int8]
    delays: NDArray[np.int64]
    """What the column of delays holds, if there is one."""
    tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None
    """Votes and labels of the rows the models were trained on, each abstaining on its own; for weights fitted once."""
    facts: dict[str, Any]


def vote(
    stream: LabelledTables,
    models: Sequence[Any] | None,
    learners: int | None,
    train_rows: int | None,
    views: bool | Sequence[Sequence[str]],
    fitted: bool,
    delay_column: str | None,
) -> Voting:
    """Train the models on the head of the stream, and let them vote on the rest, part by part."""
    import pyarrow as pa

    models, learners = _dealt(models, learners)
    if train_rows is not None and (train_rows < 1 or fitted):
        raise LocalError(f"train_rows is {train_rows}; it must be at least 1, and models given fitted take none")
    parts = iter(stream)
    head: list[pa.Table] = []
    head_labels: list[NDArray[np.int8]] = []
    wanted = 2 * learners * (train_rows or TRAIN_ROWS)
    while sum(map(len, head_labels)) < wanted and (part := next(parts, None)) is not None:
        head.append(part[0])
        head_labels.append(part[1])
    table, labels = pa.concat_tables(head), np.concatenate(head_labels)
    each = 0 if fitted else train_rows or min(TRAIN_ROWS, len(labels) // (2 * learners))
    if (each < 1 and not fitted) or each * learners >= len(labels):
        raise LocalError(
            f"{stream.name} has {len(labels)} rows: too few to train {learners} learners on "
            f"{train_rows or 'some'} rows each and have rows left; take fewer learners or rows"
        )
    columns = [column for column in stream.kinds if column != delay_column]
    if delay_column is not None and stream.kinds.get(delay_column) != "number":
        raise LocalError(f"{stream.name} has no column of numbers {delay_column!r} to take delays from")
    trained: list[LocalModel] = []
    for place, seen in enumerate(_views(views, columns, learners)):
        model, name = models[place % len(models)], f"learner-{place + 1}"
        if fitted:
            trained.append(take(name, model, seen))
            continue
        rows = slice(place * each, (place + 1) * each)
        trained.append(train(name, model, table.slice(rows.start, each), labels[rows], stream.kinds, seen))

    used = each * learners
    tuning = None
    if not fitted and learners > 1:  # alone, a learner has been trained on all of these rows
        own = np.arange(used)[:, None] // each == np.arange(learners)
        tuning = np.where(own, np.int8(0), _cast(trained, table.slice(0, used))), labels[:used]
    cast, signs, delays = bytearray(), bytearray(), bytearray()  # a byte a vote, growing in place

    def gather(rows: pa.Table, row_labels: NDArray[np.int8]) -> None:
        cast.extend(_cast(trained, rows).tobytes())
        signs.extend(row_labels.tobytes())
        if delay_column is not None:
            delays.extend(_whole(rows[delay_column].to_numpy(), delay_column).tobytes())

    gather(table.slice(used), labels[used:])
    del table, head
    for rows, row_labels in parts:
        gather(rows, row_labels)
    facts = {
        "source": stream.name,
        "label": stream.label,
        "positive": stream.positive,
        "columns": stream.kinds,
        "rows_train": used,
        "rows_train_each": each,
        "rows_skipped": stream.bad_rows,
        "rows_without_label": stream.rows_without_label,
        "learners": [
            {"name": model.name, "model": _shown(models[place % len(models)]), "columns": len(model.columns)}
            for place, model in enumerate(trained)
        ],
    }
    votes = np.frombuffer(cast, np.int8).reshape(-1, learners)
    return Voting(votes, np.frombuffer(signs, np.int8), np.frombuffer(delays, np.int64), tuning, facts)


def _cast(models: Sequence[LocalModel], rows: pa.Table) -> NDArray[np.int8]:
    return np.column_stack([model.vote(rows) for model in models])


def _dealt(models: Sequence[Any] | None, learners: int | None) -> tuple[Sequence[Any], int]:
    """The models, and how many learners they are dealt to."""
    if models is None:
        load("sklearn", "The default local models")
        from sklearn.linear_model import LogisticRegression

        models = [LogisticRegression(max_iter=1000)]
        learners = 8 if learners is None else learners
    if not models:
        raise LocalError("models is empty; give at least one, or none for logistic regressions")
    learners = max(8, len(models)) if learners is None else learners
    if learners < 1:
        raise LocalError(f"learners is {learners}; there must be at least 1")
    if learners < len(models):
        raise LocalError(
            f"{len(models)} models are given for {learners} learners; take as many learners, or fewer models"
        )
    return models, learners


def _shown(model: Any) -> str:
    """A model in one line, without where it lies in memory."""
    name = getattr(model, "__qualname__", None)
    return f"{model.__module__}:{name}" if name else " ".join(repr(model).split())


def _views(views: bool | Sequence[Sequence[str]], columns: list[str], learners: int) -> list[list[str]]:
    if views is False:
        return [columns] * learners
    if views is True:
        if learners > len(columns):
            raise LocalError(f"{len(columns)} columns cannot be split over {learners} learners; take fewer learners")
        return [columns[place::learners] for place in range(learners)]
    if len(views) != learners:
        raise LocalError(f"views are given for {len(views)} learners, but there are {learners}")
    unknown = [column for view in views for column in view if column not in columns]
    if unknown:
        raise LocalError(f"views name the column {unknown[0]!r}; there are {', '.join(columns)}")
    return [list(view) for view in views]


def _whole(values: NDArray[Any], column: str) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = np.nan_to_num(values, nan=-1).astype(np.int64)
    if (whole != values).any():
        row = int(np.flatnonzero(whole != values)[0])
        raise LocalError(f"column {column!r} holds the delay {values[row]}; delays are whole numbers of slots")
    return whole
