"""The paper's layout of the real data sets: eight local models, a block that tunes, a block that tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate._extras import load as load_extra
from quorate.errors import LocalError
from quorate.evaluate import LocalModel, train
from quorate.streams import RealStream, load
from quorate.streams.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["N_LEARNERS", "RealVotes", "check_start", "kinds_of", "real_votes", "rows_needed"]

#: The paper's K for the real data sets.
N_LEARNERS = 8


class RealVotes(NamedTuple):
    """The votes of the paper's local models on a real data set."""

    votes: NDArray[np.int8]
    """Of the test block, of shape (slots, learners)."""
    labels: NDArray[np.int8]
    tuning_votes: NDArray[np.int8]
    """Of the block before it, on which the paper fits AdaBoost's weights."""
    tuning_labels: NDArray[np.int8]


def rows_needed(stream: RealStream) -> int:
    """How many rows the layout takes."""
    return N_LEARNERS * stream.spec.train_rows + stream.spec.tuning_rows + stream.spec.test_rows


def check_start(stream: RealStream, start: int) -> None:
    """Refuse a row at which the layout cannot begin."""
    if not 0 <= start <= len(stream.labels) - rows_needed(stream):
        raise LocalError(
            f"{stream.name} has {len(stream.labels)} rows and the layout takes {rows_needed(stream)}; "
            f"it cannot start at row {start}"
        )


def kinds_of(stream: RealStream) -> dict[str, Kind]:
    """The kind of each column."""
    import pyarrow as pa

    schema = stream.features.schema
    return {field.name: "number" if pa.types.is_floating(field.type) else "category" for field in schema}


def real_votes(stream: RealStream | str, data: str | Path | None = None, start: int = 0) -> RealVotes:
    """Train eight logistic regressions on consecutive blocks of rows, and let them vote on the two blocks after.

    Parameters
    ----------
    stream
        A real data set, or its name.
    data
        The folder with the files.
    start
        The row at which the layout begins. R2 and R4 leave no other choice than 0.
    """
    if isinstance(stream, str):
        stream = load(stream, data)
    check_start(stream, start)
    spec, kinds = stream.spec, kinds_of(stream)
    models = []
    for place in range(N_LEARNERS):
        first = start + place * spec.train_rows
        rows = stream.features.slice(first, spec.train_rows)
        labels = stream.labels[first : first + spec.train_rows]
        models.append(train(f"learner-{place + 1}", _logistic_regression(), rows, labels, kinds, list(kinds)))
    tuning = start + N_LEARNERS * spec.train_rows
    testing = tuning + spec.tuning_rows
    return RealVotes(
        _cast(models, stream, testing, spec.test_rows),
        stream.labels[testing : testing + spec.test_rows],
        _cast(models, stream, tuning, spec.tuning_rows),
        stream.labels[tuning:testing],
    )


def _cast(models: list[LocalModel], stream: RealStream, first: int, n_rows: int) -> NDArray[np.int8]:
    rows = stream.features.slice(first, n_rows)
    return np.column_stack([model.vote(rows) for model in models])


def _logistic_regression() -> Any:
    return load_extra("sklearn.linear_model", "The paper's local models").LogisticRegression(max_iter=1000)
