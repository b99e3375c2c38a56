"""The portfolio: against a naive sleeping fixed share, and its members against the rules they are."""

from __future__ import annotations

import itertools
import json
import math
import operator
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import PWM, Join, Label, Learner, Leave, Portfolio, Vote, certify_portfolio
from quorate.errors import LabelError, LocalError, MembersError, SnapshotError, VotesError
from quorate.evaluate import Recording, shares_over_time
from quorate.paper.portfolio_streams import synthetic_streams
from quorate.rules import AdaBoostWeights, AverageMajority, FixedShare, PreviousLabel, Rule, Winnow2, check_rule
from quorate.rules import portfolio_steps as steps
from quorate.rules.fitted_voter import with_fitted, with_fitted_column
from tests.fleet import ROOT
from tests.portfolio_cases import drawn, silenced, traced


def fitted(n_learners: int, seed: int) -> Portfolio:
    return Portfolio(n_learners).fit(*drawn(seed, 60, n_learners, absent=0.1))


def test_the_fitted_weights_say_of_many_slots_what_they_say_of_each() -> None:
    generator = np.random.default_rng(4)
    votes = generator.choice(np.array((-1, 1), np.int8), (9000, 3))
    votes[4096:8192][generator.random((4096, 3)) < 0.3] = 0  # the second block of three has slots with absent ones
    weights = [444228.0, -575989.0, 300000.0]
    column = with_fitted_column(votes, weights)
    assert [tuple(row) for row in column.tolist()] == [with_fitted(tuple(row), weights) for row in votes.tolist()]
    spoken = with_fitted_column(votes, weights, though_absent=True)
    assert spoken[:, -1].tolist() == np.sign(votes.astype(int) @ np.array(weights)).tolist()
    assert (spoken[:, -1] != column[:, -1]).any()


def sleeping_fixed_share(
    prior: dict[str, float], answers: list[dict[str, int]], labels: list[int], rate: float, share: float
) -> dict[str, float]:
    """Herbster and Warmuth's update, among those awake only, as Freund and others have it; with names, not places."""
    weights = dict(prior)
    for said, label in zip(answers, labels, strict=True):
        awake = [name for name, answer in said.items() if answer != 0]
        before = math.fsum(weights[name] for name in awake)
        if before < 2**-40:  # next to nothing is too little: they are all raised
            weights |= {name: weights[name] * 2**-40 / before for name in awake}
            before = 2**-40
        erring = math.fsum(weights[name] for name in awake if said[name] != label) / before
        lost = {name: weights[name] * (1 - rate if said[name] != label else 1) for name in awake}
        scale = before / math.fsum(lost.values())
        pool = share * (erring + 2**-20) * before
        for name in awake:
            own = prior[name] / math.fsum(prior[each] for each in awake)
            weights[name] = lost[name] * scale * (1 - pool / before) + pool * own
    return weights


@pytest.mark.parametrize(
    ("n_learners", "absent"), [(1, 0.0), (3, 0.3), (8, 0.1), pytest.param(64, None, id="silenced")]
)
def test_shares_are_those_of_a_naive_sleeping_fixed_share(n_learners: int, absent: float | None) -> None:
    votes, labels = silenced(n_learners, 100) if absent is None else drawn(n_learners, 400, n_learners, absent=absent)
    rule, trace, _ = traced(votes, labels)
    names = list(rule.explain())
    opposites = np.stack((votes, -votes), axis=2).reshape(len(votes), -1)
    rows = np.concatenate((trace.answers, opposites), axis=1)
    said = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    prior = dict(zip(names, [*steps.PRIOR, *[part / n_learners for part in (2.0, 0.1)] * n_learners], strict=True))
    for copy, (rate, share) in enumerate(zip(steps.COPY_RATES, steps.COPY_SHARES, strict=True)):
        assert share == pytest.approx(rate**2 / 10)
        expected = sleeping_fixed_share(prior, said, labels.tolist(), rate, share)
        assert rule._state["shares"][copy::4] == pytest.approx(list(expected.values()), rel=1e-9, abs=0)
    copies = [{str(copy): answer for copy, answer in enumerate(row)} for row in trace.copies.tolist()]
    top = dict.fromkeys("0123", 0.25)
    for row, label in zip(copies, labels.tolist(), strict=True):
        top = {copy: share * (0.98 if row[copy] != label else 1) for copy, share in top.items()}
        total = sum(top.values())
        top = {copy: share / total * (1 - 4e-5) + 1e-5 for copy, share in top.items()}
    assert rule._state["top"] == pytest.approx(list(top.values()), rel=1e-9)


