"""Real streams from a package of npm, for the portfolio: which rows, in which order, and what is told apart."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from quorate.errors import SourceError
from quorate.paper.portfolio import main
from quorate.paper.portfolio_streams import Stream
from quorate.paper.vega_streams import AIRPORTS, vega_streams

N = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as the package has them, and small."""
    folder = tmp_path_factory.mktemp("vega")
    data = folder / "node_modules" / "vega-datasets" / "data"
    data.mkdir(parents=True)
    rng = np.random.default_rng(2)
    flights = [
        {
            "date": datetime(2001, 1, 1) + timedelta(hours=number),
            "delay": None if number == 7 else int(rng.choice([-3, 15, 16, 90])),
            "distance": 500 + number,
            "origin": origin,
            "destination": "MIA",
        }
        for origin in (*AIRPORTS, "SEA")
        for number in reversed(range(N))  # not in order
    ]
    pyarrow.parquet.write_table(pa.Table.from_pylist(flights), data / "flights-3m.parquet")
    columns = ["Airport Name", "Aircraft Make Model", "Effect Amount of damage", "Flight Date", "Origin State"]
    columns += ["Phase of flight", "Wildlife Size", "Wildlife Species", "Time of day", "Speed IAS in knots"]
    lines = [",".join([*columns, "Aircraft Airline Operator", "Cost Other", "Cost Repair", "Cost Total $"])]
    for number in reversed(range(N)):
        damage = rng.choice(["None", "Minor", "Substantial"])
        day = datetime(1990, 1, 8) + timedelta(days=number)
        lines.append(f"OHARE,B-737,{damage},{day:%Y-%m-%d},Ohio,Climb,Small,Gull,Day,{number},MILITARY,0,0,0")
    (data / "birdstrikes.csv").write_text("\n".join(lines) + "\n")
    matches = [
        {
            "date": f"{datetime(2013, 7, 20) + timedelta(days=number):%Y-%m-%d}",
            "division": "Serie A",
            "home_team": "Roma",
            "away_team": "Lazio",
            "home_score": int(rng.integers(4)),
            "away_score": int(rng.integers(4)),
        }
        for number in reversed(range(N))
    ]
    (data / "football.json").write_text(json.dumps(matches))
    days = [
        f"{datetime(2000, 1, 3) + timedelta(days=number):%Y-%m-%d},1400.0,{rng.uniform(1300, 1500):.2f}"
        for number in range(N)
    ]
    (data / "sp500-2000.csv").write_text("\n".join(["date,open,close", *days]) + "\n")
    return folder


def labels(stream: Stream) -> list[int]:
    assert stream.tuning is not None
    return [*stream.tuning[1].tolist(), *stream.labels.tolist()]


def test_each_table_is_voted_on_in_the_order_in_which_things_happened(folder: Path) -> None:
    streams = {stream.name: stream for stream in vega_streams(folder)}
    airports = {f"Flights from {airport}" for airport in AIRPORTS}
    assert {name.rpartition(", ")[0] for name in streams} == {*airports, "Animals", "Matches", "Index"}
    data = folder / "node_modules" / "vega-datasets" / "data"
    flights = pyarrow.parquet.read_table(data / "flights-3m.parquet").to_pylist()
    for airport in AIRPORTS:
        delays = [row["delay"] for row in flights if row["origin"] == airport][::-1]
        late = [1 if delay > 15 else -1 for delay in delays if delay is not None]
        assert labels(streams[f"Flights from {airport}, regressions"]) == late
        assert labels(streams[f"Flights from {airport}, trees too"]) == late
    animals = (data / "birdstrikes.csv").read_text().split("\n")[-2:0:-1]
    assert labels(streams["Animals, views"]) == [-1 if row.split(",")[2] == "None" else 1 for row in animals]
    matches = json.loads((data / "football.json").read_text())[::-1]
    won = [1 if match["home_score"] > match["away_score"] else -1 for match in matches]
    assert labels(streams["Matches, regressions"]) == won
    closes = [float(day.split(",")[2]) for day in (data / "sp500-2000.csv").read_text().split()[1:]]
    higher = [1 if today > before else -1 for before, today in pairwise(closes[5:])]
    assert labels(streams["Index, trees too"]) == higher


def test_models_see_nothing_that_is_known_only_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, pa.Table] = {}
    monkeypatch.setattr("quorate.paper.vega_streams.voted", lambda name, table, *_: seen.update({name: table}) or [])
    assert not list(vega_streams(folder))
    index = seen.pop("Index")
    columns = {name: table.column_names for name, table in seen.items()}
    for airport in AIRPORTS:
        flights = ["hour", "weekday", "distance", "destination", "label"]
        assert columns.pop(f"Flights from {airport}") == flights
    strikes = ["Airport Name", "Aircraft Make Model", "Origin State", "Phase of flight", "Wildlife Size"]
    strikes += ["Wildlife Species", "Time of day", "Speed IAS in knots", "Aircraft Airline Operator", "label"]
    assert columns == {"Animals": strikes, "Matches": ["division", "home_team", "away_team", "label"]}
    path = folder / "node_modules" / "vega-datasets" / "data" / "sp500-2000.csv"
    closes = np.log([float(day.split(",")[2]) for day in path.read_text().split()[1:]])
    for back in range(1, 6):  # of the days before the one whose label it is, which is the sixth change
        assert np.allclose(index[f"{back} back"], np.diff(closes)[5 - back : -back])
    assert len(index) == N - 6


def test_no_more_rows_are_taken_than_are_wanted(folder: Path) -> None:
    assert len(labels(next(vega_streams(folder, 200)))) == 200


def test_a_folder_without_the_package_says_how_to_fill_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SourceError, match=r"fill the folder: npm install --prefix .* vega-datasets@3.2.1"):
        list(vega_streams(tmp_path))
    with pytest.raises(SystemExit):
        main(["--vega", str(tmp_path)])
    assert capsys.readouterr().err.startswith("error: there is no ")
