"""Which rule suits a stream, under the delays and gaps it really has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import LocalError
from quorate.evaluate.judging import common_facts, described
from quorate.evaluate.labelled import LabelledTables, Progress
from quorate.evaluate.measures import Measures, measure
from quorate.evaluate.recording import Recording, decide
from quorate.evaluate.result import Comparison, Row
from quorate.evaluate.schemed import chosen_schemes, scheme_decisions
from quorate.evaluate.voting import vote
from quorate.rules import BASELINES, RULES, AdaBoostWeights, FittingRule, MajorityClass, Portfolio, PreviousLabel, Rule
from quorate.streams import Feedback, delay_from_text
from quorate.streams.columns import Kind
from quorate.streams.feedback import Delay
from quorate.streams.tables import BadRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNFITTED", "compare", "compare_votes"]

#: The portfolio as it is where there are no labels from before the stream.
UNFITTED = "Portfolio, unfitted"


def compare(
    source: Any,
    label: str,
    *,
    positive: Any = None,
    models: Sequence[Any] | None = None,
    learners: int | None = None,
    train_rows: int | None = None,
    fitted: bool = False,
    views: bool | Sequence[Sequence[str]] = False,
    rules: Mapping[str, Callable[[int], Rule]] | None = None,
    delay: Delay | str = 0,
    label_prob: float = 1.0,
    observe_prob: float = 1.0,
    seed: int = 0,
    repeat: int = 1,
    types: Mapping[str, Kind] | None = None,
    on_bad_row: BadRows = "error",
    drop: Collection[str] = (),
    window: int | None = None,
    schemes: str | Sequence[str] = (),
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
        How many learners there are. Default: 8, or more where more models are given.
    train_rows
        How many rows each model is trained on. Default: 2,000, or less where that is more than half of the stream.
    fitted
        Whether the models are given fitted: then no rows are taken for training, and none is changed.
    views
        Whether each learner sees only its share of the columns; or the columns of each.
    rules
        The rules to compare, by name. Default: all, the portfolio first.
    delay, label_prob, observe_prob
        As for `quorate.streams.Feedback`; a delay may also be text, as on the command line, and ``column:NAME`` takes
        it from the stream.
    seed
        Draws delays, gaps and absences. Repeat r uses seed + r.
    repeat
        How often that is drawn.
    types, on_bad_row, drop
        As for `quorate.streams.TableReader`.
    schemes
        Schemes to compare too, by name, or ``all``: they retrain their members and need the features, so they are slow.
        They learn the rows the local models are trained on, and then all that follow as their labels come.
    window
        How many slots the windowed error looks back. Default: a fiftieth of the stream, at least 50.
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
    FixedShare 0.118
    Portfolio 0.12
    AverageMajority 0.12
    """
    making = chosen_schemes(schemes) if schemes else {}
    stream = LabelledTables(source, label, positive, types, on_bad_row, drop, progress)
    column = delay.partition(":")[2] if isinstance(delay, str) and delay.startswith("column:") else None
    votes, labels, delays, tuning, facts = vote(stream, models, learners, train_rows, views, fitted, column)
    late: Any = delays if column is not None else delay_from_text(delay) if isinstance(delay, str) else delay
    feedbacks = [Feedback(late, label_prob, observe_prob, seed + number) for number in range(repeat)]
    facts["feedback"] = described(feedbacks[0]) if feedbacks else {}
    if column is not None:
        facts["feedback"]["delay"] = f"column {column}"
    if window is not None:
        facts["window"] = window
    names = [f"learner-{place}" for place in range(1, votes.shape[1] + 1)]
    compared = compare_votes(names, votes, labels, feedbacks, rules, tuning, facts, progress)
    if not making:
        return compared
    total, done = len(making) * len(feedbacks) * len(labels), 0

    def advance(n_slots: int) -> None:
        nonlocal done
        done += n_slots
        if progress is not None and (done % 100 == 0 or done == total):
            progress("retraining", done, total)

    def again() -> LabelledTables:
        return LabelledTables(source, label, stream.positive, types, on_bad_row, [*drop, *([column] if column else [])])

    rows = [Row(name, "scheme", []) for name in making]
    for feedback, issued in zip(feedbacks, compared.decisions, strict=True):
        issued |= scheme_decisions(making, again, facts["rows_train"], len(labels), feedback, advance)
        for row in rows:
            row.repeats.append(measure(issued[row.name], labels, issued["PreviousLabel"]))
    compared.rows.extend(rows)
    compared.rows.sort(key=lambda row: row.mean("error"))
    return compared


