"""What a site brings to its node: instances with their slots, and perhaps their labels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, NamedTuple, Protocol

from quorate.node.bell import Bell
from quorate.node.tasks import end_all

__all__ = ["Instance", "ListSource", "Source", "gathered"]


class Instance(NamedTuple):
    """An event as one site sees it."""

    slot: int
    """Which one; the source numbers them, and its numbers only grow."""
    x: Any
    """What is seen of it; None for nothing. It stays on the node."""
    label: int = 0
    """Its label, -1 or +1, where this site gives labels to all; 0 for none."""
    due: int = 0
    """The label is given once this slot is decided."""


class Source(Protocol):
    """Where instances come from; one that can give the same ones again after the same slot loses none in a crash."""

    def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot, -1 for all."""


class ListSource:
    """Instances that are all there, numbered from 0 or as they say.

    Parameters
    ----------
    instances
        The instances.

    Examples
    --------
    >>> import asyncio
    >>> async def example():
    ...     return [one.slot async for one in ListSource([Instance(3, "a"), Instance(5, "b")]).instances(after=3)]
    >>> asyncio.run(example())
    [5]
    """

    def __init__(self, instances: Iterable[Instance]) -> None:
        self._instances = list(instances)

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        for instance in self._instances:
            if instance.slot > after:
                yield instance


async def gathered(source: AsyncIterator[Instance], most: int) -> AsyncGenerator[list[Instance], None]:
    """Give instances as they come, those that are there at once together.

    >>> async def example():
    ...     source = ListSource([Instance(slot, None) for slot in range(5)]).instances(-1)
    ...     return [len(some) async for some in gathered(source, 3)]
    >>> asyncio.run(example())
    [3, 2]
    """
    there: list[Instance] = []  # a queue would wake somebody up for each
    came, taken = Bell(), Bell()

    async def fill() -> None:
        try:
            async for instance in source:
                there.append(instance)
                size = len(there)
                if size == 1:
                    came.ring()
                if size >= most:
                    await taken.heard()
        finally:
            came.ring()

    filling = asyncio.ensure_future(fill())
    try:
        while there or not filling.done():
            if not there:
                await came.heard()
            some, there[:] = list(there), []
            taken.ring()
            if some:
                yield some
        await filling  # raises what the source raised
    finally:
        await end_all([filling])
