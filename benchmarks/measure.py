"""Times of several programs on the same work, taken in turn so that a noisy machine disturbs all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Timing", "in_turn", "timing"]


#: A program that is done sooner is run again in its turn: else what came before it, not its own work, is measured.
TURN_S_MIN = 0.02


class Timing(NamedTuple):
    """Seconds a slot, over the repeats."""

    best: float
    median: float
    worst: float


def in_turn(programs: Mapping[str, tuple[Callable[[], object], int]], repeats: int) -> dict[str, Timing]:
    """Time each program, one after the other, `repeats` times over.

    Parameters
    ----------
    programs
        By name: what to run, and how many slots it works through.
    repeats
        How often. The first round is not counted: it compiles and warms caches.
    """
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(repeats + 1):
        for name, (program, n_slots) in programs.items():
            taken, n_runs, start = 0.0, 0, time.perf_counter()
            while taken < TURN_S_MIN:
                program()
                taken, n_runs = time.perf_counter() - start, n_runs + 1
            if turn:
                seconds[name].append(taken / n_runs / n_slots)
    return {name: timing(each) for name, each in seconds.items()}


def timing(seconds: Sequence[float]) -> Timing:
    """Sum up the repeats."""
    return Timing(min(seconds), statistics.median(seconds), max(seconds))
