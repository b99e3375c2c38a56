"""Many slots in one message: a node packs what has gathered while it was busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from quorate.events import Decision, Decisions, Event, Label, Labels, Vote, Votes

__all__ = ["BATCH", "batched"]

#: Events that are appended at once, and slots that one message covers, at the most.
BATCH = 512

EventT = TypeVar("EventT", Vote, Decision, Label)


def batched(events: Sequence[Event], most: int = BATCH) -> list[Event]:
    """Pack what is alike and on consecutive slots into one message each: votes, then decisions, then labels.

    The order among one node's votes and decisions is of no matter. A label must not come before the vote that opens
    its slot, and so it comes last.

    >>> some = [Vote(1, "a", 1), Label(1, 1), Vote(2, "a", -1), Vote(4, "a", 1)]
    >>> [type(event).__name__ for event in batched(some)]
    ['Votes', 'Vote', 'Label']
    """
    votes = _packed(
        [event for event in events if isinstance(event, Vote)],
        lambda run: Votes.pack(run[0].learner, run[0].slot, [vote.value for vote in run]),
        most,
    )
    decisions = _packed([event for event in events if isinstance(event, Decision)], Decisions.pack, most)
    decisions += [event for event in events if isinstance(event, Decisions)]
    decisions.sort(key=lambda made: made.first_slot if isinstance(made, Decisions) else made.slot)  # type: ignore[union-attr]
    labels = _packed(
        [event for event in events if isinstance(event, Label)],
        lambda run: Labels.pack(run[0].slot, [label.value for label in run], run[0].learner),
        most,
    )
    others = [event for event in events if not isinstance(event, Vote | Decision | Decisions | Label)]
    return [*others, *votes, *decisions, *labels]


def _packed(events: list[EventT], pack: Callable[[list[EventT]], Event], most: int) -> list[Event]:
    return [run[0] if len(run) == 1 else pack(run) for run in _runs(events, most)]


def _runs(events: list[EventT], most: int) -> Iterator[list[EventT]]:
    """Events on consecutive slots with all else alike, together."""
    run: list[EventT] = []
    for event in events:
        if run and (len(run) == most or event.slot != run[-1].slot + 1 or _rest(event) != _rest(run[0])):
            yield run
            run = []
        run.append(event)
    if run:
        yield run


def _rest(event: Vote | Decision | Label) -> tuple[str | None, int, int, int]:
    if isinstance(event, Decision):
        return event.learner, event.epoch, event.at, len(event.votes)
    return event.learner, 0, 0, 0
