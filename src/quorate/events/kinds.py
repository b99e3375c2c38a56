"""What learners tell each other: votes, labels, decisions and membership, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from quorate.errors import LocalError
from quorate.packing import CODE_OF, bytes_needed, pack, pack_notes, unpack, unpack_notes

__all__ = ["WIRE_VERSION", "Decision", "Decisions", "Event", "Join", "Label", "Labels", "Leave", "Vote", "Votes"]

#: The version of the wire form this release writes, and the newest it reads.
WIRE_VERSION = 1


class Vote(msgspec.Struct, frozen=True, tag_field="type", tag="vote", repr_omit_defaults=True):
    """A learner's local prediction for one slot.

    Parameters
    ----------
    slot
        The event that is classified.
    learner
        Who votes.
    value
        -1 or +1. Not voting is abstaining: an abstention is never sent.

    Examples
    --------
    >>> from quorate.events import encode
    >>> encode(Vote(slot=1, learner="tokyo", value=-1))
    b'{"type":"vote","slot":1,"learner":"tokyo","value":-1,"v":1}'
    """

    slot: int
    learner: str
    value: int
    v: int = WIRE_VERSION

    def __iter__(self) -> Iterator[Vote]:
        # As a batch of one: who reads votes need not ask how they came.
        yield self


class Votes(msgspec.Struct, frozen=True, tag_field="type", tag="votes", repr_omit_defaults=True):
    """One learner's votes for consecutive slots, packed two bits each.

    Parameters
    ----------
    first_slot
        The slot of the first vote.
    count
        How many consecutive slots are covered, abstentions included.
    learner
        Who votes.
    packed
        The votes, as `quorate.packing.pack` packs them.

    Examples
    --------
    >>> batch = Votes.pack("tokyo", 10, [1, 0, -1])
    >>> list(batch)
    [Vote(slot=10, learner='tokyo', value=1), Vote(slot=12, learner='tokyo', value=-1)]
    >>> from quorate.events import encode
    >>> encode(batch)
    b'{"type":"votes","first_slot":10,"count":3,"learner":"tokyo","packed":"IQ==","v":1}'
    """

    first_slot: int
    count: int
    learner: str
    packed: bytes
    v: int = WIRE_VERSION

    @classmethod
    def pack(cls, learner: str, first_slot: int, values: Iterable[int]) -> Votes:
        """Pack the votes of `learner` for consecutive slots; 0 stands for an abstention."""
        count, packed = _packed("Votes", values)
        return cls(first_slot, count, learner, packed)

    def __iter__(self) -> Iterator[Vote]:
        for slot, value in enumerate(unpack(self.packed, self.count), self.first_slot):
            if value:
                yield Vote(slot, self.learner, value)


class Label(msgspec.Struct, frozen=True, tag_field="type", tag="label", repr_omit_defaults=True):
    """The truth about one slot.

    Parameters
    ----------
    slot
        The event that was classified.
    value
        -1 or +1.
    learner
        Whom it is addressed to; None, the default, for all.

    Examples
    --------
    >>> from quorate.events import decode
    >>> decode(b'{"type":"label","slot":7,"value":1,"v":1,"a field of tomorrow":0}')
    Label(slot=7, value=1)
    """

    slot: int
    value: int
    learner: str | None = None
    v: int = WIRE_VERSION

    def __iter__(self) -> Iterator[Label]:
        yield self


class Labels(msgspec.Struct, frozen=True, tag_field="type", tag="labels", repr_omit_defaults=True):
    """The truth about consecutive slots, packed two bits each.

    Parameters
    ----------
    first_slot
        The slot of the first label.
    count
        How many consecutive slots are covered, those without a label included.
    packed
        The labels, as `quorate.packing.pack` packs them; 0 for none.
    learner
        Whom they are addressed to; None, the default, for all.

    Examples
    --------
    >>> list(Labels.pack(10, [1, 0, -1]))
    [Label(slot=10, value=1), Label(slot=12, value=-1)]
    """

    first_slot: int
    count: int
    packed: bytes
    learner: str | None = None
    v: int = WIRE_VERSION

    @classmethod
    def pack(cls, first_slot: int, values: Iterable[int], learner: str | None = None) -> Labels:
        """Pack labels of consecutive slots; 0 stands for none."""
        count, packed = _packed("Labels", values)
        return cls(first_slot, count, packed, learner)

    def __iter__(self) -> Iterator[Label]:
        for slot, value in enumerate(unpack(self.packed, self.count), self.first_slot):
            if value:
                yield Label(slot, value, self.learner)


class Decision(msgspec.Struct, frozen=True, tag_field="type", tag="decision", repr_omit_defaults=True):
    """A learner's final prediction for one slot, with the votes it was made from.

    Parameters
    ----------
    slot
        The event that is classified.
    learner
        Who decided.
    value
        -1 or +1.
    votes
        The votes it was made from, one a member in the order of membership, 0 for an abstention.
    epoch
        How many changes of membership the learner had seen: it says who the members were.
    at
        The place in the log up to which it had read when it decided, so that an audit can decide again; 0 where
        there was no log.
    note
        What the learner's rule noted when it decided, for a rule that is told it again with the label
        (`quorate.rules.NotingRule`): a number of 32 bits; left out by others.

    Examples
    --------
    >>> Decision(slot=1, learner="paris", value=1, votes=(0, -1, 0))
    Decision(slot=1, learner='paris', value=1, votes=(0, -1, 0))
    """

    slot: int
    learner: str
    value: int
    votes: tuple[int, ...]
    epoch: int = 0
    at: int = 0
    note: int | msgspec.UnsetType = msgspec.UNSET
    v: int = WIRE_VERSION

    def __iter__(self) -> Iterator[Decision]:
        yield self


class Decisions(msgspec.Struct, frozen=True, tag_field="type", tag="decisions", repr_omit_defaults=True):
    """One learner's decisions on consecutive slots, with the votes they were made from, packed two bits each.

    Parameters
    ----------
    first_slot
        The slot of the first decision.
    count
        How many consecutive slots are decided.
    learner
        Who decided.
    packed
        The decisions, as `quorate.packing.pack` packs them.
    n_learners
        How many members there were.
    votes
        The votes, those of each slot packed by themselves.
    epoch, at
        As for `Decision`.
    notes
        The notes, as `quorate.packing.pack_notes` packs them; left out where a rule takes none.

    Examples
    --------
    >>> both = Decisions.pack([Decision(4, "paris", 1, (0, 1)), Decision(5, "paris", -1, (-1, 1))])
    >>> list(both)[1]
    Decision(slot=5, learner='paris', value=-1, votes=(-1, 1))
    """

    first_slot: int
    count: int
    learner: str
    packed: bytes
    n_learners: int
    votes: bytes
    epoch: int = 0
    at: int = 0
    notes: bytes | msgspec.UnsetType = msgspec.UNSET
    v: int = WIRE_VERSION

    @classmethod
    def pack(cls, decisions: Iterable[Decision]) -> Decisions:
        """Pack decisions of one learner on consecutive slots in one epoch."""
        some = list(decisions)
        if not some:
            raise LocalError("Decisions.pack: there are no decisions")
        first = some[0]
        for place, each in enumerate(some):
            like = (each.slot - place, each.learner, each.epoch, each.at, len(each.votes))
            is_alike = like == (first.slot, first.learner, first.epoch, first.at, len(first.votes))
            if not is_alike or (each.note is msgspec.UNSET) != (first.note is msgspec.UNSET):
                raise LocalError(
                    f"Decisions.pack: {each!r} does not follow {first!r}; slots must be consecutive, the rest alike"
                )
        count, packed = _packed("Decisions", [each.value for each in some])
        rows = b"".join(pack(each.votes) for each in some)
        noted = [each.note for each in some if each.note is not msgspec.UNSET]
        notes = pack_notes(noted) if noted else msgspec.UNSET
        return cls(first.slot, count, first.learner, packed, len(first.votes), rows, first.epoch, first.at, notes)

    def __iter__(self) -> Iterator[Decision]:
        width, notes = bytes_needed(self.n_learners), self.each_note()
        for place, (value, note) in enumerate(zip(unpack(self.packed, self.count), notes, strict=True)):
            votes = unpack(self.votes[place * width : (place + 1) * width], self.n_learners)
            yield Decision(self.first_slot + place, self.learner, value, votes, self.epoch, self.at, note)

    def each_note(self) -> Sequence[int | msgspec.UnsetType]:
        """The note of each decision."""
        return (msgspec.UNSET,) * self.count if self.notes is msgspec.UNSET else unpack_notes(self.notes)


class Join(msgspec.Struct, frozen=True, tag_field="type", tag="join", repr_omit_defaults=True):
    """A learner becomes a member, with the weight that the rule gives a newcomer (`Rule.join`).

    Parameters
    ----------
    learner
        Who joins.
    epoch
        The number of this change in the ensemble's history, from 1. It makes a redelivery harmless: a change
        that was made before is passed over. Without it the change is made as it comes.

    Examples
    --------
    >>> from quorate.events import encode
    >>> encode(Join("lima", epoch=1))
    b'{"type":"join","learner":"lima","epoch":1,"v":1}'
    """

    learner: str
    epoch: int | None = None
    v: int = WIRE_VERSION


class Leave(msgspec.Struct, frozen=True, tag_field="type", tag="leave", repr_omit_defaults=True):
    """A learner ceases to be a member; its weight is forgotten.

    Parameters
    ----------
    learner
        Who leaves.
    epoch
        As for `Join`.

    Examples
    --------
    >>> from quorate.events import encode
    >>> encode(Leave("lima", epoch=2))
    b'{"type":"leave","learner":"lima","epoch":2,"v":1}'
    """

    learner: str
    epoch: int | None = None
    v: int = WIRE_VERSION


Event: TypeAlias = Vote | Votes | Label | Labels | Decision | Decisions | Join | Leave


def _packed(what: str, values: Iterable[int]) -> tuple[int, bytes]:
    """Pack -1, 0 and +1, or say which is none of them."""
    values = list(values)
    for place, value in enumerate(values):
        if type(value) is not int or value not in CODE_OF:
            raise LocalError(f"{what}.pack: values[{place}] is {value!r}; {what.lower()} are -1, 0 or +1")
    return len(values), pack(values)