@pytest.mark.parametrize("delay", [0, 100])
def test_no_share_vanishes_however_many_who_were_trusted_fall_silent(delay: int) -> None:
    votes, labels = silenced(64, 100)
    arrivals = np.arange(len(labels)) + delay
    rule = Portfolio(64)
    rule.run(votes, labels, arrivals)
    assert min(rule._state["shares"]) > 1e-30
    assert Portfolio.restore(rule.snapshot()).snapshot() == rule.snapshot()
    assert 0 <= rule.share(votes[-1].tolist()) <= 1
    certificate = certify_portfolio(votes, labels, arrivals=arrivals, switches_max=0)
    assert certificate.mistakes <= certificate.mistakes_max
    certificate.verify(votes, labels, arrivals)


def test_a_decision_is_the_majority_of_the_copies_and_theirs_of_the_members() -> None:
    votes, labels = drawn(3, 300, 4, absent=0.1)
    _, trace, decisions = traced(votes, labels)
    opposites = np.stack((votes, -votes), axis=2).reshape(len(votes), -1)
    rows = np.concatenate((trace.answers, opposites), axis=1).astype(float)
    for copy in range(4):
        sums = (trace.shares[:, copy::4] * rows).sum(axis=1)
        assert (np.where(sums >= 0, 1, -1) == trace.copies[:, copy]).all()
    assert (np.where((trace.top * trace.copies).sum(axis=1) >= 0, 1, -1) == decisions).all()


@pytest.mark.parametrize(
    ("member", "rule"),
    [
        ("last label", PreviousLabel(5)),
        ("PWM", PWM(5)),
        ("Winnow2 for +1", Winnow2(5)),
        ("FixedShare", FixedShare(5)),
        ("plain majority", None),
    ],
)
def test_members_are_the_rules_they_are_named_after(member: str, rule: Rule | None) -> None:
    votes, labels = drawn(11, 500, 5, wrong=0.3, absent=0.0 if member in ("Winnow2 for +1", "FixedShare") else 0.2)
    _, trace, _ = traced(votes, labels)
    answers = trace.answers[:, steps.MEMBERS.index(member)]
    expected = (rule or AverageMajority(5)).run(votes, labels)
    awake = answers != 0
    assert awake.mean() > 0.8
    assert (answers[awake] == expected[awake]).all()
    if member == "FixedShare":  # has nothing to say before the first label
        assert not awake[0]
        awake[0] = True
    assert (expected[~awake] == 1).all()  # asleep where the rule itself has only a tie to go by


def test_winnow_for_the_other_class_is_winnow_with_all_signs_changed() -> None:
    votes, labels = drawn(12, 500, 5, wrong=0.3)
    _, trace, _ = traced(votes, labels)
    answers = trace.answers[:, steps.MEMBERS.index("Winnow2 for -1")]
    assert (answers == -Winnow2(5).run(-votes, -labels)).all()


@pytest.mark.parametrize("delay", [0, 1, 40])
def test_the_regressions_take_gradient_steps(delay: int) -> None:
    votes, labels = drawn(13, 500, 3)
    rule = Portfolio(3)
    rule.run(votes, labels, np.arange(500) + delay)
    for rank, rate in ((2, 0.1), (3, 0.02), (4, 0.004)):
        weights = np.array([0.0, *[5 * rate] * 3, 0.0])
        for slot in range(500 - delay):
            # The last label as the slot was decided. The first label that tells how late labels are, that of the first
            # slot decided when one had come, is not learned from with the last label yet.
            last = labels[slot - delay - 1] if slot > delay + 1 else 0
            x = np.array([1.0, *votes[slot], last])
            weights += rate * labels[slot] / (1 + math.exp(labels[slot] * float(weights @ x))) * x
        assert rule._state["linear"][rank::5] == pytest.approx(weights.tolist(), abs=1e-3)


