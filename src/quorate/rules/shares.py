"""How strongly the weights stand behind a decision: a degree of agreement from 0 to 1, not a probability."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from quorate.rules.base import Rule

__all__ = ["cascade_shares", "share_behind", "share_of"]

_LEAST_LEAD = 1e-9  # a tie is decided too, so shares must tell the decided side


def share_of(weights: Sequence[float], votes: tuple[int, ...]) -> float:
    """The part of the absolute weight that stands behind +1; 1/2 where nobody has any.

    >>> share_of([0, 3, -1], (1, 1))
    0.75
    """
    terms = [weights[0], *map(mul, weights[1:], votes)]
    total = sum(map(abs, terms))
    return (1 + sum(terms) / total) / 2 if total else 0.5


def share_behind(rule: Rule, votes: tuple[int, ...]) -> float:
    """The share behind +1, always on the side of the rule's decision; all or nothing if the rule has no `share`.

    >>> from quorate.rules import PWM
    >>> share_behind(PWM(2), (1, -1)) > 0.5     # a tie is decided for +1
    True
    """
    decision = rule.predict(votes)
    share = getattr(rule, "share", None)
    if share is None:
        return 1.0 if decision > 0 else 0.0
    behind: float = share(votes)
    return max(behind, 0.5 + _LEAST_LEAD) if decision > 0 else min(behind, 0.5 - _LEAST_LEAD)


def cascade_shares(stages: Sequence[float]) -> list[float]:
    """The share of each class of a cascade, from each stage's share behind its own class.

    There is one class more than stages. The largest share is that of the class the cascade decides for, the first
    whose stage is for it, even where a product of doubts would have passed it by.

    >>> [round(share, 3) for share in cascade_shares([0.4, 0.6])]
    [0.385, 0.385, 0.231]
    """
    shares: list[float] = []
    left = 1.0
    for share in stages:
        shares.append(left * share)
        left -= shares[-1]
    shares.append(left)
    decided = next((stage for stage, share in enumerate(stages) if share > 0.5), len(stages))
    shares[decided] = max(shares[decided], max(shares) + _LEAST_LEAD)
    total = sum(shares)
    return [share / total for share in shares]
