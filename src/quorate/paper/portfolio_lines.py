"""The lines of the portfolio's table, each a stream under one feedback, and how every rule stands over all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quorate.paper.portfolio_streams import Stream
from quorate.rules import RULES, FittingRule
from quorate.streams import REAL_STREAMS, Feedback

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEEDBACKS", "LEAST", "Line", "Standing", "arrivals_of", "compared", "standings"]

#: How labels come.
FEEDBACKS = {
    "at once": Feedback(),
    "10 late": Feedback(10),
    "100 late": Feedback(100),
    "1000 late": Feedback(1000),
    "1 in 10": Feedback(0, label_prob=0.1, seed=1),
}
#: Errors below this count as this in ratios: that of 1 mistake to none says little.
LEAST = 0.005
#: What is added to the name of a rule that has learned the block before the stream, or of one that was fitted on it.
TAUGHT = ", taught"
LEARNER = "learner-"


class Line(NamedTuple):
    """One stream under one feedback: how often each rule, baseline and learner was wrong."""

    stream: str
    feedback: str
    errors: dict[str, float]
    halves: dict[str, float]
    """The same over the second half only."""

    @property
    def portfolio(self) -> str:
        """The portfolio that is judged: the one fitted on the block before the stream, if there is one."""
        return "Portfolio" + TAUGHT if "Portfolio" + TAUGHT in self.errors else "Portfolio"

    def best(self, name: str) -> str:
        """The best other than a rule, taught or not."""
        return min(self._others(name), key=self.errors.__getitem__)

    def best_half(self, name: str) -> float:
        """The error of the best other of the second half."""
        return min(self.halves[other] for other in self._others(name))

    def limit(self, name: str, *, learners: bool = True) -> float:
        """What is asked of a rule: a ratio to the error of the best other, or so much above it.

        Parameters
        ----------
        name
            The rule.
        learners
            Whether each learner alone, chosen in hindsight, is among the others.
        """
        best = min(self.errors[other] for other in self._others(name) if learners or not other.startswith(LEARNER))
        if self.feedback != "at once":
            return max(1.05 * best, best + 0.003)
        real = self.stream.split()[0] in REAL_STREAMS
        return max(1.03 * best, best + 0.001) if real else max(1.1 * best, best + 0.005)

    def holds(self, name: str) -> bool:
        """Whether a rule is within what is asked, over all slots."""
        return self.errors[name] <= self.limit(name)

    @property
    def remark(self) -> str:
        """Whom the portfolio is too far above, if anybody."""
        if self.holds(self.portfolio):
            return ""
        above_rules = self.errors[self.portfolio] > self.limit(self.portfolio, learners=False)
        return "above" if above_rules else "above a learner"

    def _others(self, name: str) -> Iterator[str]:
        rule = name.removesuffix(TAUGHT)
        return (other for other in self.errors if other.removesuffix(TAUGHT) != rule)


class Standing(NamedTuple):
    """How a rule stands over many lines, each against the best other of the line."""

    rule: str
    n_within: int
    """In how many lines it is within what is asked of the portfolio."""
    mean: float
    """The geometric mean of the ratios of its error to that of the best other, and the largest of them."""
    worst: float
    where: str


def compared(stream: Stream, feedback: str) -> Line:
    """Run every rule and baseline over a stream; those that learn also when they have learned the block before it.

    Examples
    --------
    >>> votes = np.array([[1, -1], [-1, -1]] * 200, np.int8)
    >>> line = compared(Stream("toy", votes, votes[:, 0].copy()), "at once")
    >>> line.best("Portfolio"), line.errors["Portfolio"], line.holds("Portfolio")
    ('WeightedMajority', 0.0, True)
    """
    votes, labels = stream.votes, stream.labels
    n_learners, late = votes.shape[1], arrivals_of(stream, feedback)
    wrong = {}
    for name, rule in RULES.items():
        if name == "ExtendedPWM":  # without absences it is PWM
            continue
        new, taught = rule(n_learners), rule(n_learners)
        if name != "AdaBoostWeights":  # which knows nothing until it is fitted
            wrong[name] = new.run(votes, labels, late) != labels
        if stream.tuning is not None:
            _ = taught.fit(*stream.tuning) if isinstance(taught, FittingRule) else taught.run(*stream.tuning)
            wrong[name + TAUGHT] = taught.run(votes, labels, late) != labels
    wrong |= {f"{LEARNER}{place + 1}": votes[:, place] != labels for place in range(n_learners)}
    half = len(labels) // 2
    return Line(
        stream.name,
        feedback,
        {name: float(each.mean()) for name, each in wrong.items()},
        {name: float(each[half:].mean()) for name, each in wrong.items()},
    )


def arrivals_of(stream: Stream, feedback: str) -> NDArray[np.int64] | None:
    """When each label comes, or None where all come at once."""
    if feedback == "at once":
        return None
    names = [str(place) for place in range(stream.votes.shape[1])]
    arrivals: NDArray[np.int64] = FEEDBACKS[feedback].realize(len(stream.labels), names).arrivals.astype(np.int64)
    return arrivals


def standings(lines: Sequence[Line]) -> list[Standing]:
    """How each rule and baseline stands, the best first.

    Examples
    --------
    >>> line = Line("toy", "at once", {"Portfolio": 0.10, "PWM": 0.20, "learner-1": 0.25}, {})
    >>> [(each.rule, each.n_within, round(each.mean, 2)) for each in standings([line])]
    [('Portfolio', 1, 0.5), ('PWM', 0, 2.0)]
    """
    found = []
    for name in lines[0].errors if lines else ():
        if name.startswith(LEARNER):
            continue
        ratios = [
            (
                max(LEAST, line.errors[name]) / max(LEAST, line.errors[line.best(name)]),
                f"{line.stream}, {line.feedback}",
            )
            for line in lines
        ]
        worst, where = max(ratios)
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        found.append(Standing(name, sum(line.holds(name) for line in lines), mean, worst, where))
    return sorted(found, key=lambda standing: (-standing.n_within, standing.mean))
