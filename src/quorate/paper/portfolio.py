"""How the portfolio stands against every other rule: ``make portfolio``, or ``python -m quorate.paper.portfolio``.

Members, rates and shares were chosen on synthetic streams and on the first half of each real test block; the second
half is shown apart. What `fit` does was found on all of R1 to R4, and then compared with other ways on streams that had
no part in that (`python -m quorate.paper.fittings`). `docs/portfolio.md` tells more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quorate.paper.layout import real_votes, rows_needed
from quorate.paper.panels import perfect_errors
from quorate.paper.portfolio_streams import Stream, synthetic_streams
from quorate.rules import PWM, RULES, AdaBoostWeights, FittingRule, Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.streams import REAL_STREAMS, Feedback, RotatingHyperplane, load

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEEDBACKS", "Line", "ablation", "arrivals_of", "compared", "main", "real_streams", "second_halves"]

#: How labels come.
FEEDBACKS = {
    "at once": Feedback(),
    "10 late": Feedback(10),
    "100 late": Feedback(100),
    "1000 late": Feedback(1000),
    "1 in 10": Feedback(0, label_prob=0.1, seed=1),
}
#: At how many rows of the second half of a file the layout begins, if it leaves a choice.
N_STARTS = 5
#: The groups that are left out in turn.
GROUPS = {
    "constants": ("always +1", "always -1"),
    "last label": ("last label",),
    "PWM": ("PWM",),
    "averaged PWM": ("averaged PWM",),
    "regressions": ("logistic 0.1", "logistic 0.02", "logistic 0.004"),
    "Winnow2": ("Winnow2 for +1", "Winnow2 for -1"),
    "plain majority": ("plain majority",),
}


class Line(NamedTuple):
    """One stream under one feedback."""

    stream: str
    feedback: str
    portfolio: float
    best: float
    best_name: str
    pwm: float
    portfolio_half: float
    """The same over the second half only, against the best there."""
    best_half: float
    limit: float
    """What is asked for, with each learner alone among the others; and with only rules and baselines there."""
    limit_of_rules: float
    unfitted: float
    """The portfolio's that knows nothing of the block before the stream; the first is fitted on it if there is one."""

    @property
    def holds(self) -> bool:
        """Whether the portfolio is within what is asked of it, over all slots."""
        return self.portfolio <= self.limit

    @property
    def remark(self) -> str:
        """Whom it is too far above, if anybody."""
        return "" if self.holds else "above a learner" if self.portfolio <= self.limit_of_rules else "above"


def real_streams(data: str | None = None) -> Iterator[Stream]:
    """The votes of the paper's local models on the four real data sets."""
    for name in REAL_STREAMS:
        found = real_votes(name, data)
        yield Stream(name, found.votes, found.labels, (found.tuning_votes, found.tuning_labels))


