"""Many simulations of a synthetic stream at once: online local models, and PWM at one of the learners. Compiled.

What PWM does here is `quorate.rules.kernels.pwm_late`, the kernel of the rules themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quorate.errors import LocalError
from quorate.paper.logistic import margin, step
from quorate.rules.inputs import learning_order
from quorate.rules.kernels import compiled, pwm_late
from quorate.streams import NEVER, Feedback, SyntheticStream, Uniform
from quorate.streams.synthetic import Drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RATE", "Outcome", "Run", "Setting", "logistic_votes", "online_votes", "play", "simulate"]

#: The step of the online logistic regressions, which the paper does not give.
RATE = 0.03


class Setting(NamedTuple):
    """What becomes of instances and labels.

    Parameters
    ----------
    n_aggregated
        How many learners, the first ones, PWM aggregates; None for all.
    delay_max
        The label of a slot comes to learner 1 up to so many slots late, uniformly.
    label_prob
        How likely it comes to learner 1 at all.
    observe_prob
        How likely an instance is observed.
    everybody
        Whether that is so for each learner on its own, and learner 1 learns the weights of a slot it has not observed
        from the others' votes, as the extended algorithm does; otherwise for learner 1 only.
    """

    n_aggregated: int | None = None
    delay_max: int = 0
    label_prob: float = 1.0
    observe_prob: float = 1.0
    everybody: bool = False


class Outcome(NamedTuple):
    """What became of one simulation in each of some settings."""

    alone: NDArray[np.float64]
    """How often learner 1 was wrong by itself."""
    pwm: NDArray[np.float64]
    """How often it was wrong with PWM."""
    weights: NDArray[np.int64]
    """Its last weights, of shape (settings, learners + 1), bias first, 0 for learners that were not aggregated."""


class Run(NamedTuple):
    """What happened in one simulation, slot by slot."""

    votes: NDArray[np.int8]
    arrivals: NDArray[np.int64]
    """When learner 1 learns each label."""
    observed: NDArray[np.bool_]
    """Which slots learner 1 observes."""
    decisions: NDArray[np.int8]
    """Of learner 1, with PWM."""
    weights: NDArray[np.int32]
    """Its two weight vectors at the end."""


def simulate(
    stream: SyntheticStream, simulation: int, n_slots: int, settings: list[Setting], rate: float = RATE
) -> Outcome:
    """Run one simulation in several settings, which share the stream and what the other learners do.

    The local models are logistic regressions that start at 0 and learn by gradient steps; each learns its local
    labels where the stream has them, otherwise the common label. Learners other than the first get every label at
    once. Learner 1 learns, and updates its weights, when a label comes to it for a slot it has observed; with
    `everybody`, whatever it has observed itself.

    Parameters
    ----------
    stream
        The stream; its seed is the simulations'.
    simulation
        Which one.
    n_slots
        How long it is.
    settings
        What becomes of instances and labels in each run.
    rate
        The step of the local models.

    Examples
    --------
    >>> from quorate.streams import EventDetection
    >>> outcome = simulate(EventDetection.as_published(), 0, 2000, [Setting(), Setting(n_aggregated=4)])
    >>> outcome.alone.round(3).tolist(), outcome.pwm.round(3).tolist()
    ([0.474, 0.474], [0.034, 0.296])
    """
    drawn = stream.simulation(simulation, n_slots)
    perfect = online_votes(drawn, rate)
    alone, pwm = np.empty(len(settings)), np.empty(len(settings))
    weights = np.zeros((len(settings), stream.n_learners + 1), np.int64)
    for number, setting in enumerate(settings):
        run = _run(stream, simulation, drawn, perfect, setting, rate)
        counts = run.observed  # what it does not observe, learner 1 cannot decide alone
        alone[number] = (run.votes[:, 0] != drawn.labels)[counts].mean() if counts.any() else np.nan
        pwm[number] = (run.decisions != drawn.labels)[counts].mean() if counts.any() else np.nan
        weights[number, : run.weights.shape[1]] = run.weights[0]
    return Outcome(alone, pwm, weights)


def play(stream: SyntheticStream, simulation: int, n_slots: int, setting: Setting, rate: float = RATE) -> Run:
    """Run one simulation in one setting; give all that happened, slot by slot."""
    drawn = stream.simulation(simulation, n_slots)
    return _run(stream, simulation, drawn, online_votes(drawn, rate), setting, rate)


def _local_labels(drawn: Drawn) -> NDArray[np.int8]:
    n_learners = drawn.features.shape[1]
    return np.repeat(drawn.labels[:, None], n_learners, 1) if drawn.local_labels is None else drawn.local_labels


def online_votes(drawn: Drawn, rate: float = RATE) -> NDArray[np.int8]:
    """What everybody votes where nothing is late or missing."""
    local, at_once = _local_labels(drawn), np.arange(len(drawn.labels))
    places = range(drawn.features.shape[1])
    return np.column_stack([logistic_votes(drawn.features[:, n], local[:, n], at_once, rate) for n in places])


def _run(
    stream: SyntheticStream,
    simulation: int,
    drawn: Drawn,
    perfect: NDArray[np.int8],
    setting: Setting,
    rate: float,
) -> Run:
    votes, arrivals, observed = _votes(stream, simulation, drawn.features, _local_labels(drawn), perfect, setting, rate)
    n_used = stream.n_learners if setting.n_aggregated is None else setting.n_aggregated
    if not 1 <= n_used <= stream.n_learners:
        raise LocalError(f"n_aggregated is {n_used}; there are {stream.n_learners} learners")
    vectors = np.zeros((2, n_used + 1), np.int32)
    decisions = np.empty(len(votes), np.int8)
    used = np.ascontiguousarray(votes[:, :n_used])
    pwm_late(used, drawn.labels, *learning_order(arrivals), vectors, np.int32(1), decisions)
    return Run(votes, arrivals, observed, decisions, vectors)


def _votes(
    stream: SyntheticStream,
    simulation: int,
    features: NDArray[np.float64],
    local: NDArray[np.int8],
    perfect: NDArray[np.int8],
    setting: Setting,
    rate: float,
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.bool_]]:
    """The votes, when labels come to learner 1, and which slots it observes."""
    names = stream.names
    chance = setting.observe_prob if setting.everybody else {names[0]: setting.observe_prob}
    delay = Uniform(0, setting.delay_max)
    feedback = Feedback(delay, setting.label_prob, chance, seed=stream.seed * 1_000_003 + simulation)
    came, present = feedback.realize(len(features), names)
    arrivals = came.astype(np.int64)
    votes = perfect.copy()
    at_once = np.arange(len(features))
    for place in range(len(names)):
        if place and not setting.everybody:
            break
        learned = np.where(present[:, place], arrivals if place == 0 else at_once, NEVER)
        if setting.observe_prob < 1 or setting.label_prob < 1 or setting.delay_max:
            votes[:, place] = logistic_votes(features[:, place], local[:, place], learned, rate)
        votes[~present[:, place], place] = 0
    observed = present[:, 0]
    if not setting.everybody:
        arrivals = np.where(observed, arrivals, NEVER)  # what it does not observe it neither decides nor learns
    return votes, arrivals, observed


def logistic_votes(
    features: NDArray[np.float64], labels: NDArray[np.int8], arrivals: NDArray[np.int64], rate: float
) -> NDArray[np.int8]:
    """What a logistic regression votes while it learns online, one gradient step a label, when that comes.

    Parameters
    ----------
    features, labels
        Of shapes (slots, features) and (slots,).
    arrivals
        The slot at whose end each label is learned; negative for never.
    rate
        The step.

    Examples
    --------
    >>> x = np.array([[1.0], [1.0], [-1.0]])
    >>> logistic_votes(x, np.array([-1, -1, 1], np.int8), np.arange(3), rate=0.1).tolist()
    [1, -1, 1]
    """
    votes = np.empty(len(features), np.int8)
    _logistic(np.ascontiguousarray(features), np.ascontiguousarray(labels), *learning_order(arrivals), rate, votes)
    return votes


@compiled
def _logistic(
    features: NDArray[np.float64],
    labels: NDArray[np.int8],
    order: NDArray[np.int64],
    learned: NDArray[np.int64],
    rate: float,
    votes: NDArray[np.int8],
) -> None:
    weights = np.zeros(features.shape[1] + 1)
    done = 0
    for slot in range(len(features)):
        votes[slot] = 1 if margin(weights, features[slot]) >= 0 else -1
        while done < learned[slot]:
            late = order[done]
            step(weights, features[late], float(labels[late]), rate)
            done += 1
