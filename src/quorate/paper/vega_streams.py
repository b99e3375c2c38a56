"""Real streams that nothing of the portfolio was chosen on, and nothing was changed after.

The package `vega-datasets` of npm holds four tables in the order in which things happened: flights in the United States
in the first half of 2001, collisions of aircraft with animals from 1990 on, football matches, and a stock index by the
day. They are installed into a folder of their own:

    npm install --prefix folder vega-datasets@3.2.1
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from quorate._extras import load
from quorate.errors import SourceError
from quorate.paper.ensembles import voted
from quorate.paper.packaged_streams import N_ROWS
from quorate.paper.portfolio_streams import Stream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["vega_streams"]

#: The airports that most flights leave from.
AIRPORTS = ("ORD", "DFW", "ATL", "LAX")
#: How many days back the changes of the index are known.
N_DAYS = 5


def vega_streams(folder: Path, n_rows: int = N_ROWS) -> Iterator[Stream]:
    """The streams of the package in a folder, each voted on by two or three kinds of ensembles.

    Flights from each of four airports that come more than a quarter of an hour late; animals that do damage to an
    aircraft; matches that the home team wins; days on which the index closes above the day before.

    Parameters
    ----------
    folder
        Where the package was installed.
    n_rows
        How many rows of each table to take at the most.
    """
    load("pyarrow", "Reading the tables of the package")
    for make in (_flights, _animals, _matches, _index):
        for name, table in make(folder):
            yield from voted(name, table.slice(0, n_rows), "label", "true")


def _flights(folder: Path) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow.compute as pc
    import pyarrow.parquet

    flights = pyarrow.parquet.read_table(_path(folder, "flights-3m.parquet"))
    flights = flights.sort_by([(name, "ascending") for name in ("date", "origin", "destination", "distance")])
    flights = flights.append_column("hour", pc.hour(flights["date"]))
    flights = flights.append_column("weekday", pc.day_of_week(flights["date"]))
    for airport in AIRPORTS:
        rows = flights.filter(pc.equal(flights["origin"], airport))
        table = rows.select(["hour", "weekday", "distance", "destination"])
        yield f"Flights from {airport}", _labelled(table, pc.greater(rows["delay"], 15))


def _animals(folder: Path) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow.compute as pc
    import pyarrow.csv

    rows = pyarrow.csv.read_csv(_path(folder, "birdstrikes.csv")).sort_by("Flight Date")
    left_out = ("Flight Date", "Effect Amount of damage", "Cost Other", "Cost Repair", "Cost Total $")
    table = rows.drop_columns(left_out)
    yield "Animals", _labelled(table, pc.not_equal(rows["Effect Amount of damage"], "None"))


def _matches(folder: Path) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.Table.from_pylist(json.loads(_path(folder, "football.json").read_text("utf-8"))).sort_by("date")
    table = rows.select(["division", "home_team", "away_team"])
    yield "Matches", _labelled(table, pc.greater(rows["home_score"], rows["away_score"]))


def _index(folder: Path) -> Iterator[tuple[str, pa.Table]]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    rows = pyarrow.csv.read_csv(_path(folder, "sp500-2000.csv")).sort_by("date")
    closes = np.log(rows["close"].to_numpy())
    changes = np.diff(closes)
    days = {f"{back} back": changes[N_DAYS - back : -back] for back in range(1, N_DAYS + 1)}
    yield "Index", _labelled(pa.table(days), pa.chunked_array([pa.array(changes[N_DAYS:] > 0)]))


def _labelled(table: pa.Table, is_positive: pa.ChunkedArray) -> pa.Table:
    import pyarrow as pa

    known = is_positive.is_valid()
    return table.append_column("label", is_positive.cast(pa.string())).filter(known)


def _path(folder: Path, name: str) -> Path:
    path = folder / "node_modules" / "vega-datasets" / "data" / name
    if not path.is_file():
        raise SourceError(f"there is no {path}; fill the folder: npm install --prefix {folder} vega-datasets@3.2.1")
    return path
