"""The slots a learner keeps: sorted by number, votes packed two bits each, no Python object a slot.

Closed slots come first, open ones after them, since slots are closed in growing order. A slot costs 9 bytes and two
bits a member. Finding one is a subtraction where slots are consecutive, a binary search where they are not.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence

from quorate.packing import CODE_OF, VALUE_OF, bytes_needed, pack, unpack

__all__ = ["CLOSED", "DECIDED_PLUS", "LABEL_BITS", "SYNCHRONOUS", "Slots"]

# The mark of a slot: its label in the two lowest bits, as a vote is packed, then three flags.
LABEL_BITS = 0b00011
CLOSED = 0b00100
SYNCHRONOUS = 0b01000
DECIDED_PLUS = 0b10000

_COMPACT_AFTER = 1024


class Slots:
    """A table of slots with a packed row of votes and a mark each.

    Parameters
    ----------
    n_learners
        How many members vote.
    noted
        Whether a rule's note is kept with each slot, in 4 bytes.

    Examples
    --------
    >>> slots = Slots(n_learners=3)
    >>> at = slots.insert(7)
    >>> slots.set_vote(at, 1, -1)
    >>> slots.votes(at), len(slots), slots.find(8)
    ((0, -1, 0), 1, None)
    """

    def __init__(self, n_learners: int, noted: bool = False) -> None:
        self.n_learners = n_learners
        self.width = bytes_needed(n_learners)
        self.numbers = array("q")
        self.marks = bytearray()
        self.rows = bytearray()
        self.notes = array("I") if noted else None
        self.first = 0  # rows before this one are dropped, and removed now and then
        self.recent, self.recent_row = -1, 0  # the slot that was looked for last, and where its votes begin

    def __len__(self) -> int:
        return len(self.numbers) - self.first

    def find(self, slot: int) -> int | None:
        """Where a slot is kept, if it is."""
        at = self.place(slot)
        return at if at < len(self.numbers) and self.numbers[at] == slot else None

    def place(self, slot: int) -> int:
        """Where a slot is kept, or would be."""
        numbers, first = self.numbers, self.first
        if first == len(numbers) or slot > numbers[-1]:
            return len(numbers)
        guess = slot - numbers[first] + first
        if first <= guess < len(numbers) and numbers[guess] == slot:
            return guess
        return bisect_left(numbers, slot, lo=first)

    def last_before(self, slot: int) -> int | None:
        """The highest slot kept below a number."""
        at = self.place(slot)
        return self.numbers[at - 1] if at > self.first else None

    def insert(self, slot: int) -> int:
        """Begin to keep a slot that is not kept; give its place."""
        at = self.place(slot)
        if at == len(self.numbers):
            self.append(slot)
            return at
        self.recent = -1
        self.numbers.insert(at, slot)
        self.marks.insert(at, 0)
        if self.notes is not None:
            self.notes.insert(at, 0)
        self.rows[at * self.width : at * self.width] = bytes(self.width)
        return at

    def append(self, slot: int) -> None:
        """Begin to keep a slot that comes after all that are kept."""
        self.numbers.append(slot)
        self.marks.append(0)
        if self.notes is not None:
            self.notes.append(0)
        self.rows += bytes(self.width)

    def delete(self, at: int, end: int) -> None:
        """Keep the slots from one place to before another no longer."""
        self.recent = -1
        del self.numbers[at:end]
        del self.marks[at:end]
        if self.notes is not None:
            del self.notes[at:end]
        del self.rows[at * self.width : end * self.width]

    def drop_first(self, count: int = 1) -> None:
        """Keep the slots with the lowest numbers no longer."""
        self.first += count
        if self.first >= _COMPACT_AFTER and 2 * self.first >= len(self.numbers):
            dropped, self.first = self.first, 0
            self.delete(0, dropped)

    def vote(self, at: int, member: int) -> int:
        """The vote of one member: -1, 0 or +1."""
        byte = self.rows[at * self.width + (member >> 2)]
        return VALUE_OF[byte >> 2 * (member & 3) & 3]

    def set_vote(self, at: int, member: int, value: int) -> None:
        """Record the vote of a member that has none here."""
        self.rows[at * self.width + (member >> 2)] |= CODE_OF[value] << 2 * (member & 3)

    def votes(self, at: int) -> tuple[int, ...]:
        """The votes of all members."""
        return unpack(self.rows[at * self.width : (at + 1) * self.width], self.n_learners)

    def set_votes(self, at: int, votes: Sequence[int]) -> None:
        """Record the votes of all members."""
        self.rows[at * self.width : (at + 1) * self.width] = pack(votes)

    def label(self, at: int) -> int:
        """The label a slot has got, or 0."""
        return VALUE_OF[self.marks[at] & LABEL_BITS]

    def set_label(self, at: int, label: int) -> None:
        """Give a label to a slot that has none."""
        self.marks[at] |= CODE_OF[label]

    def add_member(self) -> None:
        """Give every slot one more vote, an abstention, after the others."""
        self._relay(self.n_learners + 1, lambda row: row)

    def remove_member(self, member: int) -> None:
        """Take the vote of one member out of every slot."""
        below = (1 << 2 * member) - 1
        self._relay(self.n_learners - 1, lambda row: row & below | row >> 2 & ~below)

    def _relay(self, n_learners: int, change: Callable[[int], int]) -> None:
        self.recent = -1
        old, new = self.width, bytes_needed(n_learners)
        rows = bytearray()
        for at in range(len(self.numbers)):
            row = int.from_bytes(self.rows[at * old : (at + 1) * old], "little")
            rows += change(row).to_bytes(new, "little")
        self.rows, self.width, self.n_learners = rows, new, n_learners
