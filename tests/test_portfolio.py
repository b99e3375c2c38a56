"""The portfolio: against a naive sleeping fixed share, its members against the rules they are, its guarantee."""

from __future__ import annotations

import itertools
import json
import math
import operator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import PWM, Join, Label, Learner, Leave, Portfolio, Vote, certify_portfolio
from quorate.bounds import TrackingCertificate
from quorate.bounds.tracking import _Run
from quorate.errors import CertificateError, LabelError, LocalError, MembersError, SnapshotError, VotesError
from quorate.evaluate import Recording, shares_over_time
from quorate.paper.portfolio import main, second_halves, without
from quorate.paper.portfolio_lines import FEEDBACKS, Entry, Line, compared, fed, standings
from quorate.paper.portfolio_streams import Stream, synthetic_streams
from quorate.paper.river_streams import river_streams
from quorate.rules import AdaBoostWeights, AverageMajority, PreviousLabel, Rule, Winnow2, check_rule
from quorate.rules import portfolio_steps as steps
from quorate.rules.portfolio_kernels import Trace
from quorate.streams import NEVER, load


def drawn(
    seed: int, n_slots: int, n_learners: int, wrong: float = 0.35, absent: float = 0.0
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array([-1, 1], np.int8), n_slots)
    votes = np.where(rng.random((n_slots, n_learners)) < wrong, -labels[:, None], labels[:, None]).astype(np.int8)
    votes[rng.random(votes.shape) < absent] = 0
    return votes, labels


def fitted(n_learners: int, seed: int) -> Portfolio:
    return Portfolio(n_learners).fit(*drawn(seed, 60, n_learners, absent=0.1))


def traced(votes: Any, labels: Any, arrivals: Any = None) -> tuple[Portfolio, Trace, Any]:
    rule = Portfolio(votes.shape[1])
    n_labels = len(labels) if arrivals is None else int((arrivals != NEVER).sum())
    trace = Trace(len(labels), votes.shape[1], np.arange(n_labels))
    return rule, trace, rule._traced(votes, labels, arrivals, trace)


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


def silenced(n_learners: int, n_slots_each: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """One learner after the other is always right, and then silent for good; those to come guess."""
    rng = np.random.default_rng(n_learners)
    labels = rng.choice(np.array([-1, 1], np.int8), n_learners * n_slots_each)
    votes = rng.choice(np.array([-1, 1], np.int8), (len(labels), n_learners))
    for place in range(n_learners):
        its = slice(place * n_slots_each, (place + 1) * n_slots_each)
        votes[its, place] = labels[its]
        votes[its, :place] = 0
    return votes, labels


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
    [("last label", PreviousLabel(5)), ("PWM", PWM(5)), ("Winnow2 for +1", Winnow2(5)), ("plain majority", None)],
)
def test_members_are_the_rules_they_are_named_after(member: str, rule: Rule | None) -> None:
    votes, labels = drawn(11, 500, 5, wrong=0.3, absent=0.2 if member != "Winnow2 for +1" else 0.0)
    _, trace, _ = traced(votes, labels)
    answers = trace.answers[:, steps.MEMBERS.index(member)]
    expected = (rule or AverageMajority(5)).run(votes, labels)
    awake = answers != 0
    assert awake.mean() > 0.8
    assert (answers[awake] == expected[awake]).all()
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
    for bad in (-1, 4**12, 3, note ^ (1 << 22), "x", 1.0, True):
        before = rule.snapshot()
        with pytest.raises(LocalError, match="is no note of a portfolio"):
            rule.update([1, -1], 1, note=bad)
        assert rule.snapshot() == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("winnow", []),
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
    trusted = shares_over_time(Recording(["ann", "bob", "eve"], votes, labels, np.arange(300)), points=5, shown=3)
    assert trusted["slots"] == [0, 75, 150, 224, 299]
    assert np.sum(list(trusted["shares"].values()), axis=0) == pytest.approx(np.ones(5), abs=1e-5)
    assert rule.share((1, 1, 1)) > 0.5 > rule.share((-1, -1, -1))
    with pytest.raises(VotesError):
        rule.share((1,))
    every = shares_over_time(Recording(["ann", "bob", "eve"], votes, labels, np.arange(300)), points=2, shown=99)
    assert every["shares"].keys() == shares.keys()


