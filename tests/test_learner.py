"""Every rule of the design's "The learner", worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from quorate import PWM, Decision, ExtendedPWM, Join, Label, Learner, Leave, Portfolio, Vote, Votes
from quorate.errors import LocalError, MembersError, MessageError, RemoteError, SlotError, StrangerError
from quorate.learner import LIFE, Input, State


def pwm_learner(n: int = 2, horizon: int = 10, bias: bool = True) -> Learner:
    names = ["a", "b", "c", "d"][:n]
    return Learner("a", names, PWM(n, bias), horizon)


def extended(n: int = 2, horizon: int = 10) -> tuple[Learner, ExtendedPWM]:
    rule = ExtendedPWM(n)
    return Learner("a", ["a", "b", "c", "d"][:n], rule, horizon), rule


def tell(learner: Learner, slot: int, **votes: int) -> None:
    for name, value in votes.items():
        learner.receive(Vote(slot, name, value))


def test_a_late_label_is_judged_with_the_weights_of_now() -> None:
    learner = pwm_learner()
    tell(learner, 1, a=1, b=-1)
    assert learner.close(1).value == 1  # a tie
    tell(learner, 2, a=1, b=-1)
    assert learner.close(2).value == 1  # still a tie: no label came
    assert learner.receive(Label(1, -1))
    assert learner.rule.weights == [-1, -1, 1]
    assert learner.receive(Label(2, -1))  # issued +1, wrong; but with the weights of now it is -3 < 0, right
    assert learner.rule.weights == [-1, -1, 1]
    assert (learner.counters.mistakes, learner.counters.updates, learner.counters.labels) == (2, 1, 2)


def test_labels_out_of_order() -> None:
    learner = pwm_learner()
    for slot, votes in enumerate([(1, 1), (1, -1), (-1, 1)], 1):
        tell(learner, slot, a=votes[0], b=votes[1])
        learner.close(slot)
    assert learner.receive(Label(3, -1))  # 0: +1, wrong: w = (-1, 1, -1)
    assert learner.rule.weights == [-1, 1, -1]
    assert learner.receive(Label(1, 1))  # -1 +1 -1 = -1, wrong: w = (0, 2, 0)
    assert learner.rule.weights == [0, 2, 0]
    assert learner.receive(Label(2, 1))  # 0 +2 = 2, right
    assert learner.rule.weights == [0, 2, 0]


def test_a_missing_label_expires_with_the_horizon() -> None:
    learner = pwm_learner(horizon=2)
    for slot in (1, 2, 3):
        tell(learner, slot, a=1, b=1)
        learner.close(slot)
    assert learner.pending_slots == [1, 2, 3]
    assert learner.state_of(1) is State.CLOSED  # delay 2 is within the horizon
    learner.close(4)
    assert learner.state_of(1) is State.PAST
    assert learner.counters.expired_slots == 1
    assert not learner.receive(Label(1, -1))
    assert learner.counters.unknown_labels == 1
    assert learner.rule.weights == [0, 0, 0]
    assert learner.receive(Label(2, -1))
    learner.close(5)
    assert learner.counters.expired_slots == 1  # slot 2 was labelled: forgotten, not expired


def test_horizon_zero_takes_a_label_in_its_own_slot_only() -> None:
    learner = pwm_learner(horizon=0)
    learner.close(1)
    assert learner.receive(Label(1, -1))
    learner.close(2)
    learner.close(3)
    assert not learner.receive(Label(2, -1))


def test_the_horizon_counts_slots_not_numbers() -> None:
    learner = pwm_learner(horizon=1)
    learner.close(1_000)
    learner.close(1_000_000)
    assert learner.receive(Label(1_000, -1))


def test_without_bias() -> None:
    learner = pwm_learner(bias=False)
    tell(learner, 1, a=1, b=-1)
    learner.close(1)
    learner.receive(Label(1, -1))
    assert learner.rule.weights == [0, -1, 1]


def test_the_first_vote_counts() -> None:
    learner = pwm_learner()
    assert learner.receive(Vote(1, "a", 1))
    assert not learner.receive(Vote(1, "a", 1))
    assert not learner.receive(Vote(1, "a", -1))
    assert (learner.counters.duplicate_votes, learner.counters.conflicting_votes) == (1, 1)
    assert learner.close(1).votes == (1, 0)


def test_a_late_vote_is_counted_and_nothing_else() -> None:
    learner, rule = extended()
    tell(learner, 1, a=1)
    assert learner.missing(1) == ("b",)
    assert learner.close(1).votes == (1, 0)
    assert not learner.receive(Vote(1, "b", 1))
    learner.receive(Label(1, -1))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([0, 0, 0], [-1, -1, 0])
    assert learner.counters.late_votes == 1


def test_a_label_for_an_open_slot_waits() -> None:
    learner = pwm_learner()
    tell(learner, 1, a=1)
    assert learner.receive(Label(1, -1))
    assert not learner.receive(Label(1, -1))
    assert not learner.receive(Label(1, 1))
    assert learner.rule.weights == [0, 0, 0]
    tell(learner, 1, b=1)
    assert learner.close(1).value == 1
    assert learner.rule.weights == [-1, -1, -1]
    assert learner.counters.mistakes == 1
    assert (learner.counters.duplicate_labels, learner.counters.conflicting_labels) == (1, 1)


def test_the_first_label_counts() -> None:
    learner = pwm_learner()
    tell(learner, 1, a=1, b=1)
    learner.close(1)
    assert learner.receive(Label(1, -1))
    assert not learner.receive(Label(1, -1))
    assert not learner.receive(Label(1, 1))
    assert learner.rule.weights == [-1, -1, -1]
    assert (learner.counters.duplicate_labels, learner.counters.conflicting_labels) == (1, 1)


def test_a_label_for_another_learner_is_not_for_this_one() -> None:
    learner = pwm_learner()
    learner.close(1)
    assert not learner.receive(Label(1, -1, learner="b"))
    assert learner.counters.labels == learner.counters.unknown_labels == 0
    assert learner.receive(Label(1, -1, learner="a"))


def test_a_label_for_a_slot_never_seen_changes_nothing() -> None:
    learner = pwm_learner()
    assert not learner.receive(Label(7, -1))
    assert learner.counters.unknown_labels == 1
    tell(learner, 7, a=1)
    learner.close(7)
    assert learner.state_of(7) is State.CLOSED


def test_a_slot_passed_over_is_gone() -> None:
    learner = pwm_learner()
    tell(learner, 1, a=1)
    tell(learner, 2, a=1)
    tell(learner, 3, a=-1, b=-1)
    assert learner.close(3).votes == (-1, -1)
    assert learner.counters.skipped_slots == 2
    assert not learner.receive(Label(1, -1))
    assert not learner.receive(Vote(2, "b", 1))
    assert (learner.counters.unknown_labels, learner.counters.late_votes) == (1, 1)


def test_a_learner_joins_and_leaves() -> None:
    learner, rule = extended(2)
    tell(learner, 1, a=1, b=1)
    learner.close(1)
    assert learner.receive(Join("c"))
    assert list(learner.members) == ["a", "b", "c"]
    tell(learner, 2, a=1, b=1)
    assert learner.close(2).votes == (1, 1, 0)
    # Slot 1 was synchronous with the membership of then, though c has no vote in it.
    learner.receive(Label(1, -1))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([-1, -1, -1, 0], [0, 0, 0, 0])
    learner.receive(Label(2, -1))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([-1, -1, -1, 0], [-1, -1, -1, 0])
    tell(learner, 3, a=1, b=1, c=1)
    learner.close(3)
    # a leaves: its weights and its pending votes with it; slot 3 stays synchronous.
    assert learner.receive(Leave("a"))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([-1, -1, 0], [-1, -1, 0])
    learner.receive(Label(3, 1))  # -1 -1 +0 < 0, wrong
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([0, 0, 1], [-1, -1, 0])
    assert list(learner.members) == ["b", "c"]
    with pytest.raises(StrangerError, match="'a', who is no member; the members are b, c"):
        learner.receive(Vote(4, "a", 1))


def test_who_comes_back_is_new() -> None:
    learner = pwm_learner(2)
    tell(learner, 1, a=1, b=1)
    learner.close(1)
    learner.receive(Label(1, -1))
    learner.receive(Leave("b"))
    learner.receive(Join("b"))
    assert learner.rule.weights == [-1, -1, 0]


def test_an_open_slot_loses_the_vote_of_who_leaves() -> None:
    learner = pwm_learner(3)
    tell(learner, 1, a=1, b=-1, c=1)
    learner.receive(Leave("b"))
    assert learner.close(1).votes == (1, 1)


def test_changes_of_membership_are_made_once() -> None:
    learner = pwm_learner(2)
    assert learner.receive(Join("c", epoch=1))
    assert learner.receive(Leave("c", epoch=2))
    assert not learner.receive(Join("c", epoch=1))  # redelivered
    assert learner.members == ("a", "b")
    assert not learner.receive(Join("a"))
    assert learner.counters.duplicate_changes == 2
    with pytest.raises(MessageError, match="change of membership 4 came, but 3 is the next"):
        learner.receive(Join("c", epoch=4))
    with pytest.raises(MessageError, match="'a' cannot join: it is already a member"):
        learner.receive(Join("a", epoch=3))
    learner.receive(Leave("a"))
    with pytest.raises(MessageError, match="'b' cannot leave: it is the last member"):
        learner.receive(Leave("b"))


def test_a_decision_read_from_the_log_closes_the_slot() -> None:
    learner = pwm_learner()
    tell(learner, 1, a=1, b=1)
    decision = learner.decide(1)
    assert learner.state_of(1) is State.OPEN  # deciding changes nothing
    tell(learner, 2, a=-1)
    learner.receive(Vote(1, "b", 1))
    assert learner.receive(decision)
    assert learner.state_of(1) is State.CLOSED
    assert not learner.receive(decision)
    assert not learner.receive(Decision(1, "a", -1, (1, 1)))
    assert not learner.receive(Decision(1, "b", -1, (1, 1)))  # another's decision is its own affair
    assert (learner.counters.duplicate_decisions, learner.counters.conflicting_decisions) == (1, 1)
    with pytest.raises(MessageError, match="has 3 votes; epoch 0 had 2 members"):
        learner.receive(Decision(2, "a", 1, (1, 1, 1)))
    with pytest.raises(MessageError, match="is of epoch 5; this learner knows 0 to 0"):
        learner.receive(Decision(2, "a", 1, (1, 1), epoch=5))


def test_votes_in_a_batch() -> None:
    learner = pwm_learner()
    assert learner.receive(Votes.pack("a", 1, [1, 0, -1]))
    assert not learner.receive(Votes.pack("a", 1, [1, 0, -1]))
    assert learner.counters.duplicate_votes == 2
    assert [learner.close(slot).votes for slot in (1, 2, 3)] == [(1, 0), (0, 0), (-1, 0)]


def test_open_slots_are_bounded_and_the_highest_go_first() -> None:
    learner = Learner("a", ["a", "b"], horizon=5, open_slots_max=3)
    for slot in (10**12, 10**12 + 1, 10**12 + 2, 10**12 + 3):
        learner.receive(Vote(slot, "b", 1))
    assert learner.open_slots == [10**12, 10**12 + 1, 10**12 + 2]
    tell(learner, 1, a=1, b=1)
    tell(learner, 2, a=1, b=1)
    assert learner.open_slots == [1, 2, 10**12]
    assert learner.counters.overflowed_slots == 3


def test_a_label_that_waited_in_a_dropped_slot_is_counted() -> None:
    learner = Learner("a", ["a", "b"], horizon=5, open_slots_max=2)
    for slot in (10, 11):
        tell(learner, slot, a=1)
        learner.receive(Label(slot, -1))
    tell(learner, 9, a=1)  # 11 is given up
    learner.close(12)  # 9 and 10 are passed over
    assert learner.counters.overflowed_slots == 1
    assert learner.counters.skipped_slots == 2
    assert learner.counters.lost_labels == 2


def test_slots_that_are_forgotten_make_room_and_no_other_is_lost() -> None:
    """The table drops its first rows lazily and removes them in bulk: through many removals, all must stay right."""
    learner = pwm_learner(horizon=700)
    for slot in range(10_000):
        tell(learner, slot, a=1 if slot % 3 else -1)
        learner.close(slot)
        if slot % 7 == 0 and slot >= 700:
            assert learner.receive(Label(slot - 700, 1))
            assert learner.state_of(slot - 700) is State.LABELLED
        if slot % 500 == 0:
            kept = range(max(0, slot - 700), slot + 1)
            labelled = {number for number in kept if number % 7 == 0 and number + 700 <= slot}
            assert learner.pending_slots == [number for number in kept if number not in labelled]
    assert len(learner._fold.slots.numbers) <= 2 * 701 + 1024
    assert len(learner._fold.slots.rows) == len(learner._fold.slots.numbers) == len(learner._fold.slots.marks)


def test_the_votes_of_the_decision_hold_not_those_that_came_while_it_was_under_way() -> None:
    learner, rule = extended(2)
    tell(learner, 1, a=1)
    decision = learner.decide(1)
    tell(learner, 1, b=-1)
    learner.receive(decision)
    learner.receive(Label(1, -1))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([0, 0, 0], [-1, -1, 0])


def test_a_decision_made_before_a_join_stays_synchronous() -> None:
    learner, rule = extended(2)
    tell(learner, 1, a=1, b=1)
    decision = learner.decide(1)
    learner.receive(Join("c", epoch=1))
    learner.receive(decision)
    learner.receive(Label(1, -1))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([-1, -1, -1, 0], [0, 0, 0, 0])


def test_a_decision_made_before_its_only_absentee_left_stays_asynchronous() -> None:
    learner, rule = extended(3)
    tell(learner, 1, a=1, b=1)
    decision = learner.decide(1)
    learner.receive(Leave("c", epoch=1))
    learner.receive(decision)
    learner.receive(Label(1, -1))
    assert (rule.weights_synchronous, rule.weights_asynchronous) == ([0, 0, 0], [-1, -1, -1])


def test_who_left_and_came_back_while_a_decision_was_under_way_has_no_vote_in_it() -> None:
    learner, rule = extended(2)
    tell(learner, 1, a=1, b=1)
    decision = learner.decide(1)
    learner.receive(Leave("b", epoch=1))
    learner.receive(Join("b", epoch=2))
    learner.receive(decision)
    learner.receive(Label(1, -1))
    assert rule.weights_synchronous == [-1, -1, 0]


def test_decisions_that_differ_in_their_votes_alone_conflict() -> None:
    learner = pwm_learner()
    learner.receive(Decision(1, "a", 1, (1, 1)))
    learner.receive(Decision(1, "a", 1, (1, 0)))
    assert learner.counters.conflicting_decisions == 1


def test_former_memberships_are_remembered_for_a_while() -> None:
    learner = pwm_learner(2)
    for change in range(100):
        learner.receive(Join("c") if change % 2 == 0 else Leave("c"))
    assert len(learner.snapshot()["former"]) == 64
    learner.receive(Decision(1, "a", 1, (1, 1), epoch=36))
    with pytest.raises(MessageError, match="is of epoch 35; this learner knows 36 to 100"):
        learner.receive(Decision(2, "a", 1, (1, 1, 1), epoch=35))


def test_a_rule_that_fails_leaves_the_slot_as_it_was() -> None:
    class Failing(PWM):
        def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
            raise RuntimeError("out of order")

    learner = Learner("a", ["a", "b"], Failing(2))
    tell(learner, 1, a=1)
    learner.receive(Label(1, -1))
    before = learner.snapshot()
    with pytest.raises(RuntimeError):
        learner.close(1)
    assert learner.snapshot() == before
    tell(learner, 2, a=1)
    learner.close(2)
    before = learner.snapshot()
    with pytest.raises(RuntimeError):
        learner.receive(Label(2, -1))
    assert learner.snapshot() == before


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Vote(1, "a", 7), "bad vote: value is 7; a vote is -1 or +1"),
        (Vote(1, "a", 0), "bad vote: value is 0"),
        (Vote(1, "a", float("nan")), "bad vote: value is nan"),  # type: ignore[arg-type]
        (Vote(-1, "a", 1), "bad vote: slot is -1"),
        (Vote(2**63, "a", 1), "bad vote: slot is 9223372036854775808"),
        (Vote(True, "a", 1), "bad vote: slot is True"),
        (Vote(1.5, "a", 1), "bad vote: slot is 1.5"),  # type: ignore[arg-type]
        (Vote(1, "zoe", 1), "a vote of 'zoe', who is no member; the members are a, b"),
        (Votes.pack("zoe", 1, [1]), "a batch of votes of 'zoe', who is no member"),
        (Votes(1, 5, "a", b"\x00"), "bad votes: packed is 1 bytes that do not hold 5 votes"),
        (Votes(1, 1, "a", b"\x03"), "bad votes: packed is 1 bytes"),
        (Vote(1, ["a"], 1), "bad vote: learner is ['a']"),  # type: ignore[arg-type]
        (Vote(1, "a", "1"), "bad vote: value is '1'"),  # type: ignore[arg-type]
        (Votes(1, 1, "a", None), "bad votes: packed is no bytes"),  # type: ignore[arg-type]
        (Decision(1, "a", 1, None), "bad decision: votes is None"),  # type: ignore[arg-type]
        (Label(1, 1, learner="zoe"), "a label of 'zoe', who is no member"),
        (Label(1, 0), "bad label: value is 0; a label is -1 or +1"),
        (Label(1, 7), "bad label: value is 7"),
        (Label(1, float("nan")), "bad label: value is nan"),  # type: ignore[arg-type]
        (Decision(1, "a", 1, (1, 2)), "bad decision: votes[1] is 2"),
        (Join("no name at all"), "bad join: learner is 'no name at all'"),
        (Leave("zoe", epoch=1), "'zoe' cannot leave: it is not a member"),
        (Join("c", epoch=0), "bad join: epoch is 0"),
    ],
)
def test_what_others_do_wrong_is_a_remote_error_and_changes_nothing(event: Any, message: str) -> None:
    learner = pwm_learner()
    tell(learner, 1, a=1)
    before = learner.snapshot()
    with pytest.raises(RemoteError) as caught:
        learner.receive(event)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert learner.snapshot() == before


@pytest.mark.parametrize("slot", [3, 2, -1, 2**63, 1.0, "4", None, True])
def test_a_slot_that_goes_backwards_is_refused(slot: Any) -> None:
    learner = pwm_learner()
    learner.close(3)
    before = learner.snapshot()
    with pytest.raises(SlotError) as caught:
        learner.close(slot)
    assert str(slot) in str(caught.value)
    assert learner.snapshot() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"members": []}, "members is empty"),
        ({"members": ["a", "a"]}, "'a' is named twice"),
        ({"members": "ab"}, "members is 'ab'"),
        ({"members": ["a.b"]}, "'a.b' is no learner's name"),
        ({"name": ""}, "'' is no learner's name"),
        ({"rule": PWM(3)}, "the rule is for 3 learners, but 2 members were given"),
        ({"horizon": -1}, "horizon is -1; it must be an integer of at least 0"),
        ({"horizon": 1.5}, "horizon is 1.5"),
        ({"open_slots_max": 0}, "open_slots_max is 0"),
    ],
)
def test_misuse_is_a_local_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(LocalError) as caught:
        Learner(**({"name": "a", "members": ["a", "b"]} | arguments))
    assert message in str(caught.value)


def test_what_is_no_event_is_a_local_error() -> None:
    with pytest.raises(LocalError, match="not dict"):
        pwm_learner().receive({"slot": 1})  # type: ignore[arg-type]
    with pytest.raises(MembersError):
        Learner("a", [1, 2])  # type: ignore[list-item]


def test_the_table_of_life_is_whole() -> None:
    from quorate.learner.fold import Fold

    only_when = {
        Input.HORIZON: {State.CLOSED, State.LABELLED},
        Input.PASSED_OVER: {State.OPEN},
        Input.OVERFLOW: {State.OPEN},
    }
    for state in State:
        for happening in Input:
            if state not in only_when.get(happening, set(State)):
                assert happening not in LIFE[state]
                continue
            _follows, action = LIFE[state][happening]
            assert callable(getattr(Fold, action))


def test_a_rule_is_given_as_it_is_by_its_class_or_by_name() -> None:
    rule = PWM(2)
    assert Learner("a", ["a", "b"], rule).rule is rule
    assert type(Learner("a", ["a", "b"], PWM).rule) is PWM
    assert type(Learner("a", ["a", "b"], "Portfolio").rule) is Portfolio
    assert Learner("a", ["a", "b"], lambda n: PWM(n, bias=False)).rule.n_learners == 2
    for wrong, message in (
        ("PMW", "did you mean 'PWM'"),
        (7, "rule is 7; give a rule"),
        (PWM(3), "for 3 learners"),
        (str, "rule makes '2' of 2 learners; give a rule"),
    ):
        with pytest.raises(LocalError, match=message):
            Learner("a", ["a", "b"], wrong)  # type: ignore[arg-type]
