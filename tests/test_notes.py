"""What a rule noted of a slot travels with the decision: members answer for what they said when it was made."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from quorate import ExtendedPWM, Label, Learner, Portfolio, Vote
from quorate.errors import LocalError, MessageError, SnapshotError
from quorate.events import Decision, Decisions, Event, Votes, decode, encode

NAMES = ["a", "b", "c"]


def runs(n_slots: int, seed: int = 1) -> tuple[Any, Any]:
    """Labels in runs, where the last label is worth much at once and little when it is late."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.cumsum(rng.random(n_slots) < 0.05) % 2 == 0, np.int8(1), np.int8(-1))
    votes = np.where(rng.random((n_slots, 3)) < 0.65, labels[:, None], -labels[:, None]).astype(np.int8)
    return votes, labels


def learner(rule: Any = None) -> Learner:
    return Learner("a", NAMES, rule or Portfolio(3), horizon=500)


def hear(at_work: Learner, slot: int, votes: Any) -> None:
    for name, value in zip(NAMES, votes, strict=True):
        at_work.receive(Vote(slot, name, int(value)))


@pytest.mark.parametrize("lag", [0, 1, 20])
def test_a_decision_that_is_read_back_later_is_learned_as_it_was_made(lag: int) -> None:
    votes, labels = runs(800)
    arrivals = np.arange(800) + lag
    run, at_work = Portfolio(3), learner()
    expected = run.run(votes, labels, arrivals)
    made: list[Decision] = []
    for slot in range(800):
        hear(at_work, slot, votes[slot])
        made.append(at_work.decide(slot))
        if slot >= lag:
            events: list[Event] = [Label(slot - lag, int(labels[slot - lag])), made[slot - lag]]
            for event in events if slot % 2 else reversed(events):  # in any order
                assert at_work.receive(event)
    assert [each.value for each in made] == expected.tolist()
    learned = run.snapshot() if lag == 0 else rule_after(votes, labels, 800 - lag, lag)
    assert at_work.rule.snapshot() == learned


def rule_after(votes: Any, labels: Any, n_learned: int, lag: int) -> dict[str, Any]:
    """What has learned only so many labels, each so late."""
    rule = Portfolio(3)
    notes = []
    for slot in range(n_learned + lag):
        notes.append(rule.note(votes[slot].tolist()))
        if slot >= lag:
            rule.update(votes[slot - lag].tolist(), int(labels[slot - lag]), note=notes[slot - lag])
    return rule.snapshot()


def test_so_are_many_that_were_made_at_once() -> None:
    votes, labels = runs(600)
    one, many = learner(), learner()
    for first in range(0, 600, 20):
        some = range(first, first + 20)
        for place, name in enumerate(NAMES):
            batch = Votes.pack(name, first, [int(vote) for vote in votes[first : first + 20, place]])
            one.receive(batch)
            many.receive(batch)
        made = many.decide_complete(first - 1, 20)
        assert made is not None
        assert list(made) == [one.decide(slot) for slot in some]
        for slot in some:
            many.receive(Label(slot, int(labels[slot])))
        many.receive(made)
        for slot, each in zip(some, list(made), strict=True):
            one.receive(each)
            one.receive(Label(slot, int(labels[slot])))
    assert one.snapshot() == many.snapshot()


def test_labels_that_came_before_the_decision_was_read_back_do_not_make_members_look_better() -> None:
    votes, labels = runs(4000)
    at_work = learner()
    made: list[Decision] = []
    for slot in range(4000):
        hear(at_work, slot, votes[slot])
        made.append(at_work.decide(slot))
        if slot >= 50:
            at_work.receive(Label(slot - 50, int(labels[slot - 50])))
            at_work.receive(made[slot - 50])
    wrong = np.mean([each.value != label for each, label in zip(made, labels, strict=True)])
    majority = np.mean(np.where(votes.sum(axis=1) >= 0, 1, -1) != labels)
    assert wrong < majority + 0.03 < 0.35
    assert at_work.rule.explain()["last label"] < 0.05  # type: ignore[attr-defined]


