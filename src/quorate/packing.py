"""Votes packed two bits each, on the wire and in a learner's memory; and notes, four bytes each, on the wire.

An abstention is ``00``, a vote of +1 is ``01``, a vote of -1 is ``10``; ``11`` is no vote and refused. The
first vote sits in the lowest bits of the first byte, and unused bits of the last byte are zero.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

__all__ = [
    "CODE_OF",
    "VALUE_OF",
    "are_packed",
    "bytes_needed",
    "codes_of",
    "has_no_abstention",
    "is_packed",
    "pack",
    "pack_codes",
    "pack_notes",
    "rows_of",
    "unpack",
    "unpack_notes",
]

#: The two bits of each vote.
CODE_OF = {0: 0b00, 1: 0b01, -1: 0b10}
#: The vote of each pair of bits.
VALUE_OF = (0, 1, -1)

_FOUR_OF = [
    None if 3 in (codes := [byte >> shift & 3 for shift in (0, 2, 4, 6)]) else tuple(VALUE_OF[code] for code in codes)
    for byte in range(256)
]
_GOOD = bytes(byte for byte, four in enumerate(_FOUR_OF) if four is not None)
#: The bytes whose first so many codes are all there.
_WHOLE = [
    bytes(byte for byte in range(256) if all(byte >> 2 * place & 3 for place in range(count))) for count in range(5)
]
#: From a byte to the codes at its four places.
_CODES_OF = [bytes(byte >> 2 * place & 3 for place in range(4)) for byte in range(256)]
_BYTE_OF = {four: byte for byte, four in enumerate(_FOUR_OF) if four is not None}


def bytes_needed(count: int) -> int:
    """How many bytes `count` packed votes take.

    >>> bytes_needed(16)
    4
    """
    return (count + 3) // 4


def pack(votes: Iterable[int]) -> bytes:
    """Pack votes of -1, 0 and +1, two bits each.

    >>> pack([1, -1, 0, 1, -1]).hex()
    '4902'
    """
    padded = [*votes, 0, 0, 0]
    return bytes([_BYTE_OF[four] for four in zip(*[iter(padded)] * 4, strict=False)])


def unpack(packed: bytes | bytearray, count: int) -> tuple[int, ...]:
    """Give the `count` votes that `pack` packed.

    >>> unpack(bytes.fromhex("4902"), 5)
    (1, -1, 0, 1, -1)
    """
    votes: list[int] = []
    for byte in packed:
        votes += _FOUR_OF[byte]  # type: ignore[arg-type]  # is_packed was asked before
    return tuple(votes[:count])


def is_packed(packed: bytes | bytearray, count: int) -> bool:
    r"""Whether these bytes are what `pack` makes of some `count` votes.

    >>> is_packed(b"\x49\x02", 5), is_packed(b"\x49\x02", 9), is_packed(b"\x03", 4)
    (True, False, False)
    """
    return len(packed) == bytes_needed(count) and are_packed(packed, count)


def are_packed(rows: bytes | bytearray, count: int) -> bool:
    r"""Whether these bytes are rows one after the other, each what `pack` makes of some `count` votes.

    >>> are_packed(b"\x49\x02\x49\x01", 5), are_packed(b"\x49\x02\x49\x04", 5)
    (True, False)
    """
    width = bytes_needed(count)
    if rows.translate(None, _GOOD):
        return False
    used_bits = 2 * (count % 4)
    return used_bits == 0 or max(rows[width - 1 :: width], default=0) >> used_bits == 0


def has_no_abstention(packed: bytes | bytearray, count: int) -> bool:
    r"""Whether packed votes are all -1 or +1.

    >>> has_no_abstention(bytes.fromhex("4902"), 5), has_no_abstention(bytes.fromhex("5902"), 5)
    (False, True)
    """
    if count % 4 == 0:
        return not packed.translate(None, _WHOLE[4])
    return not packed[:-1].translate(None, _WHOLE[4]) and packed[-1] in _WHOLE[count % 4]


def rows_of(rows: bytes, count: int) -> list[bytes]:
    r"""Packed rows of `count` votes each that stand one after the other, apart.

    >>> rows_of(bytes.fromhex("49024901"), 5)
    [b'I\x02', b'I\x01']
    """
    width = bytes_needed(count)
    return [rows[first : first + width] for first in range(0, len(rows), width)]


def codes_of(packed: bytes | bytearray, count: int) -> bytes:
    r"""The codes of packed votes, a byte each.

    >>> codes_of(bytes.fromhex("4902"), 5)
    b'\x01\x02\x00\x01\x02'
    """
    return b"".join(map(_CODES_OF.__getitem__, packed))[:count]


def pack_codes(codes: bytes | bytearray) -> bytes:
    r"""Pack votes that are given by their codes, a byte each: what `codes_of` undoes.

    >>> pack_codes(b"\x01\x02\x00\x01\x02").hex()
    '4902'
    """
    size = bytes_needed(len(codes))
    packed = int.from_bytes(codes[::4].ljust(size, b"\0"), "little")
    for place in range(1, 4):
        packed |= int.from_bytes(codes[place::4].ljust(size, b"\0"), "little") << 2 * place
    return packed.to_bytes(size, "little")


def pack_notes(notes: Sequence[int]) -> bytes:
    """Pack what a rule noted of slots, four bytes each, the lowest first.

    >>> pack_notes([1, 2**32 - 1]).hex()
    '01000000ffffffff'
    """
    return struct.pack(f"<{len(notes)}I", *notes)


def unpack_notes(packed: bytes) -> tuple[int, ...]:
    """Give the notes that `pack_notes` packed.

    >>> unpack_notes(pack_notes([7, 11184789]))
    (7, 11184789)
    """
    return struct.unpack(f"<{len(packed) // 4}I", packed)
