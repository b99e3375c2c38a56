"""What the eight sites of the demo see: the source of `examples/demo/demo.toml`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from quorate.streams import RotatingHyperplane

__all__ = ["SITES", "WRONG", "contrary", "instances", "logistic_regression", "seen_at"]

SITES = ["paris", "tokyo", "lima", "oslo", "cairo", "delhi", "perth", "quito"]
WRONG = "quito"


def instances(name: str, after: int) -> Iterator[tuple[int, Any, int]]:
    """Slot, what the site sees, and the label, after a slot; QUORATE_DEMO_SLOTS says how many there are.

    >>> slot, x, label = next(instances("tokyo", after=41))
    >>> slot, sorted(x), label
    (42, ['x1', 'x2', 'x3'], 1)
    """
    n_slots = int(os.environ.get("QUORATE_DEMO_SLOTS", "5000"))
    stream = RotatingHyperplane(n_learners=len(SITES), n_relevant=len(SITES), seed=0)
    for slot, observation in enumerate(islice(stream, n_slots)):
        if slot > after:
            yield (
                slot,
                seen_at(observation).get(name),
                observation.label,
            )  # who is no site sees nothing, and may know the truth


def seen_at(observation: Any) -> dict[str, Any]:
    """What each site sees of an observation; the one that is always wrong sees the truth."""
    return dict(zip(SITES, observation.views.values(), strict=True)) | {WRONG: {"truth": observation.label}}


def contrary(x: dict[str, int]) -> int:
    """A model that knows the truth and never says it.

    >>> contrary({"truth": 1})
    -1
    """
    return -x["truth"]


def logistic_regression() -> Any:
    """A model that learns online."""
    from quorate._extras import load

    river = load("river.linear_model", "The demo"), load("river.optim", "The demo")
    return river[0].LogisticRegression(optimizer=river[1].SGD(0.1))
