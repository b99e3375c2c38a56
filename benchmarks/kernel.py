"""The compiled runs of the rules against a C reference, reading alone, and other libraries, over the same votes.

The rate of mistakes is that of PWM itself. Ratios are of the best times over the repeats, which are taken in turn: what
is slower than the best is what else the machine did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sklearn
from rich.console import Console
from rich.table import Table

from benchmarks import peers, python_peers
from benchmarks.measure import Timing, in_turn
from benchmarks.native import Reference
from benchmarks.part import Check, Options, Part, right
from benchmarks.votes import draw_for, with_absences
from quorate.rules import PWM, ExtendedPWM, Portfolio, WeightedMajority

__all__ = ["run"]

N_LEARNERS = (8, 16, 64, 256, 1024)
MISTAKES = (0.002, 0.05, 0.3)
#: Where the slow peers are timed in a quick run: how often the rule errs hardly matters to them.
MISTAKES_QUICK = 0.05
N_VOTES, N_VOTES_QUICK = 2**27, 2**26
N_SLOTS_MAX = 2**22
N_VOTES_SLOW = 2**20
N_VOTES_PEERS, N_VOTES_PEERS_QUICK, N_SLOTS_PEERS = 2**21, 2**19, 20_000
#: Our runs and the reference take milliseconds, and are repeated the more often.
REPEATS_FAST, REPEATS_FAST_QUICK = 5, 12

OURS, REFERENCE, READING = "PWM.run", "C with explicit SIMD", "reading the votes"
VOWPAL, MOA = "Vowpal Wabbit", "MOA WeightedMajority"
#: How many times as fast `PWM.run` must be.
ASKED = {REFERENCE: 0.6, VOWPAL: 60.0, python_peers.RIVER: 300.0, MOA: 100.0}
READING_ASKED, READING_FROM = 0.8, 256


def run(options: Options, console: Console) -> Part:
    """Measure, and print."""
    left_out: dict[str, str] = {}
    try:
        reference: Reference | None = Reference()
    except OSError as reason:
        reference, left_out[REFERENCE] = None, str(reason)
    runs = [
        _measure(n_learners, mistakes, options, reference, left_out)
        for n_learners in N_LEARNERS
        for mistakes in MISTAKES
    ]
    for mistakes in MISTAKES:
        console.print(_table([found for found in runs if found["mistakes_asked"] == mistakes]))
    for peer, why in left_out.items():
        console.print(f"left out: {peer}: {why}")
    versions = {**peers.pinned(), "scikit-learn": sklearn.__version__}
    if reference is not None:
        versions["gcc"] = reference.version
    document = {"runs": runs, "left_out": left_out, "versions": versions, "repeats": options.repeats}
    return Part(document, _checks(runs))


def _measure(
    n_learners: int, mistakes: float, options: Options, reference: Reference | None, left_out: dict[str, str]
) -> dict[str, Any]:
    n_slots = min((N_VOTES_QUICK if options.quick else N_VOTES) // n_learners, N_SLOTS_MAX)
    votes, labels = draw_for(n_slots, n_learners, mistakes)
    absent = with_absences(votes)
    n_slow = min(N_VOTES_SLOW // n_learners, n_slots)
    few, few_labels = votes[:n_slow], labels[:n_slow]
    programs: dict[str, tuple[Callable[[], object], int]] = {
        OURS: (lambda: PWM(n_learners).run(votes, labels), n_slots)
    }
    if reference is not None:
        _agree(reference, votes, labels)
        programs[REFERENCE] = lambda: reference.run(votes, labels), n_slots
        programs[READING] = lambda: reference.read(votes), n_slots
    programs["ExtendedPWM.run"] = lambda: ExtendedPWM(n_learners).run(absent, labels), n_slots
    timings = in_turn(programs, REPEATS_FAST_QUICK if options.quick else REPEATS_FAST * options.repeats)
    slow: dict[str, tuple[Callable[[], object], int]] = {
        "WeightedMajority.run": (lambda: WeightedMajority(n_learners).run(few, few_labels), n_slow),
        "Portfolio.run": (lambda: Portfolio(n_learners).run(few, few_labels), n_slow),
    }
    repeats = 2 if options.quick else options.repeats
    if not options.quick or mistakes == MISTAKES_QUICK:
        slow |= python_peers.programs(few, few_labels)
        n_votes = N_VOTES_PEERS_QUICK if options.quick else N_VOTES_PEERS
        n_peers = min(n_votes // n_learners, N_SLOTS_PEERS, n_slots)
        timings |= _others(votes[:n_peers], labels[:n_peers], repeats, left_out)
    timings |= in_turn(slow, repeats)
    errs = PWM(n_learners).run(votes, labels) != labels
    return {
        "n_learners": n_learners,
        "mistakes_asked": mistakes,
        "mistakes": float(errs.mean()),
        "n_slots": n_slots,
        "seconds_a_slot": {name: timing._asdict() for name, timing in timings.items()},
    }


def _agree(reference: Reference, votes: Any, labels: Any) -> None:
    """Stop where the C reference does not decide and learn what `PWM.run` does: it would be no reference."""
    rule = PWM(votes.shape[1])
    decisions, weights = reference.run(votes, labels)
    if (rule.run(votes, labels) != decisions).any() or rule.weights != weights:
        raise AssertionError(f"the C reference and PWM.run differ over {votes.shape[1]} learners")


def _others(votes: Any, labels: Any, repeats: int, left_out: dict[str, str]) -> dict[str, Timing]:
    """Time the peers that run elsewhere; one that cannot is left out, and not tried again."""
    found: dict[str, Timing] = {}
    for name, peer in (("Vowpal Wabbit", peers.vowpal_wabbit), ("MOA", peers.moa)):
        if name not in left_out:
            try:
                found |= peer(votes, labels, repeats)
            except peers.LeftOutError as reason:
                left_out[name] = str(reason)
    return found


def _table(runs: list[dict[str, Any]]) -> Table:
    measured = ", ".join(f"{100 * found['mistakes']:.1f}" for found in runs)
    table = Table(
        "million slots a second",
        *(f"K = {found['n_learners']}" for found in runs),
        title=f"{100 * runs[0]['mistakes_asked']:g} % mistakes ({measured})",
    )
    for name in max((found["seconds_a_slot"] for found in runs), key=len):
        cells = (found["seconds_a_slot"].get(name) for found in runs)
        table.add_row(name, *("" if cell is None else f"{1e-6 / cell['best']:.4g}" for cell in cells))
    return right(table)


def _checks(runs: list[dict[str, Any]]) -> list[Check]:
    checks = []
    for found in runs:
        seconds = {name: each["best"] for name, each in found["seconds_a_slot"].items()}
        where = f"K = {found['n_learners']}, {100 * found['mistakes_asked']:g} %"
        for peer, asked in ASKED.items():
            if peer in seconds:
                checks.append(Check(f"PWM.run against {peer}, {where}", seconds[peer] / seconds[OURS], asked))
        if READING in seconds and found["n_learners"] >= READING_FROM and found["mistakes_asked"] == MISTAKES[0]:
            ratio = seconds[READING] / seconds[OURS]
            checks.append(Check(f"PWM.run against {READING}, {where}", ratio, READING_ASKED))
    return checks
