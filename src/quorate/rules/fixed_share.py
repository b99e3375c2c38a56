"""Herbster and Warmuth's fixed share: the paper's TrackExp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from quorate.errors import LocalError, SnapshotError
from quorate.rules.base import BaseRule, read_state
from quorate.rules.powers import NOTHING, PowerRule, checked_factor, restored
from quorate.rules.shares import share_of

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FixedShare"]

#: Below this all weights are multiplied by its inverse: exact, since it is a power of two, so no decision changes.
SCALE = 2.0**-500


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

    With alpha = 0 this is the weighted majority that updates in every slot, kept as integer powers of beta. Else no
    weight can fall far below the others; when all have become small they are multiplied by a power of two, which is
    exact.

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
        self._shares = [1.0] * self.n_learners
        self._scalings = 0
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
        scale = SCALE**self._scalings
        return [0.0] + [share * scale for share in self._shares]

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the weight that stands behind +1, from 0 to 1; 1/2 where nobody has any."""
        return share_of([0.0, *self._shares], votes) if self._unshared is None else self._unshared.share(votes)

    def _predict(self, votes: tuple[int, ...]) -> int:
        if self._unshared is not None:
            return self._unshared._predict(votes)
        total = bound = 0.0
        for weight, vote in zip(self._shares, votes, strict=True):
            total += weight * vote
            bound += weight * abs(vote)
        return 1 if total >= -NOTHING * bound else -1

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        if self._unshared is not None:
            return self._unshared._update(votes, label, synchronous)
        before = list(self._shares)
        weights = self._shares
        pool = 0.0
        voters = [place for place, vote in enumerate(votes) if vote]
        for place in voters:
            wrong = votes[place] != label
            if wrong:
                weights[place] *= self._beta
            if wrong or not self._variable:
                pool += self._alpha * weights[place]
        for place in voters if len(voters) > 1 else ():
            gives = votes[place] != label or not self._variable
            given = self._alpha * weights[place] if gives else 0.0
            weights[place] = (weights[place] - given) + (pool - given) / (len(voters) - 1)
        changed = weights != before
        if max(weights) < SCALE:
            self._shares = [weight / SCALE for weight in weights]
            self._scalings += 1
        return changed

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        from quorate.rules import multiplicative_kernels as kernels

        if self._unshared is not None:
            return self._unshared._run(votes, labels)
        decisions, self._shares, scalings = kernels.run_shared(
            votes, labels, self._shares, self._beta, self._alpha, self._variable
        )
        self._scalings += scalings
        return decisions

    def _join(self) -> None:
        self._shares.append(min(self._shares))  # as in the other multiplicative rules: 0 could never grow
        if self._unshared is not None:
            self._unshared.join()

    def _leave(self, place: int) -> None:
        del self._shares[place]
        if self._unshared is not None:
            self._unshared.leave(place)

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {
            "rule": type(self).__name__,
            "parameters": {"beta": self.beta, "alpha": self.alpha, "variable": self.variable},
            "shares": list(self._shares),
            "scalings": self._scalings,
            "powers": None if self._unshared is None else list(self._unshared._powers[0]),
            "schema": 1,
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        if not state.shares or not all(0 < share < 2.0**1000 for share in state.shares) or state.scalings < 0:
            raise SnapshotError("snapshot fields 'shares' and 'scalings' hold no weights; shares are above 0")
        rule: Self = restored(cls, len(state.shares), state.parameters)
        rule._shares, rule._scalings = state.shares, state.scalings
        if (rule._unshared is None) != (state.powers is None) or len(state.powers or state.shares) != len(state.shares):
            raise SnapshotError("snapshot field 'powers' does not fit 'parameters' and 'shares'")
        if rule._unshared is not None and state.powers is not None:
            rule._unshared._powers = [state.powers]
        return rule


class _State(msgspec.Struct):
    rule: str
    parameters: dict[str, Any]
    shares: list[float]
    scalings: int
    powers: list[int] | None
    schema: int = 1
