"""Schemes on a stream of tables: they learn its head, then decide on the rest, with the rules' late labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quorate._extras import load
from quorate.errors import LocalError
from quorate.evaluate.labelled import LabelledTables
from quorate.evaluate.prequential import prequential
from quorate.streams import Feedback

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["chosen_schemes", "scheme_decisions"]

Row = tuple[dict[str, float], bool]


def chosen_schemes(names: str | Sequence[str]) -> dict[str, Callable[[], Any]]:
    """Make schemes by name, all of them for ``all``: eight members each, logistic regressions of River's.

    One that trains a member for each of five partitions has two for each, so ten.

    >>> sorted(chosen_schemes(["SEA", "DWM"]))
    ['DWM', 'SEA']
    """
    load("river", "Schemes")
    from river import compose, linear_model, preprocessing

    from quorate.schemes import SCHEMES

    wanted = list(SCHEMES) if names == "all" or "all" in names else [names] if isinstance(names, str) else list(names)
    unknown = [name for name in wanted if name not in SCHEMES]
    if unknown:
        raise LocalError(f"no scheme is named {unknown[0]!r}; there are all, {', '.join(SCHEMES)}")

    sizes = {
        "MultiPartitionEnsemble": {"n_members": 2},
        "SEA": {"window": 100, "n_members": 8},
        "EnsembleTracker": {"n_members": 8, "n_kept": 6},
        "AddExp": {"n_experts_max": 8},
        "DWM": {"n_experts_max": 8},
        "DDD": {"n_members": 8},
    }

    def make(name: str) -> Any:
        member = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
        return SCHEMES[name](member, **sizes.get(name, {}))

    return {name: lambda name=name: make(name) for name in wanted}  # type: ignore[misc]


def scheme_decisions(
    schemes: Mapping[str, Callable[[], Any]],
    stream: Callable[[], LabelledTables],
    rows_train: int,
    n_slots: int,
    feedback: Feedback,
    advance: Callable[[int], None] = lambda n_slots: None,
) -> dict[str, NDArray[np.int8]]:
    """Run each scheme over a fresh reading of the stream.

    Parameters
    ----------
    schemes
        What makes each scheme, by name.
    stream
        Opens the stream anew.
    rows_train
        How many rows at the head it learns at once, as the local models of the rules do.
    n_slots
        How many slots follow.
    feedback
        The delays and gaps of the labels. A scheme sees every instance: absences are of voters.
    advance
        Called with how many more slots are done.
    """
    decisions = {}
    late = Feedback(feedback.delay, feedback.label_prob, 1.0, feedback.seed)
    for name, make in schemes.items():
        scheme = make()
        rows = _rows(stream())
        for _ in range(rows_train):
            scheme.learn_one(*next(rows))
        result = prequential(scheme, rows, n_slots, late, name=name, advance=lambda: advance(1))
        decisions[name] = result.decisions[0][name]
    return decisions


def _rows(stream: LabelledTables) -> Iterator[Row]:
    """Rows of numbers: a category is a feature of its own that is 1, and what is missing is not there."""
    for table, labels in stream:
        for row, label in zip(table.to_pylist(), labels.tolist(), strict=True):
            x = {
                f"{name}={value}" if isinstance(value, str) else name: 1.0 if isinstance(value, str) else value
                for name, value in row.items()
                if value is not None
            }
            yield x, label > 0
