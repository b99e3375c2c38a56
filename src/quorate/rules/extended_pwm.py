"""Extended Perceptron Weighted Majority: the paper's Algorithm 2, for learners that may be absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from quorate.errors import SnapshotError
from quorate.rules.base import BaseRule, read_state
from quorate.rules.pwm import PWM, check_weights

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ExtendedPWM"]


class ExtendedPWM(BaseRule):
    """Two PWM weight vectors: one for slots where all voted, one for slots where somebody was absent.

    A slot is decided by, and its label updates, the vector that its own votes choose (Algorithm 2 of [^1]), so that
    what is learned while learners are missing does not disturb what holds when all are there. Late and
    missing labels are the learner's work (`quorate.Learner`): it keeps the votes of each slot until its label comes.

    Parameters
    ----------
    n_learners
        How many learners vote.
    bias
        Whether there is a virtual learner that always votes +1, also in slots where real ones abstain.

    Examples
    --------
    >>> rule = ExtendedPWM(2)
    >>> rule.update([1, 1], -1), rule.update([0, 1], -1)
    (True, True)
    >>> rule.weights_synchronous, rule.weights_asynchronous
    ([-1, -1, -1], [-1, 0, -1])
    >>> ExtendedPWM(2).run([[1, 1], [0, 1], [1, 1]], [-1, -1, -1]).tolist()
    [1, 1, -1]

    References
    ----------
    [^1]: Canzian, Zhang, van der Schaar, "Ensemble of Distributed Learners for Online Classification of Dynamic
    Data Streams", Section V.
    """

    def __init__(self, n_learners: int, bias: bool = True) -> None:
        super().__init__(n_learners)
        self._bias = bool(bias)
        self._synchronous = PWM(n_learners, bias)
        self._asynchronous = PWM(n_learners, bias)

    @property
    def bias(self) -> bool:
        """Whether there is a virtual learner that always votes +1."""
        return self._bias

    @property
    def weights(self) -> list[int]:
        """The weights for slots where all voted, the same as `weights_synchronous`."""
        return self.weights_synchronous

    @property
    def weights_synchronous(self) -> list[int]:
        """A copy of the weights for slots where all voted, the bias first."""
        return self._synchronous.weights

    @property
    def weights_asynchronous(self) -> list[int]:
        """A copy of the weights for slots where somebody was absent, the bias first."""
        return self._asynchronous.weights

    def share(self, votes: tuple[int, ...]) -> float:
        """The part of the weight that stands behind +1, from 0 to 1; 1/2 where nobody has any."""
        return self._chosen(0 not in votes).share(votes)

    def _chosen(self, synchronous: bool) -> PWM:
        return self._synchronous if synchronous else self._asynchronous

    def predict(self, votes: Sequence[int]) -> int:
        """Decide on one slot: -1 or +1. Changes nothing."""
        return self._synchronous._remembered(votes) or super().predict(votes)  # where nobody abstains

    def update(self, votes: Sequence[int], label: int, *, synchronous: bool | None = None) -> bool:
        """Learn from one labelled slot, as every rule does; True when the rule changed."""
        if synchronous is not False and type(label) is int and self._synchronous._remembered(votes) == label:
            return False
        return super().update(votes, label, synchronous=synchronous)

    def _predict(self, votes: tuple[int, ...]) -> int:
        return self._chosen(0 not in votes)._predict(votes)

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        return self._chosen(synchronous)._update(votes, label, synchronous)

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        decisions = self._run_unchecked(votes, labels)
        return super()._run(votes, labels) if decisions is None else decisions

    def _run_unchecked(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8] | None:
        from quorate.rules.narrow import run_pwm

        ran = run_pwm(votes, labels, [self.weights_synchronous, self.weights_asynchronous], self.bias)
        if ran is None:
            return None
        decisions, weights = ran
        self._take(weights)
        return decisions

    def _run_late(
        self, votes: NDArray[np.int8], labels: NDArray[np.int8], arrivals: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        from quorate.rules import kernels

        weights = [self.weights_synchronous, self.weights_asynchronous]
        if not kernels.fits(weights, len(votes)):
            return super()._run_late(votes, labels, arrivals)
        decisions, weights = kernels.run_pwm_late(votes, labels, arrivals, weights, self.bias)
        self._take(weights)
        return decisions

    def _take(self, weights: list[list[int]]) -> None:
        for half, learned in zip((self._synchronous, self._asynchronous), weights, strict=True):
            half._take(learned)

    def _join(self) -> None:
        self._synchronous.join()
        self._asynchronous.join()

    def _leave(self, place: int) -> None:
        self._synchronous.leave(place)
        self._asynchronous.leave(place)

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        return {
            "rule": type(self).__name__,
            "bias": self.bias,
            "weights_synchronous": self.weights_synchronous,
            "weights_asynchronous": self.weights_asynchronous,
            "schema": 1,
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state = read_state(snapshot, _State, cls)
        check_weights("weights_synchronous", state.weights_synchronous, state.bias)
        check_weights("weights_asynchronous", state.weights_asynchronous, state.bias)
        if len(state.weights_synchronous) != len(state.weights_asynchronous):
            raise SnapshotError(
                f"snapshot fields 'weights_synchronous' and 'weights_asynchronous' have "
                f"{len(state.weights_synchronous)} and {len(state.weights_asynchronous)} weights; they must be equal"
            )
        rule = cls(len(state.weights_synchronous) - 1, bias=state.bias)
        rule._take([state.weights_synchronous, state.weights_asynchronous])
        return rule


class _State(msgspec.Struct):
    rule: str
    bias: bool
    weights_synchronous: list[int]
    weights_asynchronous: list[int]
    schema: int = 1
