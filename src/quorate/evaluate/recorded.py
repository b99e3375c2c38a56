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
        and one of labels; or ``.npz`` with the arrays ``votes``, ``labels`` and perhaps ``arrivals``. Answers are -1
        and +1, or true and false. A vote that is missing, or 0, is an abstention; such a label is not known. The column
        ``arrival`` says at the end of which slot a label came, counted as the column ``slot`` does, or from 0.
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
    arrivals, slots = columns.pop("arrival", None), columns.pop("slot", None)
    decisions = {
        name.removeprefix(_DECISION): _signs(path, name, columns.pop(name))
        for name in [*columns]
        if name.startswith(_DECISION)
    }
    votes = {name.removeprefix(_VOTE): _signs(path, name, column) for name, column in columns.items()}
    if not votes:
        raise SourceError(f"{path} has no column of votes beside {label!r}")
    matrix = np.column_stack(list(votes.values()))
    _check_signs(path, "the votes", matrix)
    _check_signs(path, f"the labels, column {label!r},", labels)
    when = None if arrivals is None else _in_rows(path, _whole(path, "arrival", arrivals, NEVER), slots)
    return Recorded(Recording(list(votes), matrix, labels, _arrivals(labels, when)), decisions, repeats)


def _in_rows(path: Path, arrivals: NDArray[np.int64], slots: NDArray[Any] | None) -> NDArray[np.int64]:
    """Arrivals as numbers of rows, where a file has slots of its own; past the last slot is after the last row."""
    if slots is None:
        return arrivals
    known = _whole(path, "slot", slots, None)
    if (np.diff(known) <= 0).any():
        row = int(np.flatnonzero(np.diff(known) <= 0)[0]) + 2
        raise SourceError(f"{path}: row {row} has slot {known[row - 1]} after {known[row - 2]}; slots only grow")
    rows = np.searchsorted(known, arrivals, side="right") - 1
    rows = np.where(arrivals > known[-1], len(known) + arrivals - known[-1] - 1, rows)
    return np.where(arrivals < 0, NEVER, rows)


def _whole(path: Path, name: str, column: NDArray[Any], missing: int | None) -> NDArray[np.int64]:
    try:
        values = column.astype(np.float64)
    except (ValueError, TypeError):
        raise SourceError(f"{path}: column {name!r} holds {column[0]!r}; it must hold whole numbers") from None
    if missing is not None:
        values = np.nan_to_num(values, nan=missing)
    wrong = np.flatnonzero(values != np.floor(values))
    if len(wrong):
        raise SourceError(
            f"{path}: row {wrong[0] + 1} of column {name!r} is {column[wrong[0]]!r}; it must be a whole number"
        )
    return values.astype(np.int64)


def _arrivals(labels: NDArray[np.int8], arrivals: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """When labels came; one that is not known never did, unless it comes after the last slot."""
    came = np.arange(len(labels)) if arrivals is None else arrivals
    return np.where((labels == 0) & (came < len(labels)), NEVER, came)


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
    shapes = {name: arrays[name].shape for name in ("votes", "labels", "arrivals") if name in arrays}
    n_slots = len(arrays["labels"]) if arrays["labels"].ndim == 1 else -1
    if arrays["votes"].ndim != 2 or {shape[0] for shape in shapes.values() if shape} != {n_slots}:
        raise SourceError(f"{path} has arrays of shapes {shapes}; votes is (slots, learners), the others (slots,)")
    votes = as_matrix(arrays["votes"], arrays["votes"].shape[1])
    labels = _signs(path, "labels", arrays["labels"])
    _check_signs(path, "the votes", votes)
    _check_signs(path, "the labels", labels)
    names = [f"learner-{place}" for place in range(1, votes.shape[1] + 1)]
    when = _whole(path, "arrivals", arrays["arrivals"], NEVER) if "arrivals" in arrays else None
    return Recorded(Recording(names, votes, labels, _arrivals(labels, when)), {}, 1)


def _signs(path: Path, name: str, column: NDArray[Any]) -> NDArray[np.int8]:
    """A column of -1 and +1, or of truth values; 0 for none."""
    if column.dtype.kind == "b":
        return np.where(column, np.int8(1), np.int8(-1))
    values = np.array([_sign(value) for value in column]) if column.dtype.kind not in "iuf" else column
    values = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=9.0, neginf=9.0)
    wrong = np.flatnonzero(~np.isin(values, (-1, 0, 1)))
    if len(wrong):
        raise SourceError(
            f"{path}: row {wrong[0] + 1} of column {name!r} is {column[wrong[0]]!r}; votes and labels are -1 and +1 "
            "(nothing, or 0, for none)"
        )
    return values.astype(np.int8)


def _sign(value: Any) -> float:
    """What a value of a column without a type stands for; 9 is nothing that it could."""
    if value is None:
        return 0.0
    if isinstance(value, str):
        return {"true": 1.0, "false": -1.0}.get(value.lower(), 9.0)
    return (1.0 if value else -1.0) if isinstance(value, (bool, np.bool_)) else float(value)


def _check_signs(path: Path, what: str, signs: NDArray[np.int8]) -> None:
    """Refuse 0 and 1 for the two answers: 0 is none here."""
    if (signs == 0).any() and (signs == 1).any() and not (signs == -1).any():
        raise SourceError(
            f"{path}: {what} are 0 and 1, never -1; 0 is read as none at all, so write the two answers as -1 and +1, "
            "or as true and false"
        )
