"""R1 to R4 of the paper: the four real data sets, whole and in file order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quorate._extras import load as load_extra
from quorate.errors import LocalError, SourceError
from quorate.streams.columns import Kind, as_kinds, kinds_of, text_of
from quorate.streams.folder import data_folder
from quorate.streams.tables import TableReader

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["REAL_STREAMS", "RealStream", "Spec", "load"]


class Spec(NamedTuple):
    """What is known of a real data set, and how the paper used it."""

    title: str
    task: str
    """What is to be told apart, the positive class first."""
    file: str
    sha256: str
    rows: int
    label: str
    positive: Callable[[str], bool]
    train_rows: int
    """Z, the rows each of the paper's eight local models is trained on."""
    tuning_rows: int
    """The rows after these, on which the paper fits AdaBoost's weights."""
    test_rows: int
    categories: tuple[str, ...] = ()
    """Columns of numbers that are names."""


REAL_STREAMS: dict[str, Spec] = {
    "R1": Spec(
        "Network intrusion (KDD Cup 1999, the 10 % file)",
        "attack or normal",
        "r1_kddcup99_10pct.csv.gz",
        "f270c87f88daf7b900951ec7d806b504f17e01c43d4a5f530a316265e5857f1e",
        494_021,
        "label",
        lambda value: value != "normal.",
        train_rows=5_000,
        tuning_rows=20_000,
        test_rows=20_000,
    ),
    "R2": Spec(
        "Electricity pricing, New South Wales (Elec2, normalised)",
        "price up or down",
        "r2_elec2.csv.gz",
        "1d92515b3f30a989e8969c0ea5a072b423fa21e1b759c687071849681849e938",
        45_312,
        "class",
        lambda value: value == "UP",
        train_rows=2_000,
        tuning_rows=8_000,
        test_rows=21_000,
    ),
    "R3": Spec(
        "Forest cover type",
        "cover type 1 or another",
        "r3_covtype.csv.gz",
        "b7e502177d02fe949911169cf277d73b5c12de25c01f1e2b0a0963045a20919d",
        581_012,
        "Cover_Type",
        lambda value: value == "1",
        train_rows=5_000,
        tuning_rows=20_000,
        test_rows=20_000,
    ),
    "R4": Spec(
        "Credit card risk assessment (PAKDD 2009)",
        "bad client or good",
        "r4_pakdd2009.csv.gz",
        "26be6968863b9ccfb0cf37516df4e43b6ba34f40c1f22be5fef6bfe27fd2788b",
        50_000,
        "TARGET_LABEL_BAD",
        lambda value: value == "1",
        train_rows=2_000,
        tuning_rows=8_000,
        test_rows=26_000,
        categories=("ID_SHOP", "AREA_CODE_RESIDENCIAL_PHONE", "SHOP_RANK", "PROFESSION_CODE"),
    ),
}


class RealStream(NamedTuple):
    """A real data set, in file order."""

    name: str
    spec: Spec
    features: pa.Table
    labels: NDArray[np.int8]
    """-1 or +1, in the order of the paper's task."""


def load(name: str, data: str | Path | None = None, *, download: bool = True) -> RealStream:
    """Load one of the paper's real data sets.

    Parameters
    ----------
    name
        ``R1``, ``R2``, ``R3`` or ``R4``.
    data
        The folder with the files. Default: ``QUORATE_DATA``, else ``../shared/data``.
    download
        Whether a data set whose file is not there is fetched by scikit-learn, into its own cache. R4 has no
        public loader.

    Raises
    ------
    SourceError
        The file is not there and cannot be fetched, or is not the known one.
    """
    import numpy as np

    if name not in REAL_STREAMS:
        raise LocalError(f"no data set is named {name!r}; there are {', '.join(REAL_STREAMS)}")
    spec = REAL_STREAMS[name]
    folder = data_folder(data)
    path = None if folder is None else folder / spec.file
    if path is not None and path.is_file():
        table = _read(path, spec)
    elif download and name in _FETCHERS:
        try:
            table = _FETCHERS[name](spec)
        except OSError as error:
            where = spec.file if path is None else path
            raise SourceError(f"{name} could not be downloaded ({error}), and {where} is not there") from None
    else:
        where = path or Path("../shared/data") / spec.file
        raise SourceError(
            f"{name} ({spec.title}) needs the file {where}, which is not there; put it there, or set QUORATE_DATA or "
            f"give its folder{'' if name in _FETCHERS else '; it has no public loader'}"
        )
    if table.num_rows != spec.rows:
        raise SourceError(f"{name} has {table.num_rows} rows; the known data set has {spec.rows}")
    values = table[spec.label].to_pylist()
    labels = np.array([1 if spec.positive(value) else -1 for value in values], np.int8)
    return RealStream(name, spec, table.drop_columns([spec.label]), labels)


def _read(path: Path, spec: Spec) -> pa.Table:
    import pyarrow as pa

    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != spec.sha256:
        raise SourceError(f"{path} is not the known file: its sha256 is {digest}, not {spec.sha256}; replace it")
    return pa.concat_tables(list(TableReader(path, types=_told(spec))))


def _fetched(frame: Any, label: str, spec: Spec) -> pa.Table:
    """Put a frame of scikit-learn's, which may hold objects and bytes, into the form our files are read in."""
    import pyarrow as pa

    columns = {}
    for column in frame.columns:
        values = [value.decode() if isinstance(value, bytes) else value for value in frame[column].tolist()]
        columns[spec.label if column == label else str(column)] = pa.array(
            [text_of(value) for value in values], pa.string()
        )
    table = pa.table(columns)
    kinds = kinds_of(table, Path(spec.file), untyped=True) | _told(spec)
    return as_kinds(table, kinds, untyped=True)[0]


def _told(spec: Spec) -> dict[str, Kind]:
    return dict.fromkeys((spec.label, *spec.categories), "category")


def _fetch_kdd(spec: Spec) -> pa.Table:
    datasets = load_extra("sklearn.datasets", "Downloading R1")
    return _fetched(datasets.fetch_kddcup99(percent10=True, as_frame=True).frame, "labels", spec)


def _fetch_electricity(spec: Spec) -> pa.Table:
    datasets = load_extra("sklearn.datasets", "Downloading R2")
    return _fetched(datasets.fetch_openml("electricity", version=1, as_frame=True).frame, "class", spec)


def _fetch_covtype(spec: Spec) -> pa.Table:
    datasets = load_extra("sklearn.datasets", "Downloading R3")
    return _fetched(datasets.fetch_covtype(as_frame=True).frame, "Cover_Type", spec)


_FETCHERS: dict[str, Callable[[Spec], Any]] = {"R1": _fetch_kdd, "R2": _fetch_electricity, "R3": _fetch_covtype}
