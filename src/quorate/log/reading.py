"""Reading a stream: an ephemeral pull consumer without acknowledgements, made at a place, and made anew when it breaks.

That is the simplest that is exactly right: the checkpoint of a node is the only record of how far it has read, so there
is no second one, in the broker, that could disagree with it. The consumer's name is drawn, as whoever knows it can take
entries from it; and should one be taken, the gap in its count shows.

JetStream's direct get, which would read in batches without a consumer, is not used, and our streams do not allow it:
the broker publishes its answer on the reply subject of the request as if it came from there. So whoever may ask can
have a payload of his choice stored under another's name (seen on server 2.15). What a consumer delivers keeps its
subject.

The fetch of nats-py is not used: it takes any message with a header ``Status`` for one of the broker's own, so whoever
publishes one stops all readers for ever. What the broker delivers can be told by its reply subject.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

from quorate._extras import load
from quorate.log.handover import Handover
from quorate.log.watch import Watch

__all__ = ["Reader"]

#: Entries that are asked for at once, and how many bytes of them: more than any message may have.
FETCH, FETCH_BYTES = 500, 65 << 20
#: How long the broker is to wait for them, and after how long a silence beyond that the consumer is taken for gone.
FETCH_S, SILENCE_S = 1.0, 1.0
#: How long the broker keeps a consumer that nobody uses.
CONSUMER_S = 30.0
#: How long it may take to make one.
ANSWER_S = 5.0

_NEXT = json.dumps({"batch": FETCH, "max_bytes": FETCH_BYTES, "expires": int(FETCH_S * 1e9)}).encode()


class Reader:
    """One consumer's life.

    Parameters
    ----------
    connection, watch
        The connection, and the watch over it.
    stream
        The stream.
    after
        The place before the first that is read.
    """

    def __init__(self, connection: Any, watch: Watch, stream: str, after: int) -> None:
        self._connection, self._watch = connection, watch
        self._stream, self._after = stream, after
        self._name = secrets.token_hex(16)
        self._arrived: deque[Any] = deque()
        self._wanted: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._stopped = False

    def stop(self) -> None:
        """Let reading end."""
        self._stopped = True
        self._take(None)

    async def messages(self) -> AsyncGenerator[list[tuple[int, Any]], None]:
        """Give the places and messages of the stream, so many at once as have arrived, until stopped.

        Raises
        ------
        RefusedError, CredentialsError
            The broker does not let us read, or does not know us.
        OSError, TimeoutError, nats.errors.Error
            Something broke; begin anew after the last place.
        """
        inbox, next_ = self._connection.new_inbox(), f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
        subscription = await self._connection.subscribe(inbox, cb=Handover(self._take).take)
        try:
            with self._watch.expecting(next_) as refusal:
                refusal.add_done_callback(lambda _: self._take(None))
                await self._make()
                count = left = 0
                delivered = f"$JS.ACK.{self._stream}.{self._name}.1."
                while not self._stopped:
                    if not left:
                        await self._connection.publish(next_, _NEXT, reply=inbox)
                        left = FETCH
                    await self._some()
                    given: list[tuple[int, Any]] = []
                    while self._arrived and left:
                        message = self._arrived[0]
                        is_entry = message is not None and message.reply.startswith("$JS.ACK.")
                        if given and not is_entry:
                            break  # what came before it is given first: it may end reading
                        self._arrived.popleft()
                        if message is None:
                            if refusal.done():
                                refusal.result()
                        elif not is_entry:
                            _check_status(message)
                            left = 0
                        else:
                            left, count = left - 1, count + 1
                            if message.reply.startswith(delivered):  # what nearly every broker says
                                place, number, _ = message.reply[len(delivered) :].split(".", 2)
                            else:
                                place, number = _place(message.reply, self._name)
                            if int(number) != count:
                                raise ConnectionError("an entry was lost on the way")
                            given.append((int(place), message))
                    if given:
                        yield given
        finally:
            with contextlib.suppress(Exception):
                await subscription.unsubscribe()

    async def _make(self) -> None:
        api = load("nats.js.api", "The JetStream log")
        config = api.ConsumerConfig(
            name=self._name,
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._after + 1,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=CONSUMER_S,
            mem_storage=True,
        )
        asking = self._connection.jsm(timeout=ANSWER_S).add_consumer(self._stream, config)
        await self._watch.answered(asking, f"$JS.API.CONSUMER.CREATE.{self._stream}.{self._name}")

    def _take(self, message: Any) -> None:
        self._arrived.append(message)
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    async def _some(self) -> None:
        """Wait for a message, or None, which is there when there is something else to look at."""
        if not self._arrived:  # neither a queue nor a timeout's context: this is done for each entry of a quiet log
            self._wanted = self._loop.create_future()
            silence = self._loop.call_later(FETCH_S + SILENCE_S, _give_up, self._wanted)
            try:
                await self._wanted
            finally:
                silence.cancel()


def _give_up(wanted: asyncio.Future[None]) -> None:
    if not wanted.done():
        wanted.set_exception(TimeoutError("the broker is silent"))


def _place(reply: str, consumer: str) -> tuple[str, str]:
    """The place of a message in the stream, and the how manieth it is that a consumer has delivered.

    >>> _place("$JS.ACK.quorate-grid.reader.1.22.11.1790000000000000000.0", "reader")
    ('22', '11')
    >>> _place("$JS.ACK.domain.account.quorate-grid.reader.1.22.11.1790000000000000000.0.token", "reader")
    ('22', '11')
    """
    tokens = reply.split(".")
    first = 2 if len(tokens) == 9 else 4  # newer brokers put the domain and the account before the rest
    if tokens[first + 1] != consumer:
        raise ConnectionError("an entry of another reader came")
    return tokens[first + 3], tokens[first + 4]


def _check_status(message: Any) -> None:
    """Pass over the end of a request, which has waited long enough or got as much as it may."""
    headers = message.headers or {}
    status, description = headers.get("Status", ""), headers.get("Description", "")
    if status not in ("404", "408") and description != "Batch Completed":
        raise ConnectionError(f"the broker ended reading: {status} {description}".rstrip())
