"""Herbster and Warmuth's fixed share: the paper's TrackExp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from quorate.errors import LocalError, SnapshotError
from quorate.rules.base import BaseRule, read_state
from quorate.rules.powers import PowerRule, checked_factor, restored, sign_of_sum
from quorate.rules.shares import share_of

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FixedShare"]

#: Weights double or halve a few times a label, at the most.
EXPONENT_MAX = 2**48


class _AlwaysUpdating(PowerRule):
    """The weighted majority that demotes wrong learners in every slot, also where the ensemble was right."""

    _kind: ClassVar[int] = 3

    def _changes(self, vote: int, label: int, erred: bool) -> tuple[int, ...]:
        return (int(vote != label),)


class FixedShare(BaseRule):
    r"""A multiplicative update, then each learner gives a share of its weight to the others.

    .. math:: w_j^m = w_j \beta^{[s_j \neq y]}, \qquad
              w_j \leftarrow w_j^m - g_j + \frac{1}{K-1} \sum_{i \neq j} g_i, \qquad g_j = \alpha w_j^m

    so that a learner that was bad for long can be the best again soon. With `variable`, only those that were wrong
    give (:math:`g_j = 0` where :math:`s_j = y`). Weights start at 1. Who abstains takes no part: it neither gives nor
    gets.

    With alpha = 0 this is the weighted majority that updates in every slot, kept as integer powers of beta. Else a
    weight is kept as a mantissa and an integer exponent of two, as a float has them but without its limits: who is
    absent for long, or never wrong under variable share, may stand above the others by any factor.

    Parameters
    ----------
    n_learners
        How many learners vote.
    beta
        What the weight of a wrong learner is multiplied by.
    alpha
        Which part of its weight a learner gives away.
    variable
        Whether only wrong learners give: Herbster and Warmuth's variable share, for losses of 0 and 1.

    Examples
    --------
    >>> rule = FixedShare(3)
    >>> rule.run([[1, 1, -1], [1, -1, -1]], [-1, -1]).tolist(), rule.weights
    ([1, -1], [0.0, 0.390625, 0.56640625, 0.76171875])

    References
    ----------
    [^1]: Herbster, Warmuth, "Tracking the Best Expert", Machine Learning 32 (1998). The source leaves the prediction
    open; it is the sign of the weighted sum, as in the paper that compares it.
    """

    def __init__(self, n_learners: int, beta: float = 0.5, alpha: float = 0.25, variable: bool = False) -> None:
        super().__init__(n_learners)
        self._beta = checked_factor("beta", beta, above=0, below=1)
        if not (alpha == 0 or 1e-12 <= alpha < 1):
            raise LocalError(f"alpha is {alpha!r}; it must be 0, or from 1e-12 to below 1")
        self._alpha = float(alpha)
        self._variable = bool(variable)
        self._mantissas = [0.5] * self.n_learners  # a weight is mantissa * 2**exponent, here 1
        self._exponents = [1] * self.n_learners
        self._unshared = _AlwaysUpdating(n_learners, [self._beta]) if alpha == 0 else None

    @property
    def beta(self) -> float:
        """What the weight of a wrong learner is multiplied by."""
        return self._beta

    @property
    def alpha(self) -> float:
        """Which part of its weight a learner gives away."""
        return self._alpha

    @property
    def variable(self) -> bool:
        """Whether only wrong learners give."""
        return self._variable

    @property
    def weights(self) -> list[float]:
        """The weights, a bias of 0 first; one that is too small for a float shows as 0."""
        if self._unshared is not None:
            return self._unshared.weights
        pairs = zip(self._mantissas, self._exponents, strict=True)
        return [0.0] + [math.ldexp(mantissa, max(exponent, -1100)) for mantissa, exponent in pairs]

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the weight that stands behind +1, from 0 to 1; 1/2 where nobody has any."""
        if self._unshared is not None:
            return self._unshared.share(votes)
        largest = max(self._exponents)
        pairs = zip(self._mantissas, self._exponents, strict=True)
        return share_of([0.0, *(math.ldexp(mantissa, exponent - largest) for mantissa, exponent in pairs)], votes)

    def _predict(self, votes: tuple[int, ...]) -> int:
        if self._unshared is not None:
            return self._unshared._predict(votes)
        return sign_of_sum(self._exponents, [m * vote for m, vote in zip(self._mantissas, votes, strict=True)])

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        if self._unshared is not None:
            return self._unshared._update(votes, label, synchronous)
        mantissas, exponents = self._mantissas, self._exponents
        before = list(mantissas), list(exponents)
        voters = [place for place, vote in enumerate(votes) if vote]
        for place in voters:
            if votes[place] != label:
                mantissas[place], raised = math.frexp(mantissas[place] * self._beta)
                exponents[place] += raised
        givers = [place for place in voters if votes[place] != label or not self._variable]
        if len(voters) > 1 and givers:
            largest = max(exponents[place] for place in givers)
            given = {place: math.ldexp(self._alpha * mantissas[place], exponents[place] - largest) for place in givers}
            pool = 0.0
            for place in givers:
                pool += given[place]
            for place in voters:
                gotten = (pool - given.get(place, 0.0)) / (len(voters) - 1)
                kept = mantissas[place] * (1 - self._alpha) if place in given else mantissas[place]
                scale = max(exponents[place], largest) if gotten > 0 else exponents[place]
                total = math.ldexp(kept, exponents[place] - scale)
                if gotten > 0:
                    total += math.ldexp(gotten, largest - scale)
                mantissas[place], raised = math.frexp(total)
                exponents[place] = scale + raised
        return (mantissas, exponents) != before

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        from quorate.rules import multiplicative_kernels as kernels

        if self._unshared is not None:
            return self._unshared._run(votes, labels)
        decisions, self._mantissas, self._exponents = kernels.run_shared(
            votes, labels, self._mantissas, self._exponents, self._beta, self._alpha, self._variable
        )
        return decisions

    def _join(self) -> None:
        # As in the other multiplicative rules: a weight of 0 could never grow.
        exponent, mantissa = min(zip(self._exponents, self._mantissas, strict=True))
        self._exponents.append(exponent)
        self._mantissas.append(mantissa)
        if self._unshared is not None:
            self._unshared.join()

    def _leave(self, place: int) -> None:
        del self._mantissas[place], self._exponents[place]
        if self._unshared is not None:
            self._unshared.leave(place)

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {
            "rule": type(self).__name__,
            "parameters": {"beta": self.beta, "alpha": self.alpha, "variable": self.variable},
            "mantissas": list(self._mantissas),
            "exponents": list(self._exponents),
            "powers": None if self._unshared is None else list(self._unshared._powers[0]),
            "schema": 1,
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        size = len(state.mantissas)
        if not size or len(state.exponents) != size or not all(0.5 <= each < 1 for each in state.mantissas):
            raise SnapshotError(
                "snapshot fields 'mantissas' and 'exponents' hold no weights: mantissas are from 1/2 to 1"
            )
        if max(map(abs, state.exponents)) > EXPONENT_MAX:
            raise SnapshotError(f"snapshot field 'exponents' holds a number above {EXPONENT_MAX}; none grows so large")
        rule: Self = restored(cls, size, state.parameters)
        rule._mantissas, rule._exponents = state.mantissas, state.exponents
        if (rule._unshared is None) != (state.powers is None) or len(state.powers or state.mantissas) != size:
            raise SnapshotError("snapshot field 'powers' does not fit 'parameters' and 'mantissas'")
        if rule._unshared is not None and state.powers is not None:
            rule._unshared._powers = [state.powers]
        return rule


class _State(msgspec.Struct):
    rule: str
    parameters: dict[str, Any]
    mantissas: list[float]
    exponents: list[int]
    powers: list[int] | None
    schema: int = 1
