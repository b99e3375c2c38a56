"""S2 of the paper: each learner watches for a local event, through noise that comes and goes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quorate.errors import LocalError
from quorate.streams.synthetic import Drawn, SyntheticStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EventDetection"]


class EventDetection(SyntheticStream):
    r"""Abrupt drift of each source: an event seen through noise that is weak in a good state, strong in a bad one.

    Learner i observes :math:`x_i = e_i + \beta_i`, where :math:`e_i` is +1 with probability `event_prob`, else -1, and
    :math:`\beta_i` is Gaussian. Its source changes between the good and the bad state with probability `transit_prob`
    a slot. The common label, which the paper does not define, is +1 where at least one local event occurs. A
    learner's own model learns its local event.

    Parameters
    ----------
    n_learners
        How many learners observe.
    event_prob
        How likely a local event is.
    noise_good, noise_bad
        How strong the noise is in either state.
    noise_is
        Whether these are standard deviations or variances; the paper does not say.
    transit_prob
        How likely a source changes its state in a slot.
    seed
        The same seed gives the same stream.

    Examples
    --------
    >>> stream = EventDetection.as_published(seed=1)
    >>> observation = next(iter(stream))
    >>> observation.label, observation.local_labels["learner-1"], round(observation.views["learner-1"]["x1"], 3)
    (-1, -1, -1.008)
    """

    def __init__(
        self,
        n_learners: int = 8,
        event_prob: float = 0.05,
        noise_good: float = 0.5,
        noise_bad: float = 1.0,
        noise_is: Literal["standard deviation", "variance"] = "standard deviation",
        transit_prob: float = 0.01,
        seed: int = 0,
    ) -> None:
        super().__init__(n_learners, n_features=1, seed=seed)
        for name, value in (("event_prob", event_prob), ("transit_prob", transit_prob)):
            if not 0 <= value <= 1:
                raise LocalError(f"{name} is {value}; a probability is from 0 to 1")
        if noise_good < 0 or noise_bad < 0:
            raise LocalError(f"noise_good is {noise_good} and noise_bad {noise_bad}; they must not be negative")
        if noise_is not in ("standard deviation", "variance"):
            raise LocalError(f"noise_is is {noise_is!r}; it is 'standard deviation' or 'variance'")
        self.event_prob = event_prob
        self.noise_good = noise_good
        self.noise_bad = noise_bad
        self.noise_is = noise_is
        self.transit_prob = transit_prob

    @classmethod
    def as_written(cls, **parameters: Any) -> EventDetection:
        """The numbers of the paper's text: events with probability 0.05, noise 0.5 and 1."""
        return cls(**{"event_prob": 0.05, "noise_good": 0.5, "noise_bad": 1.0, **parameters})

    @classmethod
    def as_published(cls, **parameters: Any) -> EventDetection:
        """The reading that fits the paper's figure: events with probability 0.1, noise ten times smaller."""
        return cls(**{"event_prob": 0.1, "noise_good": 0.05, "noise_bad": 0.1, **parameters})

    def _simulate(self, simulation: int) -> Callable[[int], Drawn]:
        of_events, of_changes, of_noise = self._generators(simulation, parts=3)
        draw_states = self._states(of_changes)
        strengths = np.array([self.noise_good, self.noise_bad])
        deviations = np.sqrt(strengths) if self.noise_is == "variance" else strengths

        def draw(n_slots: int) -> Drawn:
            shape = (n_slots, self.n_learners)
            events = np.where(of_events.random(shape) < self.event_prob, np.int8(1), np.int8(-1))
            noise = of_noise.normal(0.0, 1.0, shape) * deviations[draw_states(n_slots).astype(np.intp)]
            return Drawn((events + noise)[:, :, None], events.max(axis=1), events)

        return draw

    def _states(self, of_changes: np.random.Generator) -> Callable[[int], NDArray[np.bool_]]:
        bad = of_changes.random(self.n_learners) < 0.5  # the chain's stationary distribution

        def draw(n_slots: int) -> NDArray[np.bool_]:
            nonlocal bad
            changes = of_changes.random((n_slots, self.n_learners)) < self.transit_prob
            states = np.logical_xor.accumulate(np.vstack((bad, changes)), axis=0)
            bad = states[-1]
            return states[:-1]

        return draw

    def states(self, n_slots: int) -> NDArray[np.bool_]:
        """Which sources are in the bad state, in each of the first slots."""
        return self._states(self._generators(0, parts=3)[1])(n_slots)

    def label_balance(self) -> float:
        """The probability that the label is +1.

        >>> round(EventDetection.as_published().label_balance(), 3)
        0.57
        """
        return 1 - math.pow(1 - self.event_prob, self.n_learners)