def test_the_last_label_says_nothing_to_regressions_before_its_age_is_known() -> None:
    votes, labels = drawn(15, 500, 3)
    rule, row = Portfolio(3).fit(votes, np.sort(labels)), (1, -1, 1)  # in the block it is always right but once

    def hear() -> bool:
        deaf = Portfolio.restore(rule.snapshot() | {"last": [0.0]})
        return rule._look(rule._all(row)).sums[2:5] != deaf._look(deaf._all(row)).sums[2:5]

    first = rule.note(row)
    rule.update(row, -1, note=first)  # one label came, of a slot that was decided when none had come
    assert rule._state["last"] == [-0.5]
    assert not hear()
    rule.update(row, -1, note=rule.note(row))
    assert rule._state["last"] == [-1.0]
    assert hear()
    rule.update(row, 1, note=first)  # another that was decided at first, and whose label comes only now
    assert rule._state["last"] == [1.0]
    assert hear()


def test_the_average_is_of_the_weights_of_pwm() -> None:
    votes, labels = drawn(14, 300, 3)
    rule, average, pwm = Portfolio(3), np.zeros(4), PWM(3)
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        rule.update(row, label)
        pwm.update(row, label)
        average += (np.array(pwm.weights) - average) / 2048
    assert rule._state["linear"][0:20:5] == pwm.weights
    assert rule._state["linear"][1:20:5] == pytest.approx(average.tolist())


def test_it_keeps_the_conventions_of_rules() -> None:
    for seed in range(3):
        check_rule(Portfolio, seed)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 120), st.sampled_from([0.0, 0.3]), st.integers(0, 2**32), st.booleans())
def test_a_run_is_the_loop_and_goes_through_json(
    n_learners: int, n_slots: int, absent: float, seed: int, is_fitted: bool
) -> None:
    votes, labels = drawn(seed, n_slots, n_learners, absent=absent)
    ran, looped = (fitted(n_learners, seed) if is_fitted else Portfolio(n_learners) for _ in range(2))
    expected = []
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        expected.append(looped.predict(row))
        looped.update(row, label)
        looped = Portfolio.restore(json.loads(json.dumps(looped.snapshot())))
    assert ran.run(votes, labels).tolist() == expected
    assert ran.snapshot() == looped.snapshot()


@pytest.mark.parametrize("make", [Portfolio, lambda n_learners: fitted(n_learners, 1)], ids=["new", "fitted"])
def test_what_a_slot_was_decided_by_is_kept_with_it_through_snapshots_and_changes_of_membership(make: Any) -> None:
    rng = np.random.default_rng(5)
    straight, saved = (Learner("a", ["a", "b"], make(2), horizon=40) for _ in range(2))
    assert isinstance(straight.rule, Portfolio)
    events: list[Any] = []
    for slot in range(200):
        if slot == 80:
            events.append(Join("c", epoch=1))
        if slot == 150:
            events.append(Leave("a", epoch=2))
        members = ["a", "b"] if slot < 80 else ["a", "b", "c"] if slot < 150 else ["b", "c"]
        events += [Vote(slot, name, int(rng.choice((-1, 1)))) for name in members if rng.random() < 0.8]
        events.append(slot)
        events += [
            Label(late, int(rng.choice((-1, 1)))) for late in rng.integers(max(0, slot - 30), slot + 1, 1).tolist()
        ]
    for number, event in enumerate(events):
        for learner in (straight, saved):
            _ = learner.close(event) if isinstance(event, int) else learner.receive(event)
        if number % 7 == 0:
            saved = Learner.restore(json.loads(json.dumps(saved.snapshot())))
    assert straight.counters.labels > 50
    assert straight.snapshot() == saved.snapshot()


