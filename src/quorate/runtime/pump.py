"""What blocks, read without anything else waiting for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any

__all__ = ["pumped"]

#: How many are read and not yet taken.
READ_AHEAD = 1024
_END = object()


async def pumped(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    """Give what an iterator gives, each at once when it is there.

    It is read in a thread that nobody waits for: a read from a pipe, or a function that sleeps, cannot be called off.

    >>> async def example():
    ...     return [each async for each in pumped(iter("abc"))]
    >>> asyncio.run(example())
    ['a', 'b', 'c']
    """
    loop = asyncio.get_running_loop()
    there: deque[Any] = deque()
    came, room = asyncio.Event(), threading.Semaphore(READ_AHEAD)
    failure: list[BaseException] = []

    def tell(each: Any) -> None:
        there.append(each)
        if not came.is_set():
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(came.set)

    def read() -> None:
        try:
            for each in iterator:
                room.acquire()
                tell(each)
        except BaseException as error:
            failure.append(error)
        tell(_END)

    threading.Thread(target=read, name="quorate-source", daemon=True).start()
    while True:
        came.clear()
        while there:
            if (each := there.popleft()) is _END:
                if failure:
                    raise failure[0]
                return
            room.release()
            yield each
        if not there:
            await came.wait()
