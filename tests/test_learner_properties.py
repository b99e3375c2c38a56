"""Any interleaving, duplication and loss of events gives the weights of the naive reference."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from quorate import Decision, Event, ExtendedPWM, Join, Label, Learner, Leave, Vote, Votes
from quorate.learner import LIFE, Input, State
from quorate.packing import unpack
from tests.reference import Reference

NAMES = ["a", "b", "c", "d", "e"]
SIGNS = st.sampled_from([-1, 1])


def weights_of(learner: Learner) -> tuple[list[int], list[int]]:
    assert isinstance(learner.rule, ExtendedPWM)
    return learner.rule.weights_synchronous, learner.rule.weights_asynchronous


@st.composite
def disordered_events(draw: st.DrawFn) -> tuple[list[str], int, bool, list[Any]]:
    """Votes and labels for some slots, some lost, some twice, in any order, with closes in growing order."""
    members = NAMES[: draw(st.integers(1, 5))]
    n_slots = draw(st.integers(1, 12))
    events: list[Any] = []
    for slot in range(n_slots):
        events += [Vote(slot, name, draw(SIGNS)) for name in members if draw(st.integers(0, 9)) > 0]
        events += [Label(slot, draw(SIGNS))] * draw(st.integers(0, 2))
    repeated = draw(st.lists(st.sampled_from(events), max_size=10)) if events else []
    contradicted = [
        Vote(event.slot, event.learner, -event.value) if isinstance(event, Vote) else Label(event.slot, -event.value)
        for event in repeated[:3]
    ]
    mixed = draw(st.permutations(events + repeated + contradicted))
    closes = sorted(draw(st.lists(st.integers(0, len(mixed)), min_size=n_slots, max_size=n_slots)))
    for slot, place in reversed(list(enumerate(closes))):
        mixed.insert(place, slot)
    return members, draw(st.integers(0, 8)), draw(st.booleans()), mixed


@given(disordered_events(), st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_any_disorder_gives_the_weights_of_algorithm_2(
    case: tuple[list[str], int, bool, list[Any]], random: Any
) -> None:
    members, horizon, bias, events = case
    learner = Learner("a", members, ExtendedPWM(len(members), bias), horizon)
    reference = Reference(members, horizon, bias)
    for event in events:
        if isinstance(event, Vote):
            learner.receive(event)
            reference.vote(event.slot, event.learner, event.value)
        elif isinstance(event, Label):
            learner.receive(event)
            reference.label(event.slot, event.value)
        else:
            assert learner.close(event).value == reference.close(event)
        assert weights_of(learner) == reference.weights
        if random.random() < 0.2:
            learner = Learner.restore(json.loads(json.dumps(learner.snapshot())))


class LearnerMachine(RuleBasedStateMachine):
    """A learner, the naive reference, and the log of everything that happened."""

    @initialize(n=st.integers(1, 4), horizon=st.integers(0, 6), bias=st.booleans())
    def begin(self, n: int, horizon: int, bias: bool) -> None:
        self.start = NAMES[:n], horizon, bias
        self.learner = Learner("a", NAMES[:n], ExtendedPWM(n, bias), horizon)
        self.reference = Reference(NAMES[:n], horizon, bias)
        self.log: list[Event] = []
        self.next_slot = 0
        self.changes = 0

    def tell(self, event: Event) -> bool:
        self.log.append(event)
        return self.learner.receive(event)

    def expect(self, slot: int, happening: Input) -> State:
        return LIFE[self.learner.state_of(slot)][happening][0]

    @rule(data=st.data(), ahead=st.integers(-4, 4), value=SIGNS)
    def vote(self, data: st.DataObject, ahead: int, value: int) -> None:
        slot = max(0, self.next_slot + ahead)
        name = data.draw(st.sampled_from(self.reference.members))
        follows = self.expect(slot, Input.VOTE)
        self.tell(Vote(slot, name, value))
        assert self.learner.state_of(slot) == follows
        self.reference.vote(slot, name, value)

    @rule(
        data=st.data(), ahead=st.integers(-4, 2), values=st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=9)
    )
    def votes(self, data: st.DataObject, ahead: int, values: list[int]) -> None:
        first = max(0, self.next_slot + ahead)
        name = data.draw(st.sampled_from(self.reference.members))
        self.tell(Votes.pack(name, first, values))
        for slot, value in enumerate(values, first):
            self.reference.vote(slot, name, value)

    @rule(ahead=st.integers(-9, 3), value=SIGNS)
    def label(self, ahead: int, value: int) -> None:
        slot = max(0, self.next_slot + ahead)
        follows = self.expect(slot, Input.LABEL)
        self.tell(Label(slot, value))
        assert self.learner.state_of(slot) == follows
        self.reference.label(slot, value)

    @rule(skip=st.integers(0, 2))
    def close(self, skip: int) -> None:
        slot = self.next_slot + skip
        waits = slot in self.reference.waiting
        decision = self.learner.close(slot)
        self.log.append(decision)
        assert self.learner.state_of(slot) == (State.LABELLED if waits else State.CLOSED)
        assert decision.value == self.reference.close(slot)
        self.next_slot = slot + 1

    @precondition(lambda self: self.next_slot not in self.reference.waiting)  # the fold would apply that label later
    @rule(data=st.data(), n_changes=st.integers(1, 4), deliveries=st.integers(1, 2))
    def close_through_the_log_while_membership_changes(
        self, data: st.DataObject, n_changes: int, deliveries: int
    ) -> None:
        """Learners come and go while a decision is under way; it is folded with the membership it was made with."""
        decision = self.learner.decide(self.next_slot)
        assert decision.value == self.reference.close(self.next_slot)
        for _ in range(n_changes):
            if data.draw(st.booleans()):
                self.join(data, numbered=True)
            else:
                self.leave(data, numbered=True)
        for _ in range(deliveries):
            self.tell(decision)
        self.next_slot += 1

    @rule(data=st.data(), numbered=st.booleans())
    def joins(self, data: st.DataObject, numbered: bool) -> None:
        self.join(data, numbered)

    def join(self, data: st.DataObject, numbered: bool) -> None:
        absent = [name for name in NAMES if name not in self.reference.members]
        if absent:
            name = data.draw(st.sampled_from(absent))
            self.changes += 1
            assert self.tell(Join(name, epoch=self.changes if numbered else None))
            self.reference.join(name)

    @rule(data=st.data(), numbered=st.booleans())
    def leaves(self, data: st.DataObject, numbered: bool) -> None:
        self.leave(data, numbered)

    def leave(self, data: st.DataObject, numbered: bool) -> None:
        if len(self.reference.members) > 1:
            name = data.draw(st.sampled_from(self.reference.members))
            self.changes += 1
            assert self.tell(Leave(name, epoch=self.changes if numbered else None))
            self.reference.leave(name)

    @rule(data=st.data())
    @precondition(lambda self: self.log)
    def deliver_again(self, data: st.DataObject) -> None:
        """A transport redelivers; unnumbered changes of membership are the only events it must not repeat."""
        event = data.draw(st.sampled_from(self.log))
        if isinstance(event, (Join, Leave)) and event.epoch is None:
            return
        if isinstance(event, (Vote, Votes)) and event.learner not in self.reference.members:
            return
        self.log.append(event)
        weights = weights_of(self.learner)
        if isinstance(event, Vote):
            self.reference.vote(event.slot, event.learner, event.value)
        elif isinstance(event, Votes):
            for slot, value in enumerate(unpack(event.packed, event.count), event.first_slot):
                self.reference.vote(slot, event.learner, value)
        elif isinstance(event, Label):
            self.reference.label(event.slot, event.value)
        counted = self.learner.receive(event)
        if isinstance(event, (Decision, Join, Leave)):
            assert not counted
            assert weights_of(self.learner) == weights

    @rule()
    def restart(self) -> None:
        restored = Learner.restore(json.loads(json.dumps(self.learner.snapshot())))
        assert restored.snapshot() == self.learner.snapshot()
        self.learner = restored

    @invariant()
    def weights_are_those_of_the_reference(self) -> None:
        if hasattr(self, "learner"):
            assert weights_of(self.learner) == self.reference.weights
            assert list(self.learner.members) == self.reference.members
            assert len(self.learner.pending_slots) <= self.learner.horizon + 1

    def teardown(self) -> None:
        """A replay of the log, decisions read and not made, gives the same learner, counters included."""
        if hasattr(self, "learner"):
            members, horizon, bias = self.start
            replayed = Learner("a", members, ExtendedPWM(len(members), bias), horizon)
            for event in self.log:
                replayed.receive(event)
            assert replayed.snapshot() == self.learner.snapshot()


LearnerMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)
TestLearnerMachine = LearnerMachine.TestCase
