"""Littlestone's Winnow2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from quorate.errors import LocalError
from quorate.rules.powers import PowerRule, checked_factor

__all__ = ["Winnow2"]


class Winnow2(PowerRule):
    r"""Only votes for +1 count; their weights are promoted or demoted by alpha when the ensemble errs.

    .. math:: \hat y = +1 \;\text{ if }\; \sum_{j: s_j = +1} w_j \ge \theta \;\text{ else } -1, \qquad
              w_j \leftarrow w_j \alpha^{y} \;\text{ if }\; \hat y \neq y \;\text{and}\; s_j = +1

    Weights start at 1, and a vote for -1 is an attribute that is absent: it is neither promoted nor demoted. The
    weights are kept as integer powers of alpha (see `quorate.rules.powers`).

    Parameters
    ----------
    n_learners
        How many learners vote.
    alpha
        What weights are multiplied or divided by.
    threshold
        The sum that is needed for +1. Default: half the number of learners.

    Examples
    --------
    >>> rule = Winnow2(4)
    >>> rule.run([[1, -1, -1, -1], [1, -1, -1, -1], [1, 1, -1, -1]], [1, 1, -1]).tolist(), rule.weights
    ([-1, 1, 1], [-2.0, 1.0, 0.5, 1.0, 1.0])

    References
    ----------
    [^1]: Littlestone, "Learning Quickly When Irrelevant Attributes Abound", Machine Learning 2 (1988). The source
    predicts +1 above the threshold; here it is at or above, so that ties predict +1 as everywhere.
    """

    _kind: ClassVar[int] = 1

    def __init__(self, n_learners: int, alpha: float = 2.0, threshold: float | None = None) -> None:
        super().__init__(n_learners, [checked_factor("alpha", alpha, above=1, below=math.inf)])
        if threshold is not None and not (threshold > 0 and math.isfinite(threshold)):
            raise LocalError(f"threshold is {threshold!r}; it must be above 0")
        self._threshold = None if threshold is None else float(threshold)

    @property
    def alpha(self) -> float:
        """What weights are multiplied or divided by."""
        return self._factors[0]

    @property
    def threshold(self) -> float:
        """The sum that is needed for +1."""
        return self.n_learners / 2 if self._threshold is None else self._threshold

    def share(self, votes: tuple[int, ...]) -> float:
        """How far the weight of the votes for +1 is along to the threshold: 1/2 there."""
        logs = [log for log, vote in zip(self._log_weights(), votes, strict=True) if vote > 0]
        largest = max([*logs, 0.0])
        reached: float = sum(2.0 ** (log - largest) for log in logs)
        needed: float = self.threshold * 2.0**-largest
        return reached / (reached + needed)

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self.alpha} | ({} if self._threshold is None else {"threshold": self._threshold})

    def _coefficients(self, votes: tuple[int, ...]) -> Sequence[int]:
        return [int(vote > 0) for vote in votes]

    def _changes(self, vote: int, label: int, erred: bool) -> tuple[int, ...]:
        return (label if erred and vote > 0 else 0,)
