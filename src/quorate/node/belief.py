"""What a node makes of what it is told: which slots it believes in, and which labels are news."""

from __future__ import annotations

from quorate.events import Event, Label, Labels
from quorate.learner import Learner, State
from quorate.node.voter import Voter

__all__ = ["is_believed", "unlabelled"]


def is_believed(learner: Learner, slot: int, frontier: int, seen: int) -> bool:
    """Whether a slot that some have not voted on may be decided when its time is over.

    To decide a slot is to pass over all before it, for ever, so that one vote on a far slot must not do. It may be
    decided where two have voted on it, or it is near the last one that was decided or that the node's own source gave.

    Parameters
    ----------
    learner, slot
        Whose slot.
    frontier
        The last slot that is decided.
    seen
        The last slot that the node's own source has given.

    Examples
    --------
    >>> from quorate import Vote
    >>> learner = Learner("a", ["a", "b", "c"])
    >>> _ = learner.receive(Vote(7, "c", 1)), learner.receive(Vote(10**15, "c", 1))
    >>> is_believed(learner, 7, frontier=3, seen=3), is_believed(learner, 10**15, frontier=3, seen=3)
    (True, False)
    """
    n_votes = len(learner.members) - len(learner.missing(slot))
    return slot <= max(frontier, seen) + learner.open_slots_max or n_votes > 1


def unlabelled(learner: Learner, voter: Voter | None, event: Event | None) -> set[int]:
    """Of labels that a model could learn, the slots that have none yet."""
    if voter is None or not voter.model.learns or not isinstance(event, Label | Labels):
        return set()
    slots = [event.slot] if isinstance(event, Label) else range(event.first_slot, event.first_slot + event.count)
    return {slot for slot in slots if learner.state_of(slot) in (State.OPEN, State.CLOSED)}
