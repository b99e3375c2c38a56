"""The wire form: golden files, tolerance of the unknown, refusal of the impossible."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import Decision, Event, Join, Label, Leave, LocalError, RemoteError, Vote, Votes, decode, encode
from quorate.errors import MessageError
from quorate.events import MESSAGE_BYTES_MAX, SLOT_MAX, VOTES_COUNT_MAX, Decisions, Labels, fault_of, faults
from quorate.packing import is_packed, pack, unpack

GOLDEN = Path(__file__).parent / "golden"

EVENTS: dict[str, Event] = {
    "vote": Vote(slot=17, learner="tokyo", value=-1),
    "votes": Votes.pack("tokyo", 100, [1, -1, 0, 1, 1]),
    "label": Label(slot=17, value=1),
    "label-addressed": Label(slot=17, value=-1, learner="paris"),
    "labels": Labels.pack(100, [1, 0, -1]),
    "decision": Decision(slot=17, learner="paris", value=1, votes=(0, -1, 1), epoch=2, at=40),
    "decisions": Decisions.pack([Decision(17 + place, "paris", 1, (0, -1, 1), 2, 40) for place in range(3)]),
    "join": Join("lima", epoch=3),
    "join-unnumbered": Join("lima"),
    "leave": Leave("lima", epoch=4),
}

names = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
slots = st.integers(0, SLOT_MAX)
signs = st.sampled_from([-1, 1])
votes = st.sampled_from([-1, 0, 1])
epochs = st.none() | st.integers(1, 2**40)
events = st.one_of(
    st.builds(Vote, slots, names, signs),
    st.builds(Label, slots, signs, st.none() | names),
    st.builds(Decision, slots, names, signs, st.lists(votes, max_size=40).map(tuple), st.integers(0, 2**40)),
    st.builds(Labels.pack, st.integers(0, 2**50), st.lists(votes, min_size=1, max_size=40), st.none() | names),
    st.builds(lambda one: Decisions.pack([one]), st.builds(Decision, slots, names, signs, st.just((1, 0, -1)))),
    st.builds(Join, names, epochs),
    st.builds(Leave, names, epochs),
    st.builds(Votes.pack, names, st.integers(0, 2**50), st.lists(votes, min_size=1, max_size=40)),
)


@pytest.mark.parametrize("name", EVENTS)
def test_the_wire_form_is_that_of_the_golden_file(name: str) -> None:
    golden = (GOLDEN / f"{name}.json").read_bytes().strip()
    assert encode(EVENTS[name]) == golden
    assert decode(golden) == EVENTS[name]
    assert json.loads(golden)["v"] == 1


def test_there_is_no_other_golden_event() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(EVENTS) | {"learner-snapshot"}


@given(events)
@settings(max_examples=300)
def test_every_event_survives_the_wire(event: Event) -> None:
    assert decode(encode(event)) == event


def test_a_decision_that_says_no_place_is_read() -> None:
    message = b'{"type":"decision","slot":17,"learner":"paris","value":1,"votes":[0,-1,1],"epoch":2,"v":1}'
    assert decode(message) == Decision(slot=17, learner="paris", value=1, votes=(0, -1, 1), epoch=2)


def test_a_vote_is_small() -> None:
    assert len(encode(Vote(slot=10**9, learner="a-hospital", value=-1))) < 100


def test_unknown_fields_are_tolerated() -> None:
    assert decode(b'{"type":"vote","slot":1,"learner":"a","value":1,"v":1,"mood":"good"}') == Vote(1, "a", 1)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b'{"type":"vote","slot":1,"learner":"a","value":1,"v":2}', "wire version 2; this release reads version 1"),
        (b'{"type":"hunch","v":2}', "wire version 2"),
        (b'{"type":"hunch","v":1}', "not a message of Quorate: Invalid value 'hunch'"),
        (b'{"type":"vote","learner":"a","value":1}', "missing required field `slot`"),
        (b'{"type":"vote","slot":"1","learner":"a","value":1}', "Expected `int`, got `str` - at `$.slot`"),
        (b'{"type":"vote","slot":1,"learner":"a","value":7}', "bad vote: value is 7"),
        (b'{"type":"vote","slot":1,"learner":"","value":1}', "bad vote: learner is ''"),
        (b'{"type":"vote","slot":-4,"learner":"a","value":1}', "bad vote: slot is -4"),
        (b'{"type":"label","slot":1,"value":0}', "bad label: value is 0"),
        (b'{"type":"votes","first_slot":0,"count":70000,"learner":"a","packed":""}', "a batch covers 1 to 65536"),
        (b'{"type":"votes","first_slot":9223372036854775807,"count":2,"learner":"a","packed":"BQ=="}', "runs past"),
        (b'{"type":"decision","slot":1,"learner":"a","value":1,"votes":[2]}', "votes[0] is 2"),
        (b'{"type":"vote"', "not a message of Quorate"),
        (b"", "not a message of Quorate"),
        (b"\xff\xfe", "not a message of Quorate"),
        (b"[" * 100_000, "not a message of Quorate"),
        (b" " * (MESSAGE_BYTES_MAX + 1), "at most 1048576 are read"),
    ],
)
def test_a_bad_message_is_a_remote_error(message: bytes, reason: str) -> None:
    with pytest.raises(MessageError) as caught:
        decode(message)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 300


@given(st.binary(max_size=200) | st.text(max_size=100))
def test_random_bytes_are_refused_or_read_but_never_crash(message: bytes | str) -> None:
    with contextlib.suppress(RemoteError):
        decode(message)


@given(st.data())
def test_a_damaged_message_is_refused_or_read_but_never_crashes(data: st.DataObject) -> None:
    message = bytearray(encode(data.draw(events)))
    for _ in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RemoteError):
        encode(decode(bytes(message)))


def test_what_cannot_be_true_is_not_sent() -> None:
    with pytest.raises(LocalError, match=r"cannot send Vote.*value is 7"):
        encode(Vote(1, "a", 7))
    with pytest.raises(LocalError, match=r"values\[1\] is 7; votes are"):
        Votes.pack("a", 1, [1, 7])
    with pytest.raises(LocalError, match="a batch covers 1 to 65536 slots"):
        encode(Votes.pack("a", 1, [1] * (VOTES_COUNT_MAX + 1)))


@pytest.mark.parametrize(
    "event",
    [Vote(1, "a", True), Label(1, 1.0), Decision(1, "a", 1, (True, 1))],  # type: ignore[arg-type]
)
def test_what_decode_would_refuse_is_not_encoded(event: Event) -> None:
    with pytest.raises(LocalError, match="cannot send"):
        encode(event)


def test_a_bool_is_no_vote_in_a_batch() -> None:
    with pytest.raises(LocalError, match=r"values\[0\] is True"):
        Votes.pack("a", 0, [True, False])


def test_events_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Vote(1, "a", 1).value = -1  # type: ignore[misc]


@given(st.lists(votes, max_size=300))
def test_packing_is_exact(values: list[int]) -> None:
    packed = pack(values)
    assert len(packed) == (len(values) + 3) // 4
    assert is_packed(packed, len(values))
    assert unpack(packed, len(values)) == tuple(values)


@given(st.binary(max_size=6), st.integers(0, 30))
def test_what_is_packed_is_what_pack_makes(packed: bytes, count: int) -> None:
    if is_packed(packed, count):
        assert pack(unpack(packed, count)) == packed


ODD: Any = st.one_of(
    st.integers(-3, 3), st.integers(), st.booleans(), st.none(), st.floats(), st.text(max_size=3), st.binary(max_size=3)
)
SLOTS: Any = st.integers(0, 9) | st.sampled_from([2**63 - 1, 2**63 - 4, 2**63]) | ODD
WHO: Any = st.sampled_from(["paris", "paris.2", ""]) | ODD
SIGNS: Any = st.sampled_from([-1, 0, 1]) | ODD
PACKED: Any = st.lists(st.sampled_from([-1, 0, 1, 1]), max_size=9).map(pack) | ODD
COUNTS: Any = st.integers(1, 9) | ODD
ROWS: Any = st.lists(SIGNS, max_size=3).map(tuple) | ODD
ANY_EVENT: Any = st.one_of(
    st.builds(Vote, SLOTS, WHO, SIGNS),
    st.builds(Label, SLOTS, SIGNS, WHO),
    st.builds(Decision, SLOTS, WHO, SIGNS, ROWS, ODD, ODD),
    st.builds(Votes, SLOTS, COUNTS, WHO, PACKED),
    st.builds(Labels, SLOTS, COUNTS, PACKED, WHO),
    st.builds(Decisions, SLOTS, COUNTS, WHO, PACKED, COUNTS, PACKED, ODD, ODD),
)


@settings(max_examples=2000)
@given(ANY_EVENT)
def test_what_is_found_good_at_once_has_no_fault(event: Event) -> None:
    assert (fault_of(event) is None) == (faults._reason(event) is None)
