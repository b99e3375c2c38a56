"""How long slots have been waiting for votes."""

from __future__ import annotations

__all__ = ["Deadlines"]


class Deadlines:
    """When each open slot was first heard of.

    Parameters
    ----------
    deadline_s
        How long a slot waits after that.
    keep
        How many slots are remembered before those that were decided are forgotten.

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
        self._keep = self._heard_max = keep
        self._heard: dict[int, float] = {}

    def hear(self, first: int, end: int, now: float) -> None:
        """Slots from one to before another are voted on."""
        for slot in range(first, end):
            self._heard.setdefault(slot, now)

    def of(self, slot: int, now: float) -> float:
        """When a slot must be decided; one that was not heard of is from now on."""
        return self._heard.setdefault(slot, now) + self.deadline_s

    def forget_before(self, slot: int) -> None:
        """Forget what is decided, now and then."""
        if len(self._heard) > self._heard_max:
            self._heard = {each: when for each, when in self._heard.items() if each >= slot}
            self._heard_max = max(self._keep, 2 * len(self._heard))
