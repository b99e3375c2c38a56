"""What the broker refuses, brought to whoever asked for it.

A denied permission reaches nats-py as a complaint beside the request, which then waits in vain: a `Watch` brings the
two together. And while the broker does not know us, every request raises at once, instead of being tried for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from quorate.errors import LogError, RefusedError

__all__ = ["Watch", "inbox_of", "reason_of", "watch_of", "watches"]

_VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"', re.IGNORECASE)
_logger = logging.getLogger("quorate.log")
T = TypeVar("T")


def inbox_of(name: str) -> str:
    """Where answers to a user come: one for each user, so that nobody else need be allowed to listen there.

    >>> inbox_of("paris"), inbox_of("évry")
    ('_INBOX_paris', '_INBOX_=c3a9767279')
    """
    return f"_INBOX_{name}" if name.isascii() else f"_INBOX_={name.encode().hex()}"  # nats-py counts its bytes


class Watch:
    """What is known of a connection: whose it is, and what the broker refuses it.

    Parameters
    ----------
    name
        The user's name.
    key
        A secret of the user's, to make message ids from that nobody can foresee.
    on_state
        Told of every state and complaint; of the same complaint once.
    """

    def __init__(self, name: str = "", key: bytes = b"", on_state: Callable[[str], None] = lambda state: None) -> None:
        self.name, self.key = name, key
        self.lost: LogError | None = None
        self._on_state = on_state
        self._told = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[asyncio.Future[Any], dict[str, str]] = {}

    def tell(self, state: str) -> None:
        """Tell of a state or a complaint."""
        if state != self._told:
            self._told = state
            try:
                self._on_state(state)
            except Exception:  # nats-py would stop connecting again
                _logger.exception("on_state(%r) raised", state)

    def lose(self, error: LogError | None) -> None:
        """From now on nothing can be asked, and what was asked is in vain; None when it can be again."""
        self.lost = error
        self._fail(lambda subjects: self.loss())

    def loss(self) -> LogError | None:
        """Why nothing can be asked, or None; a new error each time, as each gathers where it was raised."""
        return None if self.lost is None else type(self.lost)(str(self.lost))

    def broke(self) -> None:
        """What was asked is in vain, as the connection broke; it can be asked again."""
        self._fail(lambda subjects: ConnectionError("the connection broke"))

    def complain(self, error: BaseException) -> None:
        """Take in a complaint of the broker or of nats-py, and give it to those whom it concerns."""
        reason = reason_of(error)
        if found := _VIOLATION.search(reason):
            action, subject = found[1].lower(), found[2]
            if action == "publish":  # the subject comes in lower case
                self._fail(lambda asked: self._refused(asked.get(subject.lower())))
            elif subject.lower().startswith(f"{inbox_of(self.name).lower()}."):
                self.lose(
                    RefusedError(
                        f"the broker refuses to let {self.name!r} hear answers on {inbox_of(self.name)}: are these the "
                        f"credentials of another user? Use those of {self.name!r} (quorate provision)"
                    )
                )
        self.tell(reason)

    def _refused(self, subject: str | None) -> RefusedError | None:
        if subject is None:
            return None
        return RefusedError(
            f"the broker refuses to let {self.name!r} publish on {subject}: ask the owner for credentials that "
            "allow it (quorate provision)"
        )

    def _fail(self, error_of: Callable[[dict[str, str]], Exception | None]) -> None:
        for future, subjects in self._waiting.items():
            error = error_of(subjects)
            if error is not None and not future.done():
                future.set_exception(error)

    @contextlib.contextmanager
    def expecting(self, *subjects: str) -> Iterator[asyncio.Future[None]]:
        """Give a future that raises as soon as the broker refuses to let us publish on one of the subjects."""
        if (loss := self.loss()) is not None:
            raise loss
        refusal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[refusal] = {subject.lower(): subject for subject in subjects}
        try:
            yield refusal
        finally:
            del self._waiting[refusal]
            if not refusal.cancel():
                refusal.exception()  # seen, though nobody may have waited for it

    def expected(self, subject: str) -> asyncio.Future[int]:
        """Give a future for the answer to what is published on a subject; it raises where none will come."""
        if (loss := self.loss()) is not None:
            raise loss
        self._loop = self._loop or asyncio.get_running_loop()  # a connection has one
        answer: asyncio.Future[int] = self._loop.create_future()
        self._waiting[answer] = {subject.lower(): subject}
        answer.add_done_callback(self._waiting.pop)
        return answer

    async def answered(self, asking: Coroutine[Any, Any, T], *subjects: str) -> T:
        """Wait for an answer, or for the broker to refuse to let us publish on one of the subjects.

        Raises
        ------
        CredentialsError, RefusedError
            The broker does not know us, or does not allow it.
        ConnectionError
            The connection broke.
        """
        try:
            with self.expecting(*subjects) as refusal:
                task = asyncio.ensure_future(asking)
                try:
                    either: set[asyncio.Future[Any]] = {task, refusal}
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                    if not task.done():
                        refusal.result()
                    return task.result()
                finally:
                    if not task.done():
                        task.cancel()
                        await asyncio.wait({task})
                    if not task.cancelled():
                        task.exception()  # seen
        finally:
            asking.close()


#: The watch over each connection that `connect` has made.
watches: WeakKeyDictionary[Any, Watch] = WeakKeyDictionary()


def watch_of(connection: Any) -> Watch:
    """The watch over a connection; one that sees nothing, where the connection was not made by `connect`."""
    return watches.setdefault(connection, Watch())


def reason_of(error: BaseException) -> str:
    """What an error says, or at least its kind."""
    return str(error) or type(error).__name__
