"""The smallest certificate there is for what PWM did on given votes and labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from quorate.bounds.arithmetic import updates_max
from quorate.bounds.certificate import Certificate, Part
from quorate.bounds.inputs import checked, checked_arrivals, checked_chances
from quorate.bounds.missing import all_mistakes_max
from quorate.bounds.patterns import Patterns, counted
from quorate.bounds.vectors import Vector, found_vectors, plain_vectors
from quorate.errors import LocalError
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["assembled", "certify", "parts_of", "smallest"]

RuleName = Literal["PWM", "ExtendedPWM"]

#: No number of a given comparison vector is larger.
LARGEST = 1e100


class Shown(NamedTuple):
    """The slots that share a weight vector, as a certificate sees them."""

    slots: str
    patterns: Patterns
    waiting_max: int
    radius_squared: int


class Slots(NamedTuple):
    """A run, as a certificate sees it."""

    parts: list[Shown]
    n_slots: int
    n_late: int
    n_never: int


def certify(
    votes: ArrayLike,
    labels: ArrayLike,
    *,
    arrivals: ArrayLike | None = None,
    rule: RuleName = "ExtendedPWM",
    bias: bool = True,
    horizon: int | None = None,
    observation_probability: float | None = None,
    confidence: float = 0.95,
    vectors: Sequence[Sequence[float]] = (),
    search: bool = True,
) -> Certificate:
    """Give the smallest number of mistakes that no run of PWM on these votes and labels can have exceeded.

    It holds for every sequence, whoever chose it and knowing what; `docs/guarantees.md` has the proofs.

    Parameters
    ----------
    votes
        Of shape (slots, learners): -1, +1, or 0 for an absent learner.
    labels
        Of shape (slots,): -1 or +1, or 0 where the label is not known.
    arrivals
        The slot at whose end each label came, or `quorate.streams.NEVER`; past the last slot where it is under way.
        Default: at once, and never where the label is not known.
    rule
        ``ExtendedPWM`` keeps a weight vector of its own for slots in which somebody abstains, ``PWM`` does not.
    bias
        Whether the rule has the virtual learner that always votes +1.
    horizon
        How many later slots a learner waits for a label; one that comes later is not learned, and counts as one that
        never came. Default: it waits for all.
    observation_probability
        How likely a label comes (within the horizon), at least, whatever happened before. Without it every slot whose
        label did not come is counted as a mistake.
    confidence
        With which probability the certificate holds, where it rests on that.
    vectors
        Comparison vectors to try besides, bias first.
    search
        Whether a linear SVM looks for comparison vectors (needs scikit-learn).

    Examples
    --------
    Seven learners that are wrong in one slot of twenty each, and one whose votes are noise:

    >>> import numpy as np
    >>> from quorate.rules import PWM
    >>> generator = np.random.default_rng(0)
    >>> labels = np.where(generator.random(1000) < 0.5, 1, -1)
    >>> votes = np.where(generator.random((1000, 8)) < [0.05] * 7 + [0.5], -1, 1) * labels[:, None]
    >>> certificate = certify(votes, labels, rule="PWM")
    >>> certificate.mistakes_max, certificate.argument
    (11, 'comparison vector')
    >>> certificate.verify()
    >>> int((PWM(8).run(votes, labels) != labels).sum())
    5
    """
    checked_chances(observation_probability, confidence)
    seen = parts_of(votes, labels, arrivals, rule, bias, horizon)
    n_columns = 1 + np.shape(votes)[1]
    given = [_given(vector, n_columns) for vector in vectors]
    parts = [
        smallest(shown, [*plain_vectors(shown.patterns), *(found_vectors(shown.patterns) if search else ()), *given])
        for shown in seen.parts
    ]
    return assembled(
        parts,
        rule,
        n_slots=seen.n_slots,
        n_late=seen.n_late,
        n_never=seen.n_never,
        n_learners=n_columns - 1,
        horizon=horizon,
        observation_probability=observation_probability,
        confidence=confidence,
    )


def _given(vector: Sequence[float], n_columns: int) -> Vector:
    try:
        values = np.asarray(vector, np.float64)
    except (ValueError, TypeError):
        values = np.full(1, np.nan)
    if values.shape != (n_columns,) or not (np.abs(values) < LARGEST).all():
        raise LocalError(
            f"vectors holds {vector!r}; a comparison vector has {n_columns} numbers below {LARGEST:g}, the bias first"
        )
    scale = 2**20
    return Vector("given vector", [round(float(value) * scale) for value in values], scale)


def parts_of(
    votes: ArrayLike,
    labels: ArrayLike,
    arrivals: ArrayLike | None,
    rule: str,
    bias: bool,
    horizon: int | None = None,
) -> Slots:
    """Count the slots of a run by what they show, one part a weight vector."""
    if rule not in ("PWM", "ExtendedPWM"):
        raise LocalError(f"rule is {rule!r}; there are certificates for 'PWM' and 'ExtendedPWM'")
    matrix, truth = checked(votes, labels, unknown=True)
    came = checked_arrivals(arrivals, truth, horizon)
    n_slots = len(truth)
    heard = (came != NEVER) & (came < n_slots)
    alone = (matrix == 0).any(axis=1) if rule == "ExtendedPWM" else np.zeros(n_slots, bool)
    names = ("all", "all") if rule == "PWM" else ("synchronous", "asynchronous")
    parts = []
    for name, of_part in zip(names, (~alone, alone), strict=True):
        slots = np.flatnonzero(heard & of_part)
        if len(slots):
            rows = np.column_stack([np.full(len(slots), int(bias), np.int8), matrix[slots]]) * truth[slots, None]
            patterns = counted(rows)
            radius_squared = int(np.abs(patterns.rows).sum(axis=1).max())
            parts.append(Shown(name, patterns, _waiting_max(slots, came[slots], n_slots), radius_squared))
    return Slots(parts, n_slots, int(((came != NEVER) & ~heard).sum()), int((came == NEVER).sum()))


def _waiting_max(slots: NDArray[np.int64], came: NDArray[np.int64], n_slots: int) -> int:
    """The most slots that waited at once, at the end of any slot, before its labels are used."""
    change = np.bincount(slots, minlength=n_slots + 1) - np.bincount(came + 1, minlength=n_slots + 1)
    return int(np.cumsum(change).max())


def smallest(shown: Shown, vectors: Iterable[Vector], start: Sequence[int] = (), start_squared: int = 0) -> Part:
    """Take the comparison vector that allows the fewest updates; of equal ones the first."""
    begun = list(start) or [0] * shown.patterns.rows.shape[1]
    best: Part | None = None
    for argument, vector, scale in vectors:
        hinge = shown.patterns.hinge(vector, scale)
        most = updates_max(vector, hinge, scale, shown.radius_squared, begun, start_squared)
        if best is None or most < best.updates_max:
            best = Part(
                slots=shown.slots,
                argument=argument,
                vector=vector,
                scale=scale,
                radius_squared=shown.radius_squared,
                hinge=hinge,
                updates_max=most,
                waiting_max=shown.waiting_max,
                patterns=shown.patterns.rows.tolist(),
                counts=shown.patterns.counts.tolist(),
                uncounted=shown.patterns.uncounted,
                sums=list(shown.patterns.sums),
                start=begun,
                start_squared=start_squared,
            )
    if best is None:
        raise LocalError("no comparison vector was given")
    return best


def assembled(
    parts: list[Part],
    rule: str,
    *,
    n_slots: int,
    n_late: int,
    n_never: int,
    n_before: int = 0,
    n_stale: int = 0,
    n_departures: int = 0,
    n_learners: int,
    horizon: int | None = None,
    observation_probability: float | None = None,
    confidence: float = 0.95,
) -> Certificate:
    """Put the arguments together: late labels, missing labels, and that no slot holds more than one mistake."""
    heard_slots = sum(sum(part.counts) + part.uncounted for part in parts)
    waits = sum(part.waiting_max * (part.updates_max + n_departures) for part in parts) + n_before + n_stale
    heard = min(heard_slots, waits)
    arguments = []
    if heard_slots <= waits:
        arguments.append("every slot with a label")
    else:
        arguments.extend(dict.fromkeys(part.argument for part in parts))
        if any(part.waiting_max > 1 for part in parts):
            arguments.append("late labels")
    known = heard + n_late
    mistakes_max, certain = min(known + n_never, n_slots + n_before), 1.0
    if n_never:
        arguments.append("every slot without a label")
        if observation_probability == 1:
            raise LocalError(f"the probability that a label comes is 1, but {n_never} labels never came")
        if observation_probability is not None:
            likely = all_mistakes_max(known, observation_probability, confidence)
            if likely < mistakes_max:
                mistakes_max, certain = likely, confidence
                arguments[-1] = "how likely a label comes"
    return Certificate(
        mistakes_max=mistakes_max,
        heard_mistakes_max=heard,
        updates_max=sum(part.updates_max for part in parts),
        argument=", ".join(arguments),
        confidence=certain,
        n_slots=n_slots,
        n_learners=n_learners,
        rule=rule,
        n_late=n_late,
        n_never=n_never,
        n_before=n_before,
        n_stale=n_stale,
        n_departures=n_departures,
        horizon=horizon,
        observation_probability=observation_probability,
        asked_confidence=confidence,
        parts=parts,
    )
