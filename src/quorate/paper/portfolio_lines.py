"""The lines of the portfolio's table, each a stream under one feedback, and how every rule stands over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quorate.paper.portfolio_streams import Stream
from quorate.rules import RULES, FittingRule
from quorate.streams import Feedback, Uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DISORDERED", "FEEDBACKS", "LEAST", "Entry", "Line", "Standing", "compared", "fed", "standings"]

#: How labels come, and votes.
FEEDBACKS = {
    "at once": Feedback(),
    "10 late": Feedback(10),
    "100 late": Feedback(100),
    "1000 late": Feedback(1000),
    "1 in 10": Feedback(0, label_prob=0.1, seed=1),
    "half absent": Feedback(0, observe_prob=0.5, seed=2),
}
#: Labels that come in another order than the slots, or many together.
DISORDERED = {
    "0 to 20 late": Feedback(Uniform(0, 20), seed=3),
    "0 to 200 late": Feedback(Uniform(0, 200), seed=4),
    "0 to 2000 late": Feedback(Uniform(0, 2000), seed=5),
    "by the 100": Feedback(lambda slot: 99 - slot % 100),
}
#: Errors below this count as this in ratios: that of 1 mistake to none says little.
LEAST = 0.005


class Entry(NamedTuple):
    """How often a rule, a baseline or a learner alone was wrong in a line."""

    rule: str
    taught: bool
    """Whether it had learned the block before the stream, or was fitted on it."""
    alone: bool
    """Whether it is a learner."""
    error: float
    half: float
    """The same over the second half only."""

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return f"{self.rule}, taught" if self.taught else self.rule


class Line(NamedTuple):
    """One stream under one feedback: the portfolio, and all that it is compared with."""

    stream: str
    feedback: str
    real: bool
    """Whether the stream is one of the paper's real ones."""
    entries: list[Entry]

    def entry(self, rule: str, *, taught: bool = False) -> Entry:
        """The entry of a rule."""
        return next(each for each in self.entries if (each.rule, each.taught) == (rule, taught))

    @property
    def portfolio(self) -> Entry:
        """The portfolio that is judged: the one fitted on the block before the stream, if there is one."""
        return max((each for each in self.entries if each.rule == "Portfolio"), key=lambda each: each.taught)

    def others(self, entry: Entry) -> list[Entry]:
        """Whom an entry is compared with: all but itself, taught or not, and the portfolio."""
        return [each for each in self.entries if each.rule not in ("Portfolio", entry.rule)]

    def best(self, entry: Entry) -> Entry:
        """The best of these."""
        return min(self.others(entry), key=lambda each: each.error)

    def limit(self, entry: Entry, *, learners: bool = True) -> float:
        """What is asked of an entry: a ratio to the error of the best other, or so much above it.

        Parameters
        ----------
        entry
            Which one.
        learners
            Whether each learner alone, chosen in hindsight, is among the others.
        """
        best = min(each.error for each in self.others(entry) if learners or not each.alone)
        if self.feedback != "at once":
            return max(1.05 * best, best + 0.003)
        return max(1.03 * best, best + 0.001) if self.real else max(1.1 * best, best + 0.005)

    def holds(self, entry: Entry) -> bool:
        """Whether an entry is within what is asked, over all slots."""
        return entry.error <= self.limit(entry)

    @property
    def remark(self) -> str:
        """Whom the portfolio is too far above, if anybody."""
        ours = self.portfolio
        if self.holds(ours):
            return ""
        return "above" if ours.error > self.limit(ours, learners=False) else "above a learner"


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
    >>> line.best(line.portfolio).name, line.portfolio.error, line.holds(line.portfolio)
    ('WeightedMajority', 0.0, True)
    """
    (votes, arrivals), labels = fed(stream, feedback), stream.labels
    n_learners, half = votes.shape[1], len(labels) // 2
    entries = []

    def add(rule: str, decisions: NDArray[np.int8], *, taught: bool = False, alone: bool = False) -> None:
        wrong = decisions != labels
        entries.append(Entry(rule, taught, alone, float(wrong.mean()), float(wrong[half:].mean())))

    for name, rule in RULES.items():
        new, taught = rule(n_learners), rule(n_learners)
        if name != "AdaBoostWeights":  # which knows nothing until it is fitted
            add(name, new.run(votes, labels, arrivals))
        if stream.tuning is not None:
            _ = taught.fit(*stream.tuning) if isinstance(taught, FittingRule) else taught.run(*stream.tuning)
            add(name, taught.run(votes, labels, arrivals), taught=True)
    for place in range(n_learners):
        add(f"learner-{place + 1}", votes[:, place], alone=True)
    return Line(stream.name, feedback, stream.real, entries)


def fed(stream: Stream, feedback: str) -> tuple[NDArray[np.int8], NDArray[np.int64] | None]:
    """The votes that are heard, and when each label comes, or None where all come at once.

    >>> votes, arrivals = fed(Stream("toy", np.ones((3, 2), np.int8), np.ones(3, np.int8)), "10 late")
    >>> arrivals.tolist()
    [10, 11, 12]
    """
    n_slots, n_learners = stream.votes.shape
    drawn = (FEEDBACKS | DISORDERED)[feedback].realize(n_slots, [str(place) for place in range(n_learners)])
    arrivals: NDArray[np.int64] = drawn.arrivals.astype(np.int64)
    at_once = bool((arrivals == np.arange(n_slots)).all())
    return np.where(drawn.present, stream.votes, np.int8(0)), None if at_once else arrivals


def standings(lines: Sequence[Line]) -> list[Standing]:
    """How each rule and baseline stands over lines that all have it, the best first.

    Examples
    --------
    >>> errors = {"Portfolio": 0.10, "PWM": 0.20, "Winnow2": 0.25}
    >>> line = Line("toy", "at once", False, [Entry(name, False, False, error, 0.0) for name, error in errors.items()])
    >>> [(each.rule, each.n_within, round(each.mean, 2)) for each in standings([line])]
    [('Portfolio', 1, 0.5), ('PWM', 1, 0.8), ('Winnow2', 0, 1.25)]
    """
    found = []
    for first in lines[0].entries if lines else ():
        if first.alone:
            continue
        n_within, ratios = 0, []
        for line in lines:
            entry = line.entry(first.rule, taught=first.taught)
            ratio = max(LEAST, entry.error) / max(LEAST, line.best(entry).error)
            ratios.append((ratio, f"{line.stream}, {line.feedback}"))
            n_within += line.holds(entry)
        worst, where = max(ratios)
        mean = math.exp(math.fsum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        found.append(Standing(first.name, n_within, mean, worst, where))
    return sorted(found, key=lambda standing: (-standing.n_within, standing.mean))
