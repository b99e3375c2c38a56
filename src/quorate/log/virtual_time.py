"""An event loop whose time is its own: it jumps to the next thing that is due, and never waits."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_in_virtual_time"]

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Instead of waiting, moves the loop's time on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("every task waits for something that nobody will do")
        self.now += max(timeout, 0.0)
        return []


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; an hour of sleep takes no time, and the same program does the same each time.

    Nothing in it may touch a socket or a thread.

    Examples
    --------
    >>> async def sleeper():
    ...     await asyncio.sleep(3600)
    ...     return asyncio.get_running_loop().time()
    >>> run_in_virtual_time(sleeper())
    3600.0
    """
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main)
