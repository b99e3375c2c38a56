"""The columns of a table: numbers or categories, and missing values.

A number is float64, and what is not finite is missing. A category is text, the same text whatever the format: ``True``
and ``False`` for booleans, whole numbers without a point. In formats that have no types, CSV and ARFF, some words stand
for a missing value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quorate.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kind", "as_kinds", "kinds_of", "text_of"]

Kind = Literal["number", "category"]

#: What stands for a missing value in formats that have none of their own.
MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]

#: A text column with no more than this share of other values is one of numbers with mistakes in it.
MISTAKES_MAX = 0.01

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|Inf|INF|infinity|Infinity)$"


def text_of(value: Any) -> str | None:
    """A value as the text of a category: 1, 1.0 and "1" are the same, and a NaN is missing.

    >>> text_of(1.0), text_of(True), text_of("a"), text_of(float("nan"))
    ('1', 'True', 'a', None)
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def kinds_of(table: pa.Table, path: Path, *, untyped: bool = False) -> dict[str, Kind]:
    """Tell the kind of each column from its first rows; a column with no value there is taken for numbers."""
    kinds: dict[str, Kind] = {}
    for name in table.column_names:
        column = table[name]
        if _is_text(column.type):
            text = _text(column, untyped=untyped)
            others = len(_not_numbers(text))
            numbers = len(text) - text.null_count - others
            kinds[name] = "category" if others > MISTAKES_MAX * (numbers + others) else "number"
        elif _is_number(column.type):
            kinds[name] = "number"
        elif _is_boolean(column.type):
            kinds[name] = "category"
        else:
            raise SourceError(f"{path}: column {name!r} holds {column.type}, which cannot be read; leave it out (drop)")
    return kinds


def as_kinds(
    table: pa.Table, kinds: Mapping[str, Kind], *, untyped: bool = False
) -> tuple[pa.Table, list[tuple[int, str, str]]]:
    """Give the table with its columns as float64 or text, and what is not a number where one should be.

    The bad values, as (row, column, value), come as null in the table; a row is named once, for its first bad column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: dict[str, Any] = {}
    bad: dict[int, tuple[int, str, str]] = {}
    for name, kind in kinds.items():
        column = table[name] if name in table.column_names else pa.nulls(table.num_rows, pa.string())
        if kind == "category":
            columns[name] = _text(column, untyped=untyped)
            continue
        if _is_text(column.type):
            column = _text(column, untyped=untyped)
            wrong = _not_numbers(column)
            for row in wrong:
                bad.setdefault(row, (row, name, column[row].as_py()))
            if wrong:
                good = pc.match_substring_regex(column, _NUMBER)
                column = pc.if_else(good, column, pa.scalar(None, pa.string()))
        number = pc.cast(column, pa.float64())
        columns[name] = pc.if_else(pc.is_finite(number), number, pa.scalar(None, pa.float64()))
    return pa.table(columns), [bad[row] for row in sorted(bad)]


def _text(column: Any, *, untyped: bool) -> Any:
    """A column as text; in a format without types, trimmed and without the words for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(column.type):
        return pa.array([text_of(value) for value in column.to_pylist()], pa.string())
    text = pc.cast(column, pa.string())
    if not untyped:
        return text
    text = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(text, value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def _not_numbers(column: Any) -> list[int]:
    """The rows of a text column that are neither missing nor numbers."""
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


def _is_boolean(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_boolean(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _is_number(kind.value_type)
    return any(test(kind) for test in (types.is_integer, types.is_floating, types.is_null, types.is_decimal))