# The guarantee


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 150),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 0.2, 0.5]),
    st.sampled_from([0, 5, 40]),
    st.sampled_from([1.0, 0.6]),
    st.integers(0, 2**32),
)
def test_the_certificate_holds_and_verifies(
    n_learners: int, n_slots: int, absent: float, wrong: float, late: int, label_prob: float, seed: int
) -> None:
    votes, labels = drawn(seed, n_slots, n_learners, wrong, absent)
    rng = np.random.default_rng(seed)
    arrivals = np.arange(n_slots) + rng.integers(0, late + 1, n_slots)
    arrivals[rng.random(n_slots) > label_prob] = NEVER
    certificate = certify_portfolio(votes, labels, arrivals=arrivals)
    decisions = Portfolio(n_learners).run(votes, labels, arrivals)
    assert (decisions != labels).sum() <= certificate.mistakes_max
    certificate.verify(votes, labels, arrivals)
    assert TrackingCertificate.from_document(json.loads(json.dumps(certificate.document()))) == certificate


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 150),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.0, 0.2, 0.5]),
    st.sampled_from([0, 5, 40]),
    st.integers(0, 2**32),
)
def test_the_certificate_of_a_fitted_portfolio_holds_and_verifies(
    n_learners: int, n_slots: int, n_before: int, absent: float, wrong: float, late: int, seed: int
) -> None:
    all_votes, all_labels = drawn(seed, n_before + n_slots, n_learners, wrong, absent)
    before, votes, labels = (all_votes[:n_before], all_labels[:n_before]), all_votes[n_before:], all_labels[n_before:]
    arrivals = np.arange(n_slots) + np.random.default_rng(seed).integers(0, late + 1, n_slots)
    certificate = certify_portfolio(votes, labels, arrivals=arrivals, before=before)
    rule = Portfolio(n_learners).fit(*before)
    decisions = rule.run(votes, labels, arrivals)
    learned = arrivals < n_slots
    assert (decisions != labels)[learned].sum() == certificate.mistakes
    assert (decisions != labels).sum() <= certificate.mistakes_max
    certificate.verify(votes, labels, arrivals, before)
    assert TrackingCertificate.from_document(json.loads(json.dumps(certificate.document()))) == certificate


def test_a_certificate_may_begin_with_the_fitted_portfolio_itself() -> None:
    votes, labels = drawn(0, 300, 3)
    begun = Portfolio(3).fit(*drawn(1, 100, 3))
    snapshot = begun.snapshot()
    certificate = certify_portfolio(votes, labels, before=begun)
    assert certificate == certify_portfolio(votes, labels, before=drawn(1, 100, 3))
    assert certificate.mistakes == int((Portfolio.restore(snapshot).run(votes, labels) != labels).sum())
    certificate.verify(votes, labels, before=begun)
    assert begun.snapshot() == snapshot


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ([[1, 1, 1]] * 5, "before is no block; give a pair"),
        (([[1, 1]], [1]), "before is no block of votes and labels: "),
        (Portfolio(2), "before is a portfolio of 2 learners; the votes are of 3"),
    ],
)
def test_what_cannot_have_been_before_is_refused(before: Any, message: str) -> None:
    with pytest.raises(LocalError) as caught:
        certify_portfolio(*drawn(0, 30, 3), before=before)
    assert message in str(caught.value)


