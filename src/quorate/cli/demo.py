"""`quorate demo`: eight learners, a drifting world, and everything that goes wrong in a network."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.progress import MofNCompleteColumn
from rich.table import Table

from quorate._extras import load
from quorate._version import __version__
from quorate.cli.output import Output, check_picture, print_json, progress_bar
from quorate.evaluate import Recording, arriving, decide, measure, rolling_mean
from quorate.learner import Learner
from quorate.rules import AverageMajority, ExtendedPWM, MajorityClass, PreviousLabel
from quorate.runtime.demo_site import SITES, WRONG, contrary, logistic_regression, seen_at
from quorate.streams import Feedback, RotatingHyperplane, Uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Demo", "run", "show"]

ABSENT = "perth"
DELAY_SLOTS_MAX = 50

_KINDS = ("synchronous", "asynchronous")


class Demo(NamedTuple):
    """What happened."""

    recording: Recording
    decisions: dict[str, NDArray[np.int8]]
    """The decisions of each rule as they were issued."""
    weights: NDArray[np.int64]
    """PWM's weights after each slot, of shape (slots, 2, learners + 1): all voted, somebody absent."""
    weights_honest: NDArray[np.int64]
    """The same where the learner that is always wrong takes no part."""


def run(seed: int, n_slots: int, advance: Any = lambda: None) -> Demo:
    """Run the ensemble slot by slot, as an application does; then give the other rules the same votes and labels.

    >>> demo = run(seed=0, n_slots=200)
    >>> demo.recording.votes.shape, sorted(demo.decisions)
    ((200, 8), ['PWM', 'PWM without quito', 'majority class', 'plain majority', 'previous label'])
    """
    load("river", "quorate demo")
    from quorate import Ensemble

    stream = RotatingHyperplane(n_learners=len(SITES), n_relevant=len(SITES), seed=seed)
    feedback = Feedback(Uniform(0, DELAY_SLOTS_MAX), label_prob=0.8, observe_prob={ABSENT: 0.5}, seed=seed)
    arrivals, present = feedback.realize(n_slots, SITES)

    models: dict[str, Any] = {site: logistic_regression() for site in SITES} | {WRONG: contrary}
    ensemble = Ensemble(models, rule=ExtendedPWM, streams=True, horizon=DELAY_SLOTS_MAX)

    votes = np.empty((n_slots, len(SITES)), np.int8)
    labels = np.empty(n_slots, np.int8)
    decisions = np.empty(n_slots, np.int8)
    weights = np.empty((n_slots, 2, len(SITES) + 1), np.int64)
    for slot, (observation, due) in enumerate(zip(stream.take(n_slots), arriving(arrivals), strict=True)):
        seen = seen_at(observation)
        decision = ensemble.decide_one(
            {site: seen[site] for site, here in zip(SITES, present[slot], strict=True) if here}
        )
        votes[slot], decisions[slot], labels[slot] = decision.votes, decision.value, observation.label
        for labelled in due:
            ensemble.label_one(labelled, bool(labels[labelled] > 0))
        weights[slot] = _both_weights(ensemble.learner)
        advance()

    recording = Recording(SITES, votes, labels, arrivals)
    honest = Recording(SITES[:-1], votes[:, :-1], labels, arrivals)
    weights_honest = np.empty((n_slots, 2, len(SITES)), np.int64)

    def watch(slot: int, learner: Learner) -> None:
        weights_honest[slot] = _both_weights(learner)

    issued = {
        "plain majority": decide(recording, AverageMajority(len(SITES))),
        "majority class": decide(recording, MajorityClass(len(SITES))),
        "previous label": decide(recording, PreviousLabel(len(SITES))),
        f"PWM without {WRONG}": decide(honest, ExtendedPWM(len(SITES) - 1), watch=watch),
        "PWM": decisions,
    }
    return Demo(recording, issued, weights, weights_honest)


def _both_weights(learner: Learner) -> tuple[list[int], list[int]]:
    rule = learner.rule
    assert isinstance(rule, ExtendedPWM)
    return rule.weights_synchronous, rule.weights_asynchronous


