"""Reading the broker's protocol: what nats-py does, at a third of the cost."""

from __future__ import annotations

from typing import Any

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

    async def parse(self, data: bytes = b"") -> Any:
        """Take in what was read."""
        kept = self.buf
        data, at = bytes(kept) + data, 0
        kept.clear()
        while True:
            at = await self._take(data, at)
            end = data.find(_END, at) + len(_END)
            if end < len(_END) or data.startswith(_MESSAGES, at):
                break  # the rest is yet to come
            await super().parse(data[at:end])
            at = end
        if self.buf is kept:  # otherwise the connection was lost meanwhile, and with it the rest
            kept += data[at:]

    async def _take(self, data: bytes, at: int) -> int:
        """Hand over the whole messages from a place on; give where they end."""
        process, hand_over = self.nc._process_msg, self.nc.hand_over
        while data.startswith(_MESSAGES, at) and (line_end := data.find(_END, at)) > 0:
            kind, subject, sid, *reply, size = data[at:line_end].split(b" ")
            header_size = int(reply.pop()) if kind == b"HMSG" else 0
            start, stop = line_end + len(_END), line_end + len(_END) + int(size)
            if stop + len(_END) > len(data):
                break
            at = stop + len(_END)
            headers = data[start : start + header_size] if header_size else None
            message = int(sid), subject, reply[0] if reply else b"", data[start + header_size : stop]
            if is_status(headers) or not hand_over(*message):  # the rest needs no task's turn
                await process(*message, headers)
        return at
