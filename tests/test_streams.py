"""The synthetic streams' statistics, and imperfect feedback."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import LocalError
from quorate.streams import (
    NEVER,
    Constant,
    EventDetection,
    Feedback,
    Gaussian,
    Geometric,
    RotatingHyperplane,
    SyntheticStream,
    Uniform,
    delay_from_text,
)

STREAMS = [
    RotatingHyperplane(n_learners=5, n_relevant=3, seed=4),
    EventDetection.as_written(n_learners=4, seed=4),
    EventDetection.as_published(seed=4),
    Gaussian(mu=0.7, n_learners=3, seed=4),
]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: type(stream).__name__)
class TestEveryStream:
    def test_iterating_gives_the_first_simulation(self, stream: SyntheticStream) -> None:
        features, labels, local_labels = stream.arrays(600, n_simulations=2)
        for slot, observation in enumerate(stream.take(600)):
            seen = np.array([list(view.values()) for view in observation.views.values()])
            assert list(observation.views) == stream.names
            assert np.array_equal(seen, features[0, slot])
            assert observation.label == labels[0, slot]
            if local_labels is None:
                assert observation.local_labels is None
            else:
                assert observation.local_labels is not None
                assert list(observation.local_labels.values()) == local_labels[0, slot].tolist()

    def test_a_longer_stream_begins_as_a_shorter_one(self, stream: SyntheticStream) -> None:
        short, long = stream.arrays(100), stream.arrays(300)
        assert np.array_equal(short.features, long.features[:, :100])
        assert np.array_equal(short.labels, long.labels[:, :100])

    def test_seeds_and_simulations_differ(self, stream: SyntheticStream) -> None:
        features = stream.arrays(50, n_simulations=3).features
        assert not np.array_equal(features[0], features[1])
        again = stream.arrays(50, n_simulations=3).features
        assert np.array_equal(features, again)
        stream.seed, seed = 99, stream.seed
        try:
            assert not np.array_equal(stream.arrays(50).features[0], features[0])
        finally:
            stream.seed = seed

    def test_it_goes_on_for_ever(self, stream: SyntheticStream) -> None:
        assert len(list(islice(iter(stream), 700))) == 700


def test_hyperplane_statistics() -> None:
    stream = RotatingHyperplane(n_learners=16, n_relevant=8, seed=1)
    features, labels, _ = stream.arrays(500, n_simulations=200)
    assert features.shape == (200, 500, 16, 3)
    assert abs(labels.mean()) < 0.03
    assert (features.min(), features.max()) == pytest.approx((-1, 1), abs=1e-3)
    assert features.std() == pytest.approx(1 / np.sqrt(3), rel=0.01)
    # Irrelevant learners see noise: their features tell nothing of the label. Relevant ones' do, with any sign.
    told = np.abs(np.einsum("snkf,sn->skf", features, labels.astype(float)) / 500).mean(axis=(0, 2))
    assert told[8:].max() < 0.03 < told[:8].min()


@pytest.mark.parametrize(("drift_is", "variance"), [("standard deviation", 0.01), ("variance", 0.1)])
def test_hyperplane_drift(drift_is: Any, variance: float) -> None:
    """The normal takes a random walk from N(0, 1): after n slots its variance is 1 + n * step variance."""
    stream = RotatingHyperplane(n_learners=1, n_relevant=1, n_features=1, drift=0.1, drift_is=drift_is, seed=2)
    assert stream.step**2 == pytest.approx(variance)
    features, labels, _ = stream.arrays(400, n_simulations=2000)
    signs = np.where(features[..., 0, 0] >= 0, labels, -labels)  # the sign of the normal, as one feature shows it
    changes = (signs[:, 1:] != signs[:, :-1]).mean(axis=0)
    expected = np.arctan(np.sqrt(variance / (1 + np.arange(399) * variance))) / np.pi
    assert changes.mean() == pytest.approx(expected.mean(), rel=0.1)


def test_a_hyperplane_without_drift_stands_still() -> None:
    stream = RotatingHyperplane(n_learners=1, n_relevant=1, n_features=1, drift=0.0)
    features, labels, _ = stream.arrays(400)
    assert len(np.unique(np.sign(features[0, :, 0, 0]) * labels[0])) == 1


@pytest.mark.parametrize("make", [EventDetection.as_written, EventDetection.as_published])
def test_event_detection_statistics(make: Any) -> None:
    stream = make(seed=3)
    features, labels, events = stream.arrays(20_000, n_simulations=4)
    assert events is not None
    assert (events == 1).mean() == pytest.approx(stream.event_prob, rel=0.05)
    assert np.array_equal(labels, events.max(axis=2))
    assert (labels == 1).mean() == pytest.approx(stream.label_balance(), rel=0.03)
    states = stream.states(20_000)
    assert (states[1:] != states[:-1]).mean() == pytest.approx(0.01, rel=0.1)
    assert states.mean() == pytest.approx(0.5, abs=0.1)
    noise = features[0, :, :, 0] - events[0]
    assert noise[~states].std() == pytest.approx(stream.noise_good, rel=0.02)
    assert noise[states].std() == pytest.approx(stream.noise_bad, rel=0.02)


def test_event_detection_with_variances() -> None:
    stream = EventDetection(noise_is="variance", noise_good=0.25, noise_bad=0.25, seed=3)
    features, _, events = stream.arrays(5_000)
    assert events is not None
    assert (features[0, :, :, 0] - events[0]).std() == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("mu", [0.2, 1.0, 1.86])
@pytest.mark.parametrize("n_learners", [7, 8])
def test_gaussian_against_the_closed_form(mu: float, n_learners: int) -> None:
    stream = Gaussian(mu, n_learners, seed=5)
    features, labels, _ = stream.arrays(20_000, n_simulations=10)
    votes = np.where(features[..., 0] >= 0, 1, -1)
    wrong = (votes != labels[..., None]).mean()
    assert wrong == pytest.approx(stream.alone_error(), rel=0.02)
    majority = np.where(votes.sum(axis=2) >= 0, 1, -1)
    n = labels.size
    expected = stream.optimal_error()
    assert abs((majority != labels).mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RotatingHyperplane(n_learners=2, n_relevant=3),
        lambda: RotatingHyperplane(drift=-1),
        lambda: RotatingHyperplane(drift_is="sd"),  # type: ignore[arg-type]
        lambda: EventDetection(event_prob=2),
        lambda: EventDetection(noise_good=-1),
        lambda: Gaussian(n_learners=0),
        lambda: Feedback(delay=-1),
        lambda: Feedback(delay=Uniform(5, 3)),
        lambda: Feedback(label_prob=1.5),
        lambda: Feedback(observe_prob={"a": -1}),
        lambda: Feedback(observe_prob={"zoe": 0.5}).realize(3, ["a"]),
        lambda: Feedback(delay=[0, 1]).realize(3, ["a"]),
        lambda: Feedback(delay=lambda slot: -slot).realize(3, ["a"]),
        lambda: delay_from_text("soon"),
        lambda: delay_from_text("uniform:5"),
        lambda: delay_from_text("uniform:a:b"),
    ],
)
def test_misuse(make: Any) -> None:
    with pytest.raises(LocalError):
        make()


def test_delays_have_their_distributions() -> None:
    def delays(delay: Any) -> Any:
        return Feedback(delay, seed=6).realize(100_000, ["a"]).arrivals - np.arange(100_000)

    assert set(delays(7)) == {7}
    uniform = delays(Uniform(3, 12))
    assert (uniform.min(), uniform.max()) == (3, 12)
    assert np.bincount(uniform)[3:].std() < 300
    geometric = delays(Geometric(20))
    assert geometric.min() == 0
    assert geometric.mean() == pytest.approx(20, rel=0.03)
    assert (geometric == 0).mean() == pytest.approx(1 / 21, rel=0.05)
    assert set(delays(Geometric(0))) == {0}
    assert delays(lambda slot: slot % 3)[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert delays(np.arange(100_000) % 5)[:6].tolist() == [0, 1, 2, 3, 4, 0]


def test_gaps_and_absences() -> None:
    arrivals, present = Feedback(label_prob=0.3, observe_prob={"b": 0.25}, seed=7).realize(50_000, ["a", "b"])
    assert (arrivals != NEVER).mean() == pytest.approx(0.3, abs=0.01)
    assert present[:, 0].all()
    assert present[:, 1].mean() == pytest.approx(0.25, abs=0.01)
    everyone = Feedback(observe_prob=0.5, seed=7).realize(50_000, ["a", "b"]).present
    assert everyone.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.01)
    schedule = Feedback(observe_prob=lambda slot, name: slot % 2 == 0 or name == "a").realize(4, ["a", "b"]).present
    assert schedule.tolist() == [[True, True], [True, False], [True, True], [True, False]]


@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 60))
def test_one_seed_reproduces_it_however_long_it_is_asked_for(seed: int, short: int, long: int) -> None:
    feedback = Feedback(Uniform(0, 9), label_prob=0.5, observe_prob=0.5, seed=seed)
    short, long = sorted((short, long))
    one, two = feedback.realize(short, ["a", "b"]), feedback.realize(long, ["a", "b"])
    assert np.array_equal(one.arrivals, two.arrivals[:short])
    assert np.array_equal(one.present, two.present[:short])


def test_delays_from_text() -> None:
    assert delay_from_text("48") == Constant(48)
    assert delay_from_text("uniform:0:50") == Uniform(0, 50)
    assert delay_from_text("geometric:12.5") == Geometric(12.5)


@pytest.mark.parametrize("delay", [2.5, "48", [1.5, 2.0], lambda slot: 1.9, Constant(2.5), Uniform(0.5, 2)])  # type: ignore[arg-type]
def test_delays_are_whole(delay: Any) -> None:
    with pytest.raises(LocalError, match="delay"):
        Feedback(delay).realize(3, ["a"])


@pytest.mark.parametrize("mean", [float("nan"), float("inf"), -1.0])
def test_a_mean_delay_is_finite(mean: float) -> None:
    with pytest.raises(LocalError, match="its mean must be"):
        Feedback(Geometric(mean))


def test_delays_go_on_from_block_to_block() -> None:
    n_slots = 140_000  # more than two blocks
    own = np.arange(n_slots) % 70_001
    for delay in (own.tolist(), lambda slot: slot % 70_001):
        arrivals = Feedback(delay).realize(n_slots, ["a"]).arrivals
        assert (arrivals - np.arange(n_slots) == own).all()
    late = Feedback(2**31).realize(3, ["a"]).arrivals
    assert late.tolist() == [2**31, 2**31 + 1, 2**31 + 2]


def test_the_state_of_a_source_goes_on_from_block_to_block() -> None:
    stream = EventDetection(transit_prob=0.5, noise_good=0.0, noise_bad=1.0, seed=9)
    features, _, events = stream.arrays(1000)
    assert events is not None
    noisy = features[0, :, :, 0] != events[0]
    assert (noisy == stream.states(1000)).all()
    for slot, observation in enumerate(stream.take(1000)):
        seen = [view["x1"] for view in observation.views.values()]
        assert seen == features[0, slot, :, 0].tolist()
