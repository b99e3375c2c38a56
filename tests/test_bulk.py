"""Batches: a learner that is fed many slots at once becomes what one fed slot by slot does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import Decision, Event, ExtendedPWM, Join, Label, Learner, Leave, Portfolio, Vote, Votes
from quorate.errors import RemoteError
from quorate.events import Decisions, Labels, decode, encode
from quorate.packing import unpack

NAMES = [f"n{place}" for place in range(10)]


def singles(event: Event) -> list[Event]:
    if isinstance(event, Votes):
        values = enumerate(unpack(event.packed, event.count), event.first_slot)
        return [Vote(slot, event.learner, v) if v else Votes.pack(event.learner, slot, [0]) for slot, v in values]
    return list(event) if isinstance(event, Labels | Decisions) else [event]


def received(learner: Learner, event: Event) -> bool | str:
    try:
        return learner.receive(event)
    except RemoteError as error:
        return type(error).__name__


@st.composite
def stories(draw: st.DrawFn) -> tuple[int, dict[str, Any], list[Any]]:
    """Batches on slots near each other, so that they overlap, contradict, come late and overflow."""
    n_members = draw(st.integers(1, 9))
    limits = {"horizon": draw(st.sampled_from([0, 2, 50])), "open_slots_max": draw(st.sampled_from([3, 8, 64]))}
    sign = st.sampled_from([-1, 1, 1, 1, 0])
    batches = st.builds(
        lambda name, first, values: Votes.pack(name, first, values),
        st.sampled_from(NAMES[: n_members + 1]),
        st.integers(0, 20),
        st.lists(st.sampled_from([-1, 1]) | sign, min_size=1, max_size=16),
    )
    labels = st.builds(lambda first, values: Labels.pack(first, values), st.integers(0, 20), st.lists(sign, min_size=1))
    changes = st.sampled_from([Join("guest"), Leave("guest"), Leave("n0"), Join("n0")])
    decides = st.tuples(st.just("decide"), st.integers(1, 16))
    return n_members, limits, draw(st.lists(batches | batches | labels | decides | changes, max_size=40))


@settings(max_examples=300, deadline=None)
@given(stories())
def test_a_batch_is_its_slots_one_after_the_other(story: tuple[int, dict[str, Any], list[Any]]) -> None:
    n_members, limits, events = story
    rule = ExtendedPWM if n_members % 2 else Portfolio
    whole, single = (Learner("n0", NAMES[:n_members], rule(n_members), **limits) for _ in range(2))
    flying: list[Decisions] = []
    for event in events:
        if isinstance(event, tuple):
            after = whole.closed_until
            made = whole.decide_complete(after, event[1])
            assert made == by_slots(single, after, event[1])
            if made is None:
                slot = whole.next_open(after)
                made = None if slot is None else Decisions.pack([whole.decide(slot)])
            flying += [made] * (1 + len(flying) % 2) if made is not None else []  # at times twice
            if not flying:
                continue
            event = flying.pop(0)
        event = decode(encode(event))
        answers = [received(single, each) for each in singles(event)]
        answer = received(whole, event)
        if isinstance(answer, bool):
            assert answer == any(each is True for each in answers)
        assert whole.snapshot() == single.snapshot()


def by_slots(learner: Learner, after: int, most: int) -> Decisions | None:
    """What `decide_complete` must give, slot by slot."""

    def ready() -> Iterator[Decision]:
        slot = learner.next_open(after)
        while slot is not None and slot in learner.open_slots and not learner.missing(slot):
            yield learner.decide(slot)
            slot += 1

    some = [decision for _, decision in zip(range(most), ready(), strict=False)]
    return Decisions.pack(some) if some else None


def test_a_batch_is_quick_where_nothing_is_out_of_the_ordinary() -> None:
    """The quick way is really taken: it leaves the steps to nobody."""
    from quorate.learner import bulk

    learner = Learner("a", ["a", "b", "c", "d", "e"], horizon=100)
    fold = learner._fold
    for place in range(5):
        assert bulk.record_run(fold, place, 0, Votes.pack("a", 0, [1, -1] * 100).packed, 200)
    made = learner.decide_complete(-1, 1000)
    assert made is not None
    assert made.count == 200
    assert bulk.close_run(fold, made)
    assert (learner.counters.decisions, learner.counters.expired_slots, len(learner.pending_slots)) == (200, 99, 101)
    assert bulk.record_run(fold, 0, 200, Votes.pack("a", 200, [1] * 10).packed, 10)
    labels = Labels.pack(100, [1, -1, 1] * 35)
    assert bulk.learn_run(fold, 100, labels.packed, 105)  # the last five wait until their slots are closed
    assert learner.counters.labels == 100
    assert not bulk.learn_run(fold, 100, labels.packed, 5)  # given before
    assert bulk.close_run(fold, Decisions(200, 10, "a", Votes.pack("a", 200, [1] * 10).packed, 5, bytes([1, 0] * 10)))
    assert learner.counters.labels == 105
    assert all(len(list(run)) for _, run in groupby(learner.open_slots))


def test_bad_batches_are_refused_whole() -> None:
    learner = Learner("a", ["a", "b"])
    good = Decisions.pack([Decision(slot, "a", 1, (1, 1)) for slot in range(5)])
    for bad in (
        Decisions(0, 5, "a", good.packed[:-1] + b"\0", 2, good.votes),  # a decision of 0
        Decisions(0, 5, "a", good.packed, 2, good.votes[:-1]),
        Decisions(0, 5, "a", good.packed, 2, good.votes[:-1] + b"\x85"),  # more votes than members
        Decisions(0, 5, "a", good.packed, 3, good.votes),
        Decisions(0, 5, "a", good.packed, 2, good.votes, epoch=1),
        Decisions(0, 5, "a", good.packed, 0, b""),
        Labels(0, 70_000, b""),
        Labels(2**63 - 1, 2, b"\5"),
    ):
        assert received(learner, bad) == "MessageError"
    assert learner.counters == Learner("a", ["a", "b"]).counters
    assert received(learner, Labels.pack(0, [1], learner="nobody")) == "StrangerError"
    assert received(learner, Labels.pack(0, [1], learner="b")) is False
    assert received(learner, Label(0, 1)) is False
    assert received(learner, Vote(0, "a", 1)) is True
    assert received(learner, good) is True
    assert learner.last_closed == 4
