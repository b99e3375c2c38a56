"""A monitor: how a running learner stands, and what it can be held to, at any time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.bounds.certificate import Certificate
from quorate.bounds.certify import Shown, assembled, smallest
from quorate.bounds.inputs import checked_chances
from quorate.bounds.patterns import Patterns
from quorate.bounds.vectors import found_vectors, plain_vectors
from quorate.errors import LocalError
from quorate.events import Join, Leave
from quorate.learner import Counters, Learner
from quorate.rules import PWM, ExtendedPWM

__all__ = ["BestLearner", "Monitor"]


class BestLearner(NamedTuple):
    """The learner whose votes were best, of the slots whose labels came."""

    name: str
    mistakes: int
    abstentions: int


class _Tally:
    """The labelled slots that share a weight vector: O(K) a slot, and a bounded table of patterns."""

    def __init__(self, name: str, start: list[int], patterns_max: int) -> None:
        self.name = name
        self.start = start
        self.start_squared = sum(each * each for each in start)
        self.patterns_max = patterns_max
        self.table: dict[tuple[int, ...], int] = {}
        self.uncounted = 0
        self.sums = [0] * len(start)
        self.wrong = [0] * len(start)
        self.silent = [0] * len(start)
        self.radius_squared = 0
        self.waiting_max = 0

    def add(self, row: tuple[int, ...], waiting: int) -> None:
        self.radius_squared = max(self.radius_squared, sum(map(abs, row)))
        self.waiting_max = max(self.waiting_max, waiting)
        for place, value in enumerate(row):
            if value < 0:
                self.wrong[place] += 1
            elif not value:
                self.silent[place] += 1
        self._count(row, 1)

    def _count(self, row: tuple[int, ...], times: int) -> None:
        if row in self.table or len(self.table) < self.patterns_max:
            self.table[row] = self.table.get(row, 0) + times
        else:
            self.uncounted += times
            self.sums = [total + times * value for total, value in zip(self.sums, row, strict=True)]

    def join(self) -> None:
        labelled = sum(self.table.values()) + self.uncounted
        for column, value in ((self.start, 0), (self.sums, 0), (self.wrong, 0), (self.silent, labelled)):
            column.append(value)
        self.table = {(*row, 0): times for row, times in self.table.items()}

    def leave(self, place: int) -> None:
        for column in (self.start, self.sums, self.wrong, self.silent):
            del column[place]
        rows, self.table = self.table, {}
        for row, times in rows.items():
            self._count(row[:place] + row[place + 1 :], times)

    def shown(self) -> Shown:
        """What a certificate sees; of slots that were not told apart it is not known how many voted."""
        rows = np.array(list(self.table), np.int8).reshape(-1, len(self.start))
        counts = np.array(list(self.table.values()), np.int64)
        patterns = Patterns(rows, counts, self.uncounted, tuple(self.sums))
        radius_squared = max(self.radius_squared, len(self.start)) if self.uncounted else self.radius_squared
        return Shown(self.name, patterns, self.waiting_max, radius_squared)


class Monitor:
    """Follows a learner with `PWM` or `ExtendedPWM`, from where it stands.

    Parameters
    ----------
    learner
        Whom to follow; late labels, absences and changes of membership are allowed for.
    patterns_max
        How many different votes are told apart, a weight vector; the certificate of what exceeds that is less sharp.

    Attributes
    ----------
    labels, mistakes, updates
        Since the monitor began: labels learned, decisions they found wrong, and changes of the weights.

    Examples
    --------
    >>> from quorate import Label, Learner, Vote
    >>> learner = Learner("paris", ["paris", "tokyo", "lima"])
    >>> monitor = Monitor(learner)
    >>> for slot in range(100):
    ...     label = 1 if slot % 3 else -1
    ...     for name, value in (("paris", label), ("tokyo", -label), ("lima", 1)):
    ...         _ = learner.receive(Vote(slot, name, value))
    ...     _ = learner.close(slot), learner.receive(Label(slot, label))
    >>> monitor.mistakes, monitor.best_learner
    (1, BestLearner(name='paris', mistakes=0, abstentions=0))
    >>> certificate = monitor.certificate()
    >>> certificate.mistakes_max, certificate.argument
    (4, 'best learner')
    >>> certificate.verify()
    """

    def __init__(self, learner: Learner, patterns_max: int = 4096) -> None:
        rule = learner.rule
        if not isinstance(rule, (PWM, ExtendedPWM)):
            raise LocalError(f"a monitor follows learners with PWM or ExtendedPWM, not {type(rule).__name__}")
        if patterns_max < 0:
            raise LocalError(f"patterns_max is {patterns_max}; it must be at least 0")
        self._learner = learner
        self._rule = type(rule).__name__
        self._bias = int(rule.bias)
        starts = [rule.weights] if isinstance(rule, PWM) else [rule.weights_synchronous, rule.weights_asynchronous]
        names = ["all"] if isinstance(rule, PWM) else ["synchronous", "asynchronous"]
        self._tallies = [_Tally(name, start, patterns_max) for name, start in zip(names, starts, strict=True)]
        self._counters = learner.counters
        self._last: tuple[Counters, tuple[str, ...]] | None = None
        self._n_stale = 0
        self._n_departures = 0
        self.labels = 0
        self.mistakes = 0
        self.updates = 0
        learner.watch(self)

    def stop(self) -> None:
        """Follow no more; what was found until now stays."""
        if self._last is None:
            self._last = (self._learner.counters, self._learner.members)
            self._learner.unwatch(self)

    def _now(self) -> tuple[Counters, tuple[str, ...]]:
        return self._last or (self._learner.counters, self._learner.members)

    @property
    def best_learner(self) -> BestLearner:
        """The learner with the fewest mistakes, an abstention counting half; of equals the first."""
        columns = zip(*(tally.wrong for tally in self._tallies), strict=True)
        wrong = [sum(column) for column in columns][1:]
        silent = [sum(column) for column in zip(*(tally.silent for tally in self._tallies), strict=True)][1:]
        best = min(range(len(wrong)), key=lambda place: 2 * wrong[place] + silent[place])
        return BestLearner(self._now()[1][best], wrong[best], silent[best])

    def certificate(
        self, observation_probability: float | None = None, confidence: float = 0.95, search: bool = False
    ) -> Certificate:
        """The certificate as of now, for what was decided since the monitor began.

        Parameters
        ----------
        observation_probability, confidence
            As for `certify`.
        search
            Whether a linear SVM looks for comparison vectors over the table of patterns: sharper, and slower.
        """
        checked_chances(observation_probability, confidence)
        parts = []
        for tally in self._tallies:
            shown = tally.shown()
            if shown.patterns.n_slots:
                vectors = [*plain_vectors(shown.patterns), *(found_vectors(shown.patterns) if search else ())]
                parts.append(smallest(shown, vectors, tally.start, tally.start_squared))
        (now, members), then = self._now(), self._counters
        return assembled(
            parts,
            self._rule,
            n_slots=now.decisions - then.decisions,
            n_late=now.decisions - now.labels - now.expired_slots,
            n_never=now.expired_slots - then.expired_slots,
            n_before=then.decisions - then.labels - then.expired_slots,
            n_stale=self._n_stale,
            n_departures=self._n_departures,
            n_learners=len(members),
            horizon=self._learner.horizon,
            observation_probability=observation_probability,
            confidence=confidence,
        )

    # What the learner tells

    def on_decision(self, stale: bool) -> None:
        """Count decisions that the weights, as they were when these were recorded, would not have made."""
        self._n_stale += stale

    def on_label(
        self, votes: tuple[int, ...], label: int, synchronous: bool, decision: int, changed: bool, waiting: int
    ) -> None:
        """Count a labelled slot."""
        self.labels += 1
        self.mistakes += decision != label
        self.updates += changed
        row = (self._bias * label, *(label * vote for vote in votes))
        self._tallies[0 if synchronous or len(self._tallies) == 1 else 1].add(row, waiting)

    def on_change(self, change: Join | Leave, place: int) -> None:
        """Follow a change of membership."""
        for tally in self._tallies:
            if isinstance(change, Join):
                tally.join()
            else:
                tally.leave(place + 1)
        self._n_departures += isinstance(change, Leave)
