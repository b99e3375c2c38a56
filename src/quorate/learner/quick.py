"""One slot at a time: what the table of life says, done in one go where nothing is out of the ordinary.

Each function here either does all that `Fold.step` would have done, or nothing at all; then the caller takes the step.
"""

from __future__ import annotations

from msgspec import UNSET

from quorate.events import Decision, Label
from quorate.learner.fold import Fold
from quorate.learner.slots import CLOSED, DECIDED_PLUS, LABEL_BITS, SYNCHRONOUS
from quorate.packing import CODE_OF, unpack

__all__ = ["close", "learn", "record"]

_PLUS, _MINUS = CODE_OF[1], CODE_OF[-1]


def record(fold: Fold, slot: int, place: int, value: int) -> bool:
    """Record a member's first vote on a slot that is open, or comes after all others; False where it is no such."""
    slots = fold.slots
    if slot != slots.recent or slot <= fold.last_closed:
        at = _open_place(fold, slot)
        if at < 0:
            return False
        slots.recent, slots.recent_row = slot, at * slots.width
    rows, index, shift = slots.rows, slots.recent_row + (place >> 2), 2 * place & 6
    byte = rows[index]
    if byte >> shift & 3:
        return False
    rows[index] = byte | (_PLUS if value == 1 else _MINUS) << shift
    return True


def _open_place(fold: Fold, slot: int) -> int:
    """Where an open slot is kept, which is opened if it comes after all others; -1 where that must be looked up."""
    if slot <= fold.last_closed:
        return -1
    slots = fold.slots
    numbers = slots.numbers
    if len(slots) and slot <= numbers[-1]:
        at = len(numbers) - 1 + slot - numbers[-1]
        return at if at >= slots.first and numbers[at] == slot else -1
    if len(slots) - fold.n_closed >= fold.open_slots_max:
        return -1
    slots.append(slot)
    return len(numbers) - 1


def close(fold: Fold, name: str, slot: int) -> Decision | None:
    """Close the open slot that comes first, if nobody watches and no label waits for it; None where it is no such."""
    slots, n_closed = fold.slots, fold.n_closed
    at = slots.first + n_closed
    if type(slot) is not int or fold.watchers or at >= len(slots.numbers) or slots.numbers[at] != slot:
        return None
    if slots.marks[at]:
        return None
    votes = unpack(slots.rows[at * slots.width : (at + 1) * slots.width], slots.n_learners)
    value = int(fold.rule.predict(votes))
    note = fold.note(votes)
    if slots.notes is not None and note is not UNSET:
        slots.notes[at] = note
    slots.marks[at] = CLOSED | SYNCHRONOUS * (0 not in votes) | DECIDED_PLUS * (value == 1)
    fold.last_closed = slot
    fold.counters.decisions += 1
    if n_closed > fold.horizon:
        fold.counters.expired_slots += not slots.marks[slots.first] & LABEL_BITS
        slots.drop_first()
    else:
        fold.n_closed = n_closed + 1
    return Decision(slot, name, value, votes, fold.membership.epoch, note=note)


def learn(fold: Fold, label: Label) -> bool:
    """Learn a label for all of a closed slot that has none; False where it is no such."""
    slots, slot, value = fold.slots, label.slot, label.value
    numbers, first = slots.numbers, slots.first
    if type(slot) is not int or type(value) is not int or value not in (-1, 1) or label.learner is not None:
        return False
    if first == len(numbers):
        return False
    at = slot - numbers[first] + first
    if not first <= at < first + fold.n_closed or numbers[at] != slot or slots.marks[at] & LABEL_BITS:
        return False
    return fold.learn(at, value)
