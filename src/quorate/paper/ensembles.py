"""Streams of votes from tables: three kinds of ensembles, trained on the head of the table, vote on the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from quorate._extras import load
from quorate.evaluate.labelled import LabelledTables
from quorate.evaluate.voting import vote
from quorate.paper.portfolio_streams import Stream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["voted"]

N_LEARNERS = 8


def voted(name: str, table: pa.Table, label: str, positive: Any) -> Iterator[Stream]:
    """What three kinds of ensembles vote on a table.

    Eight logistic regressions, eight that see an eighth of the columns each where there are so many, and four trees
    with four regressions. The block before a stream is what the models were trained on.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"x": [0.0, 1.0] * 50, "y": ["a", "b"] * 50})
    >>> [(stream.name, stream.votes.shape) for stream in voted("toy", table, "y", "b")]
    [('toy, regressions', (52, 8)), ('toy, trees too', (52, 8))]
    """
    for kind, (models, views) in _ensembles().items():
        if views and table.num_columns - 1 < N_LEARNERS:
            continue
        found = vote(LabelledTables(table, label, positive), models, N_LEARNERS, None, views, False, None)
        yield Stream(f"{name}, {kind}", found.votes, found.labels, found.tuning)


def _ensembles() -> dict[str, tuple[Sequence[Any] | None, bool]]:
    """The models that are dealt to the learners, and whether each sees its own columns only."""
    load("sklearn", "The local models")
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    trees_too = [DecisionTreeClassifier(max_depth=5, random_state=0), LogisticRegression(max_iter=1000)]
    return {"regressions": (None, False), "views": (None, True), "trees too": (trees_too, False)}
