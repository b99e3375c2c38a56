"""What cannot be true in an event; whoever asks knows whose fault it is."""

from __future__ import annotations

import re

from quorate.events.kinds import Decision, Event, Join, Label, Leave, Vote, Votes
from quorate.packing import bytes_needed, is_packed

__all__ = ["SLOT_MAX", "VOTES_COUNT_MAX", "fault_of", "is_name"]

#: The largest slot number: slots are kept in 64 signed bits.
SLOT_MAX = 2**63 - 1
#: The most slots one `Votes` may cover.
VOTES_COUNT_MAX = 65_536

_NAME = re.compile(r"[\w-]{1,64}")


def is_name(name: object) -> bool:
    """Whether this is a learner's name: 1 to 64 letters, digits, ``_`` or ``-``.

    >>> is_name("paris"), is_name("paris.2"), is_name("")
    (True, False, False)
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def fault_of(event: Event) -> str | None:
    """What cannot be true in an event, or None.

    >>> fault_of(Label(slot=-1, value=1))
    'slot is -1; a slot is an integer from 0 to 9223372036854775807'
    """
    match event:
        case Vote() | Label() | Decision():
            kind = type(event).__name__.lower()
            return (
                _slot_fault("slot", event.slot)
                or _name_fault(event.learner, optional=kind == "label")
                or _sign_fault("value", event.value, f"a {kind}")
                or (_decision_fault(event) if isinstance(event, Decision) else None)
            )
        case Votes():
            return _slot_fault("first_slot", event.first_slot) or _name_fault(event.learner) or _votes_fault(event)
        case Join() | Leave():
            if event.epoch is not None and not (_is_int(event.epoch) and event.epoch >= 1):
                return f"epoch is {event.epoch!r}; a change of membership is numbered from 1"
            return _name_fault(event.learner)


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


def _decision_fault(decision: Decision) -> str | None:
    if not (_is_int(decision.epoch) and decision.epoch >= 0):
        return f"epoch is {decision.epoch!r}; it counts changes of membership from 0"
    votes: object = decision.votes
    if not isinstance(votes, tuple):
        return f"votes is {decision.votes!r}; give a tuple, one vote a member"
    for place, vote in enumerate(votes):
        if not _is_int(vote) or vote not in (-1, 0, 1):
            return f"votes[{place}] is {vote!r}; votes are -1, 0 or +1"
    return None


def _votes_fault(votes: Votes) -> str | None:
    if not (_is_int(votes.count) and 1 <= votes.count <= VOTES_COUNT_MAX):
        return f"count is {votes.count!r}; a batch covers 1 to {VOTES_COUNT_MAX} slots"
    if votes.first_slot + votes.count - 1 > SLOT_MAX:
        return f"first_slot is {votes.first_slot}; with {votes.count} slots it runs past {SLOT_MAX}"
    if not isinstance(votes.packed, bytes) or not is_packed(votes.packed, votes.count):
        size = len(votes.packed) if isinstance(votes.packed, bytes) else "no"
        return (
            f"packed is {size} bytes that do not hold {votes.count} votes of two bits "
            f"({bytes_needed(votes.count)} bytes, no '11', unused bits zero)"
        )
    return None