def second_halves(data: str | None = None) -> Iterator[Stream]:
    """The same where the whole layout lies in the second half of a file, of which nothing was chosen on.

    The layout takes all rows of R2 and R4: of these it is the second half of the test block, and the first is the block
    before it.
    """
    for name in REAL_STREAMS:
        stream = load(name, data)
        last, half = len(stream.labels) - rows_needed(stream), len(stream.labels) // 2
        if last < half:
            found = real_votes(stream)
            yield Stream(f"{name} later", found.votes, found.labels).after(len(found.labels) // 2)
            continue
        for start in np.linspace(half, last, N_STARTS).astype(int).tolist():
            found = real_votes(stream, start=start)
            block = found.tuning_votes, found.tuning_labels
            yield Stream(f"{name} {start:,}", found.votes, found.labels, block)


def compared(stream: Stream, feedback: str) -> Line:
    """Run the portfolio and every other rule, baseline and learner over a stream.

    Examples
    --------
    >>> votes = np.array([[1, -1], [-1, -1]] * 200, np.int8)
    >>> line = compared(Stream("toy", votes, votes[:, 0].copy()), "at once")
    >>> line.best_name, line.portfolio, line.holds
    ('WeightedMajority', 0.0, True)
    """
    votes, labels = stream.votes, stream.labels
    n_slots, n_learners = votes.shape
    late = arrivals_of(stream, feedback)
    wrong = _others(stream, late)
    new, rule = Portfolio(n_learners), Portfolio(n_learners)
    if stream.tuning is not None:  # as `AdaBoostWeights` is, among the others
        rule.fit(*stream.tuning)
    unfitted, ours = (each.run(votes, labels, late) != labels for each in (new, rule))
    best_name = min(wrong, key=lambda name: wrong[name].sum())
    best, half = float(wrong[best_name].mean()), n_slots // 2
    return Line(
        stream.name,
        feedback,
        float(ours.mean()),
        best,
        best_name,
        float(wrong["PWM"].mean()),
        float(ours[half:].mean()),
        min(float(each[half:].mean()) for each in wrong.values()),
        _limit(stream, feedback, best),
        _limit(stream, feedback, min(float(wrong[name].mean()) for name in wrong if not name.startswith("learner-"))),
        float(unfitted.mean()),
    )


def arrivals_of(stream: Stream, feedback: str) -> NDArray[np.int64] | None:
    """When each label comes, or None where all come at once."""
    names = [str(place) for place in range(stream.votes.shape[1])]
    arrivals: NDArray[np.int64] = FEEDBACKS[feedback].realize(len(stream.labels), names).arrivals.astype(np.int64)
    return None if feedback == "at once" else arrivals


def _others(stream: Stream, late: NDArray[np.int64] | None) -> dict[str, NDArray[np.bool_]]:
    """Where every other rule, baseline and learner was wrong; rules that learn also if they have learned the block."""
    votes, labels = stream.votes, stream.labels
    n_learners = votes.shape[1]
    wrong: dict[str, NDArray[np.bool_]] = {}
    for name, other in RULES.items():
        if name in ("Portfolio", "ExtendedPWM"):  # without absences the latter is PWM
            continue
        rule, taught = other(n_learners), other(n_learners)
        if not isinstance(rule, AdaBoostWeights):
            wrong[name] = rule.run(votes, labels, late) != labels
        if stream.tuning is not None:
            _ = taught.fit(*stream.tuning) if isinstance(taught, FittingRule) else taught.run(*stream.tuning)
            wrong[f"{name}, taught"] = taught.run(votes, labels, late) != labels
    for place in range(n_learners):
        wrong[f"learner-{place + 1}"] = votes[:, place] != labels
    return wrong


def _limit(stream: Stream, feedback: str, best: float) -> float:
    """What is asked for: a ratio to the best other, or so much above it."""
    if feedback != "at once":
        return max(1.05 * best, best + 0.003)
    real = stream.name.split()[0] in REAL_STREAMS
    return max(1.03 * best, best + 0.001) if real else max(1.1 * best, best + 0.005)


def without(group: str) -> Callable[[int], Portfolio]:
    """A portfolio that does without some of its members.

    >>> without("PWM")(2).explain()["PWM"]
    0.0
    """

    def make(n_learners: int) -> Portfolio:
        rule, n_copies = Portfolio(n_learners), steps.N_COPIES
        names, shares, tables = GROUPS.get(group, ()), rule._state["shares"], list(steps.TABLES)
        for place, member in enumerate(steps.MEMBERS):
            if member in names:
                tables[place] = 0.0
                shares[n_copies * place : n_copies * (place + 1)] = [0.0] * n_copies
        for side, all_of_them in enumerate(("learners", "opposites")):
            if group == all_of_them:
                tables[side - 2] = 0.0
                for at in range(n_copies * (steps.N_MEMBERS + side), len(shares), 2 * n_copies):
                    shares[at : at + n_copies] = [0.0] * n_copies
        rule._tables = tables
        return rule

    return make


def ablation(
    streams: Sequence[Stream], feedbacks: Sequence[str]
) -> Iterator[tuple[str, float, float, tuple[str, str]]]:
    """Leave each group of members out in turn; compare with the whole portfolio.

    Yields
    ------
    group, mean, worst, where
        Of the ratios of its error to that of the whole, the mean and the largest, and the stream and feedback of that;
        errors below 1 % count as 1 %.
    """
    whole: dict[tuple[str, str], float] = {}
    for group in ("nothing", "learners", "opposites", *GROUPS):
        ratios = {}
        for stream in streams:
            for feedback in feedbacks:
                rule = without(group)(stream.votes.shape[1])
                decisions = rule.run(stream.votes, stream.labels, arrivals_of(stream, feedback))
                error = max(0.01, float((decisions != stream.labels).mean()))
                ratios[stream.name, feedback] = error / whole.setdefault((stream.name, feedback), error)
        worst = max(ratios, key=lambda line: ratios[line])
        yield group, float(np.mean(list(ratios.values()))), ratios[worst], worst


def s1_perfect(n_simulations: int = 200) -> tuple[float, float]:
    """The error of the portfolio and of PWM on S1, 1,000 slots, sixteen learners that know their own part."""
    stream = RotatingHyperplane(n_learners=16)
    errors = [perfect_errors(stream, simulation, 1000, Portfolio, PWM) for simulation in range(n_simulations)]
    _, portfolio, pwm = np.mean(errors, axis=0).tolist()
    return portfolio, pwm


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of ratios."""
    parser = argparse.ArgumentParser(prog="python -m quorate.paper.portfolio", description=__doc__)
    parser.add_argument("--data", help="the folder with the real data sets")
    parser.add_argument("--ablation", action="store_true", help="leave each group of members out in turn")
    parser.add_argument("--without-block", action="store_true", help="let no rule know the block before the stream")
    parser.add_argument(
        "--second-half", action="store_true", help="of the files only, beginning at rows of their second halves"
    )
    options = parser.parse_args(arguments)
    if options.second_half:
        streams = list(second_halves(options.data))
    else:
        streams = [*real_streams(options.data), *synthetic_streams()]
    if options.without_block:
        streams = [stream._replace(tuning=None) for stream in streams]
    if options.ablation:
        print("left out          mean   worst")
        for group, mean, worst, (stream_name, feedback) in ablation(streams, list(FEEDBACKS)):
            print(f"{group:<15} {mean:6.4f}  {worst:6.4f}  {stream_name}, {feedback}", flush=True)
        return
    print(
        "stream        labels     portfolio    best other                          ratio      PWM second half of best "
        "unfitted"
    )
    for stream in streams:
        for feedback in FEEDBACKS:
            line = compared(stream, feedback)
            print(
                f"{line.stream:<13} {line.feedback:<10} {line.portfolio:8.2%}  {line.best:8.2%} {line.best_name:<24} "
                f"{line.portfolio / max(line.best, 1e-9):7.3f} {line.pwm:8.2%} {line.portfolio_half:11.2%} "
                f"{line.best_half:7.2%} {line.unfitted:8.2%}  {line.remark}".rstrip(),
                flush=True,
            )
    if options.second_half:
        return
    portfolio, pwm = s1_perfect()
    print(f"S1 with perfect local classifiers, K = 16, after 1,000 slots: {portfolio:.4f}; PWM {pwm:.4f}")


if __name__ == "__main__":
    main()
