"""How cost grows: time and memory against the number of learners, of slots, of pending labels, and the horizon.

Nothing grows faster than in proportion. Where `PWM.run` shows a power above 1 against slots, its votes have outgrown a
cache. Labels of slots with gaps between them are found by bisection, with the logarithm of the number pending.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table

from benchmarks.part import Check, Options, Part, right
from quorate import PWM, Decision, ExtendedPWM, Label, Learner, Portfolio, Votes
from quorate.events import Decisions

__all__ = ["panel", "run"]

#: What must be shown: so many pending slots of 16 learners in so much memory, and how much dearer a label is among
#: many pending than among few.
PENDING, N_LEARNERS, MEMORY_MIB_MAX, DEARER_MAX = 1_000_000, 16, 64.0, 2.0
BATCH = 8192
LABELS = 500


class Series(NamedTuple):
    """A cost at several sizes."""

    what: str
    against: str
    unit: str
    sizes: list[int]
    costs: list[float]

    @property
    def power(self) -> float:
        """The power of the size that the cost grows with, from the second largest size to the largest."""
        return math.log(self.costs[-1] / self.costs[-2]) / math.log(self.sizes[-1] / self.sizes[-2])


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    repeats = 3 if options.quick else options.repeats
    many = PENDING
    few_many = [1000, 10_000, 100_000, many]
    waiting = [100_000, 300_000, many]
    learners = [4, 16, 64, 256] if options.quick else [4, 16, 64, 256, 1024]
    series = [
        Series("PWM.run", "K", "s", learners, [_run_s(PWM, each, 20_000, repeats) for each in learners]),
        Series("Portfolio.run", "K", "s", learners, [_run_s(Portfolio, each, 1000, repeats) for each in learners]),
        Series("a learner's batches", "K", "s", learners, [_fed_s(each, 4 * BATCH, 2 * BATCH) for each in learners]),
        Series("PWM.run", "slots", "s", few_many, [_run_s(PWM, 16, each, repeats) for each in few_many]),
        Series("a learner's batches", "slots", "s", few_many[1:], [_fed_s(16, each, BATCH) for each in few_many[1:]]),
        Series(
            "a learner's batches", "horizon", "s", few_many[1:], [_fed_s(16, 400_000, each) for each in few_many[1:]]
        ),
        _labels("a label", few_many, 1, 2 * repeats),
        _labels("a label, slots with gaps", few_many[:-1], 3, 2 * repeats),
        Series("memory", "pending", "MiB", waiting, [_held_mib(16, each) for each in waiting]),
        Series("memory of 100,000 pending", "K", "MiB", learners, [_held_mib(each, 100_000) for each in learners]),
    ]
    console.print(_table(series))
    labels, memory = series[6], series[8]
    checks = [
        Check(f"{many:,} pending slots, K = {N_LEARNERS}, MiB", memory.costs[-1], MEMORY_MIB_MAX, at_least=False),
        Check(f"a label among {many:,} / 1,000 pending", labels.costs[-1] / labels.costs[0], DEARER_MAX, False),
    ]
    return Part({"series": [{**each._asdict(), "power": each.power} for each in series]}, checks)


def panel(part: dict[str, Any], axes: Axes) -> None:
    """Draw each cost against its size, both as multiples of the first; dotted, what grows in proportion."""
    for each in part["series"]:
        sizes, costs = (np.array(each[key]) / each[key][0] for key in ("sizes", "costs"))
        axes.plot(sizes, costs, marker="o", markersize=4, label=f"{each['what']} against {each['against']}")
    longest = max(each["sizes"][-1] / each["sizes"][0] for each in part["series"])
    axes.plot([1, longest], [1, longest], ":", color="#888888", label="in proportion")
    axes.set(xscale="log", yscale="log", xlabel="times the first size", ylabel="times the first cost")
    axes.set_title("How cost grows", loc="left")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def _table(series: list[Series]) -> Table:
    table = right(Table("", "against", "sizes", "costs", "power", title="how cost grows: in all, ms or MiB"))
    for each in series:
        factor = 1e3 if each.unit == "s" else 1.0
        costs = ", ".join(f"{factor * cost:.3g}" for cost in each.costs)
        table.add_row(
            each.what, each.against, ", ".join(f"{size:,}" for size in each.sizes), costs, f"{each.power:.2f}"
        )
    return table


def _median_s(program: Callable[[], object], repeats: int) -> float:
    program()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        program()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _run_s(rule: Any, n_learners: int, n_slots: int, repeats: int) -> float:
    """How long a rule's whole run takes."""
    rng = np.random.default_rng(0)
    labels = rng.choice(np.array([-1, 1], np.int8), n_slots)
    votes = np.where(rng.random((n_slots, n_learners)) < 0.05, -labels[:, None], labels[:, None])
    return _median_s(lambda: rule(n_learners).run(votes, labels), repeats)


