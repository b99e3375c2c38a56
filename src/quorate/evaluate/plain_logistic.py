"""River's online logistic regression where it is the plain one: the same steps, compiled."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Plain", "plain", "taught"]


class Plain(NamedTuple):
    """What there is to know of a plain online logistic regression."""

    rate: float
    intercept_rate: float
    intercept: float


def plain(model: Any) -> Plain | None:
    """What a model is, if it is River's logistic regression by plain gradient descent: no penalty, no schedule.

    >>> from river import linear_model
    >>> plain(linear_model.LogisticRegression())
    Plain(rate=0.01, intercept_rate=0.01, intercept=0.0)
    >>> plain(linear_model.LogisticRegression(l2=0.1)), plain(linear_model.Perceptron())
    (None, None)
    """
    if find_spec("river") is None or find_spec("numba") is None:
        return None
    from river import linear_model, optim

    if type(model) is not linear_model.LogisticRegression:
        return None
    steps, loss = model.optimizer, model.loss
    ordinary = (
        type(steps) is optim.SGD
        and type(steps.lr) is type(model.intercept_lr) is optim.schedulers.Constant
        and type(loss) is optim.losses.Log
        and loss.weight_pos == loss.weight_neg == 1
        and model.l1 == model.l2 == 0
        and model.clip_gradient >= 1  # the gradient never is beyond
        and type(model.initializer) is optim.initializers.Zeros
    )
    if not ordinary:
        return None
    rates = float(steps.lr.learning_rate), float(model.intercept_lr.learning_rate)
    return Plain(*rates, float(model.intercept_init))


def taught(model: Any, table: pa.Table, labels: NDArray[np.int8]) -> Callable[[pa.Table], NDArray[np.int8]] | None:
    """Teach a copy of a model the rows of a table; give how it votes then, or None where it is not a plain one.

    It sees numbers only: with other columns River itself must say what is wrong with them.
    """
    import pyarrow as pa

    known = plain(model)
    if known is None or not all(pa.types.is_floating(kind) for kind in table.schema.types):
        return None
    from quorate.ensemble.logistic import online_votes

    weights = np.zeros((1, table.num_columns + 1))
    weights[0, -1] = known.intercept
    online_votes(_views(table), labels[:, None], rate=known.rate, intercept_rate=known.intercept_rate, weights=weights)

    def vote(rows: pa.Table) -> NDArray[np.int8]:
        nothing = np.zeros((rows.num_rows, 1), np.int8)
        never = np.full(rows.num_rows, -1)
        return online_votes(_views(rows), nothing, never, weights=weights, tie=-1)[:, 0]  # River says False at a tie

    return vote


def _views(table: pa.Table) -> NDArray[np.float64]:
    """The rows as one learner sees them; what is missing counts nothing, as a feature that is not there."""
    import pyarrow.compute as pc

    matrix = np.empty((table.num_rows, 1, table.num_columns))
    for place, column in enumerate(table.columns):
        matrix[:, 0, place] = pc.fill_null(column, 0.0).to_numpy()
    return matrix
