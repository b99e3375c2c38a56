"""A user's own files: every format, every kind of damage, bounded memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorate.errors import LocalError, SourceError
from quorate.streams import TableReader, formats

TEXT = "t,sky,rain\n20,blue,no\n?,grey,yes\n-3.5e1,,no\n"
ROWS = [
    {"t": 20.0, "sky": "blue", "rain": "no"},
    {"t": None, "sky": "grey", "rain": "yes"},
    {"t": -35.0, "sky": None, "rain": "no"},
]
ARFF = """% a comment
@relation weather

@ATTRIBUTE t NUMERIC
@attribute 'sky' {blue, grey}
@attribute rain {yes, no}
@data
20,'blue',no
?,grey,yes
-35,?,no
"""


def rows_of(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [row for table in TableReader(path, **options) for row in table.to_pylist()]


def write(path: Path) -> None:
    """Write the same rows in the format of the file's name."""
    data = TEXT.encode()
    name = path.name
    if ".csv" in name:
        compress: Any = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        if path.suffix == ".zst":
            with pa.CompressedOutputStream(str(path), "zstd") as out:
                out.write(data)
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("folder/", b"")
                archive.writestr("folder/inside.csv", data)
        else:
            path.write_bytes(compress(data))
    elif name.endswith(".tsv"):
        path.write_text(TEXT.replace(",", "\t"))
    elif name.endswith(".parquet"):
        pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), path)
    elif name.endswith(".arff"):
        path.write_text(ARFF)
    else:
        text = "\n".join(json.dumps(row) for row in ROWS) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


EMPTY_ZIP = b"PK\x05\x06" + bytes(18)

FORMATS = [
    *("a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst", "a.csv.zip", "a.tsv"),
    *("a.parquet", "a.jsonl", "a.ndjson", "a.jsonl.gz", "a.arff", "A.B.CSV"),
]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "A.B.CSV":
        path.write_text(TEXT)
    else:
        write(path)
    reader = TableReader(path)
    assert [row for table in reader for row in table.to_pylist()] == ROWS
    assert reader.kinds == {"t": "number", "sky": "category", "rain": "category"}
    assert reader.bad_rows == 0


@pytest.mark.parametrize("comma", [",", ";", "\t", "|"])
def test_the_separator_is_found(comma: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TEXT.replace(",", comma))
    assert rows_of(path) == ROWS


def test_quotes_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeff"a, b",c\r\n"x, ""y""",1\r\n\r\nz,2'.encode())
    assert rows_of(path) == [{"a, b": 'x, "y"', "c": 1.0}, {"a, b": "z", "c": 2.0}]


def test_types_override_what_is_inferred(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("code,x\n1,1\n2,2\n")
    assert rows_of(path, types={"code": "category"})[0] == {"code": "1", "x": 1.0}
    with pytest.raises(SourceError, match="has no column 'cod'; it has code, x"):
        rows_of(path, types={"cod": "category"})
    with pytest.raises(SourceError, match="it is 'number' or 'category'"):
        rows_of(path, types={"code": "int"})


def test_a_column_of_nothing_at_first_is_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "?,1\n" * 3 + "7,1\n")
    assert rows_of(path)[-1] == {"x": 7.0, "y": 1.0}


