"""Whole ensembles, schemes and single models over a stream: decide, and learn when the label comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import LocalError
from quorate.evaluate.recording import Recording, arriving
from quorate.rules import AverageMajority
from quorate.streams import Feedback

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["prequential"]


def prequential(
    model: Any,
    stream: Iterable[tuple[Any, Any]],
    n_slots: int,
    feedback: Feedback | None = None,
    advance: Callable[[], None] = lambda: None,
) -> tuple[NDArray[np.int8], Recording]:
    """Let a model classify a stream whose labels may be late or missing.

    An `Ensemble` decides and is labelled as it is. Any other classifier is the only member of one, so that the
    learner keeps its instances until their labels come: there is one implementation of delays.

    Parameters
    ----------
    model
        A `quorate.Ensemble`, or any River or scikit-learn classifier. It learns.
    stream
        Instances and labels, as River has them. An instance of an ensemble with `streams` may lack learners; the
        feedback's absences are taken out besides.
    n_slots
        How many slots at the most.
    feedback
        Delays, gaps and absences. Default: none.
    advance
        Called after each slot.

    Returns
    -------
    decisions, recording
        The decisions as they were issued, and the votes, labels and arrivals.

    Examples
    --------
    >>> from river import datasets, naive_bayes
    >>> decisions, recording = prequential(naive_bayes.GaussianNB(), datasets.Phishing(), 500, Feedback(delay=20))
    >>> round(float((decisions != recording.labels).mean()), 3)
    0.162
    """
    from quorate.ensemble import Ensemble

    feedback = feedback or Feedback()
    if isinstance(model, Ensemble):
        ensemble = model
    else:
        ensemble = Ensemble({"model": model}, rule=AverageMajority, horizon=n_slots)
    names = list(ensemble.learner.members)
    arrivals, present = feedback.realize(n_slots, names)
    if not present.all() and not ensemble.streams:
        raise LocalError("absent learners need an ensemble with streams=True, where each has its own instance")
    latest = int((arrivals - np.arange(n_slots)).max(initial=0))
    if ensemble.horizon < min(latest, n_slots):
        raise LocalError(f"labels come up to {latest} slots late, but the ensemble's horizon is {ensemble.horizon}")

    votes: list[tuple[int, ...]] = []
    decisions: list[int] = []
    truths: list[Any] = []
    slots: list[int] = []
    for slot, ((x, y), due) in enumerate(zip(islice(stream, n_slots), arriving(arrivals), strict=False)):
        if ensemble.streams:
            x = {name: x[name] for name, here in zip(names, present[slot], strict=True) if here and name in x}
        decision = ensemble.decide_one(x)
        votes.append(decision.votes)
        decisions.append(decision.value)
        truths.append(y)
        slots.append(decision.slot)
        for labelled in due:
            ensemble.label_one(slots[labelled], truths[labelled])
        advance()
    labels = np.array([1 if y == ensemble.classes[1] else -1 for y in truths], np.int8)
    recorded = Recording(
        names, np.array(votes, np.int8).reshape(len(labels), len(names)), labels, arrivals[: len(labels)]
    )
    return np.array(decisions, np.int8), recorded
