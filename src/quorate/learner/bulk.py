"""Many slots at once: what the table of life says of each, done for a run of them where nothing is out of the ordinary.

Each function here either does all that `Fold.step` would have done, slot after slot, or nothing at all; then the
caller takes the steps. Everything works on whole byte strings, which is what makes a batch cheap.
"""

from __future__ import annotations

from array import array

from quorate.events import Decisions
from quorate.learner.fold import Fold
from quorate.learner.slots import CLOSED, DECIDED_PLUS, LABEL_BITS, SYNCHRONOUS
from quorate.packing import bytes_needed, codes_of, pack, unpack

__all__ = ["close_run", "complete_run", "decide_run", "record_run"]

#: From a byte to whether the code at each of its four places is there.
_THERE = [bytes(byte >> 2 * place & 3 != 0 for byte in range(256)) for place in range(4)]
#: From a byte to whether its first so many codes are all there.
_WHOLE = [bytes(all(byte >> 2 * place & 3 for place in range(count)) for byte in range(256)) for count in range(5)]
#: From a code to the bits it has at each of the four places.
_SHIFTED = [bytes(code << 2 * place & 255 for code in range(256)) for place in range(4)]
_PLUS_MARK = bytes(CLOSED | DECIDED_PLUS * (code == 1) for code in range(256))
_SYNCHRONOUS_MARK = bytes(SYNCHRONOUS * there for there in range(2)) + bytes(254)
_HAS_LABEL = bytes(mark & LABEL_BITS != 0 for mark in range(256))


def record_run(fold: Fold, place: int, first_slot: int, packed: bytes, count: int) -> bool:
    """Record a member's votes on consecutive open slots; False, and nothing done, where any is no first vote there."""
    slots = fold.slots
    if first_slot <= fold.last_closed:
        return False
    at = slots.place(first_slot)
    known = min(len(slots.numbers) - at, count)
    if known and (slots.numbers[at] != first_slot or slots.numbers[at + known - 1] != first_slot + known - 1):
        return False  # some between are not open
    codes = codes_of(packed, count)
    opened = count - known
    if opened and (0 in codes[known:] or len(slots) - fold.n_closed + opened > fold.open_slots_max):
        return False
    width, byte, pair = slots.width, place >> 2, place & 3
    column = slots.rows[at * width + byte : (at + known) * width : width]
    if _both(column.translate(_THERE[pair]), codes[:known]):
        return False  # a repeat, or a contradiction
    slots.numbers.extend(range(first_slot + known, first_slot + count))
    slots.marks += bytes(opened)
    slots.rows += bytes(opened * width)
    span = slice(at * width + byte, (at + count) * width, width)
    slots.rows[span] = _or(slots.rows[span], codes.translate(_SHIFTED[pair]))
    return True


def complete_run(fold: Fold, after: int, most: int) -> tuple[int, int]:
    """The open slots after one that come first, follow each other and lack no vote: where they begin, and how many."""
    slots = fold.slots
    at = max(slots.place(after + 1), slots.first + fold.n_closed)
    count = min(most, len(slots.numbers) - at)
    if count <= 0:
        return at, 0
    expected = array("q", range(slots.numbers[at], slots.numbers[at] + count))
    if slots.numbers[at : at + count] != expected:
        count = next(step for step in range(count) if slots.numbers[at + step] != slots.numbers[at] + step)
    missing = _whole_rows(slots.rows[at * slots.width : (at + count) * slots.width], fold.slots.n_learners).find(0)
    return at, count if missing < 0 else missing


def decide_run(fold: Fold, name: str, after: int, most: int) -> Decisions | None:
    """The decisions on the slots that `complete_run` finds."""
    at, count = complete_run(fold, after, most)
    if not count:
        return None
    slots, width = fold.slots, fold.slots.width
    rows = bytes(slots.rows[at * width : (at + count) * width])
    value_of: dict[bytes, int] = {}
    values = []
    for start in range(0, count * width, width):
        row = rows[start : start + width]
        if row not in value_of:  # the same votes are decided alike while no label comes between
            value_of[row] = int(fold.rule.predict(unpack(row, slots.n_learners)))
        values.append(value_of[row])
    return Decisions(slots.numbers[at], count, name, pack(values), slots.n_learners, rows, fold.membership.epoch)


def close_run(fold: Fold, first_slot: int, values: bytes, votes: bytes, count: int) -> bool:
    """Close the open slots that come first; False, and nothing done, where these are others or one holds a label."""
    slots = fold.slots
    at = slots.first + fold.n_closed
    if fold.watchers or at + count > len(slots.numbers) or slots.numbers[at] != first_slot:
        return False
    if slots.numbers[at + count - 1] != first_slot + count - 1:
        return False
    if any(slots.marks[at : at + count].translate(_HAS_LABEL)):
        return False
    synchronous = _whole_rows(votes, slots.n_learners).translate(_SYNCHRONOUS_MARK)
    slots.marks[at : at + count] = _or(codes_of(values, count).translate(_PLUS_MARK), synchronous)
    slots.rows[at * slots.width : (at + count) * slots.width] = votes
    fold.n_closed += count
    fold.last_closed = first_slot + count - 1
    fold.counters.decisions += count
    past = fold.n_closed - (fold.horizon + 1)
    if past > 0:
        gone = slots.marks[slots.first : slots.first + past].translate(_HAS_LABEL)
        fold.counters.expired_slots += past - sum(gone)
        slots.drop_first(past)
        fold.n_closed -= past
    return True


def _whole_rows(rows: bytes | bytearray, n_learners: int) -> bytes:
    """A byte a row: 1 where every learner's vote is there."""
    width = bytes_needed(n_learners)
    whole = rows[::width].translate(_WHOLE[min(n_learners, 4)])
    for byte in range(1, width):
        whole = _and(whole, rows[byte::width].translate(_WHOLE[min(n_learners - 4 * byte, 4)]))
    return bytes(whole)


def _or(one: bytes | bytearray, two: bytes | bytearray) -> bytes:
    return (int.from_bytes(one, "little") | int.from_bytes(two, "little")).to_bytes(len(one), "little")


def _and(one: bytes | bytearray, two: bytes | bytearray) -> bytes:
    return (int.from_bytes(one, "little") & int.from_bytes(two, "little")).to_bytes(len(one), "little")


def _both(there: bytes | bytearray, codes: bytes) -> bool:
    """Whether some place is 1 in one and not 0 in the other."""
    return any(_and(there, codes.translate(_THERE[0])))
