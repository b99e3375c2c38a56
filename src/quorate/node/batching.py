"""Many votes in one message: a node packs what has gathered while it was busy."""

from __future__ import annotations

from quorate.events import Event, Vote, Votes

__all__ = ["BATCH", "batched"]

#: Events that are appended at once, and slots that one message of votes covers, at the most.
BATCH = 512


def batched(events: list[Event]) -> list[Event]:
    """Pack votes on consecutive slots, that follow each other in the list, into one message.

    >>> from quorate.events import Label
    >>> [type(event).__name__ for event in batched([Vote(1, "a", 1), Vote(2, "a", -1), Label(1, 1), Vote(3, "a", 1)])]
    ['Votes', 'Label', 'Vote']
    """
    packed: list[Event] = []
    run: list[Vote] = []

    def flush() -> None:
        if len(run) == 1:
            packed.append(run[0])
        elif run:
            packed.append(Votes.pack(run[0].learner, run[0].slot, [vote.value for vote in run]))
        run.clear()

    for event in events:
        if not isinstance(event, Vote):
            flush()
            packed.append(event)
        else:
            if run and (event.slot != run[-1].slot + 1 or event.learner != run[-1].learner):
                flush()
            run.append(event)
    flush()
    return packed
