"""The formats files come in: each gives blocks of rows, and the line each row stands on.

CSV is read by pyarrow, with every column as text, so that what is not a number can be named with its line.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from quorate.errors import SourceError
from quorate.streams import arff
from quorate.streams.columns import Kind, text_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["blocks"]

#: What a reader of CSV takes at once (it reads some blocks ahead), and what a block of JSON lines holds.
BLOCK_BYTES = 1 << 20
BLOCK_ROWS = 10_000

#: Rows, from a row to its line, and, where a format has no types, the kinds its header tells (perhaps none).
Block = tuple["pa.Table", Callable[[int], int], dict[str, Kind] | None]
OnBadRow = Callable[[int, str], None]

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
_FORMATS = {".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".arff"}


def blocks(path: Path, raw: IO[bytes], on_bad_row: OnBadRow) -> Iterator[Block]:
    """Read a file in blocks; each comes with a function from its rows to their lines, and with the kinds it knows."""
    import pyarrow as pa

    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    form = suffixes[-2] if compression and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    if form not in _FORMATS:
        known = ", ".join(sorted(_FORMATS))
        raise SourceError(
            f"{path}: its ending says no format that is read; there are {known}, and .gz .bz2 .xz .zst .zip"
        )
    try:
        if form == ".parquet":
            yield from _parquet(raw)
            return
        stream = _decompressed(raw, compression)
        if form in (".jsonl", ".ndjson"):
            yield from _json_lines(stream, on_bad_row)
        elif form == ".arff":
            kinds, header_lines = arff.read_header(_header(stream), path)
            yield from _csv(stream, on_bad_row, list(kinds), header_lines, "'", ",", kinds)
        else:
            names, comma = _csv_header(next(_header(stream), ""), "\t" if form == ".tsv" else None)
            yield from _csv(stream, on_bad_row, names, 1, '"', comma, {})
    except (pa.ArrowException, OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        if "newlines_in_values" in reason or "straddl" in reason:
            reason = "a quoted field holds a line break, or a quote is not closed; such files are not read"
        what = form[1:] + (f" compressed with {compression}" if compression else "")
        raise SourceError(f"{path} cannot be read as {what}: {reason}") from None


def _decompressed(raw: IO[bytes], compression: str | None) -> io.BufferedReader:
    import pyarrow as pa

    opened: Any = raw
    if compression == "zstd":
        opened = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), compression)
    elif compression == "zip":
        archive = zipfile.ZipFile(raw)
        inside = [each for each in archive.infolist() if not each.is_dir()]
        if len(inside) != 1:
            raise pa.ArrowInvalid(f"it holds {len(inside)} files, not one")
        opened = archive.open(inside[0])
    elif compression is not None:
        opened = {"gzip": gzip, "bz2": bz2, "xz": lzma}[compression].open(raw)
    return io.BufferedReader(opened, BLOCK_BYTES)


def _header(stream: io.BufferedReader) -> Iterator[str]:
    """Take lines off the beginning of a stream, leaving the rest of it unread."""
    while line := stream.readline(BLOCK_BYTES):
        yield line.decode("utf-8-sig").rstrip("\r\n")


def _csv_header(line: str, comma: str | None) -> tuple[list[str], str]:
    import pyarrow as pa
    from pyarrow import csv

    if not line.strip():
        raise pa.ArrowInvalid("it is empty, or its first line is")
    comma = comma or max(",;\t|", key=line.count)
    header = csv.read_csv(io.BytesIO(line.encode() + b"\n"), parse_options=csv.ParseOptions(delimiter=comma))
    names = [name.strip() for name in header.column_names]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise pa.ArrowInvalid(f"column {twice[0]!r} stands twice in its header")
    return names, comma


class _Lines:
    """Which line a row of a CSV stands on, given the rows that were left out before it."""

    def __init__(self, header_lines: int) -> None:
        self._before = header_lines + 1  # what is added to a row's place for its line, left-out rows aside
        self._left_out: list[tuple[int, int]] = []  # place among all rows, and how many lines it took

    def leave_out(self, place: int, n_lines: int) -> int:
        """Note a row that was left out; give its line."""
        line = self._before + place + sum(lines - 1 for _, lines in self._left_out)
        self._left_out.append((place, n_lines))
        return line

    def of(self, row: int) -> int:
        """The line of a row that was not left out, counted from 0 among those."""
        line = self._before + row
        for place, lines in self._left_out:
            if place > row:
                break
            row += 1
            line += lines
        return line


def _csv(
    stream: io.BufferedReader,
    on_bad_row: OnBadRow,
    names: list[str],
    header_lines: int,
    quote: str,
    comma: str,
    kinds: dict[str, Kind],
) -> Iterator[Block]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    lines = _Lines(header_lines)
    refused: list[tuple[int, str]] = []

    def leave_out(row: Any) -> str:
        n_lines = row.text.count("\n") + 1  # an unbalanced quote takes the lines after it along
        line = lines.leave_out(row.number - 1, n_lines)
        if quote == "'" and row.text.startswith("%"):  # a comment among ARFF's data
            return "skip"
        reason = f"{row.actual_columns} fields where {row.expected_columns} were expected"
        refused.extend((line + more, reason) for more in range(n_lines))
        return "skip"

    def tell() -> None:
        # Not from within pyarrow's handler: what that raises is lost.
        for line, reason in refused:
            on_bad_row(line, reason)
        refused.clear()

    if not stream.peek(1):
        return
    reader = csv.open_csv(
        stream,
        read_options=csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=names),
        parse_options=csv.ParseOptions(
            delimiter=comma, quote_char=quote, ignore_empty_lines=False, invalid_row_handler=leave_out
        ),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
    )
    done = 0
    for batch in reader:
        tell()
        table = pa.table(batch)
        empty = pc.equal(pc.binary_join_element_wise(*table.columns, ""), "")  # a blank line is a row of nothing
        kept = pc.indices_nonzero(pc.invert(empty)).to_numpy() + done
        done += table.num_rows
        yield table.filter(pc.invert(empty)), partial(_line_of_kept, lines, kept), kinds
    tell()


def _line_of_kept(lines: _Lines, kept: Any, row: int) -> int:
    return lines.of(int(kept[row]))


def _json_lines(stream: io.BufferedReader, on_bad_row: OnBadRow) -> Iterator[Block]:
    import pyarrow as pa

    decode = msgspec.json.Decoder(dict[str, str | int | float | bool | None]).decode
    names: dict[str, None] = {}
    settled = False
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []

    def block() -> Block:
        # As text, as in CSV: a column must not change its type from block to block.
        nonlocal settled, rows, numbers
        columns = {name: pa.array([text_of(row.get(name)) for row in rows], pa.string()) for name in names}
        at, rows, numbers, settled = numbers, [], [], True
        return pa.table(columns), lambda row: at[row], None

    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            row = decode(line)
        except msgspec.MsgspecError as error:
            on_bad_row(number, f"not a flat JSON object: {error}")
            continue
        new = [name for name in row if name not in names]
        if new and settled:
            on_bad_row(number, f"the key {new[0]!r} is in none of the first {BLOCK_ROWS} rows")
            continue
        names.update(dict.fromkeys(new))
        rows.append(row)
        numbers.append(number)
        if len(rows) == BLOCK_ROWS:
            yield block()
    if rows:
        yield block()


def _parquet(raw: IO[bytes]) -> Iterator[Block]:
    import pyarrow as pa
    from pyarrow import parquet

    done = 0
    for batch in parquet.ParquetFile(raw).iter_batches(batch_size=BLOCK_ROWS):
        yield pa.table(batch), partial(int.__add__, done + 1), None
        done += batch.num_rows
