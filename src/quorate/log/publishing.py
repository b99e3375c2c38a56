"""Publishing to a stream without waiting for each answer.

The publishing of nats-py is not used: it swallows being cancelled, leaks what is never answered, and takes three times
as long. What is sent here is the same.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from typing import Any

import msgspec

from quorate._extras import load
from quorate.log.handover import Handover
from quorate.log.watch import Watch

__all__ = ["WINDOW", "Publisher"]

#: Publishes that may be under way at once.
WINDOW = 512
#: How long names of answers are, and how many are drawn at once.
TOKEN_BYTES, TOKENS = 8, 64
#: The last place there can be.
SEQUENCE_MAX = 2**63 - 1


class _Fault(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    """What the broker says of a message that it was to store."""

    seq: int = 0
    error: _Fault | None = None


_decoder = msgspec.json.Decoder(_Answer)


class Publisher:
    """Sends messages, and gives for each where it was stored, when that is known.

    Parameters
    ----------
    connection, watch
        The connection, and the watch over it.
    """

    def __init__(self, connection: Any, watch: Watch) -> None:
        self._connection, self._watch = connection, watch
        self._inbox = ""
        self._tokens: list[str] = []
        self._answers: dict[str, asyncio.Future[int]] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def n_under_way(self) -> int:
        """How many messages have neither been answered nor given up."""
        return len(self._answers)

    @property
    def is_full(self) -> bool:
        """Whether so many are under way that no more may be sent."""
        return len(self._answers) >= WINDOW

    async def room(self) -> None:
        """Wait until it is not full."""
        while self.is_full:
            room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(room)
            await room

    async def send(self, subject: str, payload: bytes, headers: dict[str, str]) -> asyncio.Future[int]:
        """Send a message; give the place it will be stored at.

        The future raises at once when the broker refuses or the connection breaks. Whoever waits for it no longer must
        cancel it: one that is never answered would hold its place in the window for ever.
        """
        if not self._inbox:
            inbox = self._connection.new_inbox()
            await self._connection.subscribe(f"{inbox}.*", cb=Handover(self._take).take)
            self._inbox = inbox
        token = self._token()
        answer = self._watch.expected(subject)
        self._answers[token] = answer
        answer.add_done_callback(lambda _: self._end(token))
        try:
            await self._connection.publish(subject, payload, reply=f"{self._inbox}.{token}", headers=headers)
        except BaseException:
            answer.cancel()
            raise
        return answer

    def _token(self) -> str:
        """A name for an answer; whoever could foresee it might answer in the broker's place."""
        if not self._tokens:  # many at once: each time the system is asked costs as much
            drawn = secrets.token_hex(TOKEN_BYTES * TOKENS)
            self._tokens = [drawn[at : at + 2 * TOKEN_BYTES] for at in range(0, len(drawn), 2 * TOKEN_BYTES)]
        return self._tokens.pop()

    def _end(self, token: str) -> None:
        del self._answers[token]
        while self._waiting:
            room = self._waiting.popleft()
            if not room.done():
                room.set_result(None)
                break

    def _take(self, message: Any) -> None:
        answer = self._answers.get(message.subject.rpartition(".")[2])
        if answer is None or answer.done():
            return
        try:
            found = _decoder.decode(message.data or b"{}")
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            answer.set_exception(ConnectionError(f"an answer that cannot be read: {error}"))
            return
        if found.error is None and 0 < found.seq <= SEQUENCE_MAX:
            answer.set_result(found.seq)
            return
        errors = load("nats.js.errors", "The JetStream log")
        if found.error is not None:
            answer.set_exception(errors.APIError(**msgspec.structs.asdict(found.error)))
        else:  # no stream takes this subject, or the broker has none that answers
            answer.set_exception(errors.NoStreamResponseError())
