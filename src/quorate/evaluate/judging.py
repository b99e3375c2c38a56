"""Decisions that were issued elsewhere, measured beside the two baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quorate.errors import LocalError
from quorate.evaluate.measures import measure
from quorate.evaluate.recording import Recording, decide
from quorate.evaluate.result import Comparison, Row, versions
from quorate.rules import MajorityClass, PreviousLabel
from quorate.streams import Feedback

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["common_facts", "described", "judged"]


def judged(recording: Recording, decisions: dict[str, NDArray[np.int8]], feedback: Feedback) -> Comparison:
    """Measure decisions that were issued elsewhere, beside the two baselines on the same labels."""
    if not len(recording.labels):
        raise LocalError("the stream is empty: there is nothing to measure")
    n_learners = len(recording.names)
    baselines = {
        "PreviousLabel": decide(recording, PreviousLabel(n_learners)),
        "MajorityClass": decide(recording, MajorityClass(n_learners)),
    }
    issued = {**decisions, **baselines}
    rows = [
        Row(
            name,
            "baseline" if name in baselines else "model",
            [measure(each, recording.labels, issued["PreviousLabel"])],
        )
        for name, each in issued.items()
    ]
    facts = {**common_facts(recording.labels, [feedback]), "feedback": described(feedback)}
    return Comparison(sorted(rows, key=lambda row: row.mean("error")), facts, [recording], [issued])


def common_facts(labels: NDArray[np.int8], feedbacks: Sequence[Feedback]) -> dict[str, Any]:
    """What every result knows."""
    return {
        "window": max(50, len(labels) // 50),
        "seeds": [feedback.seed for feedback in feedbacks],
        "versions": versions(),
        "slots": len(labels),
    }


def described(feedback: Feedback) -> dict[str, Any]:
    """A feedback as a JSON-able dict."""
    delay = feedback.delay
    is_short = isinstance(delay, (int, tuple))
    return {
        "delay": repr(delay) if is_short else f"{type(delay).__name__} of the slot",
        "label_prob": feedback.label_prob,
        "observe_prob": "a schedule" if callable(feedback.observe_prob) else feedback.observe_prob,
    }
