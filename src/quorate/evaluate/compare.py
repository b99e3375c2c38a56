"""Which rule suits a stream, under the delays and gaps it really has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._extras import load
from quorate.errors import LocalError
from quorate.evaluate.labelled import LabelledTables, Progress
from quorate.evaluate.local_models import LocalModel, train
from quorate.evaluate.measures import Measures, measure
from quorate.evaluate.recording import Recording, decide
from quorate.evaluate.result import Comparison, Row, versions
from quorate.rules import BASELINES, RULES, MajorityClass, PreviousLabel, Rule
from quorate.streams import Feedback, delay_from_text
from quorate.streams.columns import Kind
from quorate.streams.feedback import Delay
from quorate.streams.tables import BadRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TRAIN_ROWS", "compare", "compare_votes"]

#: The rows each local model is trained on, where nobody says and the file is long enough.
TRAIN_ROWS = 2000


def compare(
    source: Any,
    label: str,
    *,
    positive: Any = None,
    models: Sequence[Any] | None = None,
    learners: int = 8,
    train_rows: int | None = None,
    views: bool | Sequence[Sequence[str]] = False,
    rules: Mapping[str, Callable[[int], Rule]] | None = None,
    delay: Delay | str = 0,
    label_prob: float = 1.0,
    observe_prob: float = 1.0,
    seed: int = 0,
    repeat: int = 1,
    types: Mapping[str, Kind] | None = None,
    on_bad_row: BadRows = "error",
    progress: Progress | None = None,
) -> Comparison:
    """Compare every rule that needs only votes on a user's own stream.

    As in the paper, each local model is trained on its own consecutive rows at the head of the stream and then kept
    as it is; the rest of the stream is voted on, and every rule gets the same votes and the same late labels.

    Parameters
    ----------
    source
        A file, a pyarrow table or a pandas data frame.
    label
        The column of the label.
    positive
        The class that is +1; every other is -1. Default: of two classes, the later one.
    models
        The local models, dealt to the learners in turn: scikit-learn classifiers, River classifiers, or functions of
        a row. Default: logistic regression.
    learners
        How many learners there are; with `models`, at least as many as these.
    train_rows
        How many rows each model is trained on. Default: 2,000, or less where that is more than half of the stream.
    views
        Whether each learner sees only its share of the columns; or the columns of each.
    rules
        The rules to compare, by name. Default: all.
    delay, label_prob, observe_prob
        As for `quorate.streams.Feedback`; a delay may also be text, as on the command line, and ``column:NAME`` takes
        it from the stream.
    seed
        Draws delays, gaps and absences. Repeat r uses seed + r.
    repeat
        How often that is drawn.
    types, on_bad_row
        As for `quorate.streams.TableReader`.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    A River model, a scikit-learn model and a plain function:

    >>> import pyarrow as pa
    >>> from river import naive_bayes
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from quorate.streams import Gaussian
    >>> features, labels, _ = Gaussian(mu=0.8, n_learners=3, seed=1).arrays(1000)
    >>> columns = {f"x{i}": features[0, :, i, 0] for i in range(3)}
    >>> comparison = compare(
    ...     pa.table({**columns, "y": labels[0]}),
    ...     label="y",
    ...     models=[naive_bayes.GaussianNB(), DecisionTreeClassifier(max_depth=2), lambda row: row["x2"] > 0],
    ...     learners=3,
    ...     views=True,
    ... )
    >>> for row in comparison.rows[:3]:
    ...     print(row.name, round(row.mean("error"), 3))
    AverageMajority 0.12
    PWM 0.197
    ExtendedPWM 0.197
    """
    stream = LabelledTables(source, label, positive, types, on_bad_row, progress)
    column = delay.partition(":")[2] if isinstance(delay, str) and delay.startswith("column:") else None
    votes, labels, delays, facts = _vote(stream, models, learners, train_rows, views, column)
    late: Any = delays if column is not None else delay_from_text(delay) if isinstance(delay, str) else delay
    feedbacks = [Feedback(late, label_prob, observe_prob, seed + number) for number in range(repeat)]
    facts |= {
        "feedback": {
            "delay": f"column {column}" if column is not None else repr(late),
            "label_prob": label_prob,
            "observe_prob": observe_prob,
        }
    }
    names = [f"learner-{place}" for place in range(1, votes.shape[1] + 1)]
    return compare_votes(names, votes, labels, feedbacks, rules, facts, progress)


def compare_votes(
    names: Sequence[str],
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    feedbacks: Sequence[Feedback],
    rules: Mapping[str, Callable[[int], Rule]] | None = None,
    facts: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare rules on given votes and labels, once for each feedback; the two baselines are always there.

    Parameters
    ----------
    names
        The learners.
    votes, labels
        Of shapes (slots, learners) and (slots,).
    feedbacks
        How labels and learners come and go, one a repeat.
    rules
        The rules to compare, by name. Default: all.
    facts
        What the result should know beside seeds and versions.
    progress
        Called with what is done, how much of it, and out of how much.
    """
    if not feedbacks:
        raise LocalError("there is no repeat; give at least one")
    chosen: dict[str, Callable[[int], Rule]] = {
        **(RULES if rules is None else rules),
        "PreviousLabel": PreviousLabel,
        "MajorityClass": MajorityClass,
    }
    measures: dict[str, list[Measures]] = {}
    recordings, decisions = [], []
    for number, feedback in enumerate(feedbacks):
        arrivals, present = feedback.realize(len(labels), names)
        seen = votes if present.strides == (0, 0) else np.where(present, votes, np.int8(0))  # all, or some
        recording = Recording(list(names), seen, labels, arrivals)
        issued = {}
        for place, (name, make) in enumerate(chosen.items()):
            issued[name] = decide(recording, make(len(names)))
            if progress is not None:
                progress("judging", number * len(chosen) + place + 1, len(feedbacks) * len(chosen))
        for name, each in issued.items():
            measures.setdefault(name, []).append(measure(each, labels, issued["PreviousLabel"]))
        for place, name in enumerate(names):
            voted = recording.votes[:, place] != 0
            if voted.any():
                alone = measure(recording.votes[voted, place], labels[voted], issued["PreviousLabel"][voted])
                measures.setdefault(name, []).append(alone)
        recordings.append(recording)
        decisions.append(issued)
    kinds = dict.fromkeys(names, "learner") | dict.fromkeys(chosen, "rule") | dict.fromkeys(BASELINES, "baseline")
    rows = sorted((Row(name, kinds[name], each) for name, each in measures.items()), key=lambda row: row.mean("error"))
    known = {"seeds": [feedback.seed for feedback in feedbacks], "versions": versions(), "slots": len(labels)}
    return Comparison(rows, {**(facts or {}), **known}, recordings, decisions)


