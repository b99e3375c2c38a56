"""How long slots have been waiting for votes."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable

__all__ = ["Alarm", "Deadlines"]


class Deadlines:
    """When each open slot was first heard of.

    Parameters
    ----------
    deadline_s
        How long a slot waits after that.
    keep
        How many runs of slots are remembered; the lowest.

    Examples
    --------
    >>> deadlines = Deadlines(0.5, keep=100)
    >>> deadlines.hear(7, 9, now=10.0)
    >>> deadlines.hear(8, 10, now=11.0)
    >>> [deadlines.of(slot, now=12.0) for slot in (7, 8, 9, 10)]
    [10.5, 10.5, 11.5, 12.5]
    """

    def __init__(self, deadline_s: float, keep: int) -> None:
        self.deadline_s = deadline_s
        self._keep = keep
        self._ends: list[int] = []  # of runs of slots heard of at the same time, in growing order and apart
        self._runs: list[tuple[int, float]] = []  # where each begins, and when it was heard of

    def hear(self, first: int, end: int, now: float) -> None:
        """Slots from one to before another are voted on."""
        at = bisect_right(self._ends, first)
        while first < end:
            known = self._runs[at][0] if at < len(self._runs) else end
            if first < known:  # not heard of, up to the next that were
                stop = min(known, end)
                self._ends.insert(at, stop)
                self._runs.insert(at, (first, now))
            first = self._ends[at]
            at += 1

    def of(self, slot: int, now: float) -> float:
        """When a slot must be decided; one that was not heard of is from now on."""
        self.hear(slot, slot + 1, now)
        return self._runs[bisect_right(self._ends, slot)][1] + self.deadline_s

    def forget_before(self, slot: int) -> None:
        """Forget what is decided, and whatever is more than can be open."""
        gone = bisect_right(self._ends, slot)
        for known in (self._ends, self._runs):
            del known[:gone]
            del known[self._keep :]


class Alarm:
    """Rings at an instant by the loop's clock, which may be moved; cheaper than a timeout for each thing waited for.

    Parameters
    ----------
    ring
        What is called.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._at: float | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def set(self, at: float | None) -> None:
        """Ring then, once, and at no other time; None for not at all."""
        if at == self._at:
            return
        if self._handle is not None:
            self._handle.cancel()
        self._at = at
        self._loop = self._loop or asyncio.get_running_loop()
        self._handle = None if at is None else self._loop.call_at(at, self._rung)

    def _rung(self) -> None:
        self._at = self._handle = None  # a loop may ring a little too soon, and is then asked again
        self._ring()
