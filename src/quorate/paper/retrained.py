"""The schemes that retrain their members, on the paper's layout of the real data sets.

Each learns the rows of the eight training blocks, all of them in file order, then goes on through the test block: it
decides on a row, and learns its label at once. The block between the two is nobody's here: the paper has it for
AdaBoost alone, and the rules, whose members were trained on the eight blocks, do not see it either.

Schemes that learn a chunk at once have members that are fitted on it, as the local models are on their blocks; those
that learn row by row have members that take a step a row, at River's rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate._extras import load as load_extra
from quorate.errors import LocalError
from quorate.paper.layout import N_LEARNERS, check_start, kinds_of
from quorate.streams import RealStream

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Prepared", "prepared", "scheme_on_test_block"]

#: How many columns the categories of one column become at the most; the rarest, and those not met before, share one.
CATEGORIES_MAX = 30

#: How many rows lie between two calls of `advance`.
STRIDE = 500

#: What each scheme is made with: the paper's parameters where it has the scheme, eight members (of five partitions,
#: two for each) and chunks of the paper's size.
PARAMETERS: dict[str, dict[str, Any]] = {
    "FanBoosting": {"window": 100, "n_members": N_LEARNERS, "seed": 0},
    "WangEnsemble": {"window": 100, "n_members": N_LEARNERS, "seed": 0},
    "DDD": {"lambda_low": 1.0, "lambda_high": 0.1, "n_members": N_LEARNERS, "seed": 0},
    "SEA": {"window": 100, "n_members": N_LEARNERS, "seed": 0},
    "MultiPartitionEnsemble": {"window": 100, "n_members": 2, "n_partitions": 5, "seed": 0},
    "EnsembleTracker": {"window": 100, "n_members": N_LEARNERS, "n_kept": N_LEARNERS - 2, "seed": 0},
    "AddExp": {"n_experts_max": N_LEARNERS},
    "DWM": {"n_experts_max": N_LEARNERS},
}


class Prepared(NamedTuple):
    """The rows of a real data set as numbers, all that a scheme needs to run, also in another process."""

    train: NDArray[np.float64]
    """Of the eight training blocks, in file order."""
    train_labels: NDArray[np.int8]
    test: NDArray[np.float64]
    test_labels: NDArray[np.int8]


def prepared(stream: RealStream, start: int = 0) -> Prepared:
    """Turn the rows of the training blocks and of the test block into numbers.

    Numbers are standardised, categories one-hot, by what the training rows show; a missing number is their mean, a
    missing category one of its own.

    Parameters
    ----------
    stream
        A real data set.
    start
        The row at which the layout begins.
    """
    check_start(stream, start)
    spec = stream.spec
    n_train = N_LEARNERS * spec.train_rows
    testing = start + n_train + spec.tuning_rows
    train, test = stream.features.slice(start, n_train), stream.features.slice(testing, spec.test_rows)
    pairs = [
        (_standardised if kind == "number" else _one_hot)(train[name].combine_chunks(), test[name].combine_chunks())
        for name, kind in kinds_of(stream).items()
    ]
    return Prepared(
        np.column_stack([seen for seen, _ in pairs]),
        stream.labels[start : start + n_train],
        np.column_stack([unseen for _, unseen in pairs]),
        stream.labels[testing : testing + spec.test_rows],
    )


def _standardised(train: pa.Array, test: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import pyarrow.compute as pc

    seen, unseen = (pc.fill_null(each, np.nan).to_numpy(zero_copy_only=False) for each in (train, test))
    mean = 0.0 if np.isnan(seen).all() else np.nanmean(seen)
    scale = np.where(np.isnan(seen), mean, seen).std()
    if scale <= 1e-12 * abs(mean):  # equal numbers, up to what rounding leaves of their deviation
        scale = 1.0
    return np.nan_to_num((seen - mean) / scale), np.nan_to_num((unseen - mean) / scale)


def _one_hot(train: pa.Array, test: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    coded = train.dictionary_encode(null_encoding="encode")
    values = coded.dictionary.to_pylist()
    counts = np.bincount(coded.indices.to_numpy(), minlength=len(values))
    common = np.argsort(-counts, kind="stable")[: CATEGORIES_MAX - 1]
    places = {values[code]: place for place, code in enumerate(common.tolist())}

    def columns(column: pa.Array) -> NDArray[np.float64]:
        answer = column.dictionary_encode(null_encoding="encode")
        shown = [places.get(value, len(places)) for value in answer.dictionary.to_pylist()]
        codes = np.array(shown, np.intp)[answer.indices.to_numpy()]
        return np.asarray(codes[:, None] == np.arange(len(places) + 1), np.float64)

    return columns(train), columns(test)


def scheme_on_test_block(
    rows: Prepared, name: str, advance: Callable[[int], None] = lambda n_rows: None
) -> NDArray[np.int8]:
    """Let one scheme learn the training rows and go through the test block; its decisions, -1 or +1.

    Parameters
    ----------
    rows
        The data set's rows, from `prepared`.
    name
        Which scheme of `quorate.schemes`.
    advance
        Called with how many more rows are done, training rows among them.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> numbers = generator.normal(size=(400, 2))
    >>> labels = np.where(numbers.sum(1) + generator.normal(size=400) > 0, 1, -1).astype(np.int8)
    >>> rows = Prepared(numbers[:300], labels[:300], numbers[300:], labels[300:])
    >>> int((scheme_on_test_block(rows, "WangEnsemble") != rows.test_labels).sum())
    18
    """
    scheme = _made(name)
    limits = load_extra("threadpoolctl", "A scheme").threadpool_limits  # comes with scikit-learn, which is there now
    decisions = np.empty(len(rows.test_labels), np.int8)
    # For a hundred rows more threads only wait for each other, and their number must not show in the last digits.
    with limits(1):
        for x, y in _instances(rows.train, rows.train_labels, advance):
            scheme.learn_one(x, y)
        for slot, (x, y) in enumerate(_instances(rows.test, rows.test_labels, advance)):
            decisions[slot] = 1 if scheme.predict_one(x) else -1
            scheme.learn_one(x, y)
    return decisions


def _made(name: str) -> Any:
    from quorate.paper.members import BatchLogistic, OnlineLogistic
    from quorate.schemes import SCHEMES, ChunkScheme

    if name not in PARAMETERS:
        raise LocalError(f"no scheme is named {name!r}; there are {', '.join(PARAMETERS)}")
    kind = SCHEMES[name]
    return kind(BatchLogistic() if issubclass(kind, ChunkScheme) else OnlineLogistic(), **PARAMETERS[name])


def _instances(
    matrix: NDArray[np.float64], labels: NDArray[np.int8], advance: Callable[[int], None]
) -> Iterator[tuple[dict[str, NDArray[np.float64]], bool]]:
    plain = np.ascontiguousarray(matrix, np.float64)  # a worker may be given a map of a file
    for first in range(0, len(labels), STRIDE):
        part = labels[first : first + STRIDE].tolist()
        for row, label in zip(plain[first : first + STRIDE], part, strict=True):
            yield {"row": row}, label > 0
        advance(len(part))
