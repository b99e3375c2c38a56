"""A learner as a JSON document, and back."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from quorate.errors import LocalError, SnapshotError
from quorate.events import SLOT_MAX
from quorate.learner.counters import Counters
from quorate.learner.fold import Fold
from quorate.learner.learner import Learner
from quorate.learner.membership import Membership
from quorate.learner.slots import CLOSED, DECIDED_PLUS, LABEL_BITS, SYNCHRONOUS, Slots
from quorate.packing import is_packed
from quorate.rules import NotingRule, Rule, rule_named
from quorate.rules.base import read_versioned

__all__ = ["restore", "snapshot"]

LearnerT = TypeVar("LearnerT", bound=Learner)


class _SlotsState(msgspec.Struct, omit_defaults=True):
    numbers: list[int]
    marks: bytes
    votes: bytes
    notes: list[int] | None = None


class _LearnerState(msgspec.Struct):
    name: str
    members: list[str]
    epoch: int
    former: dict[str, list[str]]
    horizon: int
    open_slots_max: int
    last_closed: int | None
    slots: _SlotsState
    counters: Counters
    rule: dict[str, Any]
    schema: int = 1


def snapshot(learner: Learner) -> dict[str, Any]:
    """Give the whole state of a learner, its rule's included."""
    slots, membership = learner._fold.slots, learner._fold.membership
    state = _LearnerState(
        name=learner.name,
        members=list(membership.members),
        epoch=membership.epoch,
        former={str(epoch): list(members) for epoch, members in membership.former.items()},
        horizon=learner.horizon,
        open_slots_max=learner.open_slots_max,
        last_closed=learner.last_closed,
        slots=_SlotsState(
            numbers=slots.numbers[slots.first :].tolist(),
            marks=bytes(slots.marks[slots.first :]),
            votes=bytes(slots.rows[slots.first * slots.width :]),
            notes=None if slots.notes is None else slots.notes[slots.first :].tolist(),
        ),
        counters=learner.counters,
        rule=learner.rule.snapshot(),
    )
    document: dict[str, Any] = msgspec.to_builtins(state)
    return document


def restore(kind: type[LearnerT], document: dict[str, Any], rule: type[Rule] | None = None) -> LearnerT:
    """Make a learner from its snapshot; refuse one that no learner could have written."""
    state = read_versioned(document, _LearnerState, "snapshot")
    if rule is None:
        if "rule" not in state.rule:
            raise SnapshotError("the snapshot cannot be restored: its rule has no field 'rule'")
        try:
            rule = rule_named(state.rule["rule"])
        except LocalError as error:
            raise SnapshotError(f"{error}; for a rule of your own, give its class: restore(..., rule=...)") from None
    try:
        learner = kind(state.name, state.members, rule.restore(state.rule), state.horizon, state.open_slots_max)
        former = {int(epoch): Membership(members).members for epoch, members in state.former.items()}
    except SnapshotError:
        raise
    except ValueError as error:
        raise SnapshotError(f"the snapshot cannot be restored: {error}") from None
    last_closed = -1 if state.last_closed is None else state.last_closed
    _require(state.last_closed is None or 0 <= last_closed <= SLOT_MAX, "last_closed", f"{last_closed} is no slot")
    _require(state.epoch >= 0, "epoch", f"there were {state.epoch} changes of membership")
    _require(all(0 <= epoch < state.epoch for epoch in former), "former", "an epoch is yet to come")
    missing = set(Counters.__struct_fields__) - set(document["counters"])
    _require(not missing, "counters", f"{', '.join(sorted(missing))} is missing")
    fold = learner._fold
    fold.membership = Membership(state.members, state.epoch, former)
    fold.slots = _restored_slots(state, fold.noting)
    fold.n_closed = sum(1 for mark in state.slots.marks if mark & CLOSED)
    fold.last_closed = last_closed
    fold.counters = state.counters
    _check_limits(fold)
    return learner


def _restored_slots(state: _LearnerState, noting: NotingRule | None) -> Slots:
    noted = noting is not None
    kept = Slots(len(state.members), noted)
    numbers, marks, votes, width = state.slots.numbers, state.slots.marks, state.slots.votes, kept.width
    _require(len(marks) == len(numbers), "slots.marks", "there is not one mark a slot")
    _require(len(votes) == len(numbers) * width, "slots.votes", "there is not one row of votes a slot")
    _require(all(0 <= number <= SLOT_MAX for number in numbers), "slots.numbers", "a number is no slot")
    _require(
        all(one < two for one, two in pairwise(numbers)),
        "slots.numbers",
        "slots do not grow",
    )
    known = LABEL_BITS | CLOSED | SYNCHRONOUS | DECIDED_PLUS
    last_closed = -1 if state.last_closed is None else state.last_closed
    for at, (number, mark) in enumerate(zip(numbers, marks, strict=True)):
        _require(not mark & ~known and mark & LABEL_BITS != 3, "slots.marks", f"slot {number} has mark {mark}")
        _require(bool(mark & CLOSED) == (number <= last_closed), "last_closed", f"slot {number} contradicts it")
        row = votes[at * width : (at + 1) * width]
        _require(is_packed(row, kept.n_learners), "slots.votes", f"the row of slot {number} holds no votes")
    kept.numbers = array("q", numbers)
    kept.marks = bytearray(marks)
    kept.rows = bytearray(votes)
    notes = state.slots.notes or []
    _require(len(notes) == (len(numbers) if noted else 0), "slots.notes", "there is not one note a slot of this rule")
    if noting is not None:
        _require(all(0 <= note < 1 << 32 for note in notes), "slots.notes", "a note is no number of 32 bits")
        for note, mark in zip(notes, marks, strict=True):
            taken = not mark & CLOSED or noting.is_note(note)
            _require(taken, "slots.notes", f"the rule cannot have taken the note {note}")
        kept.notes = array("I", notes)
    return kept


def _check_limits(fold: Fold) -> None:
    n_open = len(fold.slots) - fold.n_closed
    _require(fold.n_closed <= fold.horizon + 1, "slots", "more slots are closed than the horizon keeps")
    _require(n_open <= fold.open_slots_max, "slots", "more slots are open than open_slots_max")


def _require(holds: bool, field: str, what: str) -> None:
    if not holds:
        raise SnapshotError(f"the snapshot is damaged: {what} (field {field!r})")
