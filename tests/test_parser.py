"""The quick parser of the broker's protocol against that of nats-py."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from quorate.log.parser import QuickParser, is_status


class Heard:
    """Stands for a client: remembers what the parser has handed over."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def hand_over(self, *arguments: Any) -> bool:
        return False

    async def _process_msg(self, *arguments: Any) -> None:
        self.all.append(tuple(bytes(each) if isinstance(each, bytearray) else each for each in arguments))

    async def _process_ping(self) -> None:
        self.all.append("ping")

    async def _process_pong(self) -> None:
        self.all.append("pong")

    async def _process_err(self, reason: str) -> None:
        self.all.append(reason)

    async def _process_info(self, info: dict[str, Any]) -> None:
        self.all.append(info)


def heard(parser: type[Parser], pieces: list[bytes]) -> list[Any]:
    client = Heard()

    async def story() -> None:
        reading = parser(client)
        for piece in pieces:
            await reading.parse(piece)

    asyncio.run(story())
    return client.all


NAMES = st.text("abcXYZ.-_09", min_size=1, max_size=12).map(str.encode)
PAYLOADS = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"\r\n", b"MSG a 1 2\r\nxx\r\n", b"PING\r\n"]))


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    subject, sid, reply = draw(NAMES), str(draw(st.integers(1, 99))).encode(), draw(st.none() | NAMES)
    payload, headers = draw(PAYLOADS), draw(st.none() | PAYLOADS.map(lambda some: b"NATS/1.0\r\n" + some + b"\r\n"))
    words = [subject, sid, *([] if reply is None else [reply])]
    if headers is None:
        return b" ".join([b"MSG", *words, str(len(payload)).encode()]) + b"\r\n" + payload + b"\r\n"
    sizes = str(len(headers)).encode(), str(len(headers) + len(payload)).encode()
    return b" ".join([b"HMSG", *words, *sizes]) + b"\r\n" + headers + payload + b"\r\n"


OTHERS = st.sampled_from([b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b"-ERR 'Stale Connection'\r\n", b'INFO {"a":1}\r\n'])


@given(st.lists(messages() | OTHERS, max_size=12), st.lists(st.integers(0, 400), max_size=8))
def test_it_hears_what_the_other_hears_however_it_is_cut(said: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(said)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:end] for start, end in itertools.pairwise(places)]
    assert heard(QuickParser, pieces) == heard(Parser, pieces)


@given(st.lists(st.integers(0, 60), max_size=5))
def test_a_subject_with_a_form_feed_is_no_end_however_it_is_cut(cuts: list[int]) -> None:
    whole = b"PING\r\nMSG a\x0cb 1 2\r\nxx\r\nPONG\r\nHMSG c\x0b 1 r\x0c 12 14\r\nNATS/1.0\r\n\r\nyy\r\n"
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:end] for start, end in itertools.pairwise(places)]
    first, second = (1, b"a\x0cb", b"", b"xx", None), (1, b"c\x0b", b"r\x0c", b"yy", b"NATS/1.0\r\n\r\n")
    assert heard(QuickParser, pieces) == ["ping", first, "pong", second]


class Taking(Heard):
    """Takes the messages of every other subscription at once."""

    def hand_over(self, sid: int, subject: bytes, reply: bytes, payload: bytes) -> bool:
        if sid % 2:
            return False
        self.all.append((sid, subject, reply, payload))
        return True

    async def _process_msg(self, *arguments: Any) -> None:
        await asyncio.sleep(0)
        await super()._process_msg(*arguments)


@given(st.lists(messages() | OTHERS, max_size=12), st.lists(st.integers(0, 400), max_size=8))
def test_what_is_taken_at_once_keeps_its_place_however_it_is_cut(said: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(said)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:end] for start, end in itertools.pairwise(places)]
    client = Taking()

    async def story() -> None:
        reading = QuickParser(client)
        for piece in pieces:
            if rest := reading.take_now(piece):
                parsing = asyncio.ensure_future(reading.parse(rest))
                await asyncio.sleep(0)
                if not parsing.done():  # what comes meanwhile must wait
                    assert reading.take_now(b"MSG a 2 0\r\n\r\n") == b"MSG a 2 0\r\n\r\n"
                await parsing

    asyncio.run(story())
    expected = [
        each[:4] if isinstance(each, tuple) and each[0] % 2 == 0 and not is_status(each[4]) else each
        for each in heard(Parser, pieces)
    ]
    assert client.all == expected


@pytest.mark.parametrize(
    "line", [b"HMSG a 1 5", b"MSG a b 5", b"MSG a 1 five", b"HMSG a 1 r x 5", b"MSG a", b"HMSG a 1 -3 5", b"MSG a 1 -9"]
)
def test_a_malformed_line_is_an_error_of_the_protocol(line: bytes) -> None:
    """Only then does nats-py connect anew; anything else ends its reading without a word."""
    reading = QuickParser(Taking())
    said = line + b"\r\nxxxxx\r\n"
    assert reading.take_now(said) == said
    with pytest.raises(ProtocolError):
        asyncio.run(reading.parse(said))
