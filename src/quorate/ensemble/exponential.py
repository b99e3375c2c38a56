"""The exponential in compiled loops: several at a time, and the same on every machine.

That of a library is called for one number after the other, and its last bit differs from one library to the next.
"""

from __future__ import annotations

import math
from typing import Any

from quorate._extras import load
from quorate.rules.kernels import inlined

__all__ = ["exponential"]

extending, types, ir = (
    load(module, "A rule's compiled run") for module in ("numba.extending", "numba.core.types", "llvmlite.ir")
)

_LEAST = -708.0  # the exponential of little less is no normal number
_LOG2_E = 1 / math.log(2)
_HIGH, _LOW = (float.fromhex(bits) for bits in ("0x1.62e42feep-1", "0x1.a39ef35793c76p-33"))  # together log(2)
_ROUND = 1.5 * 2**52  # what is added to it loses its fraction, and its last bits are the whole number
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1 / math.factorial(power) for power in range(2, 14))


@extending.intrinsic  # type: ignore[untyped-decorator]
def _bits(typing: Any, number: Any) -> Any:
    """The bits of a floating-point number as an integer."""
    return types.int64(types.float64), lambda context, builder, _, given: builder.bitcast(given[0], ir.IntType(64))


@extending.intrinsic  # type: ignore[untyped-decorator]
def _number(typing: Any, bits: Any) -> Any:
    """The floating-point number that has these bits."""
    return types.float64(types.int64), lambda context, builder, _, given: builder.bitcast(given[0], ir.DoubleType())


@inlined
def exponential(x: float) -> float:
    """The exponential of a number up to 0, within three units in the last place; 0 of less than -708.

    >>> from quorate.rules.kernels import numba
    >>> run = numba.njit(lambda x: exponential(x))
    >>> run(0.0), run(-1.0), run(-1e9)
    (1.0, 0.36787944117144233, 0.0)
    """
    within = max(x, _LEAST)
    moved = within * _LOG2_E + _ROUND
    whole = moved - _ROUND
    rest = (within - whole * _HIGH) - whole * _LOW
    # The series, in an order that leaves little to wait for.
    p2 = rest * rest
    p4 = p2 * p2
    low = ((1.0 + rest) + (C2 + C3 * rest) * p2) + ((C4 + C5 * rest) + (C6 + C7 * rest) * p2) * p4
    high = ((C8 + C9 * rest) + (C10 + C11 * rest) * p2) + (C12 + C13 * rest) * p4
    power: float = _number((_bits(moved) + 1023) << 52)
    return 0.0 if x < _LEAST else (low + high * (p4 * p4)) * power