def test_members_answer_for_what_they_said_then() -> None:
    """Repeating the last label is right nearly always when labels come at once, and useless when they are late."""
    (runs,) = (stream for stream in synthetic_streams() if stream.name == "runs")
    votes, labels = runs.votes[:4000], runs.labels[:4000]
    at_once, late = Portfolio(8), Portfolio(8)
    at_once.run(votes, labels)
    decisions = late.run(votes, labels, np.arange(4000) + 60)
    assert late.explain()["last label"] < 0.01 < at_once.explain()["last label"]
    forgetful = Portfolio(8)  # the same without notes: what it would say now looks good, and is not what it said
    wrong = 0
    for slot in range(4000):
        wrong += forgetful.predict(votes[slot]) != labels[slot]
        if slot >= 60:
            forgetful.update(votes[slot - 60], int(labels[slot - 60]))
    assert (decisions != labels).sum() < wrong - 100


def test_before_the_first_label_it_is_the_plain_majority() -> None:
    votes, _ = drawn(3, 200, 5, absent=0.2)
    rule, majority = Portfolio(5), AverageMajority(5)
    tied = 0
    for row in votes.tolist():
        tied += sum(row) == 0
        assert rule.predict(row) == majority.predict(row) or sum(row) == 0
    assert tied < 50


@pytest.mark.parametrize("label", [-1, 1])
def test_when_a_long_stretch_of_one_label_ends_the_learners_are_believed(label: int) -> None:
    """Constants, the last label and the opposites of those that are stuck were right as long; labels are 1,000 late."""
    labels = np.repeat(np.array([label, -label], np.int8), 5000)
    votes = np.full((10000, 8), -label, np.int8)
    votes[:, 3] = votes[:, 6] = labels
    decisions = Portfolio(8).run(votes, labels, np.arange(10000) + 1000)
    assert (decisions[:1000] != labels[:1000]).all()  # the plain majority is wrong, and nobody can know
    assert (decisions[1000:] != labels[1000:]).sum() < 20


def test_fitting_teaches_the_members_and_leaves_open_whom_to_trust() -> None:
    votes, labels = drawn(31, 400, 5, absent=0.1)
    rule, ran = Portfolio(5), Portfolio(6)
    rule.run(-votes, labels)  # is forgotten
    boosted = AdaBoostWeights(5).fit(votes, labels).run(votes, labels)
    ran.run(np.column_stack((votes, boosted)), labels)  # what is fitted is one more voter
    assert rule.fit(votes, labels) is rule
    for name in ("linear", "winnow", "last", "shares", "top"):
        assert rule._state[name] == (ran if name in ("linear", "winnow") else Portfolio(6))._state[name]
    shares = rule.explain()
    assert shares["fitted weights"] == shares["learner-5"]
    assert len(rule.weights) == 6
    assert Portfolio.restore(rule.snapshot()).snapshot() == rule.snapshot()
    assert rule.fit(votes[:0], labels[:0]).snapshot() == Portfolio(5).snapshot()


def test_the_last_label_of_a_block_is_no_label_of_the_stream() -> None:
    labels = np.tile(np.repeat(np.array([-1, 1], np.int8), 100), 10)  # the last label is nearly always right
    rng = np.random.default_rng(5)
    votes = np.where(rng.random((2000, 3)) < 0.6, labels[:, None], -labels[:, None]).astype(np.int8)
    stream = np.array([[-1, -1, 1], [-1, 1, -1]] * 500, np.int8)
    rule = Portfolio(3).fit(votes, labels)  # the last is +1
    assert (rule.run(stream, np.full(1000, -1), np.arange(1000) + 1000) == -1).all()  # nobody's label has come yet


def test_what_was_fitted_says_only_what_those_absent_cannot_turn_over() -> None:
    rule = Portfolio(3).fit(*drawn(34, 400, 3))
    rule._state["fitted"] = weights = [3.0, -2.0, 1.0]
    rows = list(itertools.product((-1, 0, 1), repeat=3))
    for row in rows:
        wholes = itertools.product(*((-1, 1) if vote == 0 else (vote,) for vote in row))  # as they may have voted
        sums = [sum(map(operator.mul, weights, whole)) for whole in wholes]
        expected = 1 if min(sums) > 0 else -1 if max(sums) < 0 else 0
        assert rule._all(row)[-1] == expected
        assert rule.all_votes(np.array([row], np.int8))[0, -1] == expected


