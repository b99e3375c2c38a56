"""Many simulations of a synthetic stream at once: online local models, and PWM at one of the learners. Compiled.

What PWM does here is `quorate.rules.kernels.pwm_late`, the kernel of the rules themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate.errors import LocalError
from quorate.paper.beginning import begun
from quorate.paper.feedback_run import run
from quorate.streams import Feedback, SyntheticStream, Uniform
from quorate.streams.synthetic import Drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RATE", "Outcome", "Run", "Setting", "play", "simulate"]

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
    drawn, perfect = begun(stream, simulation, n_slots, rate)
    asked = _asked(stream, simulation, drawn, perfect, rate)
    alone, pwm = np.empty(len(settings)), np.empty(len(settings))
    weights = np.zeros((len(settings), stream.n_learners + 1), np.int64)
    for number, setting in enumerate(settings):
        vectors = _no_weights(stream, setting)
        *_, (alone[number], pwm[number]) = run(*asked(setting, vectors))
        weights[number, : vectors.shape[1]] = vectors[0]
    return Outcome(alone, pwm, weights)


def play(stream: SyntheticStream, simulation: int, n_slots: int, setting: Setting, rate: float = RATE) -> Run:
    """Run one simulation in one setting; give all that happened, slot by slot."""
    drawn, perfect = begun(stream, simulation, n_slots, rate)
    vectors = _no_weights(stream, setting)
    asked = _asked(stream, simulation, drawn, perfect, rate)
    votes, arrivals, observed, decisions, _ = run(*asked(setting, vectors))
    return Run(votes, arrivals, observed, decisions, vectors)


def _no_weights(stream: SyntheticStream, setting: Setting) -> NDArray[np.int32]:
    """The two weight vectors of learner 1 at the start."""
    n_used = stream.n_learners if setting.n_aggregated is None else setting.n_aggregated
    if not 1 <= n_used <= stream.n_learners:
        raise LocalError(f"n_aggregated is {n_used}; there are {stream.n_learners} learners")
    return np.zeros((2, n_used + 1), np.int32)


def _asked(
    stream: SyntheticStream, simulation: int, drawn: Drawn, perfect: NDArray[np.int8], rate: float
) -> Callable[[Setting, NDArray[np.int32]], tuple[Any, ...]]:
    """What `run` is asked, by the setting and the weights."""
    features, taught = np.ascontiguousarray(drawn.features), np.ascontiguousarray(drawn.learned_labels)
    numbers: dict[int, NDArray[np.float64]] = {}  # settings differ in what they make of the same numbers
    nothing = np.empty((0, 1))

    def asked(setting: Setting, weights: NDArray[np.int32]) -> tuple[Any, ...]:
        late, label_prob, observe_prob = setting.delay_max, float(setting.label_prob), float(setting.observe_prob)
        feedback = Feedback(Uniform(0, late), label_prob, observe_prob, seed=stream.seed * 1_000_003 + simulation)

        def part(number: int, wanted: bool, width: int = 1) -> NDArray[np.float64]:
            if wanted and number not in numbers:
                numbers[number] = feedback._generator(number).random((len(perfect), width))
            return numbers[number] if wanted else nothing

        delays, gaps = part(0, late > 0), part(1, label_prob < 1)
        absences = part(2, observe_prob < 1, stream.n_learners)
        ways = delays, late, gaps, label_prob, absences, observe_prob, setting.everybody
        return features, drawn.labels, taught, perfect, *ways, float(rate), weights

    return asked