def _vote(
    stream: LabelledTables,
    models: Sequence[Any] | None,
    learners: int,
    train_rows: int | None,
    views: bool | Sequence[Sequence[str]],
    delay_column: str | None,
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.int64], dict[str, Any]]:
    """Train the models on the head of the stream, and let them vote on the rest, part by part."""
    import pyarrow as pa

    if learners < 1:
        raise LocalError(f"learners is {learners}; there must be at least 1")
    if models is None:
        load("sklearn", "The default local models")
        from sklearn.linear_model import LogisticRegression

        models = [LogisticRegression(max_iter=1000)]
    parts = iter(stream)
    head: list[pa.Table] = []
    head_labels: list[NDArray[np.int8]] = []
    wanted = 2 * learners * (train_rows or TRAIN_ROWS)
    while sum(map(len, head_labels)) < wanted and (part := next(parts, None)) is not None:
        head.append(part[0])
        head_labels.append(part[1])
    table, labels = pa.concat_tables(head), np.concatenate(head_labels)
    each = train_rows or min(TRAIN_ROWS, len(labels) // (2 * learners))
    if each < 1 or each * learners >= len(labels):
        raise LocalError(
            f"{stream.name} has {len(labels)} rows: too few to train {learners} learners on "
            f"{train_rows or 'some'} rows each and have rows left; take fewer (--learners, --train-rows)"
        )
    columns = [column for column in stream.kinds if column != delay_column]
    if delay_column is not None and stream.kinds.get(delay_column) != "number":
        raise LocalError(f"{stream.name} has no column of numbers {delay_column!r} to take delays from")
    trained = _train(models, table, labels, each, stream.kinds, _views(views, columns, learners))
    cast, signs, delays = bytearray(), bytearray(), bytearray()  # a byte a vote, growing in place
    used = each * learners

    def take(rows: pa.Table, row_labels: NDArray[np.int8]) -> None:
        cast.extend(np.column_stack([model.vote(rows) for model in trained]).tobytes())
        signs.extend(row_labels.tobytes())
        if delay_column is not None:
            delays.extend(_whole(rows[delay_column].to_numpy(), delay_column).tobytes())

    take(table.slice(used), labels[used:])
    del table, head
    for rows, row_labels in parts:
        take(rows, row_labels)
    facts = {
        "source": stream.name,
        "label": stream.label,
        "positive": stream.positive,
        "rows_train": used,
        "rows_train_each": each,
        "rows_skipped": stream.bad_rows,
        "rows_without_label": stream.rows_without_label,
        "learners": [
            {
                "name": model.name,
                "model": " ".join(repr(models[place % len(models)]).split()),
                "columns": len(model.columns),
            }
            for place, model in enumerate(trained)
        ],
    }
    votes = np.frombuffer(cast, np.int8).reshape(-1, learners)
    return votes, np.frombuffer(signs, np.int8), np.frombuffer(delays, np.int64), facts


def _train(
    models: Sequence[Any],
    table: Any,
    labels: NDArray[np.int8],
    each: int,
    kinds: dict[str, Kind],
    views: list[list[str]],
) -> list[LocalModel]:
    trained = []
    for place, columns in enumerate(views):
        rows = slice(place * each, (place + 1) * each)
        own = table.slice(rows.start, each)
        model = models[place % len(models)]
        trained.append(train(f"learner-{place + 1}", model, own, labels[rows], kinds, columns))
    return trained


def _views(views: bool | Sequence[Sequence[str]], columns: list[str], learners: int) -> list[list[str]]:
    if views is False:
        return [columns] * learners
    if views is True:
        if learners > len(columns):
            raise LocalError(f"{len(columns)} columns cannot be split over {learners} learners; take fewer learners")
        return [columns[place::learners] for place in range(learners)]
    if len(views) != learners:
        raise LocalError(f"views are given for {len(views)} learners, but there are {learners}")
    unknown = [column for view in views for column in view if column not in columns]
    if unknown:
        raise LocalError(f"views name the column {unknown[0]!r}; there are {', '.join(columns)}")
    return [list(view) for view in views]


def _whole(values: NDArray[Any], column: str) -> NDArray[np.int64]:
    whole: NDArray[np.int64] = np.nan_to_num(values, nan=-1).astype(np.int64)
    if (whole != values).any():
        row = int(np.flatnonzero(whole != values)[0])
        raise LocalError(f"column {column!r} holds the delay {values[row]}; delays are whole numbers of slots")
    return whole
