"""The paper's table of results: every rule and scheme on R1 to R4, in the paper's protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.evaluate import interval, measure
from quorate.evaluate.compare import UNFITTED
from quorate.evaluate.measures import finite
from quorate.paper.layout import RealVotes, real_votes, rows_needed
from quorate.paper.retrained import Prepared, prepared, scheme_on_test_block
from quorate.paper.work import spread
from quorate.rules import (
    PWM,
    AdaBoostWeights,
    AverageMajority,
    BlumMajority,
    FittingRule,
    FixedShare,
    MajorityClass,
    Portfolio,
    PreviousLabel,
    Rule,
    WeightedMajority,
    Winnow2,
)
from quorate.streams import RealStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RULES_OF_THE_TABLE", "run_table"]

#: The rules of the table with the paper's parameters, and what the paper does not have.
RULES_OF_THE_TABLE: dict[str, Callable[[int], Rule]] = {
    "AverageMajority": AverageMajority,
    "AdaBoostWeights": AdaBoostWeights,
    "WeightedMajority": lambda n: WeightedMajority(n, beta=0.5),
    "BlumMajority": lambda n: BlumMajority(n, beta=0.5, gamma=1.5),
    "FixedShare": lambda n: FixedShare(n, beta=0.5, alpha=0.25),
    "PWM": PWM,
    "PWM without bias": lambda n: PWM(n, bias=False),
    "Winnow2": Winnow2,
    "Portfolio": Portfolio,
    UNFITTED: Portfolio,
    "MajorityClass": MajorityClass,
    "PreviousLabel": PreviousLabel,
}
#: Into so many parts the test block is cut for an interval of the error.
PARTS = 50
#: At so many rows the layout begins, where a data set leaves a choice.
STARTS = 8


def run_table(
    stream: RealStream,
    schemes: Sequence[str] | None = None,
    n_starts: int = STARTS,
    jobs: int = 1,
    backend: str | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Run every rule, and the schemes that retrain their members, on one real data set.

    Parameters
    ----------
    stream
        The data set.
    schemes
        The schemes to run. Default: all.
    n_starts
        At how many rows the layout begins, for the spread of the rules; the table is of the first, row 0.
    jobs, backend
        As for `spread`.
    advance
        Called after each piece of work: the rules at each start, and each scheme.
    """
    chosen = _scheme_names() if schemes is None else list(schemes)
    starts = _starts(stream, n_starts)
    n_rows = rows_needed(stream)
    slices = [
        stream._replace(features=stream.features.slice(start, n_rows), labels=stream.labels[start : start + n_rows])
        for start in starts
    ]
    swept: list[dict[str, NDArray[np.int8]]] = []
    labels: list[NDArray[np.int8]] = []
    for decided, truth in spread(_rules, slices, jobs, backend):
        swept.append(decided)
        labels.append(truth)
        advance(1)
    two_classes = [place for place, truth in enumerate(labels) if place == 0 or len(np.unique(truth)) == 2]
    issued = dict(swept[0])
    if chosen:
        rows = prepared(slices[0])
        for name, decisions in zip(
            chosen, spread(_scheme, [(rows, name) for name in chosen], jobs, backend), strict=True
        ):
            issued[name] = decisions
            advance(1)
    return {
        "title": stream.spec.title,
        "slots": len(labels[0]),
        "train_rows": stream.spec.train_rows,
        "rows": {name: _row(decisions, labels[0], issued["PreviousLabel"]) for name, decisions in issued.items()},
        "starts": [starts[place] for place in two_classes],
        "starts_of_one_class": [start for place, start in enumerate(starts) if place not in two_classes],
        "sweep": {
            name: [float((swept[place][name] != labels[place]).mean()) for place in two_classes] for name in swept[0]
        },
    }


def _scheme_names() -> list[str]:
    from quorate.schemes import SCHEMES  # River's base classes take a second

    return list(SCHEMES)


def pieces(stream: RealStream, schemes: Sequence[str] | None = None, n_starts: int = STARTS) -> int:
    """How often `run_table` advances."""
    return len(_starts(stream, n_starts)) + len(_scheme_names() if schemes is None else schemes)


def _starts(stream: RealStream, n_starts: int) -> list[int]:
    """Rows to begin at, evenly spread from the first to the last that is possible; one where there is no room."""
    room = len(stream.labels) - rows_needed(stream)
    if room < rows_needed(stream):
        return [0]
    return [int(start) for start in np.linspace(0, room, n_starts)]


def _rules(stream: RealStream) -> tuple[dict[str, NDArray[np.int8]], NDArray[np.int8]]:
    found: RealVotes = real_votes(stream)
    issued = {}
    for name, make in RULES_OF_THE_TABLE.items():
        rule = make(found.votes.shape[1])
        if isinstance(rule, FittingRule) and name != UNFITTED:
            rule.fit(found.tuning_votes, found.tuning_labels)
        issued[name] = rule.run(found.votes, found.labels)
    return issued, found.labels


def _scheme(work: tuple[Prepared, str]) -> NDArray[np.int8]:
    rows, name = work
    return scheme_on_test_block(rows, name)


def _row(decisions: NDArray[np.int8], labels: NDArray[np.int8], previous: NDArray[np.int8]) -> dict[str, Any]:
    """Error, kappa, temporal kappa; and the error's interval from parts of the block, as mistakes come in runs."""
    measured = measure(decisions, labels, previous)
    parts = [float(part.mean()) for part in np.array_split(decisions != labels, PARTS)]
    return {
        "error": measured.error,
        "interval": interval(parts),
        "kappa": finite(measured.kappa),
        "kappa_temporal": finite(measured.kappa_temporal),
    }
