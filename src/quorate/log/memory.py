"""The log of an ensemble that lives in one process."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence

from quorate.errors import LogError, MessageError
from quorate.events import Event, decode, encode
from quorate.log.base import Entry

__all__ = ["MemoryLog", "entry_of"]

#: How many messages are kept, where nobody says.
MESSAGES_MAX = 10_000_000


class MemoryLog:
    """A list of messages, in their wire form.

    Parameters
    ----------
    messages_max
        How many are kept; the oldest are dropped, and who wants to read these is told.

    Examples
    --------
    >>> import asyncio
    >>> from quorate.events import Vote
    >>> async def example():
    ...     log = MemoryLog()
    ...     await log.append([Vote(1, "paris", 1), Vote(1, "tokyo", -1)])
    ...     async for entry in log.read(after=1):
    ...         return entry
    >>> asyncio.run(example())
    Entry(position=2, event=Vote(slot=1, learner='tokyo', value=-1), fault=None)
    """

    def __init__(self, messages_max: int = MESSAGES_MAX) -> None:
        if messages_max < 1:
            raise LogError(f"messages_max is {messages_max}; it must be at least 1")
        self.messages_max = messages_max
        self._messages: list[bytes] = []
        self._dropped = 0  # so many messages came before the first that is kept
        self._identity = uuid.uuid4().hex
        self._more = asyncio.Event()
        self._closed = False

    @property
    def identity(self) -> str:
        """Which log this is."""
        return self._identity

    async def append(self, events: Sequence[Event]) -> int:
        """Add events at the end; give the place of the last."""
        return self.append_messages([encode(event) for event in events])

    def append_messages(self, messages: Sequence[bytes]) -> int:
        """Add messages as they are, whatever they hold, as a broker would."""
        if self._closed:
            raise LogError("the log is closed; nothing can be appended")
        self._messages.extend(messages)
        excess = len(self._messages) - self.messages_max
        if excess > self.messages_max // 10:  # now and then, not for every message
            del self._messages[:excess]
            self._dropped += excess
        self._wake()
        return self._dropped + len(self._messages)

    async def read(self, after: int = 0) -> AsyncIterator[Entry]:
        """Give all entries after a place, for ever."""
        position = after
        while True:
            if position < self._dropped:
                raise LogError(
                    f"entries {position + 1} to {self._dropped} are no longer in the log; begin from its first, or "
                    "keep more of it (messages_max)"
                )
            while position - self._dropped < len(self._messages):
                message = self._messages[position - self._dropped]
                position += 1
                yield entry_of(position, message)
            if self._closed:
                return
            await self._more.wait()

    async def first(self) -> int:
        """The place of the first entry that is kept, or will be."""
        return self._dropped + 1

    async def last(self) -> int:
        """The place of the last entry."""
        return self._dropped + len(self._messages)

    async def close(self) -> None:
        """End all reading."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


def entry_of(position: int, message: bytes) -> Entry:
    """Read a message; one that cannot be read is an entry with a fault, never an error.

    >>> entry_of(7, b"random bytes").fault
    'not a message of Quorate: JSON is malformed: invalid character (byte 0)'
    """
    try:
        return Entry(position, decode(message))
    except MessageError as error:
        return Entry(position, None, str(error))
