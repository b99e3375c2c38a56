"""What cannot be true in an event; whoever asks knows whose fault it is."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import UNSET

from quorate.events.kinds import Decision, Decisions, Event, Join, Label, Labels, Leave, Vote, Votes
from quorate.packing import are_packed, bytes_needed, has_no_abstention, is_packed

__all__ = ["SLOT_MAX", "VOTES_COUNT_MAX", "fault_of", "is_name"]

#: The largest slot number: slots are kept in 64 signed bits.
SLOT_MAX = 2**63 - 1
#: The most slots one `Votes` may cover.
VOTES_COUNT_MAX = 65_536

_INT, _VOTES = frozenset([int]), frozenset([-1, 0, 1])
_NAME = re.compile(r"[\w-]{1,64}")


@lru_cache(4096)
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def is_name(name: object) -> bool:
    """Whether this is a learner's name: 1 to 64 letters, digits, ``_`` or ``-``.

    >>> is_name("paris"), is_name("paris.2"), is_name("")
    (True, False, False)
    """
    return isinstance(name, str) and _is_name(name)


def fault_of(event: Event) -> str | None:
    """What cannot be true in an event, or None.

    >>> fault_of(Label(slot=-1, value=1))
    'slot is -1; a slot is an integer from 0 to 9223372036854775807'
    """
    match event:
        case Vote() | Label() | Decision() if _is_good(event):
            return None
        case Votes() | Labels() | Decisions() if _is_good_batch(event):
            return None
    return _reason(event)


def _reason(event: Event) -> str | None:
    match event:
        case Vote() | Label() | Decision():
            kind = type(event).__name__.lower()
            return (
                _slot_fault("slot", event.slot)
                or _name_fault(event.learner, optional=kind == "label")
                or _sign_fault("value", event.value, f"a {kind}")
                or (_decision_fault(event) if isinstance(event, Decision) else None)
            )
        case Votes() | Labels() | Decisions():
            return (
                _slot_fault("first_slot", event.first_slot)
                or _name_fault(event.learner, optional=isinstance(event, Labels))
                or _batch_fault(event)
                or (_decisions_fault(event) if isinstance(event, Decisions) else None)
            )
        case Join() | Leave():
            if event.epoch is not None and not (_is_int(event.epoch) and event.epoch >= 1):
                return f"epoch is {event.epoch!r}; a change of membership is numbered from 1"
            return _name_fault(event.learner)


def _is_good(event: Vote | Label | Decision) -> bool:
    """Whether nothing is wrong with an event: the checks below in one, as nearly all that is read is good."""
    slot, value, name = event.slot, event.value, event.learner
    if type(slot) is not int or type(value) is not int or not (0 <= slot <= SLOT_MAX and (value == 1 or value == -1)):
        return False
    if not (_is_name(name) if type(name) is str else name is None and type(event) is Label):
        return False
    if type(event) is not Decision:
        return True
    epoch, at, votes = event.epoch, event.at, event.votes
    if type(epoch) is not int or type(at) is not int or type(votes) is not tuple or epoch < 0 or at < 0:
        return False
    if _note_fault(event.note):
        return False
    return _INT.issuperset(map(type, votes)) and _VOTES.issuperset(votes)


def _is_good_batch(batch: Votes | Labels | Decisions) -> bool:
    """The same of many slots."""
    first, count, packed, name = batch.first_slot, batch.count, batch.packed, batch.learner
    if type(first) is not int or type(count) is not int or type(packed) is not bytes:
        return False
    if not (0 <= first <= SLOT_MAX - VOTES_COUNT_MAX and 1 <= count <= VOTES_COUNT_MAX and is_packed(packed, count)):
        return False
    if not (_is_name(name) if type(name) is str else name is None and type(batch) is Labels):
        return False
    if type(batch) is not Decisions:
        return True
    epoch, at, n_learners, votes = batch.epoch, batch.at, batch.n_learners, batch.votes
    if type(epoch) is not int or type(at) is not int or type(n_learners) is not int or type(votes) is not bytes:
        return False
    return (
        epoch >= 0
        and at >= 0
        and n_learners >= 1
        and has_no_abstention(packed, count)
        and len(votes) == count * bytes_needed(n_learners)
        and are_packed(votes, n_learners)
        and not _notes_fault(batch)
    )


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _slot_fault(field: str, slot: object) -> str | None:
    if isinstance(slot, int) and not isinstance(slot, bool) and 0 <= slot <= SLOT_MAX:
        return None
    return f"{field} is {slot!r}; a slot is an integer from 0 to {SLOT_MAX}"


def _name_fault(name: object, *, optional: bool = False) -> str | None:
    if is_name(name) or (optional and name is None):
        return None
    return f"learner is {name!r}; a name is 1 to 64 letters, digits, '_' or '-'"


def _sign_fault(field: str, value: object, what: str) -> str | None:
    return None if _is_int(value) and value in (-1, 1) else f"{field} is {value!r}; {what} is -1 or +1"


def _place_fault(decided: Decision | Decisions) -> str | None:
    if not (_is_int(decided.epoch) and decided.epoch >= 0):
        return f"epoch is {decided.epoch!r}; it counts changes of membership from 0"
    if not (_is_int(decided.at) and decided.at >= 0):
        return f"at is {decided.at!r}; it is a place in the log, from 0"
    return None


def _decision_fault(decision: Decision) -> str | None:
    if reason := _place_fault(decision):
        return reason
    votes: object = decision.votes
    if not isinstance(votes, tuple):
        return f"votes is {decision.votes!r}; give a tuple, one vote a member"
    for place, vote in enumerate(votes):
        if not _is_int(vote) or vote not in (-1, 0, 1):
            return f"votes[{place}] is {vote!r}; votes are -1, 0 or +1"
    return _note_fault(decision.note)


def _note_fault(note: object) -> str | None:
    if note is UNSET or (type(note) is int and 0 <= note < 1 << 32):
        return None
    return f"note is {note!r}; a note is a number of 32 bits"


def _notes_fault(batch: Decisions) -> str | None:
    notes: object = batch.notes
    if notes is UNSET or (isinstance(notes, bytes) and len(notes) == 4 * batch.count):
        return None
    size = len(notes) if isinstance(notes, bytes) else "no"
    return f"notes is {size} bytes that do not hold {batch.count} notes ({4 * batch.count} bytes)"


def _batch_fault(batch: Votes | Labels | Decisions) -> str | None:
    if not (_is_int(batch.count) and 1 <= batch.count <= VOTES_COUNT_MAX):
        return f"count is {batch.count!r}; a batch covers 1 to {VOTES_COUNT_MAX} slots"
    if batch.first_slot + batch.count - 1 > SLOT_MAX:
        return f"first_slot is {batch.first_slot}; with {batch.count} slots it runs past {SLOT_MAX}"
    if not isinstance(batch.packed, bytes) or not is_packed(batch.packed, batch.count):
        size = len(batch.packed) if isinstance(batch.packed, bytes) else "no"
        return (
            f"packed is {size} bytes that do not hold {batch.count} votes of two bits "
            f"({bytes_needed(batch.count)} bytes, no '11', unused bits zero)"
        )
    return None


def _decisions_fault(batch: Decisions) -> str | None:
    if reason := _place_fault(batch):
        return reason
    if not has_no_abstention(batch.packed, batch.count):
        return "packed holds an abstention; a decision is -1 or +1"
    if not (_is_int(batch.n_learners) and batch.n_learners >= 1):
        return f"n_learners is {batch.n_learners!r}; an ensemble has at least 1 learner"
    expected = batch.count * bytes_needed(batch.n_learners)
    if (
        not isinstance(batch.votes, bytes)
        or len(batch.votes) != expected
        or not are_packed(batch.votes, batch.n_learners)
    ):
        size = len(batch.votes) if isinstance(batch.votes, bytes) else "no"
        return (
            f"votes is {size} bytes that do not hold {batch.count} rows of {batch.n_learners} votes ({expected} bytes)"
        )
    return _notes_fault(batch)