def test_what_was_fitted_votes_after_all_who_join() -> None:
    votes, labels = drawn(33, 400, 3)
    rule = Portfolio(3).fit(votes, labels)
    before = rule.snapshot()
    rule.join()
    assert rule._state["fitted"][-1] == 0
    assert [rule._all((*row, 0))[-1] for row in votes.tolist()] == [
        Portfolio.restore(before)._all(tuple(row))[-1] for row in votes.tolist()
    ]
    rule.leave(3)
    assert rule.snapshot() == before
    rule.leave(0)
    assert rule._state["fitted"] == before["fitted"][1:]


def test_who_asks_while_it_learns_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, labels = drawn(31, 300, 3)
    alone, asked = Portfolio(3), Portfolio(3)
    learn = steps.learn

    def learn_and_be_asked(*arguments: Any) -> None:
        answers = asked.predict([1, -1, 0]), asked.share([-1, -1, 1]), asked.note([0, 0, 1])
        learn(*arguments)
        assert answers is not None

    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        note = alone.note(row)
        alone.update(row, label, note=note)
        with monkeypatch.context() as patched:
            patched.setattr(steps, "learn", learn_and_be_asked)
            asked.update(row, label, note=note)
    assert asked.snapshot() == alone.snapshot()


def test_a_snapshot_is_the_same_text_however_it_was_reached() -> None:
    votes, labels = drawn(32, 50, 2)
    ran, looped = Portfolio(2), Portfolio(2)
    ran.run(votes, labels)
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        looped.update(row, label)
    assert json.dumps(ran.snapshot()) == json.dumps(looped.snapshot())
    assert json.dumps(Portfolio.restore(looped.snapshot()).snapshot()) == json.dumps(looped.snapshot())


def test_notes_are_checked() -> None:
    rule = Portfolio(2)
    note = rule.note([1, -1])
    assert rule.update([1, -1], 1, note=note)
    assert rule.update([1, -1], 1, note=np.uint32(note))
    bad: Any
    for bad in (-1, 4**13, 3, note ^ (1 << 22), "x", 1.0, True):
        before = rule.snapshot()
        with pytest.raises(LocalError, match="is no note of a portfolio"):
            rule.update([1, -1], 1, note=bad)
        assert rule.snapshot() == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("winnow", []),
        ("recent", [1.0]),
        ("recent", [1.0, 0.0]),
        ("shares", [1.0]),
        ("linear", [math.nan] * 20),
        ("shares", [0.0] * 60),
        ("last", [2.0]),
        ("fitted", [1.0, 2.0]),
        ("top", [0.5, 0.5, 0.0, 0.0]),
        ("top", [5e-324] * 4),
        ("shares", [1e308] * 60),
        ("linear", [1e300] * 20),
    ],
)
def test_a_snapshot_no_portfolio_wrote_is_refused(field: str, value: list[float]) -> None:
    with pytest.raises(SnapshotError):
        Portfolio.restore(Portfolio(2).snapshot() | {field: value})


@pytest.mark.parametrize("value", [[math.nan, 1.0], [0.5, 1.0], [1e300, 1.0], [1.0], []])
def test_fitted_weights_that_nobody_fitted_are_refused(value: list[float]) -> None:
    """With others than whole numbers a run and a loop may differ."""
    snapshot = fitted(2, 1).snapshot()
    learner = Learner("a", ["a", "b"], Portfolio.restore(snapshot)).snapshot()
    with pytest.raises((SnapshotError, MembersError)):
        Learner.restore(learner | {"rule": snapshot | {"fitted": value}})


def test_labels_of_an_empty_block_are_checked_too() -> None:
    with pytest.raises(LabelError):
        Portfolio(2).fit([], [1, 1])


def test_explain_tells_learners_from_members_and_from_each_other() -> None:
    rule = Portfolio(2).fit([[1, -1]] * 50, [1] * 50)
    shares = rule.explain(["PWM", "fitted weights"])
    assert math.isclose(sum(shares.values()), 1.0)
    assert {"PWM", "learner PWM", "not learner PWM", "fitted weights", "learner fitted weights"} <= shares.keys()
    with pytest.raises(LocalError, match="names are ann, ann; two learners have the same"):
        rule.explain(["ann", "ann"])