def test_a_certificate_of_another_beginning_is_refused() -> None:
    votes, labels = drawn(9, 400, 3)
    before, votes, labels = (votes[:100], labels[:100]), votes[100:], labels[100:]
    fitted = certify_portfolio(votes, labels, before=before)
    assert fitted != certify_portfolio(votes, labels)
    with pytest.raises(CertificateError, match="another certificate"):
        fitted.verify(votes, labels)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32))
def test_it_holds_against_an_adversary_who_knows_the_rule(n_learners: int, seed: int) -> None:
    """Every label is the opposite of the decision, until a learner is right 200 times in a row."""
    rng = np.random.default_rng(seed)
    rule, votes, labels, wrong = Portfolio(n_learners), [], [], 0
    for slot in range(500):
        row = rng.choice((-1, 1), n_learners).tolist()
        decision = rule.predict(row)
        label = -decision if slot < 150 or 350 <= slot < 400 else row[0]
        wrong += decision != label
        rule.update(row, label)
        votes.append(row)
        labels.append(label)
    certificate = certify_portfolio(votes, labels)
    assert wrong == certificate.mistakes <= certificate.mistakes_max
    assert certificate.regret == wrong - certificate.members_mistakes


@pytest.mark.parametrize("value", [-1, 401, 10**30, 10**400])
@pytest.mark.parametrize("field", ["first", "last", "copy", "member_mistakes", "asleep_mistakes", "stale"])
def test_counts_that_cannot_be_are_refused_in_words(field: str, value: int) -> None:
    document = certify_portfolio(*drawn(45, 400, 3), switches_max=0).document()
    document["stretches"][0][field] = value
    with pytest.raises(CertificateError):
        TrackingCertificate.from_document(document).verify()


@pytest.mark.parametrize(
    ("field", "value"), [("n_learners", 0), ("n_learners", -1), *((f, 10**400) for f in ("n_slots", "n_labels"))]
)
def test_a_certificate_about_nobody_or_about_too_much_is_refused(field: str, value: int) -> None:
    document = certify_portfolio(*drawn(45, 400, 3)).document()
    with pytest.raises(CertificateError):
        TrackingCertificate.from_document(document | {field: value}).verify()


def test_a_certificate_of_another_machine_verifies_though_its_logarithms_differ_in_the_last_digit() -> None:
    votes, labels = drawn(43, 400, 3)
    certificate = certify_portfolio(votes, labels)
    (first, *rest) = certificate.stretches
    other = msgspec.structs.replace(first, given=math.nextafter(first.given, 1), entry=math.nextafter(first.entry, 0))
    msgspec.structs.replace(certificate, stretches=[other, *rest]).verify(votes, labels)
    other = msgspec.structs.replace(first, given=first.given * (1 + 1e-6))
    with pytest.raises(CertificateError, match="another certificate"):
        msgspec.structs.replace(certificate, stretches=[other, *rest]).verify(votes, labels)


@pytest.mark.parametrize(("top", "shares"), [([5.0] * 4, 1.0), ([1.0, 1.0, 1.0, 1e99], 1.0), ([0.25] * 4, 1e90)])
def test_shares_that_do_not_add_up_to_1_certify_nothing_more(top: list[float], shares: float) -> None:
    votes, labels = drawn(44, 400, 2, wrong=0.5)
    snapshot = Portfolio(2).snapshot()
    snapshot |= {"top": top, "shares": [shares * each for each in snapshot["shares"]]}
    before = Portfolio.restore(snapshot)
    certificate = certify_portfolio(votes, labels, before=before)
    certificate.verify(votes, labels, before=before)
    assert (before.run(votes, labels) != labels).sum() <= certificate.mistakes_max
    assert certificate.stretches[0].copy_entry <= max(top) / sum(top)
    assert certificate.members_mistakes <= 200


