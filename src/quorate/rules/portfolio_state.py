"""The state of a portfolio, as a snapshot has it."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from quorate.errors import SnapshotError
from quorate.rules.base import read_state
from quorate.rules.fitted_voter import is_whole

__all__ = ["read_portfolio"]


#: Larger numbers, and smaller shares, never come about; sums and products of those within stay finite.
MOST = 1e100


class _State(msgspec.Struct):
    rule: str
    linear: list[float]
    winnow: list[float]
    recent: list[float]
    shares: list[float]
    top: list[float]
    last: list[float]
    fitted: list[float] = []
    schema: int = 1


def read_portfolio(snapshot: dict[str, Any], kind: type) -> tuple[dict[str, list[float]], int]:
    """Read the state of a portfolio, and for how many learners it is; how long its lists must be is not looked at.

    Raises
    ------
    SnapshotError
        It is no snapshot of a portfolio.
    """
    read = read_state(snapshot, _State, kind)
    n_learners = len(read.winnow) // 2 - bool(read.fitted)
    if n_learners < 1:
        raise SnapshotError("snapshot field 'winnow' has no weights; there must be two a learner")
    state = {
        name: [float(value) for value in getattr(read, name)]
        for name in ("linear", "winnow", "recent", "shares", "top", "last", "fitted")
    }
    for name, values in state.items():
        if not all(map(math.isfinite, values)):
            raise SnapshotError(f"snapshot field {name!r} holds a number that is not finite")
        if max(map(abs, values), default=0.0) > MOST:
            raise SnapshotError(f"snapshot field {name!r} holds a number above {MOST:g}; none ever becomes so large")
    for name in ("winnow", "recent", "shares", "top"):
        if min(state[name], default=0.0) < 1 / MOST:
            raise SnapshotError(f"snapshot field {name!r} holds a weight that is not above 0")
    if not all(is_whole(weight) for weight in read.fitted):
        raise SnapshotError("snapshot field 'fitted' holds a weight that is no whole number below 2^40")
    if read.last and read.last[0] not in (-1, -0.5, 0, 0.5, 1):
        raise SnapshotError(
            f"snapshot field 'last' is {read.last}; a label is -1 or +1, half of that at first, or 0 before any"
        )
    return state, n_learners
