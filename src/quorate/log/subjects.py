"""Names in the broker: the stream of an ensemble, and the subject each event is published on.

One stream an ensemble, one subject a learner and kind: ``quorate.ENSEMBLE.vote.paris``, ``.decision.paris``,
``.member.paris``, and ``.label`` for all or ``.label.paris``. So a broker can refuse what is published under another's
name; and whoever reads compares the subject with what the message says, as a broker looks at subjects only.
"""

from __future__ import annotations

import hashlib

from quorate.events import Decision, Decisions, Event, Join, Label, Labels, Leave, Vote, Votes
from quorate.log.base import Entry
from quorate.log.memory import entry_of

__all__ = ["checked_entry_of", "entry_on", "message_id", "status_subject", "stream_of", "subject_of"]


def stream_of(ensemble: str) -> str:
    """The stream an ensemble's log is kept in.

    >>> stream_of("grid")
    'quorate-grid'
    """
    return f"quorate-{ensemble}"


def subject_of(ensemble: str, event: Event) -> str:
    """The subject an event is published on.

    >>> subject_of("grid", Vote(1, "paris", 1)), subject_of("grid", Label(1, 1))
    ('quorate.grid.vote.paris', 'quorate.grid.label')
    """
    match event:
        case Vote() | Votes():
            kind = f"vote.{event.learner}"
        case Decision() | Decisions():
            kind = f"decision.{event.learner}"
        case Label() | Labels():
            kind = "label" if event.learner is None else f"label.{event.learner}"
        case Join() | Leave():
            kind = f"member.{event.learner}"
    return f"quorate.{ensemble}.{kind}"


def status_subject(ensemble: str, learner: str | None = None) -> str:
    """Where a status is asked for, or where a learner answers.

    >>> status_subject("grid"), status_subject("grid", "paris")
    ('quorate-status.grid', 'quorate-status.grid.paris')
    """
    return f"quorate-status.{ensemble}" + (f".{learner}" if learner is not None else "")


def message_id(event: Event, message: bytes, key: bytes = b"") -> str | None:
    """The same for the same message, so that the broker drops repeats within its window; None: drop none.

    Parameters
    ----------
    event, message
        What is sent, and its wire form.
    key
        Known to the sender only. Ids are the stream's, not the sender's: whoever could foresee another's id would
        use it up, and the broker would drop the other's message as a repeat, and say it is stored.

    Examples
    --------
    >>> vote = Vote(1, "paris", 1)
    >>> message_id(vote, b"message", b"key of paris"), message_id(vote, b"message", b"key of rome")
    ('b2af6835e92237b09493b32290dbc70b', '89cfed62891bb1168620ee10210ea7cb')
    """
    if isinstance(event, Label | Labels):
        return None  # one that came too early counts for nothing, and may be given again
    if isinstance(event, Join | Leave) and event.epoch is None:
        return None  # to join, to leave and to join again are three changes
    return hashlib.blake2b(message, digest_size=16, key=key).hexdigest()


def entry_on(ensemble: str, position: int, subject: str, message: bytes) -> Entry:
    """The entry of a message of a stream; decisions are read when somebody looks at them.

    These are nearly half of all messages, and a node has nothing to do with what others decide.

    >>> entry_on("grid", 7, "quorate.grid.decision.rome", b"random bytes").decided_by
    'rome'
    """
    decided = f"quorate.{ensemble}.decision."
    if subject.startswith(decided):
        return _Sealed(ensemble, position, subject, message, subject[len(decided) :])
    return checked_entry_of(ensemble, position, subject, message)


class _Sealed(Entry):
    """An entry that is read when it is looked at; until then its subject tells whose decisions these are."""

    __slots__ = ("_ensemble", "_learner", "_message", "_subject")

    def __init__(self, ensemble: str, position: int, subject: str, message: bytes, learner: str) -> None:
        super().__init__(position, None)
        self._ensemble, self._subject, self._learner = ensemble, subject, learner
        self._message: bytes | None = message

    @property
    def event(self) -> Event | None:
        self._open()
        return self._event

    @property
    def fault(self) -> str | None:
        self._open()
        return self._fault

    @property
    def decided_by(self) -> str | None:
        return self._learner

    def _open(self) -> None:
        if self._message is not None:
            found = checked_entry_of(self._ensemble, self.position, self._subject, self._message)
            self._event, self._fault, self._message = found.event, found.fault, None


def checked_entry_of(ensemble: str, position: int, subject: str, message: bytes) -> Entry:
    """Read a message of a stream; one that cannot be read, or tells of another than its subject, has a fault.

    >>> message = b'{"type":"vote","slot":1,"learner":"paris","value":-1,"v":1}'
    >>> checked_entry_of("grid", 7, "quorate.grid.vote.rome", message).fault
    "published on quorate.grid.vote.rome, but it is a vote of 'paris'"
    """
    entry = entry_of(position, message)
    if entry.event is None or subject_of(ensemble, entry.event) == subject:
        return entry
    kind = type(entry.event).__name__.lower()
    if kind not in ("votes", "decisions", "labels"):
        kind = f"a {kind}"
    of = "for" if isinstance(entry.event, Label | Labels) else "of"
    whose = "all" if entry.event.learner is None else repr(entry.event.learner)
    return Entry(position, None, f"published on {subject}, but it is {kind} {of} {whose}")
