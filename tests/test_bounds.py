"""Certificates against adversaries, the paper's bounds against counterexamples, the best static rule against all."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorate import PWM, ExtendedPWM, Label, Learner, Monitor, Vote, certify
from quorate.bounds import (
    Certificate,
    all_mistakes_max,
    best_static_rule,
    decision_list,
    late_labels,
    paper_b1,
    paper_b2,
    paper_quantities,
    paper_theorem_1,
    paper_theorem_4,
    paper_theorem_6,
)
from quorate.bounds.arithmetic import updates_max
from quorate.bounds.certify import parts_of, smallest
from quorate.bounds.missing import failure_chance
from quorate.bounds.vectors import Vector, plain_vectors
from quorate.errors import CertificateError, LabelError, LocalError, VotesError
from quorate.evaluate import Recording, decide
from quorate.streams import NEVER, Gaussian

ATTACKS = settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# What an adversary does in a slot is one number, so that examples shrink well and are drawn fast.


class Move(msgspec.Struct):
    votes: list[int]
    label: int
    oppose: bool
    delay: int
    comes: bool


def moves_of(numbers: list[int], n_learners: int, absent: bool, late: bool, missing: bool) -> list[Move]:
    moves = []
    for number in numbers:
        values = []
        for _ in range(n_learners):
            number, vote = divmod(number, 3)
            values.append((vote - 1) if absent or vote != 1 else 1 - 2 * (number % 2))
        number, label = divmod(number, 2)
        number, oppose = divmod(number, 2)
        number, comes = divmod(number, 2)
        moves.append(Move(values, 2 * label - 1, bool(oppose), number % 8 if late else 0, bool(comes) or not missing))
    return moves


class Played(msgspec.Struct):
    votes: Any
    labels: Any
    arrivals: Any
    mistakes: int
    heard_mistakes: int
    updates: int
    monitor: Monitor


def play(moves: list[Move], rule: PWM | ExtendedPWM) -> Played:
    """Let a learner run against an adversary that may choose each label after it has seen the decision."""
    names = [f"l{place}" for place in range(rule.n_learners)]
    learner = Learner("judge", names, rule, horizon=len(moves))
    monitor = Monitor(learner)
    labels, decisions, arrivals = [], [], []
    for slot, move in enumerate(moves):
        for name, vote in zip(names, move.votes, strict=True):
            if vote:
                learner.receive(Vote(slot, name, vote))
        decision = learner.close(slot).value
        decisions.append(decision)
        labels.append(-decision if move.oppose else move.label)
        arrivals.append(slot + move.delay if move.comes else NEVER)
        for late in [each for each, arrival in enumerate(arrivals) if arrival == slot]:
            learner.receive(Label(late, labels[late]))
    wrong = np.array(decisions) != np.array(labels)
    heard = np.array([0 <= arrival < len(moves) for arrival in arrivals])
    return Played(
        np.array([move.votes for move in moves]),
        np.array(labels),
        np.array(arrivals),
        int(wrong.sum()),
        int((wrong & heard).sum()),
        learner.counters.updates,
        monitor,
    )


NUMBERS = st.lists(st.integers(0, 3**4 * 64 - 1), min_size=1, max_size=40)
LEARNERS = st.integers(1, 4)


@ATTACKS
@given(NUMBERS, LEARNERS, st.booleans())
def test_attack_the_best_learner(numbers: list[int], n_learners: int, bias: bool) -> None:
    """Labels at once, everybody votes, the label chosen after the decision: B2 and its kin."""
    played = play(moves_of(numbers, n_learners, absent=False, late=False, missing=False), PWM(n_learners, bias=bias))
    shown = parts_of(played.votes, played.labels, None, "PWM", bias).parts[0]
    for vector in plain_vectors(shown.patterns):
        part = smallest(shown, [vector])
        assert played.mistakes <= part.updates_max, vector
        part.verify()
    measured = paper_quantities(played.votes, played.labels)
    claimed = paper_b2(n_learners, measured.n_slots, measured.p_star, measured.v_star) * measured.n_slots
    certificate = certify(played.votes, played.labels, rule="PWM", bias=bias, search=False)
    assert played.mistakes <= certificate.mistakes_max <= claimed + 1e-6
    certificate.verify(played.votes, played.labels)


@ATTACKS
@given(NUMBERS, LEARNERS, st.lists(st.integers(-2000, 2000), min_size=5, max_size=5), st.integers(1, 1000))
def test_attack_any_comparison_vector(numbers: list[int], n_learners: int, vector: list[int], scale: int) -> None:
    played = play(moves_of(numbers, n_learners, absent=True, late=False, missing=False), PWM(n_learners))
    shown = parts_of(played.votes, played.labels, None, "PWM", True).parts[0]
    part = smallest(shown, [Vector("drawn", vector[: n_learners + 1], scale)])
    assert played.mistakes == played.updates <= part.updates_max
    part.verify()


@ATTACKS
@given(NUMBERS, LEARNERS)
def test_attack_the_vectors_that_are_found(numbers: list[int], n_learners: int) -> None:
    played = play(moves_of(numbers, n_learners, absent=False, late=False, missing=False), PWM(n_learners))
    certificate = certify(played.votes, played.labels, rule="PWM")
    assert played.mistakes <= certificate.mistakes_max
    assert certificate.mistakes_max <= certify(played.votes, played.labels, rule="PWM", search=False).mistakes_max
    certificate.verify(played.votes, played.labels)


@ATTACKS
@given(NUMBERS, LEARNERS)
def test_attack_late_labels(numbers: list[int], n_learners: int) -> None:
    """Labels up to seven slots late and out of order."""
    played = play(moves_of(numbers, n_learners, absent=False, late=True, missing=False), PWM(n_learners))
    certificate = certify(played.votes, played.labels, arrivals=played.arrivals, rule="PWM", search=False)
    assert played.mistakes <= certificate.mistakes_max
    assert played.heard_mistakes <= certificate.heard_mistakes_max
    assert played.updates <= certificate.updates_max
    delay = int((played.arrivals - np.arange(len(numbers))).max())
    assert certificate.mistakes_max <= (delay + 1) * certificate.updates_max + delay
    # The delay argument alone, from the updates there really were.
    assert played.mistakes <= (delay + 1) * played.updates + delay
    certificate.verify(played.votes, played.labels, played.arrivals)


@ATTACKS
@given(NUMBERS, LEARNERS, st.booleans())
def test_attack_absent_learners(numbers: list[int], n_learners: int, bias: bool) -> None:
    """Two weight vectors; also with late and missing labels, where a slot without a label counts as a mistake."""
    played = play(moves_of(numbers, n_learners, absent=True, late=True, missing=True), ExtendedPWM(n_learners, bias))
    if (played.arrivals == NEVER).all():
        return
    certificate = certify(played.votes, played.labels, arrivals=played.arrivals, bias=bias, search=False)
    assert played.mistakes <= certificate.mistakes_max
    assert played.heard_mistakes <= certificate.heard_mistakes_max
    assert played.updates <= certificate.updates_max
    certificate.verify(played.votes, played.labels, played.arrivals)
    followed = played.monitor.certificate()
    followed.verify()
    assert played.updates <= followed.updates_max
    assert played.mistakes <= followed.mistakes_max
    assert played.monitor.mistakes == played.heard_mistakes <= followed.heard_mistakes_max


def exact_chance(seen: int, mistakes: int, probability: Fraction) -> Fraction:
    terms = (
        math.comb(mistakes, k) * probability**k * (1 - probability) ** (mistakes - k)
        for k in range(min(seen, mistakes) + 1)
    )
    return sum(terms, Fraction(0))


@ATTACKS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 9), st.sampled_from([0.5, 0.8, 0.95]))
def test_attack_missing_labels(seed: int, n_slots: int, tenths: int, confidence: float) -> None:
    """The exact chance that the certificate is broken, over everything that can be observed.

    The adversary is a tree: what it does in a slot depends on which labels came before and on the decision.
    """
    probability = Fraction(tenths, 10)
    n_learners = 1 + seed % 3
    broken = Fraction(0)
    for seen in itertools.product((True, False), repeat=n_slots):
        rule, votes, labels, mistakes = PWM(n_learners), [], [], 0
        for slot in range(n_slots):
            draw = np.random.default_rng([seed, slot, *seen[:slot]])
            vote = [int(value) for value in draw.choice((-1, 1), n_learners)]
            decision = rule.predict(vote)
            label = -decision if draw.random() < 0.8 else decision
            mistakes += decision != label
            if seen[slot]:
                rule.update(vote, label)
            votes.append(vote)
            labels.append(label if seen[slot] else 0)
        # Without any label nothing is certified; the argument holds all the same.
        seen_max = certify(votes, labels, rule="PWM", search=False).heard_mistakes_max if any(seen) else 0
        if mistakes > all_mistakes_max(seen_max, float(probability), confidence):
            broken += math.prod(probability if each else 1 - probability for each in seen)
    assert broken <= 1 - confidence


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("seen", [0, 1, 7, 40])
def test_missing_labels_agree_with_exact_binomials(seen: int, probability: float) -> None:
    most = all_mistakes_max(seen, probability, 0.95)
    allowed = Fraction(failure_chance(seen, 0.95))
    assert exact_chance(seen, most + 1, Fraction(probability)) <= allowed
    assert most == seen or exact_chance(seen, most, Fraction(probability)) > allowed * Fraction(999, 1000)


def test_missing_labels_on_a_long_run() -> None:
    """One label in two comes; of 60 runs, fewer than the confidence allows may break it (here none does)."""
    broken, sharper = 0, 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        labels = generator.choice((-1, 1), 2000)
        votes = labels[:, None] * np.where(generator.random((2000, 3)) < [0.02, 0.4, 0.5], -1, 1)
        came = generator.random(2000) < 0.5
        recording = Recording(["a", "b", "c"], votes, labels, np.where(came, np.arange(2000), NEVER))
        mistakes = int((decide(recording, PWM(3)) != labels).sum())
        certificate = certify(votes, np.where(came, labels, 0), rule="PWM", observation_probability=0.5, search=False)
        certificate.verify()
        assert certificate.confidence == 0.95
        broken += mistakes > certificate.mistakes_max
        sharper += certificate.mistakes_max < certify(votes, np.where(came, labels, 0), search=False).mistakes_max
    assert broken == 0
    assert sharper == 60


# What must be shown


@pytest.mark.parametrize("n_learners", range(4, 11))
def test_a_decision_list_exceeds_lemma_1_but_not_the_certificate(n_learners: int) -> None:
    votes, labels = decision_list(n_learners)
    # Weights that double from learner to learner are right in every slot: P^O is 0.
    signs = [(-1) ** place * 2 ** (n_learners - place) for place in range(n_learners)]
    bias = sum(signs) + (-1) ** n_learners
    assert (np.where(votes @ signs + bias >= 0, 1, -1) == labels).all()
    # PWM is wrong in every slot; afterwards in none, however often all votes there are come by.
    every = np.array(list(itertools.product((-1, 1), repeat=n_learners)), np.int8)
    truth = np.where(every @ signs + bias >= 0, 1, -1).astype(np.int8)
    n_more = 40 * len(labels) // len(every) + 400
    votes = np.concatenate([votes, np.tile(every, (n_more, 1))])
    labels = np.concatenate([labels, np.tile(truth, n_more)])
    mistakes = int((PWM(n_learners).run(votes, labels) != labels).sum())
    assert mistakes == len(decision_list(n_learners)[1])
    n_slots = len(labels)
    assert mistakes > n_learners * (n_learners + 1) == round(paper_b1(n_learners, n_slots, 0.0) * n_slots)
    certificate = certify(
        votes, labels, rule="PWM", vectors=[[bias, *signs], [bias / 2, *(each / 2 for each in signs)]]
    )
    assert mistakes <= certificate.mistakes_max < n_slots
    certificate.verify(votes, labels)


def test_the_counts_of_the_reading_notes() -> None:
    assert [len(decision_list(n_learners)[1]) for n_learners in (4, 6, 8)] == [23, 147, 1345]


@pytest.mark.parametrize("delay", [1, 10, 50, 200])
def test_late_labels_exceed_theorem_4_but_not_the_certificate(delay: int) -> None:
    votes, labels, arrivals = late_labels(delay)
    # Afterwards the same goes on, with labels of both signs; the weights are right by then.
    n_more = 20 * delay + 20
    labels = np.concatenate([labels, np.resize([-1, 1], n_more)]).astype(np.int8)
    votes = np.column_stack([labels, np.full(len(labels), -1)])
    arrivals = np.concatenate([arrivals, arrivals[-1] + 1 + np.arange(n_more)])
    issued = decide(Recording(["a", "b"], votes, labels, arrivals), PWM(2))
    mistakes, n_slots = int((issued != labels).sum()), len(labels)
    assert mistakes >= 2 * (delay + 1)
    claimed = paper_theorem_4(paper_theorem_1(2, n_slots, 0.0, 0.0), [delay, delay], n_slots) * n_slots
    assert (mistakes > claimed) == (delay > 1)
    certificate = certify(votes, labels, arrivals=arrivals, rule="PWM")
    assert mistakes <= certificate.mistakes_max < n_slots
    certificate.verify(votes, labels, arrivals)


def test_theorem_6_fails_with_more_than_its_chance() -> None:
    """Every label of the decision list comes with a chance of 0.87, and then the bound is exceeded by far."""
    votes, labels = decision_list(8)
    n_slots, chance = len(labels), 0.9999
    bound = paper_theorem_6(paper_theorem_1(8, n_slots, 0.0, 0.5), chance, 0.05, n_slots)
    assert bound is not None
    assert (PWM(8).run(votes, labels) != labels).sum() > bound * n_slots
    assert chance**n_slots > 0.8 > 0.05


@pytest.mark.parametrize("mu", [0.0, 0.25, 0.5, 1.0, 1.5, 1.75, 2.0, 2.5, 3.0])
def test_on_s3_the_measured_curve_is_under_the_certificate_and_that_under_b2(mu: float) -> None:
    features, labels, _ = Gaussian(mu=mu, n_learners=8, seed=3).arrays(1000, 20)
    for views, truth in zip(features[..., 0], labels, strict=True):
        votes = np.where(views >= 0, 1, -1)
        certificate = certify(votes, truth, rule="PWM")
        measured = paper_quantities(votes, truth)
        second = paper_b2(8, 1000, measured.p_star, measured.v_star) * 1000
        assert int((PWM(8).run(votes, truth) != truth).sum()) <= certificate.mistakes_max <= second + 1e-9
        certificate.verify(votes, truth)


@pytest.mark.parametrize("best_wrong", [0.0, 0.01, 0.05, 0.2])
def test_seven_adversaries_of_eight(best_wrong: float) -> None:
    """Seven learners see the weights and the label and vote for the wrong answer by their weight."""
    generator = np.random.default_rng(1)
    rule, mistakes, votes, labels = PWM(8), 0, [], []
    for _ in range(5000):
        label = int(generator.choice((-1, 1)))
        honest = -label if generator.random() < best_wrong else label
        weights = rule.weights
        vote = [honest, *(-label if weight > 0 else label if weight < 0 else -label for weight in weights[2:])]
        mistakes += rule.update(vote, label)
        votes.append(vote)
        labels.append(label)
    certificate = certify(votes, labels, rule="PWM", search=False)
    wrong = int((np.array(votes)[:, 0] != labels).sum())
    assert mistakes <= certificate.mistakes_max <= paper_b2(8, 5000, wrong / 5000) * 5000 + 1e-6
    assert mistakes > wrong  # they do harm
    if best_wrong <= 0.05:
        assert certificate.argument == "best learner"
        assert mistakes < 2500  # and the guarantee is worth something


# The best static rule


def all_threshold_mistakes(votes: Any, labels: Any, reach: int) -> int:
    """Brute force over all integer weights up to some size, the bias among them."""
    rows = np.column_stack([np.ones(len(votes), int), votes])
    weights = np.array(list(itertools.product(range(-reach, reach + 1), repeat=rows.shape[1])))
    patterns, place = np.unique(rows, axis=0, return_inverse=True)
    plus = np.bincount(place.ravel(), weights=labels == 1, minlength=len(patterns))
    minus = np.bincount(place.ravel(), weights=labels == -1, minlength=len(patterns))
    says_plus = weights @ patterns.T >= 0
    return int(np.where(says_plus, minus, plus).sum(axis=1).min())


@pytest.mark.parametrize("n_learners", [1, 2, 3, 4])
def test_best_static_rule_agrees_with_brute_force(n_learners: int) -> None:
    generator = np.random.default_rng(n_learners)
    for trial in range(25):
        n_slots = int(generator.integers(1, 120))
        votes = generator.choice((-1, 1), (n_slots, n_learners))
        labels = generator.choice((-1, 1), n_slots, p=(0.3, 0.7) if trial % 2 else (0.5, 0.5))
        found = best_static_rule(votes, labels)
        assert found.is_exact
        # Every threshold function of four arguments has integer weights of at most 4 in size, bias included.
        assert found.mistakes == all_threshold_mistakes(votes, labels, reach=4)
        weights = np.array(found.weights)
        said = np.where(weights[0] + votes @ weights[1:] >= 0, 1, -1)
        assert int((said != labels).sum()) == found.mistakes


def test_best_static_rule_with_abstentions_and_without_a_bias() -> None:
    generator = np.random.default_rng(9)
    for _ in range(25):
        votes = generator.choice((-1, 0, 1), (40, 2))
        labels = generator.choice((-1, 1), 40)
        assert best_static_rule(votes, labels).mistakes == all_threshold_mistakes(votes, labels, reach=8)
        found = best_static_rule(votes, labels, bias=False)
        assert found.is_exact
        weights = np.array(list(itertools.product(range(-8, 9), repeat=2)))
        brute = (np.where(weights @ votes.T >= 0, 1, -1) != labels).sum(axis=1).min()
        assert found.weights[0] == 0
        assert found.mistakes == brute


def test_when_time_runs_out_the_gap_is_told() -> None:
    generator = np.random.default_rng(0)
    votes = generator.choice((-1, 1), (4000, 12))
    labels = generator.choice((-1, 1), 4000)
    found = best_static_rule(votes, labels, time_limit_s=1.0)
    assert not found.is_exact
    assert found.gap == found.mistakes - found.mistakes_min > 0
    assert found.error_min < found.error < 0.5
    said = np.where(found.weights[0] + votes @ np.array(found.weights[1:]) >= 0, 1, -1)
    assert int((said != labels).sum()) == found.mistakes


# Bad input, and certificates that were tampered with


def test_bad_input_is_answered_clearly() -> None:
    votes = [[1, -1], [1, 1]]
    with pytest.raises(LabelError, match=r"none of the 2 slots has a label"):
        certify(votes, [0, 0])
    with pytest.raises(LabelError, match=r"labels\[0\] is 0; a label is -1 or \+1"):
        best_static_rule(votes, [0, 1])
    with pytest.raises(LabelError, match=r"labels has shape \(0,\)"):
        certify(votes, [])
    with pytest.raises(VotesError, match="give at least one slot and one learner"):
        certify([], [])
    with pytest.raises(LocalError, match="at most 20 learners, and there are 21"):
        best_static_rule(np.ones((3, 21), int), [1, 1, -1])
    with pytest.raises(LocalError, match=r"arrivals\[1\] is 0; a label comes at the end of its slot or later"):
        certify(votes, [1, 1], arrivals=[0, 0])
    with pytest.raises(LocalError, match="there are certificates for 'PWM' and 'ExtendedPWM'"):
        certify(votes, [1, 1], rule="Winnow2")  # type: ignore[arg-type]
    with pytest.raises(LocalError, match=r"a comparison vector has 3 numbers below 1e\+100, the bias first"):
        certify(votes, [1, 1], vectors=[[1.0]])
    for probability in (0.0, 1.5):
        with pytest.raises(LocalError, match="the probability that a label comes is"):
            certify(votes, [1, 0], observation_probability=probability)


def test_one_class_is_fine() -> None:
    votes = np.random.default_rng(0).choice((-1, 1), (500, 4))
    labels = -np.ones(500, int)
    certificate = certify(votes, labels)
    assert int((PWM(4).run(votes, labels) != labels).sum()) <= certificate.mistakes_max <= 5
    found = best_static_rule(votes, labels)
    assert (found.mistakes, found.is_exact) == (0, True)
    with pytest.raises(LocalError, match="the exact method"):
        best_static_rule(np.ones((500, 30), int), labels)
    assert certify(np.ones((500, 30), int), labels).mistakes_max <= 1


@pytest.mark.parametrize("field", ["mistakes_max", "heard_mistakes_max", "updates_max", "n_never", "n_slots"])
def test_a_certificate_that_was_changed_is_refused(field: str) -> None:
    votes, labels, arrivals = late_labels(5)
    certificate = certify(votes, labels, arrivals=arrivals)
    document = json.loads(certificate.to_json())
    Certificate.from_document(document).verify(votes, labels, arrivals)
    with pytest.raises(CertificateError):
        Certificate.from_document({**document, field: document[field] - 1}).verify()
    with pytest.raises(CertificateError, match="not those it is about"):
        certificate.verify(-votes, labels, arrivals)
    with pytest.raises(CertificateError, match="not those it is about"):
        certificate.verify(votes, labels)
    with pytest.raises(CertificateError, match="the slots are others"):
        certificate.verify(votes[:-1], labels[:-1], arrivals[:-1])


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("updates_max", lambda value: value - 1),
        ("hinge", lambda value: value - 1),
        ("radius_squared", lambda value: value - 1),
        ("vector", lambda value: [-each for each in value]),
        ("counts", lambda value: [each - 1 for each in value]),
        ("waiting_max", lambda value: value - 1),
        ("start", lambda value: [1, *value[1:]]),
        ("uncounted", lambda value: -1),
        ("counts", lambda value: value[:-1]),
        ("patterns", lambda value: [each[:-1] for each in value]),
        ("patterns", lambda value: [[2 * one for one in each] for each in value]),
        ("sums", lambda value: [1] * 5),
        ("scale", lambda value: 0),
        ("start_squared", lambda value: -1),
    ],
    ids=[
        *("updates", "hinge", "radius", "vector", "counts", "waiting", "start", "uncounted"),
        *("fewer counts", "shorter patterns", "other patterns", "sums", "scale", "squared"),
    ],
)
def test_a_part_that_was_changed_is_refused(field: str, change: Any) -> None:
    labels = np.random.default_rng(0).choice((-1, 1), 300)
    votes = labels[:, None] * np.random.default_rng(1).choice((-1, 1), (300, 4), p=(0.1, 0.9))
    document = json.loads(certify(votes, labels, rule="PWM").to_json())
    assert document["parts"][0]["argument"] == "comparison vector"
    document["parts"][0][field] = change(document["parts"][0][field])
    with pytest.raises(CertificateError):
        Certificate.from_document(document).verify()


def test_a_likely_certificate_that_was_changed_is_refused() -> None:
    generator = np.random.default_rng(0)
    labels = generator.choice((-1, 1), 500)
    came = np.where(generator.random(500) < 0.5, labels, 0)
    document = certify(labels[:, None], came, observation_probability=0.5).document()
    Certificate.from_document(document).verify()
    with pytest.raises(CertificateError, match="not unlikely enough"):
        Certificate.from_document({**document, "mistakes_max": document["mistakes_max"] - 1}).verify()
    for other in ({"observation_probability": None}, {"observation_probability": 1.0}, {"asked_confidence": -1e9}):
        with pytest.raises(CertificateError, match="give no confidence"):
            Certificate.from_document({**document, **other}).verify()
    with pytest.raises(CertificateError, match="this is no certificate"):
        Certificate.from_document({"schema": 1})
    with pytest.raises(CertificateError, match="a certificate of schema None"):
        Certificate.from_document({})


def test_the_arithmetic_is_exact_at_any_size() -> None:
    """Against a search over integers, also where 64 bits are not enough."""
    for vector, hinge, scale, radius in [([3, -1], 7, 2, 2), ([10**12, 10**13], 5 * 10**13, 10**12, 3), ([0], 5, 1, 1)]:
        found = updates_max(vector, hinge, scale, radius)
        length = sum(each * each for each in vector)

        def allowed(count: int, length: int = length, hinge: int = hinge, scale: int = scale, r: int = radius) -> bool:
            return scale * count <= hinge or (scale * count - hinge) ** 2 <= length * r * count

        assert allowed(found)
        assert not allowed(found + 1)


def test_what_the_data_do_not_show_is_refused_with_them() -> None:
    """Each of these would lower the number, and follows from itself; with the data it is found out."""
    labels = -np.ones(50, int)
    votes = np.column_stack([labels, -labels])
    certificate = certify(votes, labels, rule="PWM", search=False)
    (part,) = certificate.parts
    far = [10**6 * each for each in part.vector]
    begun = msgspec.structs.replace(part, updates_max=0, start=far, start_squared=sum(each * each for each in far))
    zero = {"mistakes_max": 0, "heard_mistakes_max": 0, "updates_max": 0}
    forged = msgspec.structs.replace(certificate, parts=[begun], **zero)
    forged.verify()  # such a learner there may be, but not from these weights
    with pytest.raises(CertificateError, match="not those it is about"):
        forged.verify(votes, labels)
    for name in ("n_stale", "n_departures", "n_before", "n_late", "n_never"):
        with pytest.raises(CertificateError):
            msgspec.structs.replace(certificate, **{name: -certificate.mistakes_max}).verify()
    unseen = msgspec.structs.replace(part, patterns=[], counts=[], uncounted=50, sums=[-50, 50, -50])
    with pytest.raises(CertificateError, match="not those it is about"):
        msgspec.structs.replace(certificate, parts=[unseen]).verify(votes, labels)
    with pytest.raises(CertificateError, match="parts are others"):
        certify(votes, labels, search=False).verify(np.where(votes > 0, 0, votes), labels)


def test_booleans_are_signs() -> None:
    generator = np.random.default_rng(0)
    labels = generator.choice((-1, 1), 300)
    votes = labels[:, None] * generator.choice((-1, 1), (300, 3), p=(0.2, 0.8))
    for told in (labels > 0, (labels > 0).tolist()):
        assert certify(votes > 0, told, search=False) == certify(votes, labels, search=False)


def test_labels_past_the_horizon_are_not_learned() -> None:
    labels, votes = -np.ones(400, np.int8), np.tile(np.array([-1, 1], np.int8), (400, 1))
    late = np.arange(400) + 5
    recording = Recording(["a", "b"], votes, labels, late)
    for horizon in (2, 4, 5, 400):
        mistakes = int((decide(recording, PWM(2), horizon=horizon) != labels).sum())
        certificate = certify(votes, labels, arrivals=late, rule="PWM", horizon=horizon, search=False)
        assert mistakes <= certificate.mistakes_max
        assert (mistakes == 400) == (horizon < 5) == (certificate.n_never == 400)
        certificate.verify(votes, labels, late)
    with pytest.raises(LocalError, match="horizon is -1"):
        certify(votes, labels, horizon=-1)


def test_labels_under_way_are_not_missing() -> None:
    """The last labels of a delayed run are not known yet: that says nothing about how likely a label comes."""
    votes, labels, arrivals = late_labels(50)
    came = np.where(arrivals < len(labels), labels, 0)
    likely = certify(votes, came, arrivals=arrivals, rule="PWM", observation_probability=0.9)
    assert (likely.n_late, likely.n_never, likely.confidence) == (50, 0, 1.0)
    assert likely.mistakes_max == 102
    with pytest.raises(LocalError, match="the probability that a label comes is 1, but 50 labels never came"):
        certify(votes, came, rule="PWM", observation_probability=1.0)


def test_more_bad_input() -> None:
    vectors: list[Any] = [[1e305, 0, 0], ["a", "b", "c"], [float("nan"), 0, 0]]
    for vector in vectors:
        with pytest.raises(LocalError, match="a comparison vector has 3 numbers"):
            certify([[1, 1]], [1], vectors=[vector])
    ragged: list[Any] = [[[1, 1], [1]], [[1, "a"]]]
    for votes in ragged:
        with pytest.raises(VotesError):
            certify(votes, [1] * len(votes))
        with pytest.raises(VotesError):
            best_static_rule(votes, [1] * len(votes))
    with pytest.raises(LocalError, match="n_slots 0; both must be at least 1"):
        paper_theorem_4(0.1, [1], 0)
    assert paper_theorem_4(0.1, np.array([10, 20]), 100) == pytest.approx(0.25)
    with pytest.raises(LocalError, match="seen_max is -1"):
        all_mistakes_max(-1, 0.5, 0.9)
    assert all_mistakes_max(0, 1e-9, 0.95) > 3e9
    for confidence in (7.0, float("nan"), 0.0, 1.0):
        with pytest.raises(LocalError, match="confidence is"):
            certify([[1, 1]], [1], confidence=confidence)


def test_nothing_left_to_get_right() -> None:
    found = best_static_rule([[0, 0], [0, 0], [0, 0]], [-1, -1, 1], bias=False)
    assert (found.mistakes, found.is_exact) == (2, True)  # a margin of 0 says +1


def test_missing_labels_spend_their_confidence_over_all_counts() -> None:
    """A count that depends on what happened may be any of them: their failures must sum to what is allowed."""
    spent = sum(Fraction(failure_chance(seen, 0.9)) for seen in range(2000))
    assert Fraction(99, 1000) < spent < Fraction(1, 10)
