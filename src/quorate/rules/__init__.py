"""Rules: how votes become a decision, and how labels change that. One rule a file.

>>> from quorate.rules import rule_named
>>> rule_named("PWM")(3).weights
[0, 0, 0, 0]
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quorate.errors import LocalError, MembersError
from quorate.rules.adaboost_weights import AdaBoostWeights
from quorate.rules.average_majority import AverageMajority
from quorate.rules.base import BaseRule, ExplainingRule, FittingRule, NotingRule, Rule
from quorate.rules.baselines import MajorityClass, PreviousLabel
from quorate.rules.blum_majority import BlumMajority
from quorate.rules.extended_pwm import ExtendedPWM
from quorate.rules.fixed_share import FixedShare
from quorate.rules.portfolio import Portfolio
from quorate.rules.pwm import PWM
from quorate.rules.weighted_majority import WeightedMajority
from quorate.rules.winnow2 import Winnow2

if TYPE_CHECKING:
    from quorate.rules.checks import check_rule, yield_checks

__all__ = [
    "BASELINES",
    "PWM",
    "RULES",
    "AdaBoostWeights",
    "AverageMajority",
    "BaseRule",
    "BlumMajority",
    "ExplainingRule",
    "ExtendedPWM",
    "FittingRule",
    "FixedShare",
    "MajorityClass",
    "NotingRule",
    "Portfolio",
    "PreviousLabel",
    "Rule",
    "WeightedMajority",
    "Winnow2",
    "check_rule",
    "made_rule",
    "rule_named",
    "yield_checks",
]

#: Every rule of the package, by name.
RULES: dict[str, type[BaseRule]] = {
    rule.__name__: rule
    for rule in (
        Portfolio,
        PWM,
        ExtendedPWM,
        WeightedMajority,
        BlumMajority,
        FixedShare,
        Winnow2,
        AverageMajority,
        AdaBoostWeights,
        PreviousLabel,
        MajorityClass,
    )
}

#: Those that need no votes: what every comparison shows beside the others.
BASELINES = ("PreviousLabel", "MajorityClass")


def rule_named(name: str) -> type[BaseRule]:
    """Find a rule of the package by its name.

    >>> rule_named("ExtendedPMW")
    Traceback (most recent call last):
    ...
    quorate.errors.LocalError: no rule is named 'ExtendedPMW'; did you mean 'ExtendedPWM'?
    """
    if isinstance(name, str) and name in RULES:
        return RULES[name]
    import difflib

    near = difflib.get_close_matches(str(name), RULES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(RULES)}"
    raise LocalError(f"no rule is named {name!r}; {hint}")


def made_rule(rule: Rule | Callable[[int], Rule] | str | None, n_learners: int) -> Rule:
    """Make the rule that somebody has asked for: by its class or name, or a copy of one; `Portfolio` by default.

    >>> made_rule("PWM", 2).weights, type(made_rule(None, 2)).__name__
    ([0, 0, 0], 'Portfolio')
    >>> made_rule(7, 2)
    Traceback (most recent call last):
    ...
    quorate.errors.LocalError: rule is 7; give a rule, its class or its name, such as 'PWM'
    """
    if rule is None:
        return Portfolio(n_learners)
    if isinstance(rule, str):
        return rule_named(rule)(n_learners)
    if callable(rule):
        return _made(rule, n_learners)
    if not isinstance(rule, Rule):
        raise LocalError(f"rule is {rule!r}; give a rule, its class or its name, such as 'PWM'")
    if rule.n_learners != n_learners:
        raise MembersError(f"the rule is for {rule.n_learners} learners, but there are {n_learners}")
    return copy.deepcopy(rule)  # what was given is a parameter, and parameters are never changed


def _made(factory: Callable[[int], Rule], n_learners: int) -> Rule:
    made = factory(n_learners)
    if not hasattr(made, "predict") or not hasattr(made, "n_learners"):
        raise LocalError(f"rule makes {made!r} of {n_learners} learners; give a rule, its class or its name")
    return made


def __getattr__(name: str) -> Any:
    if name not in ("check_rule", "yield_checks"):
        raise AttributeError(f"module 'quorate.rules' has no attribute {name!r}")
    from quorate.rules import checks  # few need them, and they need what nothing else does

    return getattr(checks, name)
