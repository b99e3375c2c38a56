"""The log: one ordered sequence of events that every learner of an ensemble reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from quorate.events import Event

__all__ = ["Entry", "Log"]


class Entry(NamedTuple):
    """A place in the log and what stands there.

    Parameters
    ----------
    position
        Its place, from 1; places only grow, and may have gaps.
    event
        What stands there; None where it cannot be read.
    fault
        Why not.
    """

    position: int
    event: Event | None
    fault: str | None = None


class Log(Protocol):
    """What every log can do; `tests/test_log.py` holds what each must keep.

    - Events are appended in their order, each at a place of its own; all readers see the same at the same place.
    - What `append` has answered for is there for ever, within the log's limits. What it has not answered for, because
      it raised or was cancelled, may be there or not: append it again, as to apply an event twice is harmless.
    - `read` gives every entry after a place, in growing order, and then waits for more. It may be begun any number of
      times, from any place.
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
