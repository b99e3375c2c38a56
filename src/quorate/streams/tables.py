"""Rows of a file as typed tables, in bounded memory, whatever its format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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

    CSV (also .tsv, .gz, .bz2, .xz, .zst, .zip), Parquet, JSON lines and ARFF are read. In formats without types a
    column is numbers if nearly every value among its first rows is one (the others are bad rows then), else
    categories; `types` overrides that. Empty values, ``?``, ``NA``, ``NaN`` and ``null`` are missing there, and
    numbers that are not finite everywhere; they stay missing here.

    Parameters
    ----------
    path
        The file; its ending says what it is.
    types
        For some columns: ``number`` or ``category``.
    on_bad_row
        Whether a row that cannot be read is an error, or skipped and counted.
    drop
        Columns that are left out.

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
        self,
        path: str | Path,
        types: Mapping[str, Kind] | None = None,
        on_bad_row: BadRows = "error",
        drop: Collection[str] = (),
    ) -> None:
        self.path = Path(path)
        self.types = dict(types or {})
        self.on_bad_row = on_bad_row
        self.drop = list(drop)
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
            for table, line_of, known in formats.blocks(self.path, self._raw, self._bad_row):
                if not self.kinds:
                    self._settle_kinds(table, known)
                typed, bad = as_kinds(table, self.kinds, untyped=known is not None)
                for row, column, value in bad:
                    reason = f"column {column!r} holds {value!r}, where a number was expected"
                    self._bad_row(line_of(row), f"{reason} (or is it a category?)")
                if bad:
                    kept = set(range(table.num_rows)) - {row for row, _, _ in bad}
                    typed = typed.take(sorted(kept))
                if typed.num_rows:
                    yield typed
        self._raw = None

    def _settle_kinds(self, table: pa.Table, known: dict[str, Kind] | None) -> None:
        names = table.column_names
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise SourceError(f"{self.path} has two columns {twice[0]!r}")
        unknown = [name for name in (*self.types, *self.drop) if name not in names]
        if unknown:
            raise SourceError(f"{self.path} has no column {unknown[0]!r}; it has {', '.join(names)}")
        kept = table.drop_columns([*{*self.drop}])
        told = {name: kind for name, kind in (known or {}).items() if name in kept.column_names}
        open_ones = [name for name in kept.column_names if name not in self.types and name not in told]
        found = kinds_of(kept.select(open_ones), self.path, untyped=known is not None)
        self.kinds = {name: (found | told | self.types)[name] for name in kept.column_names}

    def _bad_row(self, line: int, reason: str) -> None:
        if self.on_bad_row == "error":
            raise SourceError(
                f"{self.path}, line {line}: {reason}; mend it, or skip such rows (on_bad_row, --on-bad-row)"
            )
        self.bad_rows += 1
