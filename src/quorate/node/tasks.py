"""Tasks that work together: if one fails, all are done for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

__all__ = ["end_all", "until_done"]


async def until_done(awaited: asyncio.Task[Any], tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait for one task while others work; a failure of any is raised, and an end of those in peace is waited out."""
    left = [awaited, *tasks]
    try:
        while not awaited.done():
            done, _ = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in [each for each in left if each in done]:
                left.remove(task)
                task.result()
    finally:
        await end_all([awaited])


async def end_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they end, in their order, so that a trial repeats itself.

    Once may not be enough: what a task waits for may swallow it (`asyncio.wait_for` does at times, until Python 3.12,
    and nats-py is built on that).
    """
    left = [task for task in tasks if not task.done()]
    while left:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.2)
        left = [task for task in left if not task.done()]
    for task in tasks:
        if not task.cancelled():
            task.exception()  # it was raised, or came while all were ending: nobody is to ask for it