@pytest.mark.parametrize(
    "names",
    [["a", "not a"], ["not a", "a"], ["PWM", "learner PWM"], ["learner PWM", "PWM"], ["not fitted weights", "b"]],
)
def test_explain_tells_every_member_from_every_other(names: list[str]) -> None:
    rule = Portfolio(2).fit([[1, -1]] * 50, [1] * 50)
    shares = rule.explain(names)
    assert len(shares) == len(rule.explain())
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == list(rule.explain().values())


def test_those_who_only_join_do_not_pile_up() -> None:
    rule = Portfolio(2)
    for _ in range(500):
        rule.join()
    assert sum(map(abs, rule.weights)) < 2
    assert rule._totals() == pytest.approx([steps.PRIOR_TOTAL] * steps.N_COPIES, rel=1)


@pytest.mark.parametrize("names", [[["a"], ["b"]], [1, 2]])
def test_names_are_text(names: Any) -> None:
    with pytest.raises(LocalError, match="each must be a text"):
        Portfolio(2).explain(names)
    assert list(Portfolio(2).explain(name for name in ("a", "b")))[-1] == "not b"  # type: ignore[arg-type]


def test_a_newcomer_weighs_the_same_however_often_others_came_and_went() -> None:
    votes, labels = drawn(41, 300, 4)
    rule, weighed = Portfolio(3), []
    for _ in range(200):
        rule.join()
        weighed.append(rule.explain()["learner-4"])
        rule.run(votes, labels)
        rule.leave(3)
    assert weighed == pytest.approx([weighed[0]] * 200)
    for copy in range(steps.N_COPIES):
        total = sum(rule._state["shares"][copy :: steps.N_COPIES])
        assert steps.PRIOR_TOTAL / 2 <= total <= 2 * steps.PRIOR_TOTAL


def test_explain_names_learners_and_adds_up() -> None:
    votes, labels = drawn(1, 300, 3)
    rule = Portfolio(3)
    rule.run(votes, labels)
    shares = rule.explain(["ann", "bob", "eve"])
    assert sum(shares.values()) == pytest.approx(1)
    assert {"ann", "not ann", "plain majority"} <= set(shares)
    with pytest.raises(LocalError, match="2 names were given for 3 learners"):
        rule.explain(["ann", "bob"])
    trusted = shares_over_time(Recording(["ann", "bob", "eve"], votes, labels, np.arange(300)), points=5)
    assert trusted["slots"] == [0, 75, 150, 224, 299]
    assert np.sum(list(trusted["shares"].values()), axis=0) == pytest.approx(np.ones(5), abs=1e-5)
    assert rule.share((1, 1, 1)) > 0.5 > rule.share((-1, -1, -1))
    with pytest.raises(VotesError):
        rule.share((1,))
    assert trusted["shares"].keys() == shares.keys()


def test_an_array_of_several_is_no_note_and_a_text_no_list_of_names() -> None:
    rule = Portfolio(2)
    several: Any = np.array([1, 2])
    assert not rule.is_note(several)
    assert rule.is_note(np.int64(rule.note((1, -1))))
    with pytest.raises(LocalError, match="is no note of a portfolio"):
        rule.update((1, -1), 1, note=several)
    for names in ("ab", 3):
        with pytest.raises(LocalError, match="give a list of them"):
            rule.explain(names)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"points": 0}, {"points": -1}, {"members_max": 0}, {"members_max": -1}])
def test_shares_over_time_are_of_one_point_and_member_at_least(wrong: dict[str, Any]) -> None:
    votes, labels = drawn(1, 50, 2)
    with pytest.raises(LocalError, match="give 1 or more of each"):
        shares_over_time(Recording(["ann", "bob"], votes, labels, np.arange(50)), **wrong)


