"""Logistic regressions over rows of numbers, with River's face, quick enough for whole schemes on the real data sets.

A row is the one feature of an instance, ``{"row": array}``: a scheme passes instances on without a look inside, and a
dictionary of a hundred numbers would cost more than all the arithmetic. Rows are of floats, and all of one length.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._extras import load
from quorate.ensemble.logistic import margin, step

load("river", "The members of schemes")
load("sklearn", "The members of schemes")

from river import base  # noqa: E402  # after the error that names the extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BatchLogistic", "OnlineLogistic"]


def _chances(at: float) -> dict[Any, float]:
    part = math.exp(-abs(at)) / (1 + math.exp(-abs(at)))
    return {False: part, True: 1 - part} if at > 0 else {False: 1 - part, True: part}


class OnlineLogistic(base.Classifier):
    """A logistic regression that takes one step of stochastic gradient descent a row.

    It is River's ``LogisticRegression(optim.SGD(rate), intercept_lr=rate)``, for rows. Like that, it says False where
    it has learned nothing.

    Parameters
    ----------
    rate
        The learning rate. The default is River's.

    Examples
    --------
    >>> member = OnlineLogistic(rate=0.5)
    >>> member.learn_one({"row": np.array([1.0, 2.0])}, True)
    >>> member.weights.tolist()
    [0.25, 0.5, 0.25]
    >>> member.predict_one({"row": np.array([1.0, -2.0])})
    False
    """

    def __init__(self, rate: float = 0.01) -> None:
        self.rate = rate
        self._weights: NDArray[np.float64] | None = None

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each number, and the intercept; empty before the first row."""
        return np.zeros(0) if self._weights is None else self._weights.copy()

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Take a step with a row and its label."""
        row = x["row"]
        if self._weights is None:
            self._weights = np.zeros(len(row) + 1)
        step(self._weights, row, 1.0 if y else -1.0, self.rate)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> bool:
        """The more likely label."""
        return self._weights is not None and margin(self._weights, x["row"]) > 0

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each label."""
        return _chances(0.0 if self._weights is None else margin(self._weights, x["row"]))


class BatchLogistic(base.Classifier):
    """A logistic regression that keeps the rows it learns, and is fitted on all of them when it is first asked.

    It is scikit-learn's, with its default penalty, as are the paper's local models here; by Newton's method, which
    takes few steps. Rows of one class make it answer that class; where it has learned nothing it has no answer.

    Examples
    --------
    >>> member = BatchLogistic()
    >>> for number in (-2.0, -1.0, 1.0, 3.0):
    ...     member.learn_one({"row": np.array([number])}, number > 0)
    >>> round(member.predict_proba_one({"row": np.array([1.0])})[True], 3)
    0.696
    """

    def __init__(self) -> None:
        self._rows: list[NDArray[np.float64]] = []
        self._answers: list[bool] = []
        self._weights: NDArray[np.float64] | None = None  # None before the fit, and for rows of one class

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each number, and the intercept; empty without rows of both classes."""
        self._fit()
        return np.zeros(0) if self._weights is None else self._weights.copy()

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Keep a row and its label for the next fit."""
        self._rows.append(x["row"])
        self._answers.append(bool(y))
        self._weights = None

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> bool | None:
        """The more likely label."""
        if self._weights is None and not self._fit():
            return self._answers[0] if self._answers else None
        assert self._weights is not None
        return margin(self._weights, x["row"]) > 0

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each label."""
        if self._weights is None and not self._fit():
            return {self._answers[0]: 1.0} if self._answers else {}
        assert self._weights is not None
        return _chances(margin(self._weights, x["row"]))

    def _fit(self) -> bool:
        """Fit where there are rows of both classes, and tell whether there are."""
        if self._weights is None and len(set(self._answers)) == 2:
            from sklearn.linear_model import LogisticRegression

            model = LogisticRegression(solver="newton-cholesky", max_iter=1000)
            model.fit(np.stack(self._rows), np.array(self._answers))
            self._weights = np.append(model.coef_[0], model.intercept_)
        return self._weights is not None
