"""The fold: the state a learner keeps, and what each line of the table of life does to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import UNSET, UnsetType

from quorate.errors import MessageError
from quorate.events import Decision, Join, Leave
from quorate.learner.counters import Counters
from quorate.learner.life import LIFE, Input, State
from quorate.learner.membership import Membership
from quorate.learner.slots import CLOSED, DECIDED_PLUS, LABEL_BITS, SYNCHRONOUS, Slots
from quorate.rules import NotingRule, Rule

__all__ = ["Fold", "Watcher"]


class Watcher(Protocol):
    """Who is told what a learner does, right after it did it."""

    def on_decision(self, stale: bool) -> None:
        """A slot was closed; stale where the rule, as it is now, would not have decided so."""

    def on_label(
        self, votes: tuple[int, ...], label: int, synchronous: bool, decision: int, changed: bool, waiting: int
    ) -> None:
        """A label was learned: what was voted and decided, whether weights changed, how many slots were waiting."""

    def on_change(self, change: Join | Leave, place: int) -> None:
        """The learner at this place joined, or left it."""


class Fold:
    """A learner's state, changed only by checked inputs.

    Parameters
    ----------
    membership
        Who votes.
    rule
        How votes become a decision.
    horizon
        How many later slots may be closed before a closed slot is given up.
    open_slots_max
        How many slots may be open at once.

    Examples
    --------
    >>> from quorate.rules import PWM
    >>> fold = Fold(Membership(["a"]), PWM(1), horizon=0, open_slots_max=1)
    >>> fold.step(5, Input.VOTE, (0, 1)), fold.state(5)
    (True, <State.OPEN: 'votes are gathered'>)
    """

    def __init__(self, membership: Membership, rule: Rule, horizon: int, open_slots_max: int) -> None:
        self.membership = membership
        self.rule = rule
        self.horizon = horizon
        self.open_slots_max = open_slots_max
        self.slots = Slots(len(membership.members), noted=isinstance(rule, NotingRule))
        self.noting = rule if isinstance(rule, NotingRule) else None
        self.n_closed = 0  # of the slots kept, how many are closed
        self.last_closed = -1
        self.counters = Counters()
        self.watchers: list[Watcher] = []

    def state(self, slot: int) -> State:
        """Where a slot is in its life."""
        return self._state(slot, self.slots.find(slot))

    def _state(self, slot: int, at: int | None) -> State:
        if at is None:
            return State.PAST if slot <= self.last_closed else State.UNSEEN
        mark = self.slots.marks[at]
        if not mark & CLOSED:
            return State.OPEN
        return State.LABELLED if mark & LABEL_BITS else State.CLOSED

    def votes_so_far(self, slot: int) -> tuple[int, ...]:
        """The votes of a slot, 0 for who has not voted."""
        at = self.slots.find(slot)
        return (0,) * len(self.membership.members) if at is None else self.slots.votes(at)

    def note(self, votes: tuple[int, ...]) -> int | UnsetType:
        """What the rule notes of a slot that is decided now, if it takes notes."""
        return UNSET if self.noting is None else self.noting.note(votes)

    def check_note(self, slot: int, note: int | UnsetType) -> None:
        """Refuse a note that the rule cannot have taken."""
        if self.noting is not None and note is not UNSET and not self.noting.is_note(note):
            raise MessageError(f"the decision on slot {slot} has the note {note}, which its rule cannot have taken")

    def open_place(self, after: int) -> int:
        """Where the open slots after a slot begin."""
        return max(self.slots.place(after + 1), self.slots.first + self.n_closed)

    def change(self, change: Join | Leave) -> bool:
        """Make a change of membership, unless it was made."""
        if not self.membership.is_new(change):
            self.counters.duplicate_changes += 1
            return False
        if isinstance(change, Join):
            place = len(self.membership.members)
            self.rule.join()
            self.slots.add_member()
        else:
            place = self.membership.place_of[change.learner]
            self.rule.leave(place)
            self.slots.remove_member(place)
        self.membership.apply(change)
        for watcher in self.watchers:
            watcher.on_change(change, place)
        return True

    def step(self, slot: int, happening: Input, value: Any) -> bool:
        """Let something happen to a slot, as the table of life says; True when it counted."""
        at = self.slots.find(slot)
        _, action = LIFE[self._state(slot, at)][happening]
        acted: bool = getattr(self, action)(slot, at, value)
        return acted

    def steps(self, happening: Input, what: Iterable[tuple[int, Any]]) -> bool:
        """Let the same happen to slots one after the other; True when it counted for any."""
        counted = 0
        for slot, value in what:
            counted += self.step(slot, happening, value)
        return counted > 0

    def vote_all(self, place: int, first_slot: int, values: Iterable[int]) -> bool:
        """Let a member vote on consecutive slots, or abstain where there is a 0; True when any counted."""
        counted = 0
        for slot, value in enumerate(values, first_slot):
            if value:
                counted += self.step(slot, Input.VOTE, (place, value))
            else:
                counted += self.step(slot, Input.ABSTENTION, None)
        return counted > 0

    def _open_and_record(self, slot: int, at: int | None, vote: tuple[int, int]) -> bool:
        return self._open(slot, at, None) and self._record(slot, self.slots.place(slot), vote)

    def _open(self, slot: int, at: int | None, _: None) -> bool:
        if len(self.slots) - self.n_closed >= self.open_slots_max:
            highest = self.slots.numbers[-1]
            if slot > highest:
                self.counters.overflowed_slots += 1
                return False
            self.step(highest, Input.OVERFLOW, None)
        self.slots.insert(slot)
        return True

    def _ignore(self, slot: int, at: int | None, _: None) -> bool:
        return False

    def _give_up(self, slot: int, at: int, _: None) -> bool:
        self.counters.overflowed_slots += 1
        return self._drop_open(at, at + 1)

    def _pass_over(self, slot: int, at: int, _: None) -> bool:
        """Drop an open slot and all open ones before it: those that come before the one that is closed."""
        first = self.slots.first + self.n_closed
        self.counters.skipped_slots += at + 1 - first
        return self._drop_open(first, at + 1)

    def _drop_open(self, at: int, end: int) -> bool:
        self.counters.lost_labels += sum(1 for mark in self.slots.marks[at:end] if mark & LABEL_BITS)
        self.slots.delete(at, end)
        return True

    def _record(self, slot: int, at: int, vote: tuple[int, int]) -> bool:
        place, value = vote
        first = self.slots.vote(at, place)
        if first == 0:
            self.slots.set_vote(at, place, value)
        elif first == value:
            self.counters.duplicate_votes += 1
        else:
            self.counters.conflicting_votes += 1
        return first == 0

    def _hold_label(self, slot: int, at: int, label: int) -> bool:
        if self.slots.label(at):
            return self._compare_label(slot, at, label)
        self.slots.set_label(at, label)
        return True

    def _open_and_close(self, slot: int, at: int | None, decision: Decision) -> bool:
        self._pass_over_before(slot)
        return self._close(slot, self.slots.insert(slot), decision)

    def _close(self, slot: int, at: int, decision: Decision) -> bool:
        slots = self.slots
        votes = self.membership.as_of_now(decision)
        synchronous = 0 not in decision.votes
        stale = bool(self.watchers) and (synchronous != (0 not in votes) or self.rule.predict(votes) != decision.value)
        note = decision.note if decision.note is not UNSET else self.note(votes)  # as it was decided, or read
        if label := slots.label(at):  # first: a rule that raises leaves the slot open
            self._update(votes, label, synchronous, decision.value, closing=True, note=note)
        self._pass_over_before(slot)
        at = slots.first + self.n_closed
        if votes != slots.votes(at):  # those of the decision hold, not what came while it was under way
            slots.set_votes(at, votes)
        if slots.notes is not None and note is not UNSET:
            slots.notes[at] = note
        slots.marks[at] |= CLOSED | SYNCHRONOUS * synchronous | DECIDED_PLUS * (decision.value == 1)
        self.n_closed += 1
        self.last_closed = slot
        self.counters.decisions += 1
        for watcher in self.watchers:
            watcher.on_decision(stale)
        if self.n_closed > self.horizon + 1:
            self.step(slots.numbers[slots.first], Input.HORIZON, None)
        return True

    def _pass_over_before(self, slot: int) -> None:
        before = self.slots.last_before(slot)
        if before is not None and before > self.last_closed:
            self.step(before, Input.PASSED_OVER, None)

    def _learn(self, slot: int, at: int, label: int) -> bool:
        return self.learn(at, label)

    def learn(self, at: int, label: int) -> bool:
        """Learn the label of the closed slot that is kept at a place, and has none."""
        slots = self.slots
        mark = slots.marks[at]
        note = UNSET if slots.notes is None else slots.notes[at]
        self._update(slots.votes(at), label, mark & SYNCHRONOUS != 0, 1 if mark & DECIDED_PLUS else -1, note=note)
        slots.set_label(at, label)
        return True

    def _update(
        self,
        votes: tuple[int, ...],
        label: int,
        synchronous: bool,
        decision: int,
        closing: bool = False,
        note: int | UnsetType = UNSET,
    ) -> None:
        if self.noting is not None and note is not UNSET:
            changed = self.noting.update(votes, label, synchronous=synchronous, note=note)
        elif synchronous == (0 not in votes):
            changed = self.rule.update(votes, label)
        else:
            changed = self.rule.update(votes, label, synchronous=synchronous)
        counters = self.counters
        counters.labels += 1
        if changed:
            counters.updates += 1
        if label != decision:
            counters.mistakes += 1
        for watcher in self.watchers:
            waiting = counters.decisions - counters.labels - counters.expired_slots + 1 + closing
            watcher.on_label(votes, label, synchronous, decision, changed, waiting)

    def _expire(self, slot: int, at: int, _: None) -> bool:
        self.counters.expired_slots += 1
        return self._forget(slot, at, _)

    def _forget(self, slot: int, at: int, _: None) -> bool:
        self.slots.drop_first()
        self.n_closed -= 1
        return True

    def _count_late_vote(self, slot: int, at: int | None, vote: tuple[int, int]) -> bool:
        self.counters.late_votes += 1
        return False

    def _count_unknown_label(self, slot: int, at: int | None, label: int) -> bool:
        self.counters.unknown_labels += 1
        return False

    def _compare_label(self, slot: int, at: int, label: int) -> bool:
        if self.slots.label(at) == label:
            self.counters.duplicate_labels += 1
        else:
            self.counters.conflicting_labels += 1
        return False

    def _compare_decision(self, slot: int, at: int, decision: Decision) -> bool:
        value = 1 if self.slots.marks[at] & DECIDED_PLUS else -1
        if decision.value == value and self.membership.as_of_now(decision) == self.slots.votes(at):
            self.counters.duplicate_decisions += 1
        else:
            self.counters.conflicting_decisions += 1
        return False

    def _count_duplicate_decision(self, slot: int, at: int | None, decision: Decision) -> bool:
        self.counters.duplicate_decisions += 1
        return False
