"""Events on the wire: one JSON object each, with its ``type`` and the version ``v`` of its form.

Fields a reader does not know are passed over, so that a newer sender can add some. Nothing is ever unpickled.
"""

from __future__ import annotations

import msgspec

from quorate.errors import LocalError, MessageError
from quorate.events.faults import fault_of
from quorate.events.kinds import WIRE_VERSION, Event

__all__ = ["MESSAGE_BYTES_MAX", "decode", "encode"]

#: The largest message `decode` looks at.
MESSAGE_BYTES_MAX = 1 << 20

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_encoder = msgspec.json.Encoder()


class _Envelope(msgspec.Struct):
    """What every version of every message has."""

    v: int = WIRE_VERSION


_envelope_decoder = msgspec.json.Decoder(_Envelope)


def encode(event: Event) -> bytes:
    """Give the wire form of an event.

    Raises
    ------
    LocalError
        The event's fields cannot be true.
    """
    if reason := fault_of(event):
        raise LocalError(f"cannot send {event!r}: {reason}")
    return _encoder.encode(event)


def decode(message: bytes | str) -> Event:
    """Read an event from its wire form.

    Raises
    ------
    MessageError
        The message is too large, not one of ours, of a newer version, or its fields cannot be true.

    Examples
    --------
    >>> decode(b'{"type":"vote","slot":1,"learner":"tokyo","value":7,"v":1}')
    Traceback (most recent call last):
    ...
    quorate.errors.MessageError: bad vote: value is 7; a vote is -1 or +1
    """
    if len(message) > MESSAGE_BYTES_MAX:
        raise MessageError(f"a message of {len(message)} bytes; at most {MESSAGE_BYTES_MAX} are read")
    try:
        event = _decoder.decode(message)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MessageError(_version_fault(message) or f"not a message of Quorate: {error}") from None
    if event.v > WIRE_VERSION or event.v < 1:
        raise MessageError(_newer(event.v))
    if reason := fault_of(event):
        raise MessageError(f"bad {type(event).__name__.lower()}: {reason}")
    return event


def _version_fault(message: bytes | str) -> str | None:
    try:
        version = _envelope_decoder.decode(message).v
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return _newer(version) if version > WIRE_VERSION else None


def _newer(version: int) -> str:
    return f"a message of wire version {version}; this release reads version {WIRE_VERSION}: upgrade quorate"
