"""The guarantee of the portfolio: that it holds, that it verifies, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import Portfolio, certify_portfolio
from quorate.bounds import TrackingCertificate
from quorate.bounds.tracking import _Run
from quorate.errors import CertificateError, LocalError
from quorate.rules import portfolio_steps as steps
from quorate.streams import NEVER
from tests.portfolio_cases import drawn


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
    wrong_slots = Portfolio(n_learners).run(votes, labels, arrivals) != labels
    learned = (arrivals >= 0) & (arrivals < n_slots)
    assert wrong_slots[learned].sum() == certificate.mistakes <= certificate.mistakes_max - (~learned).sum()
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
    assert certificate.mistakes <= certificate.mistakes_max - (~learned).sum()
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


def test_what_was_decided_before_its_labels_came_is_counted_though_all_would_be_right_now() -> None:
    """Six of eight are always wrong, and nobody hears so for 1,000 slots: without the stale ones it would be 174."""
    labels = np.ones(3000, np.int8)
    votes = np.full((3000, 8), -1, np.int8)
    votes[:, [3, 6]] = 1
    certificate = certify_portfolio(votes, labels, arrivals=np.arange(3000) + 1000)
    assert certificate.mistakes == 1003 <= certificate.mistakes_max - 1000
    (stretch,) = certificate.stretches
    assert (certificate.n_labels, stretch.stale) == (2000, 998)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stale_is_what_was_wrong_then_and_would_be_right_now(seed: int) -> None:
    """Counted again in a loop, from the notes."""
    labels = np.repeat(np.random.default_rng(seed).choice(np.array([-1, 1], np.int8), 30), 40)
    votes = np.where(np.random.default_rng(seed).random((1200, 3)) < 0.6, labels[:, None], -labels[:, None])
    rule, noted, stale, copies_stale = Portfolio(3), [], 0, np.zeros(steps.N_COPIES, int)
    for slot, row in enumerate(votes.tolist()):
        noted.append((rule._look(tuple(row)), rule.predict(row)))
        if slot >= 50:
            said, decided = noted[slot - 50]
            label, own = int(labels[slot - 50]), votes[slot - 50]
            answers = np.concatenate((said.answers, np.stack((own, -own), axis=1).ravel()))
            shares = np.reshape(rule._state["shares"], (-1, steps.N_COPIES))
            now = np.where(answers @ shares >= 0, 1, -1)
            copies_stale += (np.array(said.copies) != label) & (now == label)
            weighed = 1 if np.dot(rule._state["top"], said.copies) >= 0 else -1
            stale += decided != label and weighed == label
            rule.update(votes[slot - 50].tolist(), label, note=said.note())
    run = _Run(votes.astype(np.int8), labels, np.arange(1200) + 50, None)
    assert stale > 0
    assert run.n_stale == stale == run.certificate([]).n_stale
    assert [int(each.sum()) for each in run.copies_stale] == copies_stale.tolist()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 4),
    st.sampled_from([0.0, 0.4]),
    st.sampled_from([0.1, 0.5]),
    st.sampled_from([0, 30]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_stretch_bounds_what_its_copy_lost_in_logarithms(
    n_learners: int, absent: float, wrong: float, late: int, fit: bool, seed: int
) -> None:
    """The lemma without the factor of 2 of a majority, under which an error of its terms would hide."""
    rng = np.random.default_rng(seed)
    all_votes, labels = drawn(seed, 1600, n_learners, wrong, absent)
    votes, labels, before = all_votes[100:], labels[100:], (all_votes[:100], labels[:100])
    run = _Run(votes, labels, np.arange(1500) + rng.integers(0, late + 1, 1500), before if fit else None)
    for _ in range(20):
        member, copy = int(rng.integers(len(run.names))), int(rng.integers(steps.N_COPIES))
        first, last = sorted(rng.integers(0, len(run.labels), 2).tolist())
        stretch = run.stretch(first, last, run.names[member], copy)
        rows = slice(first, last + 1)
        shares = run.shares[copy][rows]
        erring = (shares * run.wrong[rows]).sum(axis=1) / (shares * run.awake[rows]).sum(axis=1)
        rate = steps.COPY_RATES[copy]
        lost = -np.log1p(-rate * erring)[run.awake[rows, member]].sum()
        assert lost <= -math.log(stretch.entry) - stretch.member_mistakes * math.log1p(-rate) + stretch.given + 1e-6


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


@pytest.mark.parametrize("value", [-1e308, -0.1, 1e308, 10**30, 10**400])
@pytest.mark.parametrize("field", ["entry", "copy_entry", "given"])
def test_shares_that_cannot_be_are_refused_in_words(field: str, value: float) -> None:
    document = certify_portfolio(*drawn(45, 400, 3), switches_max=0).document()
    document["stretches"][0][field] = value
    with pytest.raises(CertificateError):
        TrackingCertificate.from_document(document).verify()


@pytest.mark.parametrize("member", ["x", "", "learner-0", "learner-4", "not learner-4", "learner-" + "9" * 5000])
def test_members_that_nobody_has_are_refused(member: str) -> None:
    document = certify_portfolio(*drawn(45, 400, 3), switches_max=0).document()
    document["stretches"][0]["member"] = member
    with pytest.raises(CertificateError, match="has no member"):
        TrackingCertificate.from_document(document).verify()


def test_more_mistakes_than_follow_for_the_labels_that_came_are_refused() -> None:
    arrivals = np.where(np.arange(2000) < 1000, np.arange(2000), NEVER)
    certificate = certify_portfolio([[1, -1]] * 2000, [1] * 2000, arrivals=arrivals)
    heard_max = certificate.mistakes_max - 1000
    replace = msgspec.structs.replace
    replace(certificate, mistakes=heard_max).verify()
    with pytest.raises(CertificateError, match=f"{heard_max + 1} mistakes are ruled out"):
        replace(certificate, mistakes=heard_max + 1).verify()


@pytest.mark.parametrize("given", [{"arrivals": [0, 1]}, {"before": Portfolio(2)}])
def test_data_without_votes_and_labels_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(LocalError, match="was given without votes and labels"):
        certify_portfolio([[1, -1]] * 30, [1] * 30).verify(**given)


def test_a_portfolio_of_a_subclass_may_be_before() -> None:
    class Own(Portfolio):
        pass

    votes, labels = drawn(3, 60, 2)
    assert certify_portfolio(votes, labels, before=Own(2)) == certify_portfolio(votes, labels)


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
        replace(certificate, n_stale=301),
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
                "member": "learner-4",
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
    with pytest.raises(CertificateError, match="of type str, not an object; give what"):
        TrackingCertificate.from_document("Portfolio")
    with pytest.raises(LocalError, match="switches_max"):
        certify_portfolio(votes, labels, switches_max=-1)
    with pytest.raises(LocalError, match="switches_max"):
        certify_portfolio(votes, labels, switches_max="many")  # type: ignore[arg-type]
    assert len(certify_portfolio(votes, labels, switches_max=0).stretches) == 1