def test_no_single_member_gives_a_smaller_number() -> None:
    votes, labels = drawn(45, 4000, 4, wrong=0.3)
    votes[:, 1] = np.where(np.arange(4000) % 9, labels, -labels)
    certificate = certify_portfolio(votes, labels)
    run = _Run(votes, labels, None, None)
    for name in run.names:
        for copy in range(steps.N_COPIES):
            assert certificate.mistakes_max <= run.certificate([run.stretch(0, 3999, name, copy)]).mistakes_max


def test_the_number_is_worth_something_where_one_member_is_good() -> None:
    votes, labels = drawn(7, 20000, 8, wrong=0.4)
    votes[:, 2] = labels
    certificate = certify_portfolio(votes, labels)
    assert certificate.mistakes_max < 300
    assert certificate.mistakes < 30


def test_a_certificate_that_was_tampered_with_is_refused() -> None:
    votes, labels = drawn(9, 300, 3)
    certificate = certify_portfolio(votes, labels)
    (first, *rest) = certificate.stretches
    replace = msgspec.structs.replace
    forged = [
        replace(certificate, mistakes_max=certificate.mistakes_max - 1),
        replace(certificate, n_labels=299),
        replace(certificate, n_stale=-1),
        replace(certificate, mistakes=301),
        replace(certificate, stretches=rest),
        *(
            replace(certificate, stretches=[replace(first, **{field: value}), *rest])
            for field, value in {
                "first": 1,
                "copy": 4,
                "entry": 0.0,
                "given": 0.0,
                "stale": -1,
                "copy_entry": 2,
            }.items()
        ),
    ]
    for each in forged:
        with pytest.raises(CertificateError):
            each.verify()
    smaller = replace(first, member_mistakes=0, entry=1.0)
    consistent = replace(certificate, stretches=[smaller, *rest])
    consistent = replace(consistent, mistakes_max=consistent._follows(), mistakes=0)
    consistent.verify()  # the numbers follow, but they are not those of the data
    with pytest.raises(CertificateError, match="another certificate"):
        consistent.verify(votes, labels)
    with pytest.raises(CertificateError):
        certificate.verify(votes, -labels)
    with pytest.raises(CertificateError, match="this is no certificate"):
        TrackingCertificate.from_document({"schema": 1})
    with pytest.raises(LocalError, match="switches_max"):
        certify_portfolio(votes, labels, switches_max=-1)
    with pytest.raises(LocalError, match="switches_max"):
        certify_portfolio(votes, labels, switches_max="many")  # type: ignore[arg-type]
    assert len(certify_portfolio(votes, labels, switches_max=0).stretches) == 1


# The table of `make portfolio`


def line_of(errors: dict[str, float], feedback: str = "at once", real: bool = False, name: str = "toy") -> Line:
    """Names as the table has them; in the second half everybody is wrong twice as often."""
    entries = [
        Entry(rule.removesuffix(", taught"), ", " in rule, rule.startswith("learner-"), error, 2 * error)
        for rule, error in errors.items()
    ]
    return Line(name, feedback, real, entries)


def test_the_table_compares_with_the_best_other() -> None:
    votes, labels = drawn(21, 2000, 4, wrong=0.3)
    line = compared(Stream("drawn", votes, labels), "10 late")
    best = line.best(line.portfolio)
    for rule in (PWM(4), AverageMajority(4)):
        assert best.error <= (rule.run(votes, labels, np.arange(2000) + 10) != labels).mean()
    assert {each.rule for each in line.entries if each.alone} == {f"learner-{place}" for place in range(1, 5)}


def test_the_table_judges_the_portfolio_that_is_fitted_on_a_block_beside_rules_that_have_learned_it() -> None:
    votes, labels = drawn(22, 900, 3)
    line = compared(Stream("drawn", votes, labels).after(300), "100 late")
    late = np.arange(600) + 100
    portfolio, pwm = Portfolio(3).fit(votes[:300], labels[:300]), PWM(3)
    pwm.run(votes[:300], labels[:300])
    assert line.portfolio == line.entry("Portfolio", taught=True)
    for entry, rule in {
        line.portfolio: portfolio,
        line.entry("PWM", taught=True): pwm,
        line.entry("Portfolio"): Portfolio(3),
    }.items():
        wrong = rule.run(votes[300:], labels[300:], late) != labels[300:]
        assert (entry.error, entry.half) == (wrong.mean(), wrong[300:].mean())
    assert compared(Stream("drawn", votes, labels), "at once").portfolio.name == "Portfolio"


