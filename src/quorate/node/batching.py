"""Many slots in one message: a node packs what has gathered while it was busy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, groupby

from msgspec import UNSET

from quorate.events import Decision, Decisions, Event, Join, Label, Labels, Leave, Vote, Votes
from quorate.packing import unpack

__all__ = ["BATCH", "batched", "runs"]

#: Events that are appended at once, and slots that one message covers, at the most.
BATCH = 512


def batched(events: Sequence[Event], most: int = BATCH) -> list[Event]:
    """Pack what is alike and on consecutive slots into one message each: votes, then decisions, then labels.

    The order among one node's votes and decisions is of no matter. A label must not come before the vote that opens
    its slot, and so it comes last.

    >>> some = [Vote(1, "a", 1), Label(1, 1), Vote(2, "a", -1), Vote(4, "a", 1)]
    >>> [type(event).__name__ for event in batched(some)]
    ['Votes', 'Vote', 'Label']
    """
    votes = _merged([event for event in events if isinstance(event, Vote | Votes)], most)
    decisions: list[Event] = []
    alike: list[Decision] = []
    for event in events:
        if isinstance(event, Decision):
            if alike and (len(alike) == most or event.slot != alike[-1].slot + 1 or _rest(event) != _rest(alike[0])):
                decisions.append(_decisions(alike))
                alike = []
            alike.append(event)
    if alike:
        decisions.append(_decisions(alike))
    decisions += [event for event in events if isinstance(event, Decisions)]
    decisions.sort(key=lambda made: made.first_slot if isinstance(made, Decisions) else made.slot)  # type: ignore[union-attr]
    labels = _merged([event for event in events if isinstance(event, Label | Labels)], most)
    others = [event for event in events if isinstance(event, Join | Leave)]
    return [*others, *votes, *decisions, *labels]


def runs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Values on slots, those on consecutive slots together: the first slot, and the values.

    >>> runs([(1, 1), (2, -1), (7, 1)])
    [(1, [1, -1]), (7, [1])]
    """
    found: list[tuple[int, list[int]]] = []
    after = -1
    for slot, value in pairs:
        if slot != after:
            found.append((slot, []))
        found[-1][1].append(value)
        after = slot + 1
    return found


def _merged(events: Sequence[Vote | Votes | Label | Labels], most: int) -> list[Event]:
    """Votes, or labels, those on consecutive slots together."""
    if len(events) == 1 and isinstance(events[0], Votes | Labels) and 1 < events[0].count <= most:
        return [events[0]]
    made: list[Event] = []
    for learner, some in groupby(events, lambda event: event.learner):
        pairs = chain.from_iterable(_pairs(event) for event in some)
        for first, values in runs(pairs):
            made += _cut(events[0], learner, first, values, most)
    return made


def _pairs(event: Vote | Votes | Label | Labels) -> Iterable[tuple[int, int]]:
    if isinstance(event, Votes | Labels):
        return enumerate(unpack(event.packed, event.count), event.first_slot)
    return [(event.slot, event.value)]


def _cut(
    like: Vote | Votes | Label | Labels, learner: str | None, first: int, values: list[int], most: int
) -> list[Event]:
    """Values on consecutive slots as messages that are not too long."""
    made: list[Event] = []
    for start in range(0, len(values), most):
        slot, some = first + start, values[start : start + most]
        if learner is None or isinstance(like, Label | Labels):
            made.append(Label(slot, some[0], learner) if len(some) == 1 else Labels.pack(slot, some, learner))
        else:
            alone = len(some) == 1 and some[0] != 0  # an abstention has no other form than the 0 in a batch
            made.append(Vote(slot, learner, some[0]) if alone else Votes.pack(learner, slot, some))
    return made


def _decisions(alike: list[Decision]) -> Event:
    return alike[0] if len(alike) == 1 else Decisions.pack(alike)


def _rest(event: Decision) -> tuple[str, int, int, int, bool]:
    return event.learner, event.epoch, event.at, len(event.votes), event.note is UNSET
