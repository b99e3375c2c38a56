"""The log: one ordered sequence of events that every learner of an ensemble reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from quorate.events import Decision, Decisions, Event

__all__ = ["Entry", "Log"]


class Entry:
    """A place in the log and what stands there.

    Parameters
    ----------
    position
        Its place, from 1; places only grow, and may have gaps.
    event
        What stands there; None where it cannot be read.
    fault
        Why not.

    Examples
    --------
    >>> Entry(7, Decision(1, "paris", 1, (1, 1))).decided_by
    'paris'
    """

    __slots__ = ("_event", "_fault", "position")

    def __init__(self, position: int, event: Event | None, fault: str | None = None) -> None:
        self.position, self._event, self._fault = position, event, fault

    @property
    def event(self) -> Event | None:
        """What stands there; None where it cannot be read."""
        return self._event

    @property
    def fault(self) -> str | None:
        """Why it cannot be read; None where it can."""
        return self._fault

    @property
    def decided_by(self) -> str | None:
        """Whose decisions stand there; None for all else."""
        return self._event.learner if isinstance(self._event, Decision | Decisions) else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return (self.position, self.event, self.fault) == (other.position, other.event, other.fault)

    def __hash__(self) -> int:
        return hash(self.position)

    def __repr__(self) -> str:
        return f"Entry(position={self.position}, event={self.event!r}, fault={self.fault!r})"


class Log(Protocol):
    """What every log can do; `tests/test_log.py` holds what each must keep.

    - Events are appended in their order, each at a place of its own; all readers see the same at the same place.
    - What `append` has answered for is there for ever, within the log's limits. What it has not answered for, because
      it raised or was cancelled, may be there or not: append it again, as to apply an event twice is harmless.
    - `read` gives every entry after a place, in growing order, and then waits for more. It may be begun any number of
      times, from any place. Its events are what `decode` gave: nobody looks at their fields again.
    """

    @property
    def identity(self) -> str:
        """Which log this is: another after it was made anew, when its places begin anew."""

    async def append(self, events: Sequence[Event]) -> int:
        """Add events at the end; give the place of the last.

        Raises
        ------
        LogError
            They may not be there; the message says why.
        """

    def read(self, after: int = 0) -> AsyncIterator[Entry]:
        """Give all entries after a place, for ever.

        Raises
        ------
        LogError
            Entries after that place are no longer there.
        """

    async def first(self) -> int:
        """The place of the first entry that is still kept; where none is, the place the next one will have."""

    async def last(self) -> int:
        """The place of the last entry; 0 while there is none."""

    async def close(self) -> None:
        """Let go of it; reading ends."""