def test_shares_over_time_are_of_so_many_members_at_most() -> None:
    votes, labels = drawn(1, 50, 70)
    recording = Recording([f"site {place}" for place in range(70)], votes, labels, np.arange(50))
    shares, whole = (shares_over_time(recording, members_max=most)["shares"] for most in (64, 1000))
    assert (len(shares), len(whole)) == (65, 12 + 140)
    assert np.sum(list(shares.values()), axis=0) == pytest.approx(np.ones(50), abs=1e-4)
    squares = {name: sum(share**2 for share in series) for name, series in whole.items()}
    assert min(squares[name] for name in shares if name != "others") >= max(
        square for name, square in squares.items() if name not in shares
    )


def test_a_compiled_run_that_is_kept_on_disk_is_not_taken_when_the_steps_have_changed(tmp_path: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "from quorate import Portfolio; a, b = Portfolio(1), Portfolio(1); a.run([[1]] * 9, [-1] * 9)\n"
        "for _ in range(9): b.update([1], -1)\n"
        "print(a.snapshot() == b.snapshot(), sum(b.snapshot()['shares']) > 1e3)"
    )

    def told() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    assert told() == "True False"
    path = copy / "quorate" / "rules" / "portfolio_steps.py"
    path.write_text(path.read_text().replace("AWAKE_LEAST = 2.0**-40", "AWAKE_LEAST = 2.0**11"))
    assert told() == "True True"


NEAR = Fraction(1, 10**9)  # sums nearer to nought may be of either sign in floats


def naive_fixed_share(votes: list[list[int]], labels: list[int]) -> list[int]:
    """What FixedShare says among those who vote, each with 1 on average after a label; 0 before the first."""
    weights, said = [Fraction(1)] * len(votes[0]), []
    for slot, (row, label) in enumerate(zip(votes, labels, strict=True)):
        total = sum((weight * vote for weight, vote in zip(weights, row, strict=True)), Fraction(0))
        said.append(0 if slot == 0 or abs(total) < NEAR else 1 if total > 0 else -1)
        awake = [place for place, vote in enumerate(row) if vote != 0]
        lost = {place: weights[place] * (1 if row[place] == label else Fraction(1, 2)) for place in awake}
        whole = sum(lost.values(), Fraction(0))
        for place in awake:
            others = sum(lost[other] for other in awake if other != place)
            kept = lost[place] if len(awake) == 1 else lost[place] * Fraction(3, 4) + others / 4 / (len(awake) - 1)
            weights[place] = (Fraction(kept) * len(awake) / whole).limit_denominator(10**18)
    return said


@pytest.mark.parametrize(("n_learners", "absent"), [(1, 0.3), (2, 0.3), (5, 0.0), (5, 0.5)])
def test_fixed_share_is_that_of_those_who_vote(n_learners: int, absent: float) -> None:
    votes, labels = drawn(17, 120, n_learners, absent=absent)
    _, trace, _ = traced(votes, labels)
    expected = np.array(naive_fixed_share(votes.tolist(), labels.tolist()))
    answers = trace.answers[:, steps.MEMBERS.index("FixedShare")]
    assert (answers == expected)[expected != 0].all()
    assert (expected != 0).mean() > 0.4
    assert answers[0] == 0
    _, late, _ = traced(votes, labels, np.arange(120) + 7)
    said = late.answers[:, steps.MEMBERS.index("FixedShare")]
    assert (said[:8] == 0).all()  # the first label has not come
    assert said[8:].any()


@pytest.mark.parametrize("fit", [False, True])
def test_where_groups_take_turns_it_is_as_good_as_fixed_share(fit: bool) -> None:
    """Every 48 slots the even or the odd learners are good; each alone is right in 7 of 10."""
    rng = np.random.default_rng(5)
    labels = rng.choice(np.array([-1, 1], np.int8), 12000)
    good = np.arange(8) % 2 == (np.arange(12000) // 48 % 2)[:, None]
    votes = np.where(rng.random((12000, 8)) < np.where(good, 0.85, 0.55), labels[:, None], -labels[:, None])
    rule, other = Portfolio(8), FixedShare(8)
    if fit:
        rule.fit(votes[:2000], labels[:2000])
    ours, its = (each.run(votes[2000:], labels[2000:]) != labels[2000:] for each in (rule, other))
    assert ours.mean() < 1.05 * its.mean()
