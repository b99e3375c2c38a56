"""Reading the broker's protocol: what nats-py does, at a third of the cost where whole messages are there."""

from __future__ import annotations

from typing import Any

from nats.protocol.parser import AWAITING_CONTROL_LINE, Parser

__all__ = ["QuickParser"]

_END = b"\r\n"


class QuickParser(Parser):  # type: ignore[misc, unused-ignore]
    """Takes whole messages as they stand; all else, and what is in parts, is for the parser of nats-py.

    That one looks for words with regular expressions, and moves all that is left forward after each. It also takes a
    subject that holds a form feed, which anybody may publish on, for the end of the protocol; brokers separate by
    spaces.
    """

    buf: bytearray

    async def parse(self, data: bytes = b"") -> Any:
        """Take in what was read."""
        if self.state == AWAITING_CONTROL_LINE:
            whole = bytes(self.buf) + data if self.buf else data
            self.buf.clear()
            data = whole[await self._take(whole) :]
        if data:
            await super().parse(data)

    async def _take(self, data: bytes) -> int:
        """Hand over the whole messages that come first; give where they end."""
        at, process = 0, self.nc._process_msg
        while (line_end := data.find(_END, at)) > 0:
            kind, *words = data[at:line_end].split(b" ")
            if kind == b"HMSG" and len(words) in (4, 5):
                header_size, size = int(words[-2]), int(words[-1])
                reply = words[2] if len(words) == 5 else b""
            elif kind == b"MSG" and len(words) in (3, 4):
                header_size, size = 0, int(words[-1])
                reply = words[2] if len(words) == 4 else b""
            else:
                break
            start = line_end + len(_END)
            if start + size + len(_END) > len(data):
                break
            at = start + size + len(_END)
            headers = data[start : start + header_size] if header_size else None
            await process(int(words[1]), words[0], reply, data[start + header_size : start + size], headers)
        return at
