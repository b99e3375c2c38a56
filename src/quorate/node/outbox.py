"""What a node has to send: it is kept until the log has answered for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from quorate.events import Event
from quorate.log import Log
from quorate.node.batching import BATCH, batched
from quorate.node.bell import Bell
from quorate.node.patience import patiently

__all__ = ["Outbox"]


class Outbox:
    """Events in the order they are put in, sent in batches of what has gathered.

    Parameters
    ----------
    log
        Where to.
    name
        Who sends, for the journal.
    batch
        How many slots one message covers at the most.
    on_sent
        Called after each batch.
    """

    def __init__(self, log: Log, name: str, batch: int, on_sent: Callable[[], None]) -> None:
        self._log, self._name, self._batch, self._on_sent = log, name, batch, on_sent
        self._events: deque[Event] = deque()
        self._filled = Bell()
        self._sent_to = 0

    def __len__(self) -> int:
        """How many events the log has not answered for."""
        return len(self._events)

    def put(self, events: Iterable[Event]) -> None:
        """Send these, as soon as the log can be reached."""
        self._events.extend(events)
        self._filled.ring()

    def is_read_back(self, position: int) -> bool:
        """Whether all was sent, and read by whoever has read up to a place."""
        return not self._events and position >= self._sent_to

    async def run(self) -> None:
        """Send for ever."""
        while True:
            while not self._events:
                await self._filled.heard()
            await asyncio.sleep(0)  # the votes that a decision makes room for go with it
            some = list(islice(self._events, BATCH))
            messages = batched(some, self._batch)
            self._sent_to = await patiently(partial(self._log.append, messages), self._name)
            for _ in some:
                self._events.popleft()
            self._on_sent()
