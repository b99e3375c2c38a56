"""A recording from a file: votes, labels, arrivals, and the decisions that were issued."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate.errors import SourceError
from quorate.evaluate.recording import Recording
from quorate.rules.inputs import as_matrix
from quorate.streams import NEVER, TableReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Recorded", "read_recording"]

_VOTE, _DECISION = "vote:", "decision:"


class Recorded(NamedTuple):
    """What a file holds; a label of 0 is one that is not known."""

    recording: Recording
    decisions: dict[str, NDArray[np.int8]]
    """What each rule decided, where the file says so."""
    repeats: int
    """How many repeats the file holds; the first is the one that is read."""


def read_recording(path: str | Path, label: str = "label") -> Recorded:
    r"""Read votes and labels.

    Parameters
    ----------
    path
        The Parquet of ``quorate compare``; a table (CSV, Parquet, JSON lines, ARFF) with one column of votes a learner
        and one of labels; or ``.npz`` with the arrays ``votes``, ``labels`` and perhaps ``arrivals``. A vote that is
        missing is an abstention, a label that is missing never came, and the column ``arrival`` says when the others
        did.
    label
        The column of the label.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "votes.csv"
    ...     _ = file.write_text("ann,bob,label\n1,-1,1\n-1,,-1\n")
    ...     read = read_recording(file).recording
    >>> read.names, read.votes.tolist(), read.labels.tolist()
    (['ann', 'bob'], [[1, -1], [-1, 0]], [1, -1])
    """
    path = Path(path)
    if path.suffix == ".npz":
        return _arrays(path)
    tables = list(TableReader(path))
    if not tables:
        raise SourceError(f"{path} has no rows")
    columns = {
        name: np.concatenate([table[name].to_numpy(zero_copy_only=False) for table in tables])
        for name in tables[0].column_names
    }
    if label not in columns:
        raise SourceError(f"{path} has no column {label!r} to take the label from; it has {', '.join(columns)}")
    repeat = columns.pop("repeat", None) if any(name.startswith(_VOTE) for name in columns) else None
    repeats = 1 if repeat is None else len(np.unique(repeat))
    if repeat is not None:
        columns = {name: column[repeat == repeat[0]] for name, column in columns.items()}
    labels = _signs(path, label, columns.pop(label))
    arrivals = columns.pop("arrival", None)
    columns.pop("slot", None)
    decisions = {
        name.removeprefix(_DECISION): _signs(path, name, columns.pop(name))
        for name in [*columns]
        if name.startswith(_DECISION)
    }
    votes = {name.removeprefix(_VOTE): _signs(path, name, column) for name, column in columns.items()}
    if not votes:
        raise SourceError(f"{path} has no column of votes beside {label!r}")
    when = None if arrivals is None else np.nan_to_num(arrivals.astype(np.float64), nan=NEVER).astype(np.int64)
    recording = Recording(list(votes), np.column_stack(list(votes.values())), labels, _arrivals(labels, when))
    return Recorded(recording, decisions, repeats)


def _arrivals(labels: NDArray[np.int8], arrivals: NDArray[np.int64] | None) -> NDArray[np.int64]:
    came = np.arange(len(labels)) if arrivals is None else arrivals
    return np.where(labels == 0, NEVER, came)


def _arrays(path: Path) -> Recorded:
    if not path.is_file():
        raise SourceError(f"{path} is not a file")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    for name in ("votes", "labels"):
        if name not in arrays:
            raise SourceError(f"{path} has no array {name!r}; it has {', '.join(arrays) or 'none'}")
    if arrays["votes"].ndim != 2:
        raise SourceError(f"{path}: votes has shape {arrays['votes'].shape}; it must be (slots, learners)")
    votes = as_matrix(arrays["votes"], arrays["votes"].shape[1])
    labels = _signs(path, "labels", arrays["labels"])
    names = [f"learner-{place}" for place in range(1, votes.shape[1] + 1)]
    return Recorded(Recording(names, votes, labels, _arrivals(labels, arrays.get("arrivals"))), {}, 1)


def _signs(path: Path, name: str, column: NDArray[Any]) -> NDArray[np.int8]:
    if column.dtype.kind == "b":
        return np.where(column, np.int8(1), np.int8(-1))
    try:
        values = np.nan_to_num(column.astype(np.float64), nan=0.0)
    except (ValueError, TypeError):
        values = np.full(len(column), np.nan)
    wrong = np.flatnonzero(~np.isin(values, (-1, 0, 1)))
    if len(wrong):
        raise SourceError(
            f"{path}: row {wrong[0] + 1} of column {name!r} is {column[wrong[0]]!r}; votes and labels are -1 and +1 "
            "(nothing, or 0, for none)"
        )
    return values.astype(np.int8)
