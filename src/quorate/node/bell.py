"""Waiting for something to happen, for what is waited for many times in each slot."""

from __future__ import annotations

import asyncio

__all__ = ["Bell"]


class Bell:
    """Rings, and whoever listens then goes on; who comes later waits for the next time.

    An `asyncio.Event` looks for the loop each time, and until Python 3.12 that asks the system who we are: two thirds
    of all that a node asks it.

    Examples
    --------
    >>> async def example():
    ...     bell = Bell()
    ...     asyncio.get_running_loop().call_soon(bell.ring)
    ...     await bell.heard()
    ...     return "heard"
    >>> asyncio.run(example())
    'heard'
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening: list[asyncio.Future[None]] = []

    def ring(self) -> None:
        """Let all who listen go on."""
        if self._listening:
            listening, self._listening = self._listening, []
            for each in listening:
                if not each.done():  # it may have been cancelled
                    each.set_result(None)

    async def heard(self) -> None:
        """Wait until it rings."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        listens = self._loop.create_future()
        self._listening.append(listens)
        try:
            await listens
        except asyncio.CancelledError:
            if listens in self._listening:
                self._listening.remove(listens)
            raise
