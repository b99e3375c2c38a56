"""The monitor of a running learner against adversaries that use everything that can happen to one."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorate import PWM, ExtendedPWM, Join, Label, Learner, Leave, Monitor, Vote, Winnow2, certify
from quorate.errors import CertificateError, LocalError


class Game:
    """A learner with one mostly honest member, against votes that are chosen to fool it.

    Labels come early, late, in disorder or never; members come and go; decisions are recorded after the weights or the
    membership changed; the horizon is short; the monitor begins in the middle with a small table.
    """

    def __init__(self, seed: int) -> None:
        self.draw = draw = np.random.default_rng(seed)
        self.honest, self.absent = draw.choice([1.0, 0.9]), draw.choice([0.0, 0.2])
        self.stale, self.changing = draw.choice([0.0, 0.3]), draw.choice([0.0, 0.1, 0.3])
        self.late, self.never, self.early = (
            draw.choice([0.0, 0.5, 1.0]),
            draw.choice([0.0, 0.2]),
            draw.choice([0.0, 0.3]),
        )
        n_learners = int(draw.integers(1, 5))
        make: Any = ExtendedPWM if draw.random() < 0.5 else PWM
        rule = make(n_learners, bool(draw.random() < 0.7))
        members = ["h", *(f"x{place}" for place in range(1, n_learners))]
        self.learner = Learner("judge", members, rule, horizon=int(draw.choice([0, 2, 5, 50])))
        self.joined = n_learners
        self.delay_max = int(draw.integers(1, 8))
        self.patterns_max = int(draw.choice([0, 1, 3, 100]))
        self.begins, self.n_slots = int(draw.integers(0, 20)), int(draw.integers(1, 40))
        self.monitor: Monitor | None = None
        self.truth: dict[int, int] = {}
        self.decided: dict[int, int] = {}
        self.due: list[tuple[int, int]] = []
        self.counted: set[int] = set()
        self.departures = 0

    def play(self) -> None:
        for slot in range(self.n_slots):
            if slot == self.begins:
                self.monitor = Monitor(self.learner, patterns_max=self.patterns_max)
                self.counted = set(self.learner.pending_slots)
                self.departures = 0
            self._slot(slot)
            if slot % 3 == 0 or slot == self.n_slots - 1:
                self._check()

    def _votes(self) -> tuple[int, list[int]]:
        """Of ten tries the first that fools the weights as they are."""
        for _ in range(10):
            label = int(self.draw.choice((-1, 1)))
            votes = [
                (label if self.draw.random() < self.honest else -label)
                if name == "h"
                else (0 if self.draw.random() < self.absent else int(self.draw.choice((-1, 1))))
                for name in self.learner.members
            ]
            if self.learner.rule.predict(votes) != label:
                break
        return label, votes

    def _slot(self, slot: int) -> None:
        learner, draw = self.learner, self.draw
        label, votes = self._votes()
        self.truth[slot] = label
        for name, vote in zip(learner.members, votes, strict=True):
            if vote:
                learner.receive(Vote(slot, name, vote))
        early = bool(draw.random() < self.early and any(votes)) and learner.receive(Label(slot, label))
        decision = learner.decide(slot)
        if draw.random() < self.stale:
            if self.due and draw.random() < 0.6:
                self._learn_one()
            if draw.random() < 0.4:
                self._change()
        learner.receive(decision)
        self.decided[slot] = decision.value
        self.counted.add(slot)
        if not early and draw.random() >= self.never:
            late = int(draw.integers(0, self.delay_max)) if draw.random() < self.late else 0
            self.due.append((slot + late, slot))
        if draw.random() < self.changing:
            self._change()
        while self.due and min(self.due)[0] <= slot:
            self._learn_one()

    def _learn_one(self) -> None:
        first = min(self.due)
        self.due.remove(first)
        self.learner.receive(Label(first[1], self.truth[first[1]]))

    def _change(self) -> None:
        learner = self.learner
        others = [name for name in learner.members if name != "h"]
        if self.draw.random() < 0.5 or not others:
            learner.receive(Join(f"x{self.joined}", epoch=learner.epoch + 1))
            self.joined += 1
        else:
            learner.receive(Leave(others[self.draw.integers(len(others))], epoch=learner.epoch + 1))
            self.departures += 1

    def _check(self) -> None:
        monitor = self.monitor
        if monitor is None:
            return
        certificate = monitor.certificate()
        certificate.verify()
        mistakes = sum(self.decided[slot] != self.truth[slot] for slot in self.counted)
        assert mistakes <= certificate.mistakes_max
        assert monitor.mistakes <= certificate.heard_mistakes_max
        assert monitor.updates <= certificate.updates_max
        assert certificate.n_departures == self.departures
        assert certificate.n_learners == len(self.learner.members)


@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_attack_the_monitor(seed: int) -> None:
    Game(seed).play()


def followed(n_slots: int = 300, n_learners: int = 3, **options: Any) -> tuple[Learner, Monitor, Any, Any]:
    """A learner that heard some slots, its monitor, and the votes and labels."""
    names = [f"l{place}" for place in range(n_learners)]
    learner = Learner("judge", names, **options)
    monitor = Monitor(learner)
    draw = np.random.default_rng(0)
    labels = draw.choice((-1, 1), n_slots)
    votes = labels[:, None] * draw.choice((-1, 1), (n_slots, n_learners), p=(0.1, 0.9))
    for slot in range(n_slots):
        for name, vote in zip(names, votes[slot].tolist(), strict=True):
            learner.receive(Vote(slot, name, vote))
        learner.close(slot)
        learner.receive(Label(slot, int(labels[slot])))
    return learner, monitor, votes, labels


def test_from_the_beginning_it_is_what_certify_gives() -> None:
    _, monitor, votes, labels = followed()
    certificate = monitor.certificate()
    certificate.verify(votes, labels)
    given = certify(votes, labels, search=False)
    assert (certificate.mistakes_max, certificate.argument) == (given.mistakes_max, given.argument)
    with pytest.raises(CertificateError, match="are not those it is about"):
        certificate.verify(votes, -labels)


def test_a_decision_that_is_recorded_late_is_stale() -> None:
    learner = Learner("judge", ["a", "b"], PWM(2))
    monitor = Monitor(learner)
    for slot, vote in ((0, 1), (1, 1)):
        learner.receive(Vote(slot, "a", vote))
    learner.close(0)
    decision = learner.decide(1)
    learner.receive(Label(0, -1))  # an update between deciding and recording
    learner.receive(decision)
    assert monitor.certificate().n_stale == 1
    learner.receive(Vote(2, "a", 1))
    learner.close(2)
    assert monitor.certificate().n_stale == 1
    learner.receive(Vote(3, "a", 1))
    learner.receive(Vote(3, "b", 1))
    decision = learner.decide(3)
    learner.receive(Join("c", epoch=1))  # what everybody voted on is now a slot in which somebody is missing
    learner.receive(decision)
    assert monitor.certificate().n_stale == 2


def test_a_label_before_its_slot_is_closed_waits_for_nobody() -> None:
    learner = Learner("judge", ["a"], PWM(1))
    monitor = Monitor(learner)
    learner.receive(Vote(0, "a", 1))
    learner.receive(Label(0, -1))
    learner.close(0)
    (part,) = monitor.certificate().parts
    assert part.waiting_max == 1


def test_beginning_in_the_middle_counts_what_was_waiting_and_the_weights() -> None:
    learner, *_ = followed(50)
    learner.receive(Vote(50, "l0", 1))
    learner.close(50)
    monitor = Monitor(learner)
    assert isinstance(learner.rule, ExtendedPWM)
    start = learner.rule.weights_synchronous
    for name in ("l0", "l1", "l2"):
        learner.receive(Vote(51, name, 1))
    learner.close(51)
    learner.receive(Label(51, 1))
    certificate = monitor.certificate()
    assert (certificate.n_before, certificate.n_slots, certificate.n_late) == (1, 1, 1)
    assert certificate.parts[0].start == start
    certificate.verify()


def test_who_stops_stands_still() -> None:
    learner, monitor, _, _ = followed(100)
    monitor.stop()
    monitor.stop()
    before, best = monitor.certificate(), monitor.best_learner
    for slot in range(100, 200):
        learner.close(slot)
        learner.receive(Label(slot, -1))
    learner.receive(Leave("l0", epoch=1))
    assert monitor.certificate() == before
    assert monitor.best_learner == best
    assert before.n_slots == 100


def test_a_monitor_follows_only_what_it_can() -> None:
    with pytest.raises(LocalError, match="PWM or ExtendedPWM, not Winnow2"):
        Monitor(Learner("a", ["a"], Winnow2(1)))
    with pytest.raises(LocalError, match="patterns_max is -1"):
        Monitor(Learner("a", ["a"]), patterns_max=-1)
    with pytest.raises(LocalError, match="confidence is 7"):
        Monitor(Learner("a", ["a"])).certificate(confidence=7)


def test_the_table_is_bounded() -> None:
    learner = Learner("a", [f"l{place}" for place in range(10)])
    monitor = Monitor(learner, patterns_max=16)
    draw = np.random.default_rng(0)
    for slot in range(300):
        for place, vote in enumerate(draw.choice((-1, 1), 10).tolist()):
            learner.receive(Vote(slot, f"l{place}", vote))
        learner.close(slot)
        learner.receive(Label(slot, int(draw.choice((-1, 1)))))
    certificate = monitor.certificate(search=True)
    certificate.verify()
    (part,) = certificate.parts
    assert len(part.patterns) == 16
    assert sum(part.counts) + part.uncounted == 300
    assert monitor.mistakes <= certificate.mistakes_max
    short = msgspec.structs.replace(part, radius_squared=10)
    with pytest.raises(CertificateError, match="uncounted slots may be longer"):
        short.verify()
    assert list(itertools.islice(part.start, 3)) == [0, 0, 0]
