"""The distributed log: a stream of NATS JetStream.

One stream an ensemble, one subject a learner and kind: ``quorate.ENSEMBLE.vote.paris``, ``.decision.paris``,
``.member.paris``, and ``.label`` for all or ``.label.paris``. So a broker can refuse what is published under another's
name. The place of an entry is its sequence number in the stream.

Reading uses an ephemeral pull consumer without acknowledgements, made at the place after the last entry that was read,
and made anew from there whenever anything breaks. That is the simplest that is exactly right: the checkpoint of a node
is the only record of how far it has read, so there is no second one, in the broker, that could disagree with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from quorate._extras import load
from quorate.errors import LogError
from quorate.events import Decision, Event, Join, Label, Leave, Vote, Votes, encode
from quorate.log.base import Entry
from quorate.log.memory import entry_of

__all__ = ["JetStreamLog", "message_id", "subject_of"]

#: Publishes that may be under way at once.
WINDOW = 512
#: Entries that are fetched at once, and how long a fetch waits for the first.
FETCH, FETCH_S = 500, 1.0
#: How long an answer of the broker may take, and how long is waited after a failure, at first and at last.
ANSWER_S, BACK_OFF_S, BACK_OFF_MAX_S = 5.0, 0.05, 5.0

_logger = logging.getLogger("quorate.log")


def subject_of(ensemble: str, event: Event) -> str:
    """The subject an event is published on.

    >>> subject_of("grid", Vote(1, "paris", 1)), subject_of("grid", Label(1, 1))
    ('quorate.grid.vote.paris', 'quorate.grid.label')
    """
    match event:
        case Vote() | Votes():
            kind = f"vote.{event.learner}"
        case Decision():
            kind = f"decision.{event.learner}"
        case Label():
            kind = "label" if event.learner is None else f"label.{event.learner}"
        case Join() | Leave():
            kind = f"member.{event.learner}"
    return f"quorate.{ensemble}.{kind}"


def message_id(event: Event) -> str:
    """The same for the same event, so that the broker drops repeats within its window.

    >>> message_id(Votes.pack("paris", 10, [1, -1])), message_id(Join("lima", epoch=1))
    ('votes:paris:10:2', 'join:lima:1')
    """
    match event:
        case Vote():
            return f"vote:{event.learner}:{event.slot}"
        case Votes():
            return f"votes:{event.learner}:{event.first_slot}:{event.count}"
        case Decision():
            return f"decision:{event.learner}:{event.slot}"
        case Label():
            return f"label:{event.learner or ''}:{event.slot}:{event.value}"
        case Join() | Leave():
            return f"{type(event).__name__.lower()}:{event.learner}:{event.epoch}"


class JetStreamLog:
    """A stream of a NATS server.

    Parameters
    ----------
    connection
        A connection of nats-py, which may be shared; `connect` makes one that never gives up.
    ensemble
        The ensemble's name; the stream is ``quorate-ENSEMBLE``.
    """

    def __init__(self, connection: Any, ensemble: str) -> None:
        self._connection = connection
        self._js = connection.jetstream(timeout=ANSWER_S, publish_async_max_pending=WINDOW)
        self.ensemble = ensemble
        self.stream = f"quorate-{ensemble}"
        self._identity = ""
        self._closed = asyncio.Event()

    @property
    def identity(self) -> str:
        """Which log this is: the stream's name and when it was made."""
        return self._identity

    async def open(
        self,
        *,
        declare: bool = True,
        replicas: int = 1,
        max_age_s: float = 0.0,
        max_bytes: int = -1,
    ) -> JetStreamLog:
        """Find the stream, or make it.

        Parameters
        ----------
        declare
            Whether a stream that is not there is made; otherwise that is an error.
        replicas, max_age_s, max_bytes
            The limits of a stream that is made; 0 and -1 are none.
        """
        api, errors = load("nats.js.api", "The JetStream log"), load("nats.js.errors", "The JetStream log")
        try:
            try:
                info = await self._js.stream_info(self.stream)
            except errors.NotFoundError:
                if not declare:
                    raise LogError(
                        f"the broker has no stream {self.stream!r}; create it, or let Quorate do so (declare = true)"
                    ) from None
                config = api.StreamConfig(
                    name=self.stream,
                    subjects=[f"quorate.{self.ensemble}.>"],
                    retention=api.RetentionPolicy.LIMITS,
                    storage=api.StorageType.FILE,
                    num_replicas=replicas,
                    max_age=max_age_s,
                    max_bytes=max_bytes,
                )
                info = await self._js.add_stream(config)
        except (TimeoutError, errors.Error, OSError) as error:
            raise LogError(f"the stream {self.stream!r} cannot be opened: {_reason(error)}") from None
        self._identity = f"{self.stream}@{info.created}"
        return self

    async def append(self, events: Sequence[Event]) -> int:
        """Publish events in their order, with so many under way at once; give the place of the last."""
        messages = [(subject_of(self.ensemble, event), encode(event), message_id(event)) for event in events]
        errors = load("nats.errors", "The JetStream log")
        try:
            answers = []
            for subject, payload, number in messages:
                headers = {"Nats-Msg-Id": number, "Nats-Expected-Stream": self.stream}
                answers.append(await self._js.publish_async(subject, payload, headers=headers, wait_stall=ANSWER_S))
            async with asyncio.timeout(ANSWER_S):  # not wait_for: until Python 3.12 it may swallow being cancelled
                done = [await answer for answer in answers]
        except (TimeoutError, errors.Error, OSError) as error:
            raise LogError(f"the events may be in the log or not; append them again: {_reason(error)}") from None
        return max((answer.seq for answer in done), default=await self.last() if not messages else 0)

    async def last(self) -> int:
        """The place of the last entry."""
        errors = load("nats.errors", "The JetStream log")
        try:
            info = await self._js.stream_info(self.stream)
        except (TimeoutError, errors.Error, OSError) as error:
            raise LogError(f"the stream {self.stream!r} cannot be asked: {_reason(error)}") from None
        last: int = info.state.last_seq
        return last

    async def read(self, after: int = 0) -> AsyncIterator[Entry]:
        """Give all entries after a place, for ever; whatever breaks meanwhile is waited out."""
        errors = load("nats.errors", "The JetStream log")
        position, back_off = after, BACK_OFF_S
        while not self._closed.is_set():
            try:
                await self._check_first(position)
                subscription = await self._subscribe(position)
                with contextlib.suppress(errors.ConnectionClosedError):
                    async for entry in self._fetched(subscription, position):
                        position, back_off = entry.position, BACK_OFF_S
                        yield entry
            except (TimeoutError, errors.Error, OSError) as error:
                _logger.info("reading %s broke off after %d: %s", self.stream, position, _reason(error))
                with contextlib.suppress(asyncio.TimeoutError):
                    async with asyncio.timeout(back_off):
                        await self._closed.wait()
                back_off = min(2 * back_off, BACK_OFF_MAX_S)

    async def _check_first(self, position: int) -> None:
        info = await self._js.stream_info(self.stream)
        if f"{self.stream}@{info.created}" != self._identity:
            raise LogError(f"the stream {self.stream!r} was made anew; its places are others")
        if info.state.first_seq > position + 1 and info.state.messages:
            raise LogError(
                f"entries {position + 1} to {info.state.first_seq - 1} are no longer in {self.stream!r}: its limits "
                "(max_age_s, max_bytes) are too tight for how long this reader was away"
            )

    async def _subscribe(self, position: int) -> Any:
        api = load("nats.js.api", "The JetStream log")
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=position + 1,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=60.0,
            mem_storage=True,
        )
        return await self._js.pull_subscribe(f"quorate.{self.ensemble}.>", stream=self.stream, config=config)

    async def _fetched(self, subscription: Any, position: int) -> AsyncIterator[Entry]:
        errors = load("nats.errors", "The JetStream log")
        try:
            while not self._closed.is_set():
                try:
                    messages = await subscription.fetch(FETCH, timeout=FETCH_S)
                except errors.TimeoutError:
                    # Nothing came, or the consumer is gone with a broker that was restarted: only asking tells.
                    await subscription.consumer_info()
                    continue
                for message in messages:
                    place = message.metadata.sequence.stream
                    if place > position:
                        position = place
                        yield entry_of(place, message.data)
        finally:
            with contextlib.suppress(Exception):
                await subscription.unsubscribe()

    async def close(self) -> None:
        """End all reading; the connection, which may be shared, stays."""
        self._closed.set()