def test_a_decision_has_a_note_where_the_rule_takes_one() -> None:
    noted, plain = learner(), learner(ExtendedPWM(3))
    for at_work in noted, plain:
        hear(at_work, 1, (1, 1, -1))
    note = Portfolio(3).note([1, 1, -1])
    assert noted.decide(1).note == noted.close(1).note == note
    assert plain.decide(1).note is plain.close(1).note is msgspec.UNSET
    hear(noted, 5, (1, 1, -1))
    noted.receive(Label(5, 1))  # closed the long way
    assert noted.close(5).note == note


def test_notes_go_over_the_wire() -> None:
    one = Decision(7, "a", 1, (1, 0, -1), note=11184789)
    assert decode(encode(one)) == one
    both = Decisions.pack([one, Decision(8, "a", -1, (1, 1, 1), note=2**32 - 1)])
    assert [each.note for each in decode(encode(both))] == [11184789, 2**32 - 1]  # type: ignore[union-attr]
    with pytest.raises(LocalError, match="does not follow"):
        Decisions.pack([one, Decision(8, "a", -1, (1, 1, 1))])


@pytest.mark.parametrize("note", [-1, 2**32, True, 1.0, "1"])
def test_a_note_of_more_than_32_bits_is_no_note(note: Any) -> None:
    with pytest.raises(LocalError, match="note is"):
        encode(Decision(7, "a", 1, (1,), note=note))


@pytest.mark.parametrize("notes", [b"", b"1234567", "12345678"])
def test_a_batch_has_a_note_for_each_decision_or_none(notes: Any) -> None:
    batch = Decisions.pack([Decision(7, "a", 1, (1,)), Decision(8, "a", 1, (1,))])
    with pytest.raises(LocalError, match="notes"):
        encode(msgspec.structs.replace(batch, notes=notes))


def test_a_note_that_the_rule_cannot_have_taken_is_the_senders_fault() -> None:
    at_work = learner()
    for slot in (1, 2):
        hear(at_work, slot, (1, 1, -1))
    before = at_work.snapshot()
    bad = Decision(1, "a", 1, (1, 1, -1), note=3)
    for event in bad, Decisions.pack([bad, Decision(2, "a", 1, (1, 1, -1), note=0)]):
        with pytest.raises(MessageError, match="note 3"):
            at_work.receive(event)
    assert at_work.snapshot() == before


def test_decisions_of_a_log_without_notes_are_learned_as_they_are_read() -> None:
    at_work = learner()
    hear(at_work, 1, (1, 1, -1))
    at_work.receive(Decision(1, "a", 1, (1, 1, -1)))
    at_work.receive(Label(1, -1))
    rule = Portfolio(3)
    rule.update([1, 1, -1], -1)
    assert at_work.rule.snapshot() == rule.snapshot()


def test_a_note_no_rule_took_is_refused_in_a_snapshot() -> None:
    at_work = learner()
    hear(at_work, 1, (1, 1, -1))
    at_work.close(1)
    snapshot = at_work.snapshot()
    for note in 3, 2**30:
        snapshot["slots"]["notes"] = [note]
        with pytest.raises(SnapshotError, match=f"note {note}"):
            Learner.restore(snapshot)


def test_who_left_in_between_changes_no_note() -> None:
    from quorate import Leave

    at_work, alike = learner(), learner()
    for each in at_work, alike:
        hear(each, 1, (1, 1, -1))
    decision = at_work.decide(1)
    alike.receive(decision)
    for each in at_work, alike:
        each.receive(Leave("c", epoch=1))
    at_work.receive(decision)
    for each in at_work, alike:
        each.receive(Label(1, -1))
    assert at_work.rule.snapshot() == alike.rule.snapshot()
