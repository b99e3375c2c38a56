"""A node's memory over a million slots."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.members import NAMES, a_node
from quorate.events import Votes
from quorate.log import MemoryLog
from quorate.node import FileStore, Instance, end_all

__all__ = ["MARKS", "measure"]

#: After how many slots is looked.
MARKS = (100_000, 500_000, 1_000_000)
#: How many slots the others vote on at once, and how many messages the log keeps: it must not grow itself.
STRIDE, KEPT = 256, 10_000


class Endless:
    """Instances without end, each with its label."""

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        slot = after
        while True:
            slot += 1
            yield Instance(slot, 1 if slot % 3 else -1, 1 if slot % 5 else -1, slot)


async def _grow(folder: Path) -> list[int]:
    """Let one node of eight work, the others voting at its side; give the KiB it holds at each mark."""
    log, held = MemoryLog(KEPT), []
    node = a_node(log, FileStore(folder / "steady"), NAMES[0], Endless())
    running = asyncio.ensure_future(node.run())
    voted = 0
    for mark in MARKS:
        while (closed := node.learner.last_closed or 0) < mark:
            while voted < closed + 2 * STRIDE:
                votes = [Votes.pack(name, voted, [1, 1, -1, 1] * (STRIDE // 4)) for name in NAMES[1:]]
                await log.append(votes)
                voted += STRIDE
            await asyncio.sleep(0.0005)
            if running.done():
                running.result()
        held.append(_resident_kib())
    await end_all([running])
    return held


def _resident_kib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def _in_process(folder: Path) -> list[int]:
    return asyncio.run(_grow(folder))


def measure(folder: Path) -> list[int]:
    """The KiB that a node's process holds after so many slots."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_in_process, (folder,))
