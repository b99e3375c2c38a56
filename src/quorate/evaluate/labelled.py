"""A labelled stream of tables: which column is the label, which class is positive, which rows train the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._extras import load
from quorate.errors import LocalError, SourceError
from quorate.streams.columns import Kind, as_kinds, kinds_of, text_of
from quorate.streams.tables import BadRows, TableReader

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["LabelledTables", "Progress"]

#: Called with what is done, how much of it, and out of how much.
Progress = Callable[[str, int, int], None]

Part = tuple["pa.Table", "NDArray[np.int8]"]


class LabelledTables:
    """A file or table as parts of features and signs, in order.

    Rows without a label cannot be scored: they are left out and counted.

    Parameters
    ----------
    source
        A path, a pyarrow table or a pandas data frame.
    label
        The column of the label.
    positive
        The class that is +1; every other is -1. Default: of two classes, the later in the alphabet.
    types, on_bad_row, drop
        As for `quorate.streams.TableReader`.
    progress
        Called as a file is read.
    """

    def __init__(
        self,
        source: Any,
        label: str,
        positive: Any = None,
        types: Mapping[str, Kind] | None = None,
        on_bad_row: BadRows = "error",
        drop: Collection[str] = (),
        progress: Progress | None = None,
    ) -> None:
        load("pyarrow", "Reading a stream")
        self.source = source
        self.label = label
        self.positive = None if positive is None else text_of(positive)
        self._is_given = positive is not None
        self.classes: dict[str, int] = {}  # how many rows of each
        self.rows_without_label = 0
        self._types = dict(types or {})
        self._progress = progress
        is_path = isinstance(source, (str, Path))
        self.name = str(source) if is_path else type(source).__name__
        self._drop = list(drop)
        self._reader = TableReader(source, {**self._types, label: "category"}, on_bad_row, drop) if is_path else None
        self.kinds: dict[str, Kind] = {}

    @property
    def bad_rows(self) -> int:
        """How many rows were skipped."""
        return 0 if self._reader is None else self._reader.bad_rows

    def __iter__(self) -> Iterator[Part]:
        for table in self._tables():
            if not self.kinds:
                self.kinds = {name: kind for name, kind in self._all_kinds(table).items() if name != self.label}
                if not self.kinds:
                    raise SourceError(f"{self.name} has no column besides the label {self.label!r}")
            values = table[self.label]
            if values.null_count:
                self.rows_without_label += values.null_count
                table = table.filter(values.is_valid())
            if table.num_rows:
                yield table.drop_columns([self.label]), self._signs(table[self.label].to_pylist())
        self._check_classes()

    def _tables(self) -> Iterator[pa.Table]:
        if self._reader is None:
            yield self._in_memory()
            return
        for table in self._reader:
            if self._progress is not None:
                self._progress("reading", self._reader.bytes_read, self._reader.bytes_total)
            yield table

    def _in_memory(self) -> pa.Table:
        import pyarrow as pa

        source = self.source
        table = source if isinstance(source, pa.Table) else pa.Table.from_pandas(source, preserve_index=False)
        if self.label not in table.column_names:
            raise SourceError(f"there is no column {self.label!r}; there are {', '.join(table.column_names)}")
        table = table.drop_columns(self._drop)
        told: dict[str, Kind] = {**self._types, self.label: "category"}
        open_ones = [name for name in table.column_names if name not in told]
        found = kinds_of(table.select(open_ones), Path(self.name)) | told
        kinds = {name: found[name] for name in table.column_names}
        typed, bad = as_kinds(table, kinds)
        if bad:
            row, column, value = bad[0]
            raise SourceError(f"row {row}: column {column!r} holds {value!r}, where a number was expected")
        self._memory_kinds = kinds
        return typed

    def _all_kinds(self, table: pa.Table) -> dict[str, Kind]:
        return self._memory_kinds if self._reader is None else self._reader.kinds

    def _signs(self, values: list[str]) -> NDArray[np.int8]:
        for value, count in Counter(values).items():
            self.classes[value] = self.classes.get(value, 0) + count
        if self.positive is None:
            self._choose_positive()
        elif not self._is_given:
            self._check_classes()  # a third class may come late
        return np.array([1 if value == self.positive else -1 for value in values], np.int8)

    def _choose_positive(self) -> None:
        classes = sorted(self.classes, key=_order)
        if len(classes) == 1:
            n_rows = self.classes[classes[0]]
            raise LocalError(
                f"{self.name}: the first {n_rows} rows of the label {self.label!r} are all {classes[0]!r}; "
                "if there is another class, say which one is positive (positive, --positive)"
            )
        self._check_classes()
        self.positive = classes[-1]

    def _check_classes(self) -> None:
        classes = sorted(self.classes, key=_order)
        few = ", ".join(repr(value) for value in classes[:5]) + (" ..." if len(classes) > 5 else "")
        if not classes:
            raise SourceError(f"{self.name} has no row with a label: it is empty")
        if not self._is_given and len(classes) > 2:
            raise LocalError(
                f"{self.name}: the label {self.label!r} holds {len(classes)} values ({few}); "
                "say which one is positive (positive, --positive)"
            )
        if self.positive is not None and len(classes) == 1:
            raise LocalError(f"{self.name}: the label {self.label!r} holds only {few}: there is nothing to tell apart")
        if self.positive is not None and self.positive not in self.classes:
            raise LocalError(f"{self.name}: no row has the label {self.positive!r}; there are {few}")


def _order(value: str) -> tuple[int, float, str]:
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value