def _fed_s(n_learners: int, n_slots: int, horizon: int) -> float:
    """How long a learner takes for batches of votes; their labels never come, and slots expire at the horizon."""
    return _median_s(lambda: _pending(n_learners, n_slots, horizon), 1)


def _pending(n_learners: int, n_slots: int, horizon: int) -> Learner:
    """A learner that has closed so many slots, in batches, and awaits all labels that the horizon lets it."""
    names = [f"n{place}" for place in range(n_learners)]
    learner = Learner(names[0], names, ExtendedPWM(n_learners), horizon, open_slots_max=BATCH)
    packed = Votes.pack("any", 0, [1, 1, -1, 1] * (BATCH // 4)).packed
    for first in range(0, n_slots, BATCH):
        count = min(BATCH, n_slots - first)
        for name in names:
            learner.receive(Votes(first, count, name, packed[: count // 4]))
        decided = learner.decide_complete(learner.closed_until, BATCH)
        assert isinstance(decided, Decisions)
        learner.receive(decided)
    if learner.n_decisions != n_slots:
        raise RuntimeError(f"{learner.n_decisions} slots were decided, not {n_slots}")
    return learner


def _pending_with_gaps(n_slots: int, gap: int) -> Learner:
    names = [f"n{place}" for place in range(N_LEARNERS)]
    learner = Learner(names[0], names, ExtendedPWM(N_LEARNERS), n_slots)
    for place in range(n_slots):
        learner.receive(Decision(place * gap + place % 2, names[0], 1, (1,) * N_LEARNERS))
    return learner


def _labels(what: str, sizes: list[int], gap: int, turns: int) -> Series:
    """How long a label takes among so many pending, wherever its slot is."""
    some = [_some_labels(size, gap) for size in sizes]
    taken = [[next(each) for each in some] for _ in range(turns + 1)][1:]
    return Series(what, "pending", "s", sizes, [statistics.median(each) for each in zip(*taken, strict=True)])


def _some_labels(pending: int, gap: int) -> Iterator[float]:
    """Time labels again and again, each of another slot."""
    rng = np.random.default_rng(0)
    while True:
        learner = _pending(N_LEARNERS, pending, pending) if gap == 1 else _pending_with_gaps(pending, gap)
        events = [Label(slot, 1) for slot in rng.permutation(learner.pending_slots).tolist()]
        for first in range(0, pending - LABELS + 1, LABELS):
            part = events[first : first + LABELS]
            start = time.perf_counter()
            for event in part:
                learner.receive(event)
            yield (time.perf_counter() - start) / LABELS


def _held_mib(n_learners: int, pending: int) -> float:
    """How much a process of its own grows by a learner with so many pending slots."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown_mib, (n_learners, pending))


def _grown_mib(n_learners: int, pending: int) -> float:
    _pending(n_learners, 2 * BATCH, BATCH)  # loads what is loaded on use
    gc.collect()
    before = _resident_mib()
    learner = _pending(n_learners, pending, pending)
    gc.collect()
    grown = _resident_mib() - before
    assert learner.n_decisions == pending
    return grown


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
