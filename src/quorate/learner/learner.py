"""The learner: events in, decisions out. No clock, no random numbers, no files, no sockets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

from msgspec import UNSET

from quorate.errors import LocalError, MembersError, MessageError, SlotError
from quorate.events import SLOT_MAX, Decision, Decisions, Event, Join, Label, Labels, Leave, Vote, Votes, fault_of
from quorate.learner import bulk
from quorate.learner.counters import Counters
from quorate.learner.fold import Fold, Watcher
from quorate.learner.inputs import check_limit, checked_slot, chosen_rule
from quorate.learner.life import Input, State
from quorate.learner.membership import Membership, checked_name
from quorate.learner.quick import close, learn, record
from quorate.learner.slots import LABEL_BITS
from quorate.packing import unpack
from quorate.rules import Rule

__all__ = ["Learner"]


class Learner:
    """A member of the ensemble: gathers votes, decides, and learns from labels whenever they come.

    What happens to a slot, and what each event does to it, is the table in `quorate.learner.life`. An event that
    raises changes nothing: a `RemoteError` says that its sender is at fault, a `LocalError` that the caller is.

    Parameters
    ----------
    name
        Its name. It need not be a member: an onlooker decides from the votes of others.
    members
        The names of those who vote, in the order of the rule's weights.
    rule
        How votes become a decision: a rule for as many members, which learns in place, its class or its name. Default:
        `ExtendedPWM`.
    horizon
        How many later slots may be closed before a slot whose label has not come is given up.
    open_slots_max
        How many slots may be open at once. Default: the horizon, but at least 1,024. Votes for more are refused, the
        highest slots first, and counted.

    Examples
    --------
    >>> from quorate import PWM, Label, Learner, Vote
    >>> learner = Learner("paris", members=["paris", "tokyo"], rule=PWM(2), horizon=100)
    >>> for slot in (1, 2):
    ...     _ = learner.receive(Vote(slot, "paris", 1)), learner.receive(Vote(slot, "tokyo", -1))
    ...     print(learner.close(slot))
    Decision(slot=1, learner='paris', value=1, votes=(1, -1))
    Decision(slot=2, learner='paris', value=1, votes=(1, -1))
    >>> learner.receive(Label(2, -1)), learner.receive(Label(1, -1)), learner.receive(Label(9, 1))
    (True, True, False)
    >>> learner.rule.weights
    [-1, -1, 1]
    >>> learner.counters.mistakes, learner.counters.updates, learner.counters.unknown_labels
    (2, 1, 1)
    """

    def __init__(
        self,
        name: str,
        members: Sequence[str],
        rule: Rule | Callable[[int], Rule] | str | None = None,
        horizon: int = 1000,
        open_slots_max: int | None = None,
    ) -> None:
        self._name = checked_name(name)
        membership = Membership(members)
        n_learners = len(membership.members)
        chosen = chosen_rule(rule, n_learners)
        if chosen.n_learners != n_learners:
            raise MembersError(f"the rule is for {chosen.n_learners} learners, but {n_learners} members were given")
        check_limit("horizon", horizon, least=0)
        if open_slots_max is None:
            open_slots_max = max(horizon, 1024)
        check_limit("open_slots_max", open_slots_max, least=1)
        self._fold = Fold(membership, chosen, horizon, open_slots_max)

    # What it is, and how it stands

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def members(self) -> tuple[str, ...]:
        """Who votes, in the order of the rule's weights."""
        return self._fold.membership.members

    @property
    def epoch(self) -> int:
        """How many changes of membership it has seen."""
        return self._fold.membership.epoch

    def was_member(self, name: str) -> bool:
        """Whether somebody was a member at some time, as far as is remembered."""
        return any(name in members for members in self._fold.membership.former.values())

    @property
    def rule(self) -> Rule:
        """The rule, as it has learned so far."""
        return self._fold.rule

    @property
    def horizon(self) -> int:
        """How many later slots may be closed before an unlabelled slot is given up."""
        return self._fold.horizon

    @property
    def open_slots_max(self) -> int:
        """How many slots may be open at once."""
        return self._fold.open_slots_max

    @property
    def counters(self) -> Counters:
        """What happened so far, as a copy."""
        return copy.copy(self._fold.counters)

    @property
    def n_decisions(self) -> int:
        """How many slots were closed so far."""
        return self._fold.counters.decisions

    @property
    def last_closed(self) -> int | None:
        """The slot that was closed last, if any was."""
        return None if self._fold.last_closed < 0 else self._fold.last_closed

    @property
    def closed_until(self) -> int:
        """The slot that was closed last; -1 while none was."""
        return self._fold.last_closed

    @property
    def open_slots(self) -> list[int]:
        """The slots that votes are gathered for, in growing order."""
        return self._fold.slots.numbers[self._fold.slots.first + self._fold.n_closed :].tolist()

    @property
    def pending_slots(self) -> list[int]:
        """The closed slots whose labels are awaited, in growing order."""
        slots, first = self._fold.slots, self._fold.slots.first
        return [
            slots.numbers[at] for at in range(first, first + self._fold.n_closed) if not slots.marks[at] & LABEL_BITS
        ]

    def missing(self, slot: int) -> tuple[str, ...]:
        """Which members have not voted for an open slot: it can be closed when this is empty."""
        votes = self._fold.votes_so_far(checked_slot(slot))
        return tuple(member for member, vote in zip(self.members, votes, strict=True) if not vote)

    def state_of(self, slot: int) -> State:
        """Where a slot is in its life."""
        return self._fold.state(checked_slot(slot))

    # Events in

    def receive(self, event: Event, *, checked: bool = False) -> bool:
        """Take in votes, labels, decisions of its own, or a change of membership.

        Events may come in any order and any number of times.

        Parameters
        ----------
        event
            What has come.
        checked
            Whether it is what `decode` gave, which has looked at every field.

        Returns
        -------
        bool
            True when the event counted; False when it was ignored (the counters tell why).

        Raises
        ------
        RemoteError
            The event cannot be true, or names a stranger. Nothing was changed; go on.
        """
        if isinstance(event, Vote):  # by far the most frequent
            fold, slot, name, value = self._fold, event.slot, event.learner, event.value
            place = fold.membership.place_of.get(name) if type(name) is str else None
            if place is None or type(slot) is not int or not 0 <= slot <= SLOT_MAX or value not in (-1, 1):
                self._check(event)  # slower, but it says what is wrong
                place = fold.membership.place(name, "vote")
            return record(fold, slot, place, value) or fold.step(slot, Input.VOTE, (place, int(value)))
        if isinstance(event, Label) and learn(self._fold, event):
            return True
        if not checked:
            self._check(event)
        match event:
            case Label():
                return self._is_for_me(event) and self._fold.step(event.slot, Input.LABEL, event.value)
            case Labels():
                return self._is_for_me(event) and (
                    bulk.learn_run(self._fold, event.first_slot, event.packed, event.count)
                    or self._fold.steps(Input.LABEL, [(label.slot, label.value) for label in event])
                )
            case Votes():
                place = self._fold.membership.place(event.learner, "batch of votes")
                return bulk.record_run(
                    self._fold, place, event.first_slot, event.packed, event.count
                ) or self._fold.vote_all(place, event.first_slot, unpack(event.packed, event.count))
            case Decision():
                if event.learner != self._name:
                    return False
                self._fold.membership.check_votes(event.slot, event.epoch, len(event.votes))
                self._fold.check_note(event.slot, event.note)
                return self._fold.step(event.slot, Input.CLOSE, event)
            case Decisions():
                return event.learner == self._name and self._close_all(event)
            case Join() | Leave():
                return self._fold.change(event)
        raise LocalError(f"receive takes events of quorate, not {type(event).__name__}")

    def decide(self, slot: int) -> Decision:
        """Give the decision on a slot from the votes so far, changing nothing.

        A runtime that records its decisions in a log uses this, and `receive` on what it reads back there.
        """
        slot = self.checked_next(slot)
        votes = self._fold.votes_so_far(slot)
        value, note = int(self._fold.rule.predict(votes)), self._fold.note(votes)
        return Decision(slot, self._name, value, votes, self.epoch, note=note)

    def decide_complete(self, after: int, most: int) -> Decisions | None:
        """Give the decisions on the slots that come next and lack no vote, changing nothing.

        Slots up to `after` are left alone, and no more than `most` are decided, all consecutive. None where the next
        open slot lacks a vote.
        """
        return bulk.decide_run(self._fold, self._name, after, most)

    def next_open(self, after: int) -> int | None:
        """The open slot with the lowest number after one, if there is any."""
        slots, at = self._fold.slots, self._fold.open_place(after)
        return slots.numbers[at] if at < len(slots.numbers) else None

    def checked_next(self, slot: int) -> int:
        """Refuse a slot that cannot be closed next: one that is not after the last that was."""
        number = checked_slot(slot)
        if number <= self._fold.last_closed:
            raise SlotError(
                f"slot {number} cannot be closed: slot {self._fold.last_closed} was closed before, and slots only grow"
            )
        return number

    def close(self, slot: int) -> Decision:
        """Close a slot: no more votes, and here is the decision.

        Parameters
        ----------
        slot
            A slot after the last one closed. Open slots before it are passed over for ever.

        Raises
        ------
        SlotError
            The slot is not after the last one closed.
        """
        if (closed := close(self._fold, self._name, slot)) is not None:
            return closed
        decision = self.decide(slot)
        self._fold.step(decision.slot, Input.CLOSE, decision)
        return decision

    def watch(self, watcher: Watcher) -> None:
        """Let a watcher be told of every decision, label and change of membership from now on.

        It is not part of a snapshot, and must not give the learner anything to do.
        """
        self._fold.watchers.append(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        """Tell a watcher no more."""
        self._fold.watchers.remove(watcher)

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state, the rule's included, as a JSON-able dict.

        >>> Learner("a", ["a"]).snapshot()["schema"]
        1
        """
        from quorate.learner.snapshot import snapshot

        return snapshot(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any], rule: type[Rule] | None = None) -> Self:
        """Make a learner from its snapshot, to go on exactly where it stood.

        Parameters
        ----------
        snapshot
            What `snapshot` gave.
        rule
            The class of the rule, where it is not one of this package.
        """
        from quorate.learner.snapshot import restore

        return restore(cls, snapshot, rule)

    def _is_for_me(self, label: Label | Labels) -> bool:
        if label.learner is None or label.learner == self._name:
            return True
        self._fold.membership.place(label.learner, "label")
        return False

    def _close_all(self, batch: Decisions) -> bool:
        self._fold.membership.check_votes(batch.first_slot, batch.epoch, batch.n_learners)
        if batch.notes is not UNSET:
            for slot, note in enumerate(batch.each_note(), batch.first_slot):
                self._fold.check_note(slot, note)
        if batch.epoch == self.epoch and bulk.close_run(self._fold, batch):
            return True
        return self._fold.steps(Input.CLOSE, [(decision.slot, decision) for decision in batch])

    def _check(self, event: Event) -> None:
        if reason := fault_of(event):
            raise MessageError(f"bad {type(event).__name__.lower()}: {reason}")
