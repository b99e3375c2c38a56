"""The columns of a table: numbers or categories, and missing values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quorate.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kind", "as_kinds", "kinds_of"]

Kind = Literal["number", "category"]

#: What stands for a missing value in formats that have none of their own.
MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|Inf|INF|infinity|Infinity)$"


def kinds_of(table: pa.Table, path: Path) -> dict[str, Kind]:
    """Tell the kind of each column from its first rows; a column with no value there is taken for numbers."""
    kinds: dict[str, Kind] = {}
    for name in table.column_names:
        column = table[name]
        if _is_text(column.type):
            kinds[name] = "category" if _not_numbers(_trimmed(column)) else "number"
        elif _is_number(column.type):
            kinds[name] = "number"
        else:
            raise SourceError(f"{path}: column {name!r} holds {column.type}; only numbers and text can be read")
    return kinds


def as_kinds(table: pa.Table, kinds: Mapping[str, Kind]) -> tuple[pa.Table, list[tuple[int, str, str]]]:
    """Give the table with its columns as float64 or text, and what is not a number where one should be.

    The bad values, as (row, column, value), come as null in the table; a row is named once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: dict[str, Any] = {}
    bad: dict[int, tuple[int, str, str]] = {}
    for name, kind in kinds.items():
        column = table[name] if name in table.column_names else pa.nulls(table.num_rows)
        if _is_text(column.type):
            column = _trimmed(column)
            if kind == "number":
                for row in _not_numbers(column):
                    bad.setdefault(row, (row, name, column[row].as_py()))
                good = pc.match_substring_regex(column, _NUMBER) if bad else None
                column = pc.if_else(good, column, pa.scalar(None, pa.string())) if bad else column
        columns[name] = pc.cast(column, pa.float64() if kind == "number" else pa.string())
    return pa.table(columns), [bad[row] for row in sorted(bad)]


def _trimmed(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(pc.cast(column, pa.string()))
    missing = pc.is_in(text, value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def _not_numbers(column: Any) -> list[int]:
    """The rows of a trimmed text column that are neither missing nor numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        wrong = pc.invert(pc.fill_null(pc.match_substring_regex(column, _NUMBER), True))
        rows: list[int] = pc.indices_nonzero(wrong).to_pylist()
        return rows
    return []


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _is_number(kind.value_type)
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_null, types.is_decimal)
    return any(test(kind) for test in tests)