@pytest.mark.parametrize(
    ("text", "line", "reason", "kept"),
    [
        ("a,b\n1,2\n3\n5,6\n", 3, "1 fields where 2 were expected", 2),
        ("a,b\n1,2\n3,4,5\n5,6\n", 3, "3 fields where 2 were expected", 2),
        ("a,b\n\n1,2\n\n3\n5,6\n", 5, "1 fields where 2 were expected", 2),
        ("a,b\n1,2\n3,4\n5,x\n7,8\n", 4, "column 'b' holds 'x', where a number was expected", 3),
        ("a,b\n1,2\n\n\n5,x\n7,8\n", 5, "column 'b' holds 'x', where a number was expected", 2),
    ],
)
def test_a_bad_row_is_named_with_its_line(text: str, line: int, reason: str, kept: int, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    types = {"a": "number", "b": "number"}
    with pytest.raises(SourceError) as caught:
        rows_of(path, types=types)
    assert f"{path}, line {line}: {reason}" in str(caught.value)
    assert "\n" not in str(caught.value)
    reader = TableReader(path, types=types, on_bad_row="skip")  # type: ignore[arg-type]
    assert sum(table.num_rows for table in reader) == kept
    assert reader.bad_rows == 1


def test_lines_are_right_after_rows_that_were_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3\n4\n\n5,6\n7,x\n8\n9,y\n")
    lines: list[str] = []
    reader = TableReader(path, types={"a": "number", "b": "number"}, on_bad_row="skip")
    count = reader._bad_row
    reader._bad_row = lambda line, reason: (lines.append(f"{line}"), count(line, reason))[1]  # type: ignore[func-returns-value, method-assign]
    assert [row for table in reader for row in table.to_pylist()] == [{"a": 1.0, "b": 2.0}, {"a": 5.0, "b": 6.0}]
    assert sorted(map(int, lines)) == [3, 4, 7, 8, 9]
    assert reader.bad_rows == 5


def test_an_unbalanced_quote_is_counted_with_all_it_takes_along(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,2\n"3,4\n5,6\n7,8\n')
    reader = TableReader(path, on_bad_row="skip")
    assert sum(table.num_rows for table in reader) + reader.bad_rows == 4


def test_bad_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": \n\n[1]\n{"a": {"b": 1}}\n{"a": "x"}\n{"a": 2}\n')
    with pytest.raises(SourceError, match="line 2: not a flat JSON object"):
        rows_of(path)
    reader = TableReader(path, types={"a": "number"}, on_bad_row="skip")
    assert [row for table in reader for row in table.to_pylist()] == [{"a": 1.0}, {"a": 2.0}]
    assert reader.bad_rows == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "cannot be read as csv: it is empty"),
        ("a.csv", b"\n\n", "cannot be read as csv: it is empty, or its first line is"),
        ("a.csv", b"a,a\n1,2\n", "column 'a' stands twice"),
        ("a.csv", b"a,b\n\xff\xfe,1\n", "UTF8"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read as csv compressed with gzip: Not a gzipped file"),
        (
            "a.csv.gz",
            gzip.compress(b"a,b\n" + b"1,2\n" * 9999, mtime=0)[:-20],
            "cannot be read as csv compressed with gzip",
        ),
        ("a.csv.xz", b"a,b\n1,2\n", "cannot be read as csv compressed with xz"),
        ("a.csv.zst", b"a,b\n1,2\n", "cannot be read as csv compressed with zstd"),
        ("a.csv.bz2", b"a,b\n1,2\n", "cannot be read as csv compressed with bz2"),
        ("a.csv.zip", b"a,b\n1,2\n", "cannot be read as csv compressed with zip: File is not a zip file"),
        ("a.csv.zip", EMPTY_ZIP, "cannot be read as csv compressed with zip: it holds 0 files, not one"),
        ("a.parquet", b"a,b\n1,2\n", "cannot be read as parquet"),
        ("a.arff", b"a,b\n1,2\n", "line 1: not a line of an ARFF header: 'a,b'"),
        ("a.arff", b"@relation x\n@data\n1,2\n", "line 2: @data comes before any @attribute"),
        ("a.arff", b"@relation x\n@attribute a numeric\n", "it has no @data line"),
        ("a.xlsx", b"a,b\n", "its ending says no format that is read"),
        ("nothing", b"a,b\n", "its ending says no format that is read"),
    ],
)
def test_a_file_that_is_not_what_its_ending_says(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        rows_of(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parquet_file_with_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    doubled = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pyarrow.parquet.write_table(doubled, path)
    with pytest.raises(SourceError, match="has two columns 'x'"):
        rows_of(path)


def test_lines_are_right_in_every_block(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(formats, "BLOCK_BYTES", 200)
    monkeypatch.setattr(formats, "BLOCK_ROWS", 10)
    rows = [f"{number},{number}" for number in range(300)]
    rows[100] = "1"
    rows[250] = "x,1"
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "\n".join(rows) + "\n")
    lines: list[int] = []
    reader = TableReader(path, on_bad_row="skip")
    reader._bad_row = lambda line, reason: lines.append(line)  # type: ignore[method-assign]
    assert sum(table.num_rows for table in reader) == 298
    assert lines == [102, 252]
    typed = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [str(n) for n in range(40)] + ["x"]}), typed)
    with pytest.raises(SourceError, match="line 41: column 'a' holds 'x'"):
        rows_of(typed, types={"a": "number"})


