"""Where a model works: one thing after the other, in a thread of its own, so that nothing else waits for it."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import perf_counter, thread_time
from typing import Any

__all__ = ["Worker"]


#: What takes less is done at once, where the thread has nothing else to do: to hand it over takes as long.
QUICK_S = 2e-3
#: What is left, after a call that was quicker, of how long one is taken to be: a hundred calls make it an eighth.
FORGETTING = 0.98


class Worker:
    """Does what it is given in its order; with a thread or, for trials that must repeat themselves, without.

    Parameters
    ----------
    in_thread
        Whether there is a thread.

    Examples
    --------
    >>> async def example():
    ...     worker, learned = Worker(in_thread=True), []
    ...     worker.post(learned.append, 1)
    ...     return await worker.call(len, learned)
    >>> asyncio.run(example())
    1
    """

    def __init__(self, in_thread: bool) -> None:
        self._pool = ThreadPoolExecutor(1, "quorate-model") if in_thread else None
        self._posted: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._lock = Lock()
        self._busy = False
        self._failure: BaseException | None = None
        self._cost_s: float | None = None  # of one part of a call, of late; None while nobody knows

    async def call(self, function: Callable[..., Any], *arguments: Any, size: int = 0) -> Any:
        """Do this after all that was posted, and give its answer; `size` says of how many parts, if it is a list."""
        if self._failure is not None:
            raise self._failure
        if self._pool is None:
            return function(*arguments)
        cost_s = self._cost_s
        if size and not self._busy and cost_s is not None and size * cost_s < QUICK_S:
            answer, taken_s = _timed(function, arguments)
        else:
            loop = asyncio.get_running_loop()
            answer, taken_s = await loop.run_in_executor(self._pool, self._after_posted, function, arguments)
        if size:  # one that is slow now and then is slow
            part_s = taken_s / max(len(answer), 1)
            self._cost_s = part_s if cost_s is None else max(part_s, FORGETTING * cost_s)
        return answer

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Do this after all that was posted before; if it fails, whoever comes next is told."""
        if self._failure is not None:
            raise self._failure
        if self._pool is None:
            function(*arguments)
            return
        with self._lock:
            self._posted.append((function, arguments))
            if self._busy:  # one hand-over to the thread for all that gathers meanwhile
                return
            self._busy = True
        self._pool.submit(self._do_posted)

    def _after_posted(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
        self._do_posted()
        if self._failure is not None:
            raise self._failure
        return _timed(function, arguments)

    def _do_posted(self) -> None:
        while True:
            with self._lock:
                if not self._posted or self._failure is not None:
                    self._posted.clear()
                    self._busy = False
                    return
                function, arguments = self._posted.popleft()
            try:
                function(*arguments)
            except BaseException as error:
                self._failure = error

    async def close(self) -> None:
        """Drop what was not begun, and wait for what was: a checkpoint is not left half written."""
        with self._lock:
            self._posted.clear()
        if self._pool is not None:
            await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """What it gives, and how long that held up its thread; not how long others had the processor meanwhile."""
    begin, computed, waits = perf_counter(), thread_time(), _n_waits()
    answer = function(*arguments)
    has_waited = waits is None or _n_waits() != waits
    return answer, perf_counter() - begin if has_waited else thread_time() - computed


def _n_waits() -> int | None:
    """How often this thread has waited for something of its own accord, where the system tells."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw if sys.platform == "linux" else None
