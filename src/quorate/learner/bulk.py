"""Many slots at once: what the table of life says of each, done for a run of them where nothing is out of the ordinary.

Each function here either does all that `Fold.step` would have done, slot after slot, or nothing at all; then the
caller takes the steps. Everything works on whole byte strings, which is what makes a batch cheap.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat
from operator import ne

from msgspec import UNSET, UnsetType

from quorate.events import Decisions
from quorate.learner import perceptrons
from quorate.learner.fold import Fold
from quorate.learner.slots import CLOSED, DECIDED_PLUS, LABEL_BITS, SYNCHRONOUS
from quorate.packing import (
    CODE_OF,
    bytes_needed,
    codes_of,
    pack,
    pack_codes,
    pack_notes,
    rows_of,
    unpack,
    unpack_notes,
)
from quorate.rules import BaseRule, NotingRule

__all__ = ["close_run", "decide_run", "learn_run", "record_run"]

#: From a byte to whether the code at each of its four places is there.
_THERE = [bytes(byte >> 2 * place & 3 != 0 for byte in range(256)) for place in range(4)]
#: The bytes without a code at each of the four places.
_ABSENT = [bytes(byte for byte in range(256) if not byte >> 2 * place & 3) for place in range(4)]
#: From a byte to whether its first so many codes are all there.
_WHOLE = [bytes(all(byte >> 2 * place & 3 for place in range(count)) for byte in range(256)) for count in range(5)]
#: From a code to the bits it has at each of the four places.
_SHIFTED = [bytes(code << 2 * place & 255 for code in range(256)) for place in range(4)]
_PLUS_MARK = bytes(CLOSED | DECIDED_PLUS * (code == 1) for code in range(256))
_SYNCHRONOUS_MARK = bytes(SYNCHRONOUS * there for there in range(2)) + bytes(254)
_HAS_LABEL = bytes(mark & LABEL_BITS != 0 for mark in range(256))
#: From a mark to the code of its label, of the decision, and to whether all had voted.
_LABEL = bytes(mark & LABEL_BITS for mark in range(256))
_DECIDED = bytes(CODE_OF[1 if mark & DECIDED_PLUS else -1] for mark in range(256))
_WAS_SYNCHRONOUS = bytes(mark & SYNCHRONOUS != 0 for mark in range(256))


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
    if opened and len(slots) - fold.n_closed + opened > fold.open_slots_max:
        return False
    if not opened and not any(codes):
        return False  # nothing that counts
    width, byte, pair = slots.width, place >> 2, place & 3
    column = slots.rows[at * width + byte : (at + known) * width : width]
    if column.translate(None, _ABSENT[pair]) and _both(column.translate(_THERE[pair]), codes[:known]):
        return False  # a repeat, or a contradiction
    if opened:
        slots.numbers.extend(range(first_slot + known, first_slot + count))
        slots.marks += bytes(opened)
        if slots.notes is not None:
            slots.notes.extend(repeat(0, opened))
        slots.rows += bytes(opened * width)
    span = slice(at * width + byte, (at + count) * width, width)
    slots.rows[span] = _or(slots.rows[span], codes.translate(_SHIFTED[pair]))
    return True


def _complete_run(fold: Fold, after: int, most: int) -> tuple[int, int]:
    """The open slots after one that come first, follow each other and lack no vote: where they begin, and how many."""
    slots = fold.slots
    at = fold.open_place(after)
    count = min(most, len(slots.numbers) - at)
    if count <= 0 or not _whole_rows(slots.rows[at * slots.width : (at + 1) * slots.width], slots.n_learners)[0]:
        return at, 0
    expected = array("q", range(slots.numbers[at], slots.numbers[at] + count))
    if slots.numbers[at : at + count] != expected:
        count = next(step for step in range(count) if slots.numbers[at + step] != slots.numbers[at] + step)
    missing = _whole_rows(slots.rows[at * slots.width : (at + count) * slots.width], slots.n_learners).find(0)
    return at, count if missing < 0 else missing


def decide_run(fold: Fold, name: str, after: int, most: int) -> Decisions | None:
    """The decisions on the slots that `_complete_run` finds."""
    at, count = _complete_run(fold, after, most)
    if not count:
        return None
    slots, width = fold.slots, fold.slots.width
    rows = bytes(slots.rows[at * width : (at + count) * width])
    notes: bytes | UnsetType = UNSET
    if perceptrons.fits(fold.rule):
        values = pack_codes(perceptrons.decided(fold.rule, rows, slots.n_learners))
    else:
        each = rows_of(rows, slots.n_learners)
        # The same votes are decided alike while no label comes between.
        predict = fold.rule._predict if isinstance(fold.rule, BaseRule) else fold.rule.predict  # they are checked
        value_of = {row: int(predict(unpack(row, slots.n_learners))) for row in set(each)}
        values = pack([value_of[row] for row in each])
        notes = UNSET if fold.noting is None else pack_notes(_notes(fold.noting, each, slots.n_learners))
    first, epoch = slots.numbers[at], fold.membership.epoch
    return Decisions(first, count, name, values, slots.n_learners, rows, epoch, notes=notes)


def _notes(rule: NotingRule, rows: list[bytes], n_learners: int) -> list[int]:
    """What a rule notes now of each row of votes."""
    note_of = {row: rule.note(unpack(row, n_learners)) for row in set(rows)}
    return [note_of[row] for row in rows]


def close_run(fold: Fold, batch: Decisions) -> bool:
    """Close the open slots that come first; False, and nothing done, where these are others.

    Where labels wait for some of them, these are learned, if the rule is one of those that `_learn` knows.
    """
    slots, first_slot, values, votes, count = fold.slots, batch.first_slot, batch.packed, batch.votes, batch.count
    at = slots.first + fold.n_closed
    if fold.watchers or at + count > len(slots.numbers) or slots.numbers[at] != first_slot:
        return False
    if slots.numbers[at + count - 1] != first_slot + count - 1:
        return False
    held = slots.marks[at : at + count].translate(_LABEL)
    if any(held) and not _learn(fold, votes, held, codes_of(values, count)):
        return False
    if fold.noting is not None and slots.notes is not None:
        if batch.notes is UNSET:
            notes: Sequence[int] = _notes(fold.noting, rows_of(votes, slots.n_learners), slots.n_learners)
        else:
            notes = unpack_notes(batch.notes)
        slots.notes[at : at + count] = array("I", notes)
    synchronous = _whole_rows(votes, slots.n_learners).translate(_SYNCHRONOUS_MARK)
    slots.marks[at : at + count] = _or(held, _or(codes_of(values, count).translate(_PLUS_MARK), synchronous))
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


def learn_run(fold: Fold, first_slot: int, packed: bytes, count: int) -> bool:
    """Take in labels of consecutive slots; False, and nothing done, where they must be taken one by one.

    They count all. The slots are closed and without a label, and the rule is one of those that `_learn` knows; or open
    and without a label, which then waits.
    """
    slots = fold.slots
    at = slots.place(first_slot)
    if fold.watchers or at + count > len(slots.numbers) or slots.numbers[at] != first_slot:
        return False
    codes, marks = codes_of(packed, count), slots.marks[at : at + count]
    if slots.numbers[at + count - 1] != first_slot + count - 1 or 0 in codes or any(marks.translate(_LABEL)):
        return False
    closed = min(max(slots.first + fold.n_closed - at, 0), count)
    if closed:
        votes = bytes(slots.rows[at * slots.width : (at + closed) * slots.width])
        if _whole_rows(votes, slots.n_learners) != marks[:closed].translate(_WAS_SYNCHRONOUS):
            return False  # who was a member has changed
        if not _learn(fold, votes, codes[:closed], marks[:closed].translate(_DECIDED)):
            return False
    slots.marks[at : at + count] = _or(marks, codes)
    return True


def _learn(fold: Fold, votes: bytes, labels: bytes | bytearray, decided: bytes | bytearray) -> bool:
    """Learn the labels of closed slots, in their order; False, and nothing done, for other rules than perceptrons."""
    rule, counters = fold.rule, fold.counters
    if not perceptrons.fits(rule, len(labels)):
        return False
    counters.updates += perceptrons.learned(rule, votes, fold.slots.n_learners, labels)
    counters.labels += len(labels) - labels.count(0)
    counters.mistakes += sum(map(ne, labels, decided)) - labels.count(0)
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