def test_the_first_bad_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,1\nx,y\n")
    with pytest.raises(SourceError, match="column 'a' holds 'x'"):
        rows_of(path, types={"a": "number", "b": "number"})


def test_a_key_that_comes_late_is_a_bad_row(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(formats, "BLOCK_ROWS", 3)
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"b": 1}\n{"a": 2}\n{"c": 1}\n{"a": true}\n')
    with pytest.raises(SourceError, match="line 4: the key 'c' is in none of the first 3 rows"):
        rows_of(path)


def test_arff_tells_kinds_and_has_comments(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute grade {1, 2}\n@attribute t REAL\n@data\n1, 2.5\n% why not\n2, ?\n")
    reader = TableReader(path)
    assert [row for table in reader for row in table.to_pylist()] == [
        {"grade": "1", "t": 2.5},
        {"grade": "2", "t": None},
    ]
    assert (reader.kinds, reader.bad_rows) == ({"grade": "category", "t": "number"}, 0)
    path.write_text("@relation r\n@attribute a real\n@attribute a real\n@data\n")
    with pytest.raises(SourceError, match="line 3: the attribute 'a' stands twice"):
        rows_of(path)


def test_what_is_not_finite_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\ninf\n-Infinity\n")
    assert rows_of(path) == [{"x": 1.0}, {"x": None}, {"x": None}]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not a file"):
        TableReader(tmp_path / "nowhere.csv")
    with pytest.raises(SourceError, match="is not a file"):
        TableReader(tmp_path)


def test_columns_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"x": [[1, 2]], "y": [1]}), path)
    with pytest.raises(LocalError, match="column 'x' holds list"):
        rows_of(path)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "n": st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-1000, 1000),
                "c": st.none() | st.sampled_from(["a", "b c", "Ünïcode", "x,y", 'q"q']),
            }
        ),
        min_size=1,
        max_size=40,
    ),
    block_bytes=st.integers(100, 300),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_survive_a_csv_however_it_is_cut_in_blocks(
    rows: list[dict[str, Any]], block_bytes: int, tmp_path: Path, monkeypatch: Any
) -> None:
    path = tmp_path / "a.csv"
    import csv

    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "n", "c"])
        for number, row in enumerate(rows):
            writer.writerow([number, "" if row["n"] is None else repr(row["n"]), row["c"]])
    monkeypatch.setattr(formats, "BLOCK_BYTES", block_bytes)
    read = rows_of(path, types={"n": "number", "c": "category"})
    expected = [
        {"id": float(number), "n": None if row["n"] is None else float(row["n"]), "c": row["c"]}
        for number, row in enumerate(rows)
    ]
    assert read == expected


def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    block = "".join(f"{number},{number % 7},word{number % 5}\n" for number in range(100_000))
    with path.open("w") as file:
        file.write("a,b,c\n")
        for _ in range(60):
            file.write(block)
    assert path.stat().st_size > 80_000_000
    code = (
        "import resource, sys\n"
        "from quorate.streams import TableReader\n"
        "tables = iter(TableReader(sys.argv[1])); next(tables)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "rows = sum(table.num_rows for table in tables)\n"
        "print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    rows, grown_kib = map(int, done.stdout.split())
    assert rows > 5_500_000
    assert grown_kib < 60_000


def test_progress_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path)
    reader = TableReader(path)
    assert reader.bytes_read == 0
    for _ in reader:
        assert reader.bytes_read == reader.bytes_total == path.stat().st_size


def test_missing_numbers_are_nan_free(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\nNaN\nNA\n?\nnull\n")
    (table,) = TableReader(path)
    assert table["x"].null_count == 4
    assert np.isnan(table["x"].to_pandas()[1])
