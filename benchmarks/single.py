"""One slot at a time, as an application has it: a rule, and a whole learner, against River's ensembles.

River's members are constant: their vote is in the instance. All inputs are made beforehand, on both sides: votes as
lists, events, packed batches; instances as dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from river import base, ensemble, linear_model

from benchmarks.constant import GivenClassifier, GivenRegressor, Work
from benchmarks.measure import Timing, in_turn
from benchmarks.part import Check, Options, Part, right
from quorate import PWM, ExtendedPWM, FixedShare, Label, Learner, Portfolio, Rule, Vote, Votes, WeightedMajority
from quorate.events import Labels

__all__ = ["run"]

PEER = "river ensemble.VotingClassifier"
RULE, EVENTS, BATCHES = "quorate PWM", "quorate Learner, an event at a time", "quorate Learner, packed batches"
N_LEARNERS = (8, 16)
#: Slots of each batch of votes or labels, and slots the slow programs work through.
BATCH, FEW = 512, 500
#: What must be shown, as times as fast as the peer.
LEAST = {RULE: 15.0, EVENTS: 1.0, BATCHES: 10.0}


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    document: dict[str, Any] = {}
    checks: list[Check] = []
    for n_learners in N_LEARNERS:
        timings = measure(n_learners, 4 * BATCH if options.quick else 40 * BATCH, options.repeats)
        document[str(n_learners)] = {name: timing._asdict() for name, timing in timings.items()}
        console.print(_table(n_learners, timings))
        peer = timings[PEER].median
        checks += [
            Check(f"{name}, K = {n_learners}: times as fast as {PEER}", peer / timings[name].median, least)
            for name, least in LEAST.items()
        ]
    return Part({"seconds_a_slot": document}, checks)


def measure(n_learners: int, n_slots: int, repeats: int) -> dict[str, Timing]:
    """Time all programs: decide, then learn, slot after slot."""
    work = Work(n_learners, n_slots)
    programs: dict[str, tuple[Callable[[], object], int]] = {
        RULE: (lambda: _rule(PWM(n_learners), work, n_slots), n_slots),
        "quorate ExtendedPWM": (lambda: _rule(ExtendedPWM(n_learners), work, n_slots), n_slots),
        "quorate WeightedMajority": (lambda: _rule(WeightedMajority(n_learners), work, FEW), FEW),
        "quorate FixedShare": (lambda: _rule(FixedShare(n_learners), work, FEW), FEW),
        "quorate Portfolio": (lambda: _rule(Portfolio(n_learners), work, FEW), FEW),
        EVENTS: (_events(work), n_slots),
        BATCHES: (_batches(work), n_slots),
        PEER: (_river(work, lambda: _voting(work), n_slots), n_slots),
        "river ensemble.VotingClassifier, probabilities": (_river(work, lambda: _voting(work, True), n_slots), n_slots),
        "river ensemble.StackingClassifier": (_river(work, lambda: _stacking(work), FEW), FEW),
        "river ensemble.EWARegressor": (_river(work, lambda: _averaging(work), FEW), FEW),
    }
    return in_turn(programs, repeats)


def _rule(rule: Rule, work: Work, n_slots: int) -> None:
    for votes, label in zip(work.votes[:n_slots], work.labels, strict=False):
        rule.predict(votes)
        rule.update(votes, label)


def _events(work: Work) -> Callable[[], None]:
    slots = [
        (slot, [Vote(slot, name, vote) for name, vote in zip(work.names, votes, strict=True)], Label(slot, label))
        for slot, (votes, label) in enumerate(zip(work.votes, work.labels, strict=True))
    ]

    def program() -> None:
        learner = Learner(work.names[0], work.names)
        for slot, votes, label in slots:
            for vote in votes:
                learner.receive(vote)
            learner.close(slot)
            learner.receive(label)
        _require_all(learner, len(slots))

    return program


def _batches(work: Work) -> Callable[[], None]:
    batches = []
    for first in range(0, len(work.labels), BATCH):
        columns = zip(work.names, zip(*work.votes[first : first + BATCH], strict=True), strict=True)
        votes = [Votes.pack(name, first, column) for name, column in columns]
        batches.append((votes, Labels.pack(first, work.labels[first : first + BATCH])))

    def program() -> None:
        learner = Learner(work.names[0], work.names)
        for votes, labels in batches:
            for some in votes:
                learner.receive(some)
            decided = learner.decide_complete(learner.closed_until, BATCH)
            assert decided is not None
            learner.receive(decided)
            learner.receive(labels)
        _require_all(learner, len(work.labels))

    return program


def _require_all(learner: Learner, n_slots: int) -> None:
    if (learner.counters.decisions, learner.counters.labels) != (n_slots, n_slots):
        raise RuntimeError(f"the learner has not decided and learned all {n_slots} slots: {learner.counters}")


def _river(work: Work, make: Callable[[], Any], n_slots: int) -> Callable[[], None]:
    def program() -> None:
        model = make()
        for x, y in zip(work.instances[:n_slots], work.truths, strict=False):
            model.predict_one(x)
            model.learn_one(x, y)

    return program


def _voting(work: Work, use_probabilities: bool = False) -> Any:
    return ensemble.VotingClassifier([GivenClassifier(name) for name in work.names], use_probabilities)


def _stacking(work: Work) -> Any:
    members: list[base.Classifier] = [GivenClassifier(name) for name in work.names]
    return ensemble.StackingClassifier(members, linear_model.LogisticRegression(), include_features=False)


def _averaging(work: Work) -> Any:
    return ensemble.EWARegressor([GivenRegressor(name) for name in work.names])


def _table(n_learners: int, timings: dict[str, Timing]) -> Table:
    title = f"one slot at a time, K = {n_learners}, 5 % of the votes wrong"
    table = right(Table("program", "us a slot", "spread", f"times as fast as {PEER}", title=title))
    for name, timing in timings.items():
        spread = f"{timing.best * 1e6:,.2f} to {timing.worst * 1e6:,.2f}"
        table.add_row(name, f"{timing.median * 1e6:,.2f}", spread, f"{timings[PEER].median / timing.median:,.2f}")
    return table
