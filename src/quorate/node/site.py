"""What a site brings to its node: instances with their slots."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple, Protocol

__all__ = ["Instance", "ListSource", "Source"]


class Instance(NamedTuple):
    """An event as one site sees it."""

    slot: int
    """Which one; the source numbers them, and its numbers only grow."""
    x: Any
    """What is seen of it. It stays on the node."""


class Source(Protocol):
    """Where instances come from; it must give the same ones again after the same slot."""

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
