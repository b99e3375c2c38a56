"""Perceptron Weighted Majority: the paper's Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import TYPE_CHECKING, Any

import msgspec

from quorate.errors import SnapshotError
from quorate.rules.base import BaseRule, read_state
from quorate.rules.shares import share_of

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PWM"]

#: How many votes a rule remembers beside what it decided from them.
_REMEMBERED_MAX = 1 << 16


class PWM(BaseRule):
    r"""Additive weights, changed only by mistakes.

    With the votes :math:`s = (1, s_1, \ldots, s_K)`, the first that of a virtual learner that always votes +1,

    .. math:: \hat y = \operatorname{sgn}(w \cdot s), \qquad w \leftarrow w + y s \;\text{ if }\; \hat y \neq y

    with :math:`\operatorname{sgn}(0) = +1` (equations 1 and 2 of [^1]). Weights are integers, start at 0 and may
    become negative: a learner that is always wrong is as useful as one that is always right. An abstainer (0)
    neither counts nor changes.

    Parameters
    ----------
    n_learners
        How many learners vote.
    bias
        Whether the virtual learner exists.

    Examples
    --------
    >>> rule = PWM(2)
    >>> rule.predict([-1, 1])          # a tie predicts +1
    1
    >>> rule.update([-1, 1], -1), rule.weights
    (True, [-1, 1, -1])
    >>> rule.predict([-1, 1]), rule.predict([1, -1])
    (-1, 1)
    >>> PWM(2).run([[-1, 1], [-1, 1], [1, -1]], [-1, -1, 1]).tolist()
    [1, -1, 1]

    References
    ----------
    [^1]: Canzian, Zhang, van der Schaar, "Ensemble of Distributed Learners for Online Classification of Dynamic
    Data Streams".
    """

    def __init__(self, n_learners: int, bias: bool = True) -> None:
        super().__init__(n_learners)
        self._bias = bool(bias)
        self._bias_weight = 0
        self._weights = [0] * self.n_learners
        # What these weights decide, by the votes: the same come again and again, and checking them anew costs more than
        # deciding. None holds a 0, which an unchecked False would be taken for.
        self._decided: dict[tuple[int, ...], int] = {}

    @property
    def bias(self) -> bool:
        """Whether there is a virtual learner that always votes +1."""
        return self._bias

    @property
    def weights(self) -> list[int]:
        """A copy of the weights, the bias first (0 for ever without one), then one a learner."""
        return [self._bias_weight, *self._weights]

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the weight that stands behind +1, from 0 to 1; 1/2 where nobody has any."""
        return share_of(self.weights, votes)

    def predict(self, votes: Sequence[int]) -> int:
        """Decide on one slot: -1 or +1. Changes nothing."""
        return self._remembered(votes) or super().predict(votes)

    def update(self, votes: Sequence[int], label: int, *, synchronous: bool | None = None) -> bool:
        """Learn from one labelled slot, as every rule does; True when the rule changed."""
        if type(label) is int and self._remembered(votes) == label:
            return False
        return super().update(votes, label, synchronous=synchronous)

    def _remembered(self, votes: Sequence[int]) -> int | None:
        """What is decided from unchecked votes, if they are remembered."""
        try:
            return self._decided.get(tuple(votes)) if type(votes) is list or type(votes) is tuple else None
        except TypeError:  # not even hashable
            return None

    def _predict(self, votes: tuple[int, ...]) -> int:
        decision = self._decided.get(votes)
        if decision is None:
            decision = 1 if self._bias_weight + sum(map(mul, self._weights, votes)) >= 0 else -1
            if 0 not in votes:
                if len(self._decided) * len(votes) >= _REMEMBERED_MAX:
                    self._decided.clear()
                self._decided[votes] = decision
        return decision

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        if self._predict(votes) == label:
            return False
        weights = [weight + label * vote for weight, vote in zip(self._weights, votes, strict=True)]
        self._take([self._bias_weight + label * self._bias, *weights])
        return True

    def _take(self, weights: Sequence[int]) -> None:
        """Go on with other weights, the bias first."""
        self._bias_weight, *self._weights = weights
        self._decided.clear()

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        decisions = self._run_unchecked(votes, labels)
        return super()._run(votes, labels) if decisions is None else decisions

    def _run_unchecked(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8] | None:
        from quorate.rules.narrow import run_pwm

        ran = run_pwm(votes, labels, [self.weights], self.bias)
        if ran is None:
            return None
        decisions, (weights,) = ran
        self._take(weights)
        return decisions

    def _run_late(
        self, votes: NDArray[np.int8], labels: NDArray[np.int8], arrivals: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        from quorate.rules import kernels

        if not kernels.fits([self.weights], len(votes)):
            return super()._run_late(votes, labels, arrivals)
        decisions, (weights,) = kernels.run_pwm_late(votes, labels, arrivals, [self.weights], self.bias)
        self._take(weights)
        return decisions

    def _join(self) -> None:
        self._take([*self.weights, 0])

    def _leave(self, place: int) -> None:
        self._take([*self.weights[: place + 1], *self.weights[place + 2 :]])

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict.

        >>> PWM(2, bias=False).snapshot()
        {'rule': 'PWM', 'bias': False, 'weights': [0, 0, 0], 'schema': 1}
        """
        return {"rule": type(self).__name__, "bias": self.bias, "weights": self.weights, "schema": 1}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        check_weights("weights", state.weights, state.bias)
        rule = cls(len(state.weights) - 1, bias=state.bias)
        rule._take(state.weights)
        return rule


class _State(msgspec.Struct):
    rule: str
    bias: bool
    weights: list[int]
    schema: int = 1


def check_weights(field: str, weights: list[int], bias: bool) -> None:
    """Refuse restored weights that no run could have led to."""
    if len(weights) < 2:
        raise SnapshotError(f"snapshot field {field!r} has {len(weights)} weights; a bias and a learner make 2")
    if not bias and weights[0] != 0:
        raise SnapshotError(f"snapshot field {field!r} has a bias weight of {weights[0]} though bias is off")
