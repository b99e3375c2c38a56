"""Rows of a file as typed tables, in bounded memory, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quorate._extras import load
from quorate.errors import SourceError
from quorate.streams import formats
from quorate.streams.columns import Kind, as_kinds, kinds_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BadRows", "TableReader"]

BadRows = Literal["error", "skip"]


class TableReader:
    r"""A file as a sequence of tables with the same columns, never whole in memory.

    CSV (also .tsv, .gz, .bz2, .xz, .zst), Parquet, JSON lines and ARFF are read. In formats without types a column is
    numbers if every value among its first rows is one, else categories; `types` overrides that. Empty values, ``?``,
    ``NA``, ``NaN`` and ``null`` are missing, and stay missing here.

    Parameters
    ----------
    path
        The file; its ending says what it is.
    types
        For some columns: ``number`` or ``category``.
    on_bad_row
        Whether a row that cannot be read is an error, or skipped and counted.

    Attributes
    ----------
    kinds
        The kind of each column, in order; known once reading has begun.
    bad_rows
        How many rows were skipped so far.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "some.csv"
    ...     _ = file.write_text("t,sky,rain\n20,blue,no\n?,grey,yes\n")
    ...     reader = TableReader(file)
    ...     print([table.to_pylist() for table in reader], reader.kinds)
    [[{'t': 20.0, 'sky': 'blue', 'rain': 'no'}, {'t': None, 'sky': 'grey', 'rain': 'yes'}]]
    {'t': 'number', 'sky': 'category', 'rain': 'category'}
    """

    def __init__(
        self, path: str | Path, types: Mapping[str, Kind] | None = None, on_bad_row: BadRows = "error"
    ) -> None:
        self.path = Path(path)
        self.types = dict(types or {})
        self.on_bad_row = on_bad_row
        self.kinds: dict[str, Kind] = {}
        self.bad_rows = 0
        self._raw: Any = None
        load("pyarrow", "Reading files")
        for name, kind in self.types.items():
            if kind not in ("number", "category"):
                raise SourceError(f"the type of column {name!r} is {kind!r}; it is 'number' or 'category'")
        if not self.path.is_file():
            raise SourceError(f"{self.path} is not a file")

    @property
    def bytes_total(self) -> int:
        """The size of the file."""
        return self.path.stat().st_size

    @property
    def bytes_read(self) -> int:
        """How much of the file was read, for a progress bar."""
        return 0 if self._raw is None else self._raw.tell()

    def __iter__(self) -> Iterator[pa.Table]:
        self.bad_rows = 0
        self.kinds = {}
        with self.path.open("rb") as self._raw:
            for table, line_of in formats.blocks(self.path, self._raw, self._bad_row):
                if not self.kinds:
                    self._settle_kinds(table)
                typed, bad = as_kinds(table, self.kinds)
                for row, column, value in bad:
                    self._bad_row(line_of(row), f"column {column!r} holds {value!r}, where a number was expected")
                if bad:
                    kept = set(range(table.num_rows)) - {row for row, _, _ in bad}
                    typed = typed.take(sorted(kept))
                if typed.num_rows:
                    yield typed
        self._raw = None

    def _settle_kinds(self, table: pa.Table) -> None:
        unknown = [name for name in self.types if name not in table.column_names]
        if unknown:
            raise SourceError(f"{self.path} has no column {unknown[0]!r}; it has {', '.join(table.column_names)}")
        self.kinds = kinds_of(table, self.path) | self.types

    def _bad_row(self, line: int, reason: str) -> None:
        if self.on_bad_row == "error":
            raise SourceError(f"{self.path}, line {line}: {reason}; mend it, or skip such rows with on_bad_row='skip'")
        self.bad_rows += 1