async def connect(
    servers: str | list[str], name: str, on_state: Callable[[str], None] = lambda state: None, **options: Any
) -> Any:
    """Connect to a broker, and never give up on it again.

    Parameters
    ----------
    servers
        Addresses, as ``nats://127.0.0.1:4222``.
    name
        What the broker calls this connection.
    on_state
        Called with ``connected``, ``disconnected``, ``reconnected`` and ``closed``, and with the broker's complaints.
    options
        Further ones of nats-py: credentials, TLS.

    Raises
    ------
    LogError
        The first connection failed; the message says why.
    """
    nats, errors = load("nats", "The JetStream log"), load("nats.errors", "The JetStream log")

    def telling(state: str) -> Callable[[], Any]:
        async def tell() -> None:
            on_state(state)

        return tell

    async def complain(error: Exception) -> None:
        on_state(_reason(error))

    try:
        # Here wait_for is right: nats-py holds being cancelled back while it tries on, so a timeout would never fire.
        connection = await asyncio.wait_for(
            nats.connect(
                servers,
                name=name,
                allow_reconnect=True,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.25,
                ping_interval=10,
                error_cb=complain,
                disconnected_cb=telling("disconnected"),
                reconnected_cb=telling("reconnected"),
                closed_cb=telling("closed"),
                **options,
            ),
            ANSWER_S,
        )
    except (TimeoutError, errors.Error, OSError) as error:
        raise LogError(f"no connection to {servers}: {_reason(error)}") from None
    on_state("connected")
    return connection


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