def compare_votes(
    names: Sequence[str],
    votes: NDArray[np.int8],
    labels: NDArray[np.int8],
    feedbacks: Sequence[Feedback],
    rules: Mapping[str, Callable[[int], Rule]] | None = None,
    tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None,
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
    tuning
        Votes and labels from before the stream, for rules that can be fitted on them: `AdaBoostWeights`, which is left
        out without them, and `Portfolio`, which is there unfitted, too.
    facts
        What the result should know beside seeds and versions.
    progress
        Called with what is done, how much of it, and out of how much.
    """
    if not feedbacks or not len(labels):
        raise LocalError(
            f"there are {len(feedbacks)} repeats of {len(labels)} slots; there must be at least one of each"
        )
    baselines: dict[str, Callable[[int], Rule]] = {"PreviousLabel": PreviousLabel, "MajorityClass": MajorityClass}
    chosen: dict[str, Callable[[int], Rule]] = {**(RULES if rules is None else rules)}
    taken = [*names, *chosen, *(name for name, make in baselines.items() if chosen.get(name) is not make)]
    portfolio = chosen["Portfolio"](len(names)) if "Portfolio" in chosen else None
    if portfolio is not None and not isinstance(portfolio, Portfolio):
        raise LocalError(f"the rule named 'Portfolio' is a {type(portfolio).__name__}; give it another name")
    if portfolio is not None and portfolio.snapshot() != Portfolio(len(names)).snapshot():
        raise LocalError("the rule named 'Portfolio' is one that was fitted or has run; give it another name")
    if portfolio is not None and tuning is not None:
        taken.append(UNFITTED)
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        raise LocalError(f"two of the learners, rules and baselines are named {twice!r}; rename one")
    chosen |= baselines
    fits = {name: isinstance(make(len(names)), FittingRule) for name, make in chosen.items()}
    fitted = [name for name, can in fits.items() if can and tuning is not None]
    made = {
        name: partial(_made, make, len(names), tuning if fits[name] else None)
        for name, make in chosen.items()
        if tuning is not None or not isinstance(make(len(names)), AdaBoostWeights)
    }
    if "Portfolio" in fitted:  # the others begin without what it has learned: what does it do without?
        made[UNFITTED] = partial(chosen["Portfolio"], len(names))
    measures: dict[str, list[Measures]] = {}
    recordings, decisions = [], []
    done = 0

    def advance(n_slots: int) -> None:
        nonlocal done
        done += n_slots
        if progress is not None:
            progress("judging", done, len(feedbacks) * len(made) * len(labels))

    for feedback in feedbacks:
        arrivals, present = feedback.realize(len(labels), names)
        seen = votes if present.strides == (0, 0) else np.where(present, votes, np.int8(0))  # all, or some
        recording = Recording(list(names), seen, labels, arrivals)
        issued = {}
        for name, make in made.items():
            issued[name] = decide(recording, make(), advance=advance)
        for name, each in issued.items():
            measures.setdefault(name, []).append(measure(each, labels, issued["PreviousLabel"]))
        for place, name in enumerate(names):
            alone = np.where(recording.votes[:, place] == 0, np.int8(1), recording.votes[:, place])  # a tie is +1
            measures.setdefault(name, []).append(measure(alone, labels, issued["PreviousLabel"]))
        recordings.append(recording)
        decisions.append(issued)
    kinds = dict.fromkeys(names, "learner") | dict.fromkeys(made, "rule") | dict.fromkeys(BASELINES, "baseline")
    rows = sorted((Row(name, kinds[name], each) for name, each in measures.items()), key=lambda row: row.mean("error"))
    common = {**common_facts(labels, feedbacks), "fitted": fitted}
    return Comparison(rows, {**common, **(facts or {})}, recordings, decisions, tuning)


def _made(
    make: Callable[[int], Rule], n_learners: int, tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None
) -> Rule:
    rule = make(n_learners)
    return rule.fit(*tuning) if tuning is not None and isinstance(rule, FittingRule) else rule
