"""Whole ensembles, schemes and single models over a stream: decide, and learn when the label comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from quorate.errors import LabelError, LocalError
from quorate.evaluate.judging import judged
from quorate.evaluate.recording import Recording, arriving
from quorate.evaluate.result import Comparison
from quorate.rules import AverageMajority
from quorate.streams import Feedback, Observation

__all__ = ["prequential"]


def prequential(
    model: Any,
    stream: Iterable[Any],
    n_slots: int,
    feedback: Feedback | None = None,
    classes: tuple[Any, Any] = (False, True),
    name: str = "model",
    advance: Callable[[], None] = lambda: None,
) -> Comparison:
    """Let a model classify a stream whose labels may be late or missing, and measure it beside the two baselines.

    An `Ensemble` decides and is labelled as it is. Any other classifier is the only member of one, so that the
    learner keeps its instances until their labels come: there is one implementation of delays.

    Parameters
    ----------
    model
        A `quorate.Ensemble`, or any River or scikit-learn classifier. It learns.
    stream
        Instances and labels, as River has them, or the observations of Quorate's own streams: their views are for an
        ensemble with `streams`, their local labels for its models.
    n_slots
        How many slots at the most.
    feedback
        Delays, gaps and absences. Default: none. Absences need an ensemble with `streams`.
    classes
        The negative and the positive class of a model that is not an ensemble.
    name
        What the model is called in the result.
    advance
        Called after each slot.

    Examples
    --------
    >>> from river import datasets, naive_bayes
    >>> result = prequential(naive_bayes.GaussianNB(), datasets.Phishing(), 500, Feedback(delay=20))
    >>> for row in result.rows:
    ...     print(row.name, round(row.mean("error"), 3))
    model 0.162
    MajorityClass 0.426
    PreviousLabel 0.506
    """
    from quorate.ensemble import Ensemble

    feedback = feedback or Feedback()
    if isinstance(model, Ensemble):
        ensemble = model
    else:
        ensemble = Ensemble({"model": model}, rule=AverageMajority, classes=classes, horizon=n_slots)
    names = list(ensemble.learner.members)
    arrivals, present = feedback.realize(n_slots, names)
    if not present.all() and not ensemble.streams:
        raise LocalError("absent learners need an ensemble with streams=True, where each has its own instance")
    latest = int((arrivals - np.arange(n_slots)).max(initial=0))
    if ensemble.horizon < min(latest, n_slots):
        raise LocalError(f"labels come up to {latest} slots late, but the ensemble's horizon is {ensemble.horizon}")

    kept: list[tuple[int, Any, Any]] = []  # the slot, its label and its local labels
    votes: list[tuple[int, ...]] = []
    decisions: list[int] = []
    for slot, (item, due) in enumerate(zip(islice(stream, n_slots), arriving(arrivals), strict=False)):
        x, y, local = _unpacked(item, ensemble.classes)
        if y not in ensemble.classes:
            raise LabelError(f"slot {slot} has the label {y!r}; the classes are {ensemble.classes!r} (give classes)")
        if ensemble.streams:
            x = {each: x[each] for each, here in zip(names, present[slot], strict=True) if here and each in x}
        decision = ensemble.decide_one(x)
        votes.append(decision.votes)
        decisions.append(decision.value)
        kept.append((decision.slot, y, local))
        for labelled in due:
            ensemble.label_one(*kept[labelled])
        advance()
    labels = np.array([1 if y == ensemble.classes[1] else -1 for _, y, _ in kept], np.int8)
    cast = np.array(votes, np.int8).reshape(len(labels), len(names))
    recording = Recording(names, cast, labels, arrivals[: len(labels)])
    return judged(recording, {name: np.array(decisions, np.int8)}, feedback)


def _unpacked(item: Any, classes: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """An instance, its label and the labels of its learners' own, whichever way a stream gives them."""
    if not isinstance(item, Observation):
        x, y = item
        return x, y, None
    local = item.local_labels
    own = None if local is None else {name: classes[label > 0] for name, label in local.items()}
    return item.views, classes[item.label > 0], own
