"""Tasks that work together: if one fails, all are done for."""

from __future__ import annotations

import asyncio

__all__ = ["end_all", "until_one_fails"]


async def until_one_fails(tasks: list[asyncio.Task[None]]) -> None:
    """Wait while tasks work; a failure is raised, and an end in peace is waited out."""
    left = list(tasks)
    while left:
        done, _ = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for task in [each for each in left if each in done]:
            left.remove(task)
            task.result()


async def end_all(tasks: list[asyncio.Task[None]]) -> None:
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
