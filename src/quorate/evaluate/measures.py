"""How wrong decisions were, in measures that are not fooled by imbalance or by runs of equal labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from quorate._extras import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FADING", "Measures", "fading_mean", "finite", "interval", "measure", "rolling_mean"]

#: How much less a slot weighs in the fading error than the next.
FADING = 0.999


class Measures(msgspec.Struct, frozen=True):
    """What became of some decisions.

    Parameters
    ----------
    error
        The share of wrong decisions.
    balanced_error
        The mean of the two classes' errors: guessing one class for ever has 1/2.
    kappa
        How far the accuracy is above that of a guess with the same rates of answers: 1 is perfect, 0 no better.
    kappa_temporal
        How far it is above that of the previous label, as far as that was known: 0 is no better than repeating it.
    slots
        Of how many decisions.
    """

    error: float
    balanced_error: float
    kappa: float
    kappa_temporal: float
    slots: int

    def document(self) -> dict[str, float | None]:
        """The measures as a JSON-able dict; what is infinite, where the reference never errs, is None there."""
        return {field: finite(getattr(self, field)) for field in self.__struct_fields__}


def finite(value: float) -> float | None:
    """A number that JSON can hold, or None."""
    return value if np.isfinite(value) else None


def measure(decisions: NDArray[Any], labels: NDArray[Any], previous: NDArray[Any]) -> Measures:
    """Measure decisions as they were issued.

    Parameters
    ----------
    decisions, labels
        -1 or +1 a slot.
    previous
        What the previous label answered in the same slots, with the same delays and gaps.

    Examples
    --------
    >>> labels = np.array([1, 1, 1, -1, -1, 1])
    >>> measures = measure(np.array([1, 1, 1, 1, -1, 1]), labels, previous=np.array([1, 1, 1, 1, -1, -1]))
    >>> measures.balanced_error, round(measures.kappa, 3), measures.kappa_temporal
    (0.25, 0.571, 0.5)
    """
    wrong = decisions != labels
    error = float(wrong.mean())
    by_class = [float(wrong[labels == sign].mean()) for sign in (-1, 1) if (labels == sign).any()]
    said, true = float((decisions > 0).mean()), float((labels > 0).mean())
    by_chance = 1 - (said * true + (1 - said) * (1 - true))
    repeated = float((previous != labels).mean())
    return Measures(error, float(np.mean(by_class)), _above(error, by_chance), _above(error, repeated), len(labels))


def _above(error: float, reference: float) -> float:
    """1 - error / reference; where the reference is never wrong, nothing can be above it."""
    if reference == 0:
        return 0.0 if error == 0 else float("-inf")
    return 1 - error / reference


def rolling_mean(values: NDArray[Any], window: int, step: int = 1) -> NDArray[np.float64]:
    """The mean of the last `window` values, at every `step`-th place; of mistakes, that is the windowed error.

    At the beginning, where there are fewer, it is the mean of those.

    >>> rolling_mean(np.array([True, False, False, True]), window=2).tolist()
    [1.0, 0.5, 0.0, 0.5]
    """
    narrow = values.dtype == np.bool_ and len(values) < 2**31
    total = np.cumsum(values, dtype=np.int32 if narrow else None)
    last = np.arange(0, len(values), step)
    first = last - window  # the last value that is out of the window
    before = np.where(first >= 0, total[np.maximum(first, 0)], 0)
    return np.asarray((total[last] - before) / np.minimum(last + 1, window))


def fading_mean(values: NDArray[Any], factor: float = FADING, step: int = 1) -> NDArray[np.float64]:
    """The mean of all values so far, each weighing `factor` times as much as the next; of mistakes, the fading error.

    It is given at every `step`-th place.

    >>> fading_mean(np.array([True, False, False]), factor=0.5).round(3).tolist()
    [1.0, 0.333, 0.143]
    """
    faded = np.empty(len(range(0, len(values), step)))
    # In blocks so short that the powers of the factor stay far from a float's limits.
    size = 1024 if factor == 1 else max(1, min(1024, int(-20 / math.log(factor))))
    total = count = 0.0
    for first in range(0, len(values), size):
        block = values[first : first + size]
        powers = factor ** np.arange(1.0, len(block) + 1)
        totals = powers * (total + np.cumsum(block / powers))
        counts = powers * (count + np.cumsum(1 / powers))
        places = np.arange(-(-first // step) * step, first + len(block), step)
        faded[places // step] = totals[places - first] / counts[places - first]
        total, count = totals[-1], counts[-1]
    return faded


def interval(values: list[float]) -> tuple[float, float] | None:
    """The 95 % confidence interval of the mean of a few repeats (Student's t), or None for one.

    >>> low, high = interval([0.10, 0.12, 0.11])
    >>> round(low, 4), round(high, 4)
    (0.0852, 0.1348)
    """
    if len(values) < 2:
        return None
    t = load("scipy.stats", "The interval of a mean").t
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    half = float(t.ppf(0.975, len(values) - 1)) * spread
    return mean - half, mean + half
