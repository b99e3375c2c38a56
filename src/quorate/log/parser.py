"""Reading the broker's protocol: what nats-py does, at a third of the cost."""

from __future__ import annotations

import contextlib
from typing import Any

from nats.errors import ProtocolError
from nats.protocol.parser import Parser

__all__ = ["QuickParser", "is_status"]

#: Where a header has a space if it is a word of the broker's own.
_STATUS_AT = len("NATS/1.0")
_END, _MESSAGES = b"\r\n", (b"MSG ", b"HMSG ")


def is_status(headers: bytes | None) -> bool:
    """Whether a header is a word of the broker's own.

    >>> is_status(b"NATS/1.0 404 No Messages"), is_status(b"NATS/1.0"), is_status(None)
    (True, False, False)
    """
    return headers is not None and headers[_STATUS_AT : _STATUS_AT + 1] == b" "


class QuickParser(Parser):  # type: ignore[misc, unused-ignore]
    """Takes messages itself, and leaves all else to the parser of nats-py, a line at a time.

    That one looks for words with regular expressions, and moves all that is left forward after each. It also takes a
    subject that holds a form feed, which anybody may publish on, for the end of the protocol, and so must never see a
    message: the entry stays in the stream, and no reader would get past it. Brokers separate by spaces.
    """

    buf: bytearray
    is_parsing = False

    async def parse(self, data: bytes = b"") -> Any:
        """Take in what was read."""
        kept = self.buf
        data, at = bytes(kept) + data, 0
        kept.clear()
        self.is_parsing = True
        try:
            while True:
                at = self._hand_over(data, at)
                if (message := self._message(data, at)) is not None:
                    at, *parts = message
                    await self.nc._process_msg(*parts)
                    continue
                end = data.find(_END, at) + len(_END)
                if end < len(_END) or data.startswith(_MESSAGES, at):
                    break  # the rest is yet to come
                await super().parse(data[at:end])
                at = end
        finally:
            self.is_parsing = False
        if self.buf is kept:  # otherwise the connection was lost meanwhile, and with it the rest
            kept += data[at:]

    def take_now(self, data: bytes) -> bytes:
        """Hand over the messages that this begins with and that need no task's turn; give the rest.

        Where something that came before waits, that is all of it.
        """
        if self.buf or self.is_parsing:
            return data
        at = self._hand_over(data, 0)
        return data[at:] if at else data

    def _hand_over(self, data: bytes, at: int) -> int:
        """Hand over messages from a place on, as long as there are takers; give where they end."""
        hand_over = self.nc.hand_over
        with contextlib.suppress(ProtocolError):  # what is malformed is for `parse` to raise
            while (message := self._message(data, at)) is not None:
                end, sid, subject, reply, payload, headers = message
                if is_status(headers) or not hand_over(sid, subject, reply, payload):
                    break
                at = end
        return at

    @staticmethod
    def _message(data: bytes, at: int) -> tuple[int, int, bytes, bytes, bytes, bytes | None] | None:
        """The message that begins at a place: its end, subscription, subject, reply, payload and headers, if whole."""
        if not data.startswith(_MESSAGES, at) or (line_end := data.find(_END, at)) < 0:
            return None
        try:
            kind, subject, sid, *reply, size = data[at:line_end].split(b" ")
            header_size, n_bytes, number = int(reply.pop()) if kind == b"HMSG" else 0, int(size), int(sid)
        except (ValueError, IndexError):
            header_size, n_bytes, number = -1, 0, 0
        if not 0 <= header_size <= n_bytes:
            raise ProtocolError  # for whoever reads to connect anew
        start, stop = line_end + len(_END), line_end + len(_END) + n_bytes
        if stop + len(_END) > len(data):
            return None
        headers = data[start : start + header_size] if header_size else None
        payload = data[start + header_size : stop]
        return stop + len(_END), number, subject, reply[0] if reply else b"", payload, headers
