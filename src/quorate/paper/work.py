"""Work that is spread over processes by joblib, so that a user may spread it over machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TypeVar

from quorate._extras import load
from quorate.errors import LocalError

__all__ = ["spread"]

T = TypeVar("T")
R = TypeVar("R")


def spread(function: Callable[[T], R], items: Sequence[T], jobs: int = 1, backend: str | None = None) -> Iterator[R]:
    """Call a function on each item, in so many processes; the results come in the order of the items.

    Parameters
    ----------
    function, items
        What is done, and with what; both are sent to other processes.
    jobs
        How many processes; 1 stays in this one, -1 takes a process a core.
    backend
        Joblib's backend (``loky``, ``threading``, or what Dask or Ray register); also `joblib.parallel_config` is
        heard.

    Examples
    --------
    >>> list(spread(abs, [1, -2, 3]))
    [1, 2, 3]
    """
    joblib = load("joblib", "Spreading work over processes")
    if jobs == 0:
        raise LocalError("jobs is 0; it must be at least 1, or -1 for one a core")
    try:
        config = joblib.parallel_config(backend) if backend else nullcontext()
    except (ValueError, ImportError) as reason:
        raise LocalError(f"backend is {backend!r}, which joblib does not have: {reason}") from None
    with config:
        yield from joblib.Parallel(n_jobs=jobs, return_as="generator")(joblib.delayed(function)(item) for item in items)
