"""What a caller of a learner gives, checked."""

from __future__ import annotations

import operator
from collections.abc import Callable

from quorate.errors import LocalError, SlotError
from quorate.events import SLOT_MAX
from quorate.rules import ExtendedPWM, Rule, made_rule

__all__ = ["check_limit", "checked_slot", "chosen_rule"]


def check_limit(name: str, limit: object, least: int) -> None:
    """Refuse a limit that is no integer, or too low."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < least:
        raise LocalError(f"{name} is {limit!r}; it must be an integer of at least {least}")


def checked_slot(slot: object) -> int:
    """Refuse what is no slot number; NumPy's integers are."""
    try:
        number = operator.index(slot)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(slot, bool) or not 0 <= number <= SLOT_MAX:
        raise SlotError(f"{slot!r} is no slot; a slot is an integer from 0 to {SLOT_MAX}")
    return number


def chosen_rule(rule: Rule | Callable[[int], Rule] | str | None, n_learners: int) -> Rule:
    """Give the rule that is meant, the very same if it is one: it need not have all that `Rule` names."""
    if rule is None:
        return ExtendedPWM(n_learners)
    if isinstance(rule, type | str) or not hasattr(rule, "predict"):
        return made_rule(rule, n_learners)
    return rule  # type: ignore[return-value]
