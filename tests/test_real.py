"""The four real data sets, from the data folder; and what happens without it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate.errors import LocalError, SourceError
from quorate.streams import REAL_STREAMS, data_folder, load, real

BALANCE = {"R1": 396_743, "R2": 19_237, "R3": 211_840, "R4": 9_874}


@pytest.mark.parametrize("name", REAL_STREAMS)
def test_a_data_set_is_whole_and_in_file_order(name: str) -> None:
    stream = load(name, download=False)
    assert stream.features.num_rows == len(stream.labels) == stream.spec.rows
    assert int((stream.labels == 1).sum()) == BALANCE[name]
    assert stream.spec.label not in stream.features.column_names
    assert stream.features.num_columns == {"R1": 41, "R2": 8, "R3": 54, "R4": 28}[name]
    # The paper's layout fits into the file.
    assert 8 * stream.spec.train_rows + stream.spec.tuning_rows + stream.spec.test_rows <= stream.spec.rows


def test_file_order() -> None:
    first = load("R2").features.slice(0, 1).to_pylist()[0]
    assert (first["date"], first["nswprice"]) == (0.0, 0.056443)
    labels = load("R2").labels
    assert float((labels[1:] == labels[:-1]).mean()) == pytest.approx(0.853, abs=0.001)


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = data_folder()
    assert folder is not None
    changed = tmp_path / "r2_elec2.csv.gz"
    shutil.copy(folder / "r2_elec2.csv.gz", changed)
    changed.chmod(0o644)
    with changed.open("ab") as file:
        file.write(b"x")
    with pytest.raises(SourceError, match="is not the known file: its sha256 is"):
        load("R2", tmp_path)


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(SourceError, match=r"R4 .* needs the file .*r4_pakdd2009.csv.gz.*it has no public loader"):
        load("R4", tmp_path)
    with pytest.raises(SourceError, match=r"R1 .* needs the file .*r1_kddcup99_10pct.csv.gz"):
        load("R1", tmp_path, download=False)
    with pytest.raises(LocalError, match="no data set is named 'R5'; there are R1, R2, R3, R4"):
        load("R5")
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder("elsewhere") == Path("elsewhere")
    monkeypatch.delenv("QUORATE_DATA")
    monkeypatch.chdir(tmp_path)
    assert data_folder() is None
    with pytest.raises(SourceError, match="R4"):
        load("R4")


def test_a_download_that_fails_is_said(tmp_path: Path, monkeypatch: Any) -> None:
    def unreachable(spec: Any) -> Any:
        raise OSError("no route to host")

    monkeypatch.setitem(real._FETCHERS, "R2", unreachable)
    with pytest.raises(SourceError, match=r"R2 could not be downloaded \(no route to host\), and .* is not there"):
        load("R2", tmp_path)


def test_what_scikit_learn_fetches_becomes_the_same_table() -> None:
    """The fetchers need a network; what they give is put into our form here, with bytes and categories as they come."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "duration": [0, 1],
            "flag": [b"SF", b"REJ"],
            "kind": pd.Categorical(["a", "b"]),
            "labels": [b"normal.", b"smurf."],
        }
    )
    table = real._fetched(frame, "labels", REAL_STREAMS["R1"])
    assert table.to_pylist() == [
        {"duration": 0, "flag": "SF", "kind": "a", "label": "normal."},
        {"duration": 1, "flag": "REJ", "kind": "b", "label": "smurf."},
    ]
    cover = real._fetched(pd.DataFrame({"x": [1.0], "Cover_Type": [np.int32(1)]}), "Cover_Type", REAL_STREAMS["R3"])
    assert REAL_STREAMS["R3"].positive(cover["Cover_Type"][0].as_py())
