"""Multiplicative weights that never under- or overflow: integer powers of fixed factors.

A weight that is only ever multiplied by beta (or alpha, or gamma) is that factor to an integer power. The powers are
the state, exact for ever; no weight is renormalised, so no decision changes. A decision needs the sign of a sum of such
weights, some of them smaller than the others by more than a float can tell. `sign_of_sum` gives it: by a float sum
where that is certain, else by adding from the largest weight down, scaling what is left as it goes.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from quorate.errors import LocalError, SnapshotError
from quorate.rules.base import BaseRule, read_state
from quorate.rules.shares import share_of

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PowerRule", "sign_of_sum"]

#: A float sum of terms of at most 1 each is certain of its sign beyond this much a term.
SURE = 1e-9
#: What is left after cancellation below this is rounding: equal weights of odd factors have cancelled.
NOTHING = 1e-12


def sign_of_sum(logs: Sequence[float], coefficients: Sequence[float]) -> int:
    """The sign of a sum of coefficients times powers of two, +1 for a sum of exactly 0.

    >>> sign_of_sum([0, -5000, 0], [1, -1, -1]), sign_of_sum([0, 0], [1, -1])
    (-1, 1)
    """
    terms = [(log, coefficient) for log, coefficient in zip(logs, coefficients, strict=True) if coefficient]
    if not terms:
        return 1
    largest = max(log for log, _ in terms)
    total = sum(coefficient * 2.0 ** (log - largest) for log, coefficient in terms)
    bound = sum(abs(coefficient) for _, coefficient in terms)
    if abs(total) > SURE * bound:
        return 1 if total > 0 else -1
    left = 0.0
    before = largest
    for log, coefficient in sorted(terms, key=lambda term: -term[0]):
        if abs(left) < NOTHING:
            left = 0.0
        elif before - log > 60 or abs(left) * 2.0 ** (before - log) > 2 * bound:
            break  # all that is smaller cannot turn it round
        left = left * 2.0 ** min(before - log, 60.0) + coefficient
        before = log
    return 1 if left > -NOTHING else -1


class PowerRule(BaseRule):
    """A rule whose weights are products of integer powers of its factors.

    A subclass names its factors and its parameters, says what it adds up (`_coefficients`), which of its members
    change (`_changes`), and the number of its compiled form.
    """

    #: The rule's number in `quorate.rules.kernels`.
    _kind: ClassVar[int]

    def __init__(self, n_learners: int, factors: Sequence[float]) -> None:
        super().__init__(n_learners)
        self._factors = tuple(float(factor) for factor in factors)
        self._logs = [math.log2(factor) for factor in self._factors]
        self._powers = [[0] * self.n_learners for _ in self._factors]

    @property
    def threshold(self) -> float:
        """What the weights of the votes for +1 must reach; 0 where votes for -1 are subtracted."""
        return 0.0

    @property
    def weights(self) -> list[float]:
        """The weights, the bias (minus the threshold) first; one that is too small for a float shows as 0."""
        return [-self.threshold or 0.0] + [_power_of_two(log) for log in self._log_weights()]

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the weight that stands behind +1, from 0 to 1; 1/2 where nobody has any."""
        logs = self._log_weights()
        largest = max(logs)
        return share_of([-self.threshold, *(2.0 ** (log - largest) for log in logs)], votes)

    def _log_weights(self) -> list[float]:
        return [
            sum(log * power for log, power in zip(self._logs, powers, strict=True))
            for powers in zip(*self._powers, strict=True)
        ]

    def _predict(self, votes: tuple[int, ...]) -> int:
        return sign_of_sum([*self._log_weights(), 0.0], [*self._coefficients(votes), -self.threshold])

    def _coefficients(self, votes: tuple[int, ...]) -> Sequence[int]:
        """How often each weight counts."""
        return votes

    @abc.abstractmethod
    def _changes(self, vote: int, label: int, erred: bool) -> tuple[int, ...]:
        """How the powers of a learner with this vote change."""

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        erred = self._predict(votes) != label
        changed = False
        for place, vote in enumerate(votes):
            if vote:
                for powers, change in zip(self._powers, self._changes(vote, label, erred), strict=True):
                    powers[place] += change
                    changed = changed or change != 0
        return changed

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        from quorate.rules import multiplicative_kernels as kernels

        decisions, self._powers = kernels.run_powers(
            self._kind, votes, labels, self._powers, self._logs, self.threshold
        )
        return decisions

    def _join(self) -> None:
        # A weight of 0 could never grow: a newcomer is trusted as little as the least trusted member.
        logs = self._log_weights()
        least = min(range(self.n_learners), key=logs.__getitem__)
        for powers in self._powers:
            powers.append(powers[least])

    def _leave(self, place: int) -> None:
        for powers in self._powers:
            del powers[place]

    def _parameters(self) -> dict[str, float]:
        """The parameters of the constructor, but for the number of learners."""
        return {}

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {
            "rule": type(self).__name__,
            "parameters": self._parameters(),
            "powers": [list(powers) for powers in self._powers],
            "schema": 1,
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        sizes = {len(powers) for powers in state.powers}
        if len(sizes) != 1 or 0 in sizes:
            raise SnapshotError(f"snapshot field 'powers' has lists of {sorted(sizes)} entries; they must be equal")
        rule: Self = restored(cls, sizes.pop(), state.parameters)
        if len(state.powers) != len(rule._factors):
            raise SnapshotError(
                f"snapshot field 'powers' has {len(state.powers)} lists; it must have {len(rule._factors)}"
            )
        rule._powers = state.powers
        return rule


class _State(msgspec.Struct):
    rule: str
    parameters: dict[str, Any]
    powers: list[list[int]]
    schema: int = 1


def restored(rule: Any, n_learners: int, parameters: dict[str, Any]) -> Any:
    """Make a rule from the parameters in a snapshot, or say that they are none."""
    try:
        return rule(n_learners, **parameters)
    except (TypeError, LocalError) as error:
        raise SnapshotError(f"snapshot field 'parameters' is {parameters!r}: {error}") from None


def checked_factor(name: str, value: float, *, above: float, below: float) -> float:
    """Refuse a factor out of its range.

    >>> checked_factor("beta", 1.5, above=0, below=1)
    Traceback (most recent call last):
    ...
    quorate.errors.LocalError: beta is 1.5; it must be above 0 and below 1
    """
    if not above < value < below:
        upper = "" if math.isinf(below) else f" and below {below:g}"
        raise LocalError(f"{name} is {value!r}; it must be above {above:g}{upper}")
    return float(value)


def _power_of_two(log: float) -> float:
    return 0.0 if log < -1074 else math.inf if log >= 1024 else 2.0**log
