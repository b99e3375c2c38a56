"""The rule that every learner of an ensemble begins with: new, or as a file has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from quorate.errors import LocalError, QuorateError
from quorate.rules import Rule, rule_named

__all__ = ["first_rule"]

#: The largest file that is read: thousands of learners fit in.
RULE_BYTES_MAX = 16 << 20


def first_rule(name: str, n_learners: int, file: Path | None) -> Rule:
    """Make a rule, or read it from a file, as the JSON of its snapshot: what it has learned before the stream.

    Parameters
    ----------
    name
        The rule.
    n_learners
        How many members it must be for.
    file
        Where its snapshot is; None for a new one.

    Raises
    ------
    LocalError
        There is no such rule, or the file holds no snapshot of it for so many members.

    Examples
    --------
    >>> first_rule("PWM", 2, None).weights
    [0, 0, 0]
    """
    kind: Callable[[int], Rule] = rule_named(name)
    if file is None:
        return kind(n_learners)
    rule = _restored(kind, name, file)
    if rule.n_learners != n_learners:
        raise LocalError(f"{file} is of a rule for {rule.n_learners} learners; here there are {n_learners}")
    return rule


def _restored(kind: Any, name: str, file: Path) -> Rule:
    try:
        with file.open("rb") as opened:
            content = opened.read(RULE_BYTES_MAX + 1)
    except OSError as error:
        raise LocalError(
            f"{file} cannot be read: {error.strerror}; write the JSON of `rule.snapshot()` there"
        ) from None
    if len(content) > RULE_BYTES_MAX:
        raise LocalError(f"{file} has more than {RULE_BYTES_MAX} bytes; no snapshot of a rule has")
    try:
        snapshot = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LocalError(f"{file} is no JSON object: {error}; write the JSON of `rule.snapshot()` there") from None
    if "rule" not in snapshot:
        raise LocalError(f"{file} is no snapshot of a rule; write the JSON of `rule.snapshot()` there")
    if snapshot["rule"] != kind.__name__:
        raise LocalError(f"{file} is a snapshot of {str(snapshot['rule'])[:64]!r}, not of {name}")
    try:
        restored: Rule = kind.restore(snapshot)
    except QuorateError as error:
        raise LocalError(f"{file} is no snapshot of {name}: {error}") from None
    return restored
