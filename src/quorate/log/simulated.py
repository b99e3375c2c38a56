"""A log that does, from one seed, everything that can go wrong with a real one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from weakref import WeakKeyDictionary

from quorate.errors import LogError
from quorate.events import Event, Label, Labels, Vote, Votes, encode
from quorate.log.base import Entry
from quorate.log.memory import MemoryLog
from quorate.log.subjects import message_id

__all__ = ["Faults", "SimulatedLog"]


class Faults:
    """How often each thing goes wrong, from 0 to 1.

    Parameters
    ----------
    refused
        An append raises, and the events are not there.
    unanswered
        An append raises, though the events are there.
    repeated
        An append stores its events twice.
    delayed
        An append or a read takes a while.
    stalled
        A reader gets nothing for a long while.
    reread
        A reader gets some entries again.
    garbage
        Somebody else appends what is no message.
    partial
        An append raises, and some of its events are there; decisions and changes never without those before them.
    dropped
        A message that stands in the log already is not stored again, as a broker does that knows it by its id.
    delay_s, stall_s
        How long these take, at most.
    """

    def __init__(
        self,
        refused: float = 0.0,
        unanswered: float = 0.0,
        repeated: float = 0.0,
        delayed: float = 0.0,
        stalled: float = 0.0,
        reread: float = 0.0,
        garbage: float = 0.0,
        partial: float = 0.0,
        dropped: float = 0.0,
        delay_s: float = 0.01,
        stall_s: float = 1.0,
    ) -> None:
        self.refused, self.unanswered, self.repeated = refused, unanswered, repeated
        self.delayed, self.stalled, self.reread, self.garbage = delayed, stalled, reread, garbage
        self.partial, self.dropped = partial, dropped
        self.delay_s, self.stall_s = delay_s, stall_s

    @classmethod
    def drawn(cls, generator: random.Random) -> Faults:
        """Faults of all kinds, each rare, common or absent.

        >>> Faults.drawn(random.Random(1)).refused
        0.0
        """
        kinds = ("refused", "unanswered", "repeated", "delayed", "stalled", "reread", "garbage", "partial")
        return cls(**{kind: generator.choice((0.0, 0.02, 0.2)) for kind in kinds}, dropped=generator.choice((0.0, 1.0)))


#: Where each message stands first, in each log.
_stand: WeakKeyDictionary[MemoryLog, dict[bytes, int]] = WeakKeyDictionary()


class SimulatedLog:
    """One client's way to a shared log, with faults drawn from a seed; the log itself stays whole.

    It is meant for `run_in_virtual_time`: then the same seed gives the same run.

    Parameters
    ----------
    log
        The log that all clients share.
    seed
        Draws what goes wrong.
    faults
        How often.

    Examples
    --------
    >>> from quorate.events import Vote
    >>> from quorate.log.virtual_time import run_in_virtual_time
    >>> async def example():
    ...     log = SimulatedLog(MemoryLog(), seed=0, faults=Faults(unanswered=1.0))
    ...     try:
    ...         await log.append([Vote(1, "paris", 1)])
    ...     except LogError as error:
    ...         return str(error), await log.last()
    >>> run_in_virtual_time(example())
    ('no answer: the events may be in the log or not; append them again', 1)
    """

    def __init__(self, log: MemoryLog, seed: int, faults: Faults) -> None:
        self._log = log
        self._random = random.Random(seed)
        self.faults = faults
        self._cut = False
        self._mended = asyncio.Event()

    @property
    def identity(self) -> str:
        """Which log this is."""
        return self._log.identity

    def cut(self) -> None:
        """Cut this client off: appends fail and reads wait, until `mend`."""
        self._cut = True
        self._mended.clear()

    def mend(self) -> None:
        """Let this client through again."""
        self._cut = False
        self._mended.set()

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance

    async def _pause(self, chance: float, longest_s: float) -> None:
        if self._happens(chance):
            await asyncio.sleep(self._random.random() * longest_s)

    async def append(self, events: Sequence[Event]) -> int:
        """Add events, unless something goes wrong."""
        await asyncio.sleep(0)  # a crash may come here as well as after
        await self._pause(self.faults.delayed, self.faults.delay_s)
        if self._cut or self._happens(self.faults.refused):
            raise LogError("the log cannot be reached; append them again")
        messages = [encode(event) for event in events]
        if self._happens(self.faults.garbage):
            self._log.append_messages([self._random.randbytes(self._random.randrange(40))])
        if self._happens(self.faults.partial):
            some = self._some(events)
            self._append(some, [encode(event) for event in some])
            raise LogError("no answer: some of the events may be in the log; append them again")
        position = self._append(events, messages) if messages else await self._log.last()
        if self._happens(self.faults.repeated):
            position = self._log.append_messages(messages)
        await self._pause(self.faults.delayed, self.faults.delay_s)
        await asyncio.sleep(0)
        if self._cut or self._happens(self.faults.unanswered):
            raise LogError("no answer: the events may be in the log or not; append them again")
        return position

    def _some(self, events: Sequence[Event]) -> list[Event]:
        """Some votes and labels, and the first of all else."""
        ordered = [event for event in events if not isinstance(event, Vote | Votes | Label | Labels)]
        stored = set(map(id, ordered[: self._random.randint(0, len(ordered))]))
        return [
            event
            for event in events
            if id(event) in stored or (isinstance(event, Vote | Votes | Label | Labels) and self._happens(0.5))
        ]

    def _append(self, events: Sequence[Event], messages: Sequence[bytes]) -> int:
        """Append, or say where a repeat stands, as a broker does that knows messages by their ids."""
        stand, position = _stand.setdefault(self._log, {}), 0
        for event, message in zip(events, messages, strict=True):
            named = message_id(event, message) is not None
            if not (named and message in stand and self._happens(self.faults.dropped)):
                stand[message] = self._log.append_messages([message])
            position = max(position, stand[message])
        return position

    async def read(self, after: int = 0) -> AsyncIterator[Entry]:
        """Give all entries after a place, late, with stalls, and some of them again."""
        seen: list[Entry] = []
        async for entry in self._log.read(after):
            await self._pause(self.faults.delayed, self.faults.delay_s)
            await self._pause(self.faults.stalled, self.faults.stall_s)
            await self._reached()
            if seen and self._happens(self.faults.reread):
                for again in seen[-self._random.randint(1, 5) :]:
                    yield again
            seen = [*seen[-5:], entry]
            yield entry

    async def first(self) -> int:
        """The place of the first entry that is kept, or will be."""
        await self._reached()
        return await self._log.first()

    async def last(self) -> int:
        """The place of the last entry."""
        await self._reached()
        return await self._log.last()

    async def _reached(self) -> None:
        while self._cut:
            await self._mended.wait()

    async def close(self) -> None:
        """Let go of it; the shared log stays open."""
