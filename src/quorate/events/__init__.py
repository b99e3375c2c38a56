"""Events: what learners tell each other, and its form on the wire."""

from quorate.events.faults import SLOT_MAX, VOTES_COUNT_MAX, fault_of, is_name
from quorate.events.kinds import WIRE_VERSION, Decision, Decisions, Event, Join, Label, Labels, Leave, Vote, Votes
from quorate.events.wire import MESSAGE_BYTES_MAX, decode, encode

__all__ = [
    "MESSAGE_BYTES_MAX",
    "SLOT_MAX",
    "VOTES_COUNT_MAX",
    "WIRE_VERSION",
    "Decision",
    "Decisions",
    "Event",
    "Join",
    "Label",
    "Labels",
    "Leave",
    "Vote",
    "Votes",
    "decode",
    "encode",
    "fault_of",
    "is_name",
]