def test_feedback_of_the_table_is_what_it_is_called() -> None:
    votes, labels = drawn(24, 5000, 4)
    heard = {name: fed(Stream("drawn", votes, labels), name) for name in FEEDBACKS}
    for name, late in (("10 late", 10), ("100 late", 100), ("1000 late", 1000)):
        assert (heard[name][0] == votes).all()
        assert np.asarray(heard[name][1]).tolist() == (np.arange(5000) + late).tolist()
    some = heard["1 in 10"][1]
    assert some is not None
    assert 0.08 < (some != NEVER).mean() < 0.12
    assert heard["at once"][1] is heard["half absent"][1] is None
    absent = heard["half absent"][0]
    assert 0.47 < (absent == 0).mean() < 0.53
    assert (absent[absent != 0] == votes[absent != 0]).all()


@pytest.mark.parametrize(
    ("feedback", "real", "best", "limit"),
    [
        ("at once", True, 0.02, 0.021),
        ("at once", True, 0.2, 0.206),
        ("at once", False, 0.02, 0.025),
        ("at once", False, 0.2, 0.22),
        ("100 late", True, 0.02, 0.023),
        ("1 in 10", False, 0.2, 0.21),
    ],
)
def test_the_table_asks_for_a_ratio_or_a_distance(feedback: str, real: bool, best: float, limit: float) -> None:
    line = line_of({"Portfolio": limit, "Portfolio, taught": 0.0, "PWM": best, "Winnow2": 0.5}, feedback, real)
    assert line.limit(line.entry("Portfolio")) == pytest.approx(limit)
    assert line.limit(line.entry("Winnow2")) == pytest.approx(limit)  # no portfolio raises the bar
    assert line.holds(line.entry("Winnow2")._replace(error=limit - 1e-9))
    assert not line.holds(line.entry("Winnow2")._replace(error=limit + 1e-9))


def test_the_table_says_whom_the_portfolio_is_above() -> None:
    errors = {"PWM": 0.3, "learner-1": 0.4, "learner-2": 0.1}
    remarks = [line_of({"Portfolio": error, **errors}).remark for error in (0.11, 0.12, 0.33, 0.34)]
    assert remarks == ["", "above a learner", "above a learner", "above"]


def test_every_rule_is_judged_against_the_best_other_of_each_line() -> None:
    lines = [
        line_of(
            {"Portfolio": 0.1, "Portfolio, taught": 0.08, "PWM": 0.0824, "PWM, taught": 0.09, "learner-1": 0.08},
            real=True,
            name="R1",
        ),
        line_of(
            {"Portfolio": 0.2, "Portfolio, taught": 0.001, "PWM": 0.004, "PWM, taught": 0.1, "learner-1": 0.1},
            "10 late",
        ),
    ]
    pwm, ours, taught, unfitted = standings(lines)
    assert (ours.rule, ours.n_within, ours.worst) == ("Portfolio, taught", 2, 1.0)  # errors below 0.5 % count as 0.5 %
    assert (pwm.rule, pwm.n_within, round(pwm.worst, 9), pwm.where) == ("PWM", 2, 1.03, "R1, at once")
    assert pwm.mean == pytest.approx(math.sqrt(1.03 * 0.05))  # neither the portfolio nor PWM taught is an other
    assert (unfitted.rule, unfitted.n_within, unfitted.worst) == ("Portfolio", 0, 40.0)
    assert (taught.rule, taught.n_within, taught.worst) == ("PWM, taught", 1, 1.125)
    assert standings([]) == []


