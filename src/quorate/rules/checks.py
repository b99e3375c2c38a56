"""A published set of checks that every rule of ours passes, and that you can run on yours.

>>> from quorate.rules import PWM, check_rule
>>> check_rule(PWM)
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from quorate.errors import CheckFailedError, LocalError
from quorate.rules.base import NotingRule, Rule

__all__ = ["check_rule", "yield_checks"]

RuleFactory = Callable[[int], Rule]
Check = Callable[[RuleFactory, random.Random], None]


def check_rule(rule_factory: RuleFactory, seed: int = 0) -> None:
    """Check that a rule keeps the conventions every part of Quorate relies on.

    Parameters
    ----------
    rule_factory
        Called with a number of learners, gives a fresh rule: the class itself, or a function.
    seed
        The random votes and labels come from it.

    Raises
    ------
    CheckFailedError
        Names the check and what was seen.
    """
    for check in yield_checks():
        check(rule_factory, random.Random(seed))


def yield_checks() -> Iterator[Check]:
    """Give the checks one by one, for a test runner that wants to name them."""
    yield check_members
    yield check_predict_is_pure
    yield check_same_input_same_state
    yield check_update_tells_change
    yield check_run_equals_loop
    yield check_run_in_pieces
    yield check_notes
    yield check_state_round_trips
    yield check_abstainers_untouched
    yield check_membership
    yield check_bad_input_refused


def _require(holds: bool, rule: object, what: str) -> None:
    if not holds:
        raise CheckFailedError(f"{type(rule).__name__}: {what}")


def _slot(rng: random.Random, n_learners: int, absent: float = 0.2) -> tuple[list[int], int]:
    votes = [0 if rng.random() < absent else rng.choice((-1, 1)) for _ in range(n_learners)]
    return votes, rng.choice((-1, 1))


def _trained(rule_factory: RuleFactory, rng: random.Random, n_learners: int, n_slots: int = 50) -> Rule:
    rule = rule_factory(n_learners)
    for _ in range(n_slots):
        rule.update(*_slot(rng, n_learners, absent=rng.choice((0.0, 0.2))))
    return rule


def check_members(rule_factory: RuleFactory, rng: random.Random) -> None:
    """A rule has the members of the protocol, and answers -1 or +1 before it learned anything."""
    rule = rule_factory(3)
    _require(isinstance(rule, Rule), rule, "it lacks a member of quorate.rules.Rule")
    _require(rule.n_learners == 3, rule, f"n_learners is {rule.n_learners}, not the 3 it was made for")
    _require(len(rule.weights) == 4, rule, f"weights has {len(rule.weights)} entries, not a bias and one a learner")
    for votes in ([1, 1, 1], [-1, -1, -1], [0, 0, 0]):
        answer = rule.predict(votes)
        _require(answer in (-1, 1), rule, f"predict({votes}) gave {answer!r}, not -1 or +1")


def check_predict_is_pure(rule_factory: RuleFactory, rng: random.Random) -> None:
    """Predicting changes neither the rule nor its input, and gives the same answer twice."""
    rule = _trained(rule_factory, rng, 5)
    before = rule.snapshot()
    for _ in range(50):
        votes, _label = _slot(rng, 5)
        given = list(votes)
        _require(rule.predict(votes) == rule.predict(votes), rule, f"predict({given}) gave two answers")
        _require(votes == given, rule, "predict changed its input")
    _require(rule.snapshot() == before, rule, "predict changed the rule")


def check_same_input_same_state(rule_factory: RuleFactory, rng: random.Random) -> None:
    """Two rules that saw the same are the same: nothing random, no clock, no shared state."""
    seed = rng.random()
    one = _trained(rule_factory, random.Random(seed), 4)
    two = _trained(rule_factory, random.Random(seed), 4)
    _require(one.snapshot() == two.snapshot(), one, "the same slots gave two different states")
    fresh = rule_factory(4).snapshot()
    one.update(*_slot(rng, 4))
    _require(rule_factory(4).snapshot() == fresh, one, "an update of one rule changed the next new one")


def check_update_tells_change(rule_factory: RuleFactory, rng: random.Random) -> None:
    """An update that says False changed nothing."""
    rule = rule_factory(4)
    for _ in range(200):
        before = rule.snapshot()
        votes, label = _slot(rng, 4)
        changed = rule.update(votes, label)
        _require(isinstance(changed, bool), rule, f"update gave {changed!r}, not a bool")
        _require(changed or rule.snapshot() == before, rule, f"update({votes}, {label}) said False and changed it")


def check_run_equals_loop(rule_factory: RuleFactory, rng: random.Random) -> None:
    """`run` gives the decisions and the state that a loop of predict and update gives."""
    for n_learners, n_slots, absent in (
        (1, 40, 0.0),
        (3, 200, 0.3),
        (8, 400, 0.05),
        (17, 200, 0.0),
        (2, 0, 0.0),
    ):
        slots = [_slot(rng, n_learners, absent) for _ in range(n_slots)]
        _compare_with_loop(rule_factory(n_learners), rule_factory(n_learners), slots)
    bools = [([vote > 0 for vote in votes], label > 0) for votes, label in (_slot(rng, 4, 0.0) for _ in range(50))]
    _compare_with_loop(rule_factory(4), rule_factory(4), bools)


def _compare_with_loop(looped: Rule, ran: Rule, slots: list[tuple[Any, Any]]) -> None:
    expected = []
    for votes, label in slots:
        expected.append(looped.predict(votes))
        looped.update(votes, label)
    decisions = ran.run([votes for votes, _ in slots], [label for _, label in slots])
    where = f"over {len(slots)} slots of {ran.n_learners} learners"
    _require(str(decisions.dtype) == "int8", ran, f"run gave {decisions.dtype}, not int8")
    _require(decisions.tolist() == expected, ran, f"run and the loop decided differently {where}")
    _require(ran.snapshot() == looped.snapshot(), ran, f"run and the loop ended in different states {where}")


def check_run_in_pieces(rule_factory: RuleFactory, rng: random.Random) -> None:
    """A run cut in two ends as the whole does."""
    slots = [_slot(rng, 6) for _ in range(100)]
    votes, labels = [votes for votes, _ in slots], [label for _, label in slots]
    whole, pieces = rule_factory(6), rule_factory(6)
    together = whole.run(votes, labels).tolist()
    apart = pieces.run(votes[:37], labels[:37]).tolist() + pieces.run(votes[37:], labels[37:]).tolist()
    _require(
        together == apart and whole.snapshot() == pieces.snapshot(),
        whole,
        "a run cut in two ends differently",
    )


def check_notes(rule_factory: RuleFactory, rng: random.Random) -> None:
    """Of a rule that takes notes: they are numbers of 32 bits, and a run over late labels goes by them."""
    if not isinstance(rule_factory(1), NotingRule):
        return
    for n_learners in (1, 5):
        looped, ran = rule_factory(n_learners), rule_factory(n_learners)
        assert isinstance(looped, NotingRule)
        assert isinstance(ran, NotingRule)
        takes_arrivals = "arrivals" in inspect.signature(ran.run).parameters
        _require(takes_arrivals, ran, "it takes notes, and its run no arrivals; give it the third argument of Rule's")
        slots = [_slot(rng, n_learners) for _ in range(120)]
        arrivals = [rng.choice((-1, rng.randrange(slot, slot + 30))) for slot in range(len(slots))]
        _compare_late(looped, ran, slots, arrivals)


def _compare_late(looped: NotingRule, ran: NotingRule, slots: list[tuple[Any, Any]], arrivals: list[int]) -> None:
    expected, notes = [], []
    for slot, (votes, _label) in enumerate(slots):
        before = looped.snapshot()
        notes.append(looped.note(votes))
        _require(looped.snapshot() == before, looped, "note changed the rule")
        _require(0 <= notes[-1] < 1 << 32 and looped.is_note(notes[-1]), looped, f"{notes[-1]} cannot be a note")
        expected.append(looped.predict(votes))
        for late in range(slot + 1):
            if arrivals[late] == slot:
                looped.update(*slots[late], note=notes[late])
    decisions = ran.run([votes for votes, _ in slots], [label for _, label in slots], arrivals)
    same = decisions.tolist() == expected and ran.snapshot() == looped.snapshot()
    _require(same, ran, "a run over late labels and the loop with notes ended differently")


def check_state_round_trips(rule_factory: RuleFactory, rng: random.Random) -> None:
    """A snapshot goes through JSON and back, and the restored rule goes on identically."""
    rule = _trained(rule_factory, rng, 5)
    restored = type(rule).restore(json.loads(json.dumps(rule.snapshot())))
    for _ in range(100):
        votes, label = _slot(rng, 5)
        _require(rule.predict(votes) == restored.predict(votes), rule, "the restored rule decided differently")
        _require(
            rule.update(votes, label) == restored.update(votes, label),
            rule,
            "the restored rule learned otherwise",
        )
    _require(rule.snapshot() == restored.snapshot(), rule, "the restored rule went another way")


def check_abstainers_untouched(rule_factory: RuleFactory, rng: random.Random) -> None:
    """A slot never changes the weight of a learner that abstained in it."""
    rule = _trained(rule_factory, rng, 6)
    names = [name for name in dir(rule) if name.startswith("weights")]
    for _ in range(200):
        votes, label = _slot(rng, 6, absent=0.4)
        before = {name: list(getattr(rule, name)) for name in names}
        rule.update(votes, label)
        for name in names:
            after = list(getattr(rule, name))
            for place, vote in enumerate(votes):
                _require(
                    vote != 0 or after[place + 1] == before[name][place + 1],
                    rule,
                    f"update({votes}, {label}) changed {name}[{place + 1}], the weight of an abstainer",
                )


def check_membership(rule_factory: RuleFactory, rng: random.Random) -> None:
    """A learner can join and leave; who abstains after joining makes no difference."""
    rule = _trained(rule_factory, rng, 3)
    plain = type(rule).restore(rule.snapshot())
    rule.join()
    _require(rule.n_learners == 4, rule, f"after a join of a fourth, n_learners is {rule.n_learners}")
    rule.leave(3)
    _require(rule.snapshot() == plain.snapshot(), rule, "a join and a leave did not bring the old state back")
    for synchronous in (True, False):  # a label that comes after a join, for a slot in which all had voted or not
        rule.update([1, -1, 0], 1, synchronous=synchronous)
    rule.leave(0)
    _require(rule.n_learners == 2, rule, f"after a leave of one of three, n_learners is {rule.n_learners}")
    _require(rule.predict([1, 0]) in (-1, 1), rule, "it cannot decide after a leave")


_BAD_VOTES: list[Any] = [
    [1, 1],
    [1, 1, 1, 1],
    [1, 2, 1],
    [1, 0.5, 1],
    [1, float("nan"), 1],
    [1, None, 1],
    "+-+",
    7,
]
_BAD_LABELS: list[Any] = [0, 2, float("nan"), None, "1", 0.5]


def check_bad_input_refused(rule_factory: RuleFactory, rng: random.Random) -> None:
    """Bad votes and labels raise a LocalError and leave the rule as it was."""
    rule = _trained(rule_factory, rng, 3)
    before = rule.snapshot()
    good = [1, -1, 1]

    def refused(method: str, call: Callable[..., object], *arguments: Any) -> None:
        what = f"{method}({', '.join(map(repr, arguments))})"
        try:
            call(*arguments)
        except LocalError as error:
            _require("\n" not in str(error), rule, f"the error of {what} has more than one line")
        else:
            _require(False, rule, f"{what} was not refused with a LocalError")
        _require(rule.snapshot() == before, rule, f"{what} was refused but changed the rule")

    for votes in _BAD_VOTES:
        refused("predict", rule.predict, votes)
        refused("update", rule.update, votes, 1)
        refused("run", rule.run, [good, votes], [1, 1])
    for label in _BAD_LABELS:
        refused("update", rule.update, good, label)
        refused("run", rule.run, [good, good], [1, label])
    refused("run", rule.run, [good, good], [1])
    refused("leave", rule.leave, 3)
    for count in (0, -1):
        refused(type(rule).__name__, rule_factory, count)