def _rows(demo: Demo) -> list[dict[str, Any]]:
    """Who erred how often, the learners first."""
    votes, labels, previous = demo.recording.votes, demo.recording.labels, demo.decisions["previous label"]
    rows: list[dict[str, Any]] = []
    for place, site in enumerate(SITES):
        voted = votes[:, place] != 0
        alone = measure(votes[voted, place], labels[voted], previous[voted])
        weights = {f"weight_{kind}": int(demo.weights[-1, which, place + 1]) for which, kind in enumerate(_KINDS)}
        rows.append({"who": site, **alone.document(), **weights})
    for name, decisions in demo.decisions.items():
        rows.append({"who": name, **measure(decisions, labels, previous).document()})
    return rows


def show(seed: int, n_slots: int, out: Path, *, as_json: bool) -> None:
    """Run the demo, print its table, draw its picture."""
    load("matplotlib", "quorate demo")
    check_picture(out)
    if not as_json:
        Output().print(
            f"{len(SITES)} learners vote on {n_slots} slots of a drifting stream; "
            f"{ABSENT} is absent half of the time, {WRONG} always wrong."
        )
    with progress_bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("eight learners vote", total=n_slots)
        demo = run(seed, n_slots, lambda: progress.advance(task))
    draw(demo, out)
    rows = _rows(demo)
    if as_json:
        versions = {"quorate": __version__, "python": platform.python_version(), "numpy": np.__version__}
        print_json({"seed": seed, "slots": n_slots, "rows": rows, "picture": str(out), "versions": versions})
    else:
        _print(demo, rows, out)


def _print(demo: Demo, rows: list[dict[str, Any]], out: Path) -> None:
    console = Output()
    arrivals = demo.recording.arrivals
    came = arrivals >= 0
    late = (arrivals - np.arange(len(arrivals)))[came].mean()
    console.print(f"{came.mean():.0%} of the labels came, on average {late:.0f} slots late.")
    table = Table("", "wrong", "kappa", "temporal", "weights, all there / not")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    notes = {ABSENT: " (often absent)", WRONG: " (always wrong)"}
    for row in rows:
        if row["who"] == "plain majority":
            table.add_section()
        weights = [str(row[f"weight_{kind}"]) for kind in _KINDS if f"weight_{kind}" in row]
        table.add_row(
            row["who"] + notes.get(row["who"], ""),
            f"{row['error']:.1%}",
            f"{row['kappa']:.2f}",
            f"{row['kappa_temporal']:.2f}",
            " / ".join(weights),
            style="bold green" if row["who"] == "PWM" else None,
        )
    console.print(table)
    console.print(f"The picture: {out}")


def draw(demo: Demo, out: Path) -> None:
    """Draw the rolling errors and PWM's weights over time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    votes, labels = demo.recording.votes, demo.recording.labels
    n_slots = len(labels)
    window = max(50, n_slots // 20)
    figure = Figure(figsize=(11, 11), layout="constrained")
    above, middle, below = figure.subplots(3, 1, sharex=True)
    for place, site in enumerate(SITES):
        colour = mpl.colormaps["tab10"](place)
        voted = np.flatnonzero(votes[:, place])
        wrong = votes[voted, place] != labels[voted]
        above.plot(voted, rolling_mean(wrong, window), color=colour, linewidth=0.8, alpha=0.6, label=site)
        for axes, weights in ((middle, demo.weights), (below, demo.weights_honest)):
            if place + 1 < weights.shape[2]:
                axes.plot(rolling_mean(weights[:, 0, place + 1], window), color=colour, linewidth=1.0, label=site)
                axes.plot(rolling_mean(weights[:, 1, place + 1], window), color=colour, linewidth=0.8, linestyle=":")
    styles = (("black", "-"), ("black", "--"), ("black", ":"), ("orange", "-"), ("red", "-"))
    for name, (colour_name, line) in zip(demo.decisions, styles, strict=True):
        errors = rolling_mean(demo.decisions[name] != labels, window)
        above.plot(errors, color=colour_name, linestyle=line, linewidth=1.8, label=name)
    above.set(ylabel=f"wrong, of the last {window}", ylim=(-0.02, 1.02), xlim=(0, n_slots))
    above.set_title("Eight learners, labels up to 50 slots late and a fifth of them missing")
    middle.set(ylabel="weight")
    middle.set_title(
        f"PWM's weights when all are there (solid) and when somebody is absent (dotted), mean of the last {window}"
    )
    below.set(xlabel="slot", ylabel="weight")
    below.set_title(f"The same where {WRONG} takes no part")
    for axes in (above, middle, below):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, frameon=False)
    figure.savefig(out, dpi=110)
