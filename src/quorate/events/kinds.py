"""What learners tell each other: votes, labels, decisions and membership, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from quorate.errors import LocalError
from quorate.packing import CODE_OF, pack, unpack

__all__ = ["WIRE_VERSION", "Decision", "Event", "Join", "Label", "Leave", "Vote", "Votes"]

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
        values = list(values)
        for place, value in enumerate(values):
            if type(value) is not int or value not in CODE_OF:
                raise LocalError(f"Votes.pack: values[{place}] is {value!r}; votes are -1, 0 or +1")
        return cls(first_slot, len(values), learner, pack(values))

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
    v: int = WIRE_VERSION


class Join(msgspec.Struct, frozen=True, tag_field="type", tag="join", repr_omit_defaults=True):
    """A learner becomes a member, with weight 0.

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


Event: TypeAlias = Vote | Votes | Label | Decision | Join | Leave
