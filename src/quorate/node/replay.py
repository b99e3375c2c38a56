"""The audit: fold the log again, from its beginning, and see what a learner must have become."""

from __future__ import annotations

from quorate.errors import RemoteError
from quorate.events import Decision, Decisions
from quorate.learner import Learner
from quorate.log import Entry, Log

__all__ = ["Replay", "applied", "decided", "is_another_s", "replay"]


def applied(learner: Learner, entry: Entry) -> tuple[bool, str | None]:
    """Give an entry to a learner: whether it counted, and why it could not be used. Nodes and audits fold with this.

    >>> applied(Learner("a", ["a"]), Entry(1, None, "random bytes"))
    (False, 'random bytes')
    """
    if is_another_s(learner, entry):
        return False, None
    event = entry.event
    if event is None:
        return False, entry.fault or ""
    try:
        return learner.receive(event, checked=True), None
    except RemoteError as error:
        return False, str(error)


def is_another_s(learner: Learner, entry: Entry) -> bool:
    """Whether these are decisions of another member, nearly half of what is read: it is for that one to look at them.

    Those of strangers are looked at, as what is amiss with them nobody else would count.

    >>> is_another_s(Learner("a", ["a", "b"]), Entry(1, Decision(1, "b", 1, (1, 1))))
    True
    """
    by = entry.decided_by
    return by is not None and by != learner.name and (by in learner.members or learner.was_member(by))


def decided(learner: Learner, entry: Entry, frontier: int) -> list[Decision]:
    """The decisions of a learner in an entry that counted, where all up to a slot were decided before."""
    event = entry.event
    if not isinstance(event, Decision | Decisions) or event.learner != learner.name:
        return []
    return [made for made in event if made.slot > frontier]


class Replay:
    """What the log makes of a learner.

    Parameters
    ----------
    learner
        The learner, which has not begun; it is the one that is folded.

    Attributes
    ----------
    learner, faults, position
        As a node's.
    decisions
        What it decided, by slot; the first decision on a slot is the one that counts.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.faults = 0
        self.position = 0
        self.decisions: dict[int, Decision] = {}


async def replay(log: Log, learner: Learner, until: int | None = None) -> Replay:
    """Fold a log into a learner that has not begun.

    Parameters
    ----------
    log
        The log.
    learner
        A learner with the same name, members, rule, horizon and limits as the one that is audited.
    until
        The last entry to apply. Default: the last there is.

    Examples
    --------
    >>> import asyncio
    >>> from quorate.events import Label, Vote
    >>> from quorate.log import MemoryLog
    >>> async def example():
    ...     log = MemoryLog()
    ...     await log.append([Vote(1, "a", 1), Decision(1, "a", 1, (1,)), Label(1, -1)])
    ...     return (await replay(log, Learner("a", ["a"]))).learner.rule.weights
    >>> asyncio.run(example())
    [-1, -1]
    """
    found = Replay(learner)
    last = await log.last() if until is None else until
    if last == 0:
        return found
    async for entry in log.read():
        if entry.position > last:
            break
        found.position = entry.position
        frontier = learner.closed_until
        counted, fault = applied(learner, entry)
        found.faults += fault is not None
        if counted:
            found.decisions |= {made.slot: made for made in decided(learner, entry, frontier)}
        if entry.position >= last:
            break
    return found
