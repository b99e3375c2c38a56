"""The distributed log: a stream of NATS JetStream.

The place of an entry is its sequence number in the stream.

Publishing goes on without waiting for answers, up to a window; but a decision or a change of membership is sent only
when the one before it was answered for. Their order matters, and a message may be lost while one sent after it is not:
when the connection breaks, or the stream's leader changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from typing import Any

from quorate._extras import load
from quorate.errors import LogError, RefusedError
from quorate.events import MESSAGE_BYTES_MAX, Decision, Decisions, Event, Join, Leave, encode
from quorate.log.base import Entry
from quorate.log.connection import connect
from quorate.log.publishing import Publisher
from quorate.log.reading import Reader
from quorate.log.subjects import entry_on, message_id, stream_of, subject_of
from quorate.log.watch import reason_of, watch_of

__all__ = ["JetStreamLog", "connect"]

#: How long an answer of the broker may take, and how long is waited after a failure, at first and at last.
ANSWER_S, BACK_OFF_S, BACK_OFF_MAX_S = 5.0, 0.05, 5.0
#: Readers of a stream that we make. A limit keeps one user who makes ever more of them from filling the broker; he can
#: still use it up, which stops new readers of this ensemble but of no other.
CONSUMERS_MAX = 1000

#: The broker's numbers for: there with another configuration; not enough brokers, or none that answer since they began.
_IN_USE, _NO_PEERS = 10058, 10005
_logger = logging.getLogger("quorate.log")


class JetStreamLog:
    """A stream of a NATS server.

    Parameters
    ----------
    connection
        A connection of nats-py, which may be shared; `connect` makes one that never gives up and that tells what the
        broker refuses.
    ensemble
        The ensemble's name; the stream is ``quorate-ENSEMBLE``.
    """

    def __init__(self, connection: Any, ensemble: str) -> None:
        self._connection = connection
        self._watch = watch_of(connection)
        self._js = connection.jetstream(timeout=ANSWER_S)
        self._publisher = Publisher(connection, self._watch)
        self._errors = load("nats.errors", "The JetStream log")
        self.ensemble = ensemble
        self.stream = stream_of(ensemble)
        self._identity = ""
        self._closed = asyncio.Event()
        self._readers: set[Reader] = set()

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
        """Find the stream, or make it; one that is there is never altered.

        Parameters
        ----------
        declare
            Whether a stream that is not there is made; otherwise that is an error.
        replicas, max_age_s, max_bytes
            The limits of a stream that is made; 0 and -1 are none.

        Raises
        ------
        RefusedError
            The broker does not let us look at the stream, or make it.
        LogError
            It is not there, or cannot be reached.
        """
        errors = load("nats.js.errors", "The JetStream log")
        try:
            try:
                info = await self._info()
            except errors.NotFoundError:
                if not declare:
                    raise LogError(
                        f"the broker has no stream {self.stream!r}; create it, or let Quorate do so (declare = true)"
                    ) from None
                info = await self._create(replicas, max_age_s, max_bytes)
        except (TimeoutError, errors.Error, self._errors.Error, OSError) as error:
            raise self._lost(f"the stream {self.stream!r} cannot be opened: {reason_of(error)}") from None
        self._identity = self._identity_of(info)
        return self

    async def _create(self, replicas: int, max_age_s: float, max_bytes: int) -> Any:
        api, errors = load("nats.js.api", "The JetStream log"), load("nats.js.errors", "The JetStream log")
        config = api.StreamConfig(
            name=self.stream,
            subjects=[f"quorate.{self.ensemble}.>"],
            retention=api.RetentionPolicy.LIMITS,
            storage=api.StorageType.FILE,
            num_replicas=replicas,
            max_age=max_age_s,
            max_bytes=max_bytes,
            max_msg_size=MESSAGE_BYTES_MAX,
            max_consumers=CONSUMERS_MAX,
            allow_direct=False,  # see quorate.log.reading
            allow_rollup_hdrs=False,
            deny_delete=True,  # only limits remove entries, and always the oldest
            deny_purge=True,
        )
        until = asyncio.get_running_loop().time() + ANSWER_S
        try:
            while True:
                try:
                    asking = self._js.add_stream(config)
                    return await self._watch.answered(asking, f"$JS.API.STREAM.CREATE.{self.stream}")
                except errors.APIError as error:
                    if error.err_code == _IN_USE:
                        return await self._info()  # somebody else has just made it
                    if error.err_code != _NO_PEERS or asyncio.get_running_loop().time() > until:
                        raise
                    await asyncio.sleep(BACK_OFF_S)
        except RefusedError:
            raise RefusedError(
                f"the broker has no stream {self.stream!r}, and refuses to let {self._watch.name!r} make it: declare "
                "it with the owner's credentials (quorate declare FILE --credentials owner.nk)"
            ) from None

    async def _info(self) -> Any:
        return await self._watch.answered(self._js.stream_info(self.stream), f"$JS.API.STREAM.INFO.{self.stream}")

    def _identity_of(self, info: Any) -> str:
        return f"{self.stream}@{info.created}"

    def _lost(self, reason: str) -> LogError:
        return self._watch.loss() or LogError(reason)

    async def append(self, events: Sequence[Event]) -> int:
        """Publish events in their order, with so many under way at once; give the place of the last.

        Where it raises, some may be there without those before them; decisions and changes of membership never are.
        """
        messages = [(event, encode(event)) for event in events]
        if not messages:
            return await self.last()
        try:
            return await self._publish(messages)
        except (TimeoutError, self._errors.Error, OSError) as error:
            raise self._lost(f"the events may be in the log or not; append them again: {reason_of(error)}") from None

    async def _publish(self, messages: Iterable[tuple[Event, bytes]]) -> int:
        answers: list[asyncio.Future[int]] = []
        ordered: asyncio.Future[int] | None = None
        late: asyncio.TimerHandle | None = None  # cheaper than a timeout's context, for what is done in each slot
        try:
            for event, payload in messages:
                in_order = isinstance(event, Decision | Decisions | Join | Leave)
                if in_order and ordered is not None:
                    await _within(ordered)
                if self._publisher.is_full:
                    await _within(self._publisher.room())
                answers.append(await self._send(event, payload))
                ordered = answers[-1] if in_order else ordered
            late = answers[0].get_loop().call_later(ANSWER_S, _give_up, answers)
            return max([await answer for answer in answers])
        finally:
            if late is not None:
                late.cancel()
            for answer in answers:
                if not answer.cancel() and not answer.cancelled():
                    answer.exception()  # seen

    async def _send(self, event: Event, payload: bytes) -> asyncio.Future[int]:
        headers = {"Nats-Expected-Stream": self.stream}
        if (number := message_id(event, payload, self._watch.key)) is not None:
            headers["Nats-Msg-Id"] = number
        return await self._publisher.send(subject_of(self.ensemble, event), payload, headers)

    async def first(self) -> int:
        """The place of the first entry that is kept, or will be."""
        state = (await self._asked()).state
        return _first_of(state)

    async def last(self) -> int:
        """The place of the last entry."""
        last: int = (await self._asked()).state.last_seq
        return last

    async def _asked(self) -> Any:
        try:
            return await self._info()
        except (TimeoutError, self._errors.Error, OSError) as error:
            raise self._lost(f"the stream {self.stream!r} cannot be asked: {reason_of(error)}") from None

    async def read(self, after: int = 0) -> AsyncIterator[Entry]:
        """Give all entries after a place, for ever; whatever breaks meanwhile is waited out.

        Raises
        ------
        CredentialsError, RefusedError
            The broker does not know us any more, or does not let us read.
        LogError
            Entries after that place are no longer there, or the connection was closed.
        """
        position, back_off = after, BACK_OFF_S
        while not self._closed.is_set():
            try:
                await self._check_first(position)
                async with self._messages(position) as messages:
                    async for some in messages:
                        for place, message in some:
                            if self._closed.is_set():
                                return
                            if place > position + 1:
                                await self._check_first(position)
                            position, back_off = place, BACK_OFF_S
                            yield entry_on(self.ensemble, place, message.subject, message.data)
            except (TimeoutError, self._errors.Error, OSError) as error:
                if self._connection.is_closed and not self._closed.is_set():
                    raise self._lost(f"reading {self.stream!r} ended: the connection was closed") from None
                _logger.info("reading %s broke off after %d: %s", self.stream, position, reason_of(error))
                with contextlib.suppress(asyncio.TimeoutError):
                    async with asyncio.timeout(back_off):
                        await self._closed.wait()
                back_off = min(2 * back_off, BACK_OFF_MAX_S)

    async def _check_first(self, position: int) -> None:
        try:
            info = await self._info()
        except load("nats.js.errors", "The JetStream log").NotFoundError:
            raise LogError(f"the stream {self.stream!r} is gone: somebody has deleted it") from None
        if self._identity_of(info) != self._identity:
            raise LogError(f"the stream {self.stream!r} was made anew; its places are others")
        if info.state.last_seq < position:
            raise LogError(
                f"the stream {self.stream!r} ends at {info.state.last_seq}: what came after, up to {position}, is lost"
            )
        first = _first_of(info.state)
        if first > position + 1:
            raise LogError(
                f"entries {position + 1} to {first - 1} are no longer in {self.stream!r}: its limits (max_age_s, "
                "max_bytes) are too tight for how long this reader was away"
            )

    @contextlib.asynccontextmanager
    async def _messages(self, position: int) -> AsyncIterator[AsyncIterator[list[tuple[int, Any]]]]:
        """Places and messages after a place, until something is amiss."""
        reader = Reader(self._connection, self._watch, self.stream, position)
        self._readers.add(reader)
        try:
            async with contextlib.aclosing(reader.messages()) as messages:
                yield messages
        finally:
            self._readers.discard(reader)

    async def close(self) -> None:
        """End all reading; the connection, which may be shared, stays."""
        self._closed.set()
        for reader in self._readers:
            reader.stop()


async def _within(awaitable: Awaitable[Any]) -> None:
    async with asyncio.timeout(ANSWER_S):  # not wait_for: until Python 3.12 it may swallow being cancelled
        await awaitable


def _give_up(answers: Iterable[asyncio.Future[int]]) -> None:
    for answer in answers:
        if not answer.done():
            answer.set_exception(TimeoutError("the broker does not answer"))


def _first_of(state: Any) -> int:
    first: int = state.first_seq if state.messages else state.last_seq + 1
    return first