def test_the_table_is_printed_with_how_every_rule_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = {"Portfolio": 0.12, "Portfolio, taught": 0.11, "PWM": 0.2, "Winnow2": 0.1, "learner-1": 0.3}
    monkeypatch.setattr("quorate.paper.portfolio.compared", lambda stream, feedback: line_of(errors, feedback))
    monkeypatch.setattr("quorate.paper.portfolio.second_halves", lambda _: list(synthetic_streams(n_slots=5))[:1])
    main(["--second-half"])
    table, rest = capsys.readouterr().out.split("\n\n", 1)
    rows = table.splitlines()
    assert len(rows) == 1 + len(FEEDBACKS)
    assert " ".join(rows[1].split()) == "toy at once 11.00% 10.00% Winnow2 1.100 20.00% 22.00% 20.00% 12.00%"
    assert " ".join(rows[2].split()) == "toy 10 late 11.00% 10.00% Winnow2 1.100 20.00% 22.00% 20.00% 12.00% above"
    standing = rest.splitlines()
    assert standing[0].endswith("in so many of the 6 lines:")
    assert " ".join(standing[3].split()) == "Winnow2 6 0.500 0.50 toy, half absent"
    assert " ".join(standing[4].split()) == "Portfolio, taught 1 1.100 1.10 toy, half absent"
    assert "S1 with perfect" not in rest


@pytest.mark.parametrize(
    ("option", "draw", "place", "name"),
    [("--seeds", synthetic_streams, 5, "one good"), ("--river", river_streams, 2, "Agrawal, regressions")],
)
def test_the_table_may_be_of_streams_drawn_anew(
    option: str,
    draw: Any,
    place: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        f"quorate.paper.portfolio.{draw.__name__}", lambda seed: list(draw(seed, 400))[place : place + 1]
    )
    main([option, "901", "0", "--without-block"])
    printed = capsys.readouterr().out
    header, *rows = printed.splitlines()
    n = len(FEEDBACKS)
    at = header.index("labels")
    assert [row[:at].rstrip() for row in rows[: n + 1 : n]] == [f"{name} 901", f"{name} 0"]
    assert [row[at:].split()[2:] for row in rows[:n]] != [row[at:].split()[2:] for row in rows[n : 2 * n]]
    assert "taught" not in printed
    assert "S1 with perfect" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "no-such-folder"], "error: R1 "),
        (["--seeds", "-1"], "'-1' is no seed"),
        (["--seeds", "1", "--second-half"], "not allowed with"),
        (["--seeds", "1", "--river", "1"], "not allowed with"),
    ],
)
def test_the_table_says_in_one_line_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code in (1, 2)
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "called", "first", "n_slots"), [("R1", "R1 247,010", 307_010, 20_000), ("R2", "R2 later", 34_500, 10_500)]
)
def test_second_halves_have_no_row_of_the_first(
    name: str, called: str, first: int, n_slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.paper.portfolio.REAL_STREAMS", (name,))
    stream = next(second_halves())
    assert stream.name == called
    assert stream.votes.shape == (n_slots, 8)
    assert stream.tuning is not None
    rows = load(name).labels
    assert stream.labels.tolist() == rows[first : first + n_slots].tolist()
    before = len(stream.tuning[1])
    assert stream.tuning[1].tolist() == rows[first - before : first].tolist()


def test_what_is_left_out_has_no_share_for_ever() -> None:
    votes, labels = drawn(22, 500, 3)
    for group in ("learners", "regressions"):
        rule = without(group, Portfolio(3))
        rule.run(votes, labels)
        shares = rule.explain()
        gone = ["learner-1", "learner-3"] if group == "learners" else ["logistic 0.1", "logistic 0.004"]
        assert [shares[name] for name in gone] == [0.0, 0.0]
        assert shares["not learner-2"] > 0
