"""Imperfect feedback: labels that come late, out of order or never, and learners that are absent."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate.errors import LocalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NEVER", "Constant", "Delay", "Feedback", "Geometric", "Realized", "Uniform", "delay_from_text"]

#: The arrival of a label that never comes.
NEVER = -1

#: No label is later than this.
DELAY_SLOTS_MAX = 1 << 40

_BLOCK_SLOTS = 1 << 16
_OWN = 0xFEEDBACC  # no stream draws with this: with the same seed, its features would be our delays
_NARROW_MAX = 1 << 30  # two numbers below this add up within 32 bits


class Constant(NamedTuple):
    """Every label is late by the same number of slots."""

    slots: int

    def draw(self, uniform: NDArray[np.float64], first_slot: int) -> NDArray[np.int64]:
        """Give a delay for each of some uniform random numbers."""
        return np.full(len(uniform), self.slots, np.int64)


class Uniform(NamedTuple):
    """Each label is late by a number of slots between two bounds, both included."""

    low: int
    high: int

    def draw(self, uniform: NDArray[np.float64], first_slot: int) -> NDArray[np.int64]:
        """Give a delay for each of some uniform random numbers."""
        return self.low + np.floor(uniform * (self.high - self.low + 1)).astype(np.int64)


class Geometric(NamedTuple):
    """Each label has the same chance to come in each slot; `mean` slots late on average."""

    mean: float

    def draw(self, uniform: NDArray[np.float64], first_slot: int) -> NDArray[np.int64]:
        """Give a delay for each of some uniform random numbers."""
        if self.mean == 0:
            return np.zeros(len(uniform), np.int64)
        chance = 1 / (1 + self.mean)
        late: NDArray[np.float64] = np.log1p(-uniform) / np.log1p(-chance)
        return late.astype(np.int64)


class _Function(NamedTuple):
    function: Callable[[int], int]

    def draw(self, uniform: NDArray[np.float64], first_slot: int) -> NDArray[np.int64]:
        slots = range(first_slot, first_slot + len(uniform))
        return np.array([_whole(self.function(slot), f"the delay of slot {slot}") for slot in slots], np.int64)


class _Column(NamedTuple):
    delays: NDArray[np.int64]

    def draw(self, uniform: NDArray[np.float64], first_slot: int) -> NDArray[np.int64]:
        drawn = self.delays[first_slot : first_slot + len(uniform)]
        if len(drawn) < len(uniform):
            raise LocalError(f"there are delays for {len(self.delays)} slots, but slot {len(self.delays)} came")
        return drawn


def delay_from_text(text: str) -> Constant | Uniform | Geometric:
    """Read a delay as the command line writes it.

    >>> delay_from_text("uniform:0:50"), delay_from_text("geometric:20"), delay_from_text("48")
    (Uniform(low=0, high=50), Geometric(mean=20.0), Constant(slots=48))
    """
    kind, *numbers = text.split(":")
    try:
        if kind == "uniform" and len(numbers) == 2:
            read: Delay = Uniform(int(numbers[0]), int(numbers[1]))
        elif kind == "geometric" and len(numbers) == 1:
            read = Geometric(float(numbers[0]))
        else:
            read = Constant(int(text))
    except ValueError:
        raise LocalError(
            f"delay is {text!r}; write a number of slots, uniform:LOW:HIGH, geometric:MEAN or column:NAME"
        ) from None
    checked = _delay(read)
    assert isinstance(checked, Constant | Uniform | Geometric)
    return checked


Delay = int | Constant | Uniform | Geometric | Callable[[int], int] | Sequence[int]


class Realized(NamedTuple):
    """What became of some slots."""

    arrivals: NDArray[Any]
    """The slot at whose end each label arrives, or `NEVER`."""
    present: NDArray[np.bool_]
    """Which learner observed each slot, of shape (slots, learners)."""


class Feedback:
    """How late, how often and to whom a stream's labels and instances come.

    Parameters
    ----------
    delay
        By how many slots each label is late: a number, `Uniform`, `Geometric`, a sequence with one delay a slot, or
        a function of the slot. A label with delay 0 comes right after its decision.
    label_prob
        The probability that a label ever comes.
    observe_prob
        The probability that a learner observes a slot, one for all or by name, the rest 1; or a schedule: a
        function of slot and name that says whether it does.
    seed
        The same seed gives the same delays, gaps and absences, however the slots are asked for.

    Examples
    --------
    >>> feedback = Feedback(delay=Uniform(0, 3), label_prob=0.5, observe_prob={"b": 0.5}, seed=1)
    >>> arrivals, present = feedback.realize(6, names=["a", "b"])
    >>> arrivals.tolist()
    [-1, 2, -1, 6, -1, -1]
    >>> present.sum(axis=0).tolist()
    [6, 1]
    """

    def __init__(
        self,
        delay: Delay = 0,
        label_prob: float = 1.0,
        observe_prob: float | Mapping[str, float] | Callable[[int, str], bool] = 1.0,
        seed: int = 0,
    ) -> None:
        self.delay = delay
        self.label_prob = _probability("label_prob", label_prob)
        self.observe_prob = observe_prob
        self.seed = seed
        self._delay = _delay(delay)
        if isinstance(observe_prob, Mapping):
            for name, probability in observe_prob.items():
                _probability(f"observe_prob of {name!r}", probability)
        elif not callable(observe_prob):
            _probability("observe_prob", observe_prob)

    def realize(self, n_slots: int, names: Sequence[str]) -> Realized:
        """Draw what becomes of the first `n_slots` slots."""
        self._check_names(names)
        of_delays = self._generator(0)
        of_gaps = self._generator(1) if self.label_prob < 1 else of_delays
        arrivals: NDArray[Any] = np.arange(n_slots, dtype=np.int32 if n_slots < _NARROW_MAX else np.int64)
        everybody = not callable(self.observe_prob) and self.observe_prob == 1.0
        of_absences = of_delays if everybody else self._generator(2)
        # A stream may be long: nothing is drawn that nobody asked for, and what is drawn, in blocks.
        present = (
            np.broadcast_to(np.True_, (n_slots, len(names))) if everybody else np.empty((n_slots, len(names)), bool)
        )
        for first in range(0, n_slots, _BLOCK_SLOTS):
            block = slice(first, min(first + _BLOCK_SLOTS, n_slots))
            size = block.stop - first
            late = self._delay.draw(of_delays.random(size), first)
            if arrivals.dtype == np.int32 and late.max() >= _NARROW_MAX:
                arrivals = arrivals.astype(np.int64)
            arrivals[block] += late.astype(arrivals.dtype)
            if self.label_prob < 1:
                arrivals[block][of_gaps.random(size) >= self.label_prob] = NEVER
            if not everybody:
                present[block] = self._present(block, names, of_absences)
        return Realized(arrivals, present)

    def _generator(self, part: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, part, _OWN])

    def _check_names(self, names: Sequence[str]) -> None:
        if isinstance(self.observe_prob, Mapping):
            unknown = [name for name in self.observe_prob if name not in names]
            if unknown:
                raise LocalError(f"observe_prob names {unknown[0]!r}; the learners are {', '.join(names)}")

    def _present(self, block: slice, names: Sequence[str], of_absences: np.random.Generator) -> NDArray[np.bool_]:
        observe = self.observe_prob
        slots = range(block.start, block.stop)
        if callable(observe):
            return np.array([[bool(observe(slot, name)) for name in names] for slot in slots], np.bool_)
        chances = [observe.get(name, 1.0) for name in names] if isinstance(observe, Mapping) else observe
        return of_absences.random((len(slots), len(names))) < np.asarray(chances)


def _probability(what: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise LocalError(f"{what} is {value}; a probability is from 0 to 1")
    return value


def _delay(delay: Delay) -> Constant | Uniform | Geometric | _Function | _Column:
    match delay:
        case Constant():
            return Constant(_whole(delay.slots, "delay"))
        case Uniform():
            drawn = Uniform(_whole(delay.low, "the least delay"), _whole(delay.high, "the greatest delay"))
            if drawn.high < drawn.low:
                raise LocalError(f"delay is {delay!r}; its low is above its high")
            return drawn
        case Geometric():
            if not 0 <= delay.mean <= DELAY_SLOTS_MAX:
                raise LocalError(f"delay is {delay!r}; its mean must be from 0 to {DELAY_SLOTS_MAX}")
            return delay
        case str():
            raise LocalError(f"delay is {delay!r}; read text with delay_from_text")
    if callable(delay):
        return _Function(delay)
    if not isinstance(delay, int) and hasattr(delay, "__len__"):
        return _Column(np.array([_whole(each, f"delay of slot {slot}") for slot, each in enumerate(delay)], np.int64))
    return Constant(_whole(delay, "delay"))


def _whole(value: Any, what: str) -> int:
    try:
        slots = operator.index(value)
    except TypeError:
        slots = -1
    if not 0 <= slots <= DELAY_SLOTS_MAX:
        raise LocalError(f"{what} is {value!r}; delays are whole numbers of slots, from 0 to {DELAY_SLOTS_MAX}")
    return slots
