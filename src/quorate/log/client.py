"""The client of nats-py, made safe against what others may publish, and against brokers without TLS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import nats.aio.client
import nats.errors

from quorate.log.handover import Handover
from quorate.log.parser import QuickParser, is_status

__all__ = ["STEP_S", "Client"]

_logger = logging.getLogger("quorate.log")
#: How long a broker may take for each step of connecting, and for closing.
STEP_S = 2
#: What is published and not yet sent, at the most, before nats-py sends it, and waits.
UNSENT_BYTES_MAX = 1 << 16


class Delivered(NamedTuple):
    """A message: those of its fields that are used here."""

    subject: str
    reply: str
    data: bytes
    headers: dict[str, str] | None


class Client(nats.aio.client.Client):
    """A client whose reading outlives every message.

    In nats-py, a message with a malformed header or subject ends all reading without a word (seen on 2.16). Anybody who
    may publish anything that we read could stop us so, for ever, as the message stays in the stream. So headers that
    others have published are not read at all.

    Parameters
    ----------
    needs_tls
        Whether to refuse a broker without TLS, before anything is sent to it; nats-py would go on in the clear.
    """

    def __init__(self, needs_tls: bool = False) -> None:
        super().__init__()
        self._ps = self._parser = QuickParser(self)
        self._needs_tls = needs_tls
        self._is_sending = False

    def _connect_command(self) -> bytes:
        if self._needs_tls and not self._server_info.get("tls_required"):
            raise nats.errors.SecureConnWantedError
        return super()._connect_command()

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Publish a message; those of one turn of the loop go out together when it ends.

        In nats-py a task of its own sends them, and here too what is no entry of a log, is much, or comes while the
        connection is away.
        """
        lines = [f"{name}: {value}" for name, value in (headers or {}).items()]
        words = "".join((subject, reply, *lines))
        is_entry = bool(lines and reply) and " " not in subject + reply and words.isprintable()
        unsent = self._pending_data_size + self._n_written_unsent() + len(payload)
        is_little = unsent <= min(UNSENT_BYTES_MAX, self._max_payload)
        if not (is_entry and is_little and self.is_connected) or self.is_draining_pubs:
            await super().publish(subject, payload, reply, headers)
            return
        head = "\r\n".join(("NATS/1.0", *lines, "", "")).encode()
        sizes = f"{len(head)} {len(head) + len(payload)}"
        command = b"HPUB %b\r\n%b%b\r\n" % (f"{subject} {reply} {sizes}".encode(), head, payload)
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += len(payload)
        self._pending.append(command)
        self._pending_data_size += len(command)
        if not self._is_sending:
            self._is_sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _n_written_unsent(self) -> int:
        """How many bytes wait in the transport, as the broker does not take them."""
        writer = getattr(self._transport, "_io_writer", None)
        try:
            return 0 if writer is None else int(writer.transport.get_write_buffer_size())
        except AttributeError:  # asyncio's TLS, once it is closed
            return 0

    def _send(self) -> None:
        self._is_sending = False
        if self._pending_data_size > UNSENT_BYTES_MAX and self._flush_queue is not None:
            if self._flush_queue.empty():  # else the task of nats-py knows; it waits until the broker takes it
                self._flush_queue.put_nowait(asyncio.get_running_loop().create_future())
            return
        if self.is_connected and self._transport is not None and self._pending:  # else nats-py sends it, once it is
            unsent, self._pending, self._pending_data_size = self._pending, [], 0
            with contextlib.suppress(OSError, RuntimeError):  # who reads notices, and who asked is told
                self._transport.writelines(unsent)

    async def _read_loop(self) -> None:
        reader = getattr(self._transport, "_io_reader", None)
        if isinstance(reader, asyncio.StreamReader):
            reader.feed_data = partial(self._feed, reader, reader.feed_data)  # type: ignore[method-assign]
        await super()._read_loop()

    def _feed(self, reader: asyncio.StreamReader, feed: Callable[[bytes], None], data: bytes) -> None:
        """Take what has arrived at once where nothing waits before it: to wake a task for it costs as much again."""
        if not reader._buffer:  # type: ignore[attr-defined]
            data = self._parser.take_now(bytes(data))
        if data:
            feed(data)

    async def _process_headers(self, headers: Any) -> Any:
        if not is_status(headers):
            return None  # those of a message are nobody's business, and reading them takes longer than all the rest
        try:
            return await super()._process_headers(headers)
        except Exception:
            return None

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: Any) -> None:
        found = await self._process_headers(headers)
        if not self.hand_over(sid, subject, reply, data, found):
            await super()._process_msg(sid, subject, reply, data, headers)

    def hand_over(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None = None
    ) -> bool:
        """Give a message to a subscription that takes it at once; False where there is none of that kind."""
        subscription = self._subs.get(sid)
        handover = None if subscription is None else getattr(subscription._cb, "__self__", None)
        if not isinstance(handover, Handover):
            return False
        try:
            handover.at_once(Delivered(_text(subject), _text(reply), data, headers))
        except Exception:  # it would end all reading
            _logger.exception("a message on %r could not be taken", _text(subject))
        return True

    def _build_message(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: Any) -> Any:
        subject, reply = (_text(each).encode() for each in (subject, reply))
        return super()._build_message(sid, subject, reply, data, headers)

    async def close(self) -> None:
        """Close it in whatever state it is, within a while."""
        if not self.is_connected:  # what waits to be sent never will be, and trying to raises
            self._pending, self._pending_data_size = [], 0
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(STEP_S):
                await super().close()

    def drop_transport(self) -> None:
        """Close a connection that failed without waiting for it: after a failed TLS handshake that never ends."""
        transport, self._transport = self._transport, None
        if transport is not None:
            with contextlib.suppress(Exception):
                transport.close()  # type: ignore[no-untyped-call]


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
