"""Programs in processes of their own that begin at the same instant."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from quorate.runtime.serving import with_loop

__all__ = ["Gate", "side_by_side"]

#: How long all of them may take together.
LIMIT_S = 600.0

Gate = Callable[[], Awaitable[float]]
Program = Callable[..., Awaitable[Any]]


async def side_by_side(program: Program, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run a program once for each set of arguments, each in a process; give what they return.

    Parameters
    ----------
    program
        A coroutine function of a module. Its first argument is a gate: it awaits that once it is prepared, and is told
        the instant, by the machine's monotonic clock, at which all others are too.
    arguments
        What else it is called with.
    """
    spawning = multiprocessing.get_context("spawn")
    pipes = [spawning.Pipe() for _ in arguments]
    processes = [
        spawning.Process(target=_run, args=(theirs, program, each), daemon=True)
        for (_, theirs), each in zip(pipes, arguments, strict=True)
    ]
    for process in processes:
        process.start()
    try:
        async with asyncio.timeout(LIMIT_S):
            for ours, theirs in pipes:
                theirs.close()
                await _answer(ours)
            begin = asyncio.get_running_loop().time()
            for ours, _ in pipes:
                ours.send(begin)
            return [await _answer(ours) for ours, _ in pipes]
    finally:
        for process in processes:
            process.terminate()
            process.join()


async def _answer(ours: Connection) -> Any:
    kind, value = await asyncio.to_thread(ours.recv)
    if kind == "failed":
        raise RuntimeError(value)
    return value


def _run(pipe: Connection, program: Program, arguments: tuple[Any, ...]) -> None:
    async def gate() -> float:
        pipe.send(("ready", None))
        begin: float = await asyncio.to_thread(pipe.recv)
        return begin

    async def main() -> None:
        pipe.send(("done", await program(gate, *arguments)))

    try:
        with_loop(main)
    except Exception as error:
        pipe.send(("failed", f"{type(error).__name__}: {error}"))
