"""S1 and S2: what becomes of learner 1, alone and with PWM, as the world gets worse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from quorate.paper.simulation import RATE, Setting, simulate
from quorate.paper.work import spread
from quorate.rules import PWM, Rule
from quorate.streams import EventDetection, RotatingHyperplane, SyntheticStream

__all__ = ["PANELS", "Study", "panels_of", "perfect_errors", "s1_study", "s2_study"]

#: The panels of the paper's figures, by what varies; the last is the fourth panel under another reading.
PANELS = {
    "aggregated": "learners aggregated",
    "delay": "average delay of a label (slots)",
    "label_prob": "probability of observing a label",
    "observe_prob": "probability that learner 1 observes an instance",
    "observe_prob_everybody": "probability that each learner observes an instance",
}
DELAYS = (0, 5, 10, 20, 30, 40, 50)
PROBABILITIES = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
RATES = (0.01, 0.03, 0.1, 0.3, 1.0)
#: Simulations a process does before it reports.
BATCH = 10
#: In so many simulations other steps of the local models are tried too, and local models that know all.
TRIED = 100

Advance = Callable[[int], None]


class Study(NamedTuple):
    """A stream, how long and how often, and what is varied."""

    stream: SyntheticStream
    n_slots: int
    n_simulations: int
    settings: dict[str, dict[float, Setting]]
    """Of each panel, the settings by what varies."""


def panels_of(n_learners: int) -> dict[str, dict[float, Setting]]:
    """The settings of all panels.

    >>> {name: len(panel) for name, panel in panels_of(8).items()}
    {'aggregated': 8, 'delay': 7, 'label_prob': 10, 'observe_prob': 10, 'observe_prob_everybody': 10}
    """
    return {
        "aggregated": {n: Setting(n_aggregated=n) for n in range(1, n_learners + 1)},
        "delay": {delay: Setting(delay_max=2 * delay) for delay in DELAYS},
        "label_prob": {chance: Setting(label_prob=chance) for chance in PROBABILITIES},
        "observe_prob": {chance: Setting(observe_prob=chance) for chance in PROBABILITIES},
        "observe_prob_everybody": {chance: Setting(observe_prob=chance, everybody=True) for chance in PROBABILITIES},
    }


def s1_study(seed: int, n_simulations: int = 1000, variance: bool = False) -> Study:
    """The paper's S1: 16 learners, 8 irrelevant, 1,000 slots; 0.1 is the drift's standard deviation or its variance."""
    stream = RotatingHyperplane(16, 8, drift_is="variance" if variance else "standard deviation", seed=seed)
    panels = panels_of(16)
    return Study(stream, 1000, n_simulations, {"aggregated": panels["aggregated"]} if variance else panels)


def s2_study(seed: int, n_simulations: int = 100, published: bool = True) -> Study:
    """The paper's S2: 8 learners, 10,000 slots; with the numbers that fit its figure, or those of its text."""
    make = EventDetection.as_published if published else EventDetection.as_written
    return Study(make(n_learners=8, seed=seed), 10_000, n_simulations, panels_of(8))


def run_study(study: Study, jobs: int = 1, backend: str | None = None, advance: Advance = lambda done: None) -> Any:
    """Run a study; give the curves of each panel, the ratio of weights, and what other steps of the models give."""
    settings = [setting for panel in study.settings.values() for setting in panel.values()]
    batches = [
        (study.stream, range(first, min(first + BATCH, study.n_simulations)), study.n_slots, settings)
        for first in range(0, study.n_simulations, BATCH)
    ]
    found = []
    for batch in spread(_batch, batches, jobs, backend):
        found += batch
        advance(len(batch))
    alone, pwm = np.array([one["alone"] for one in found]), np.array([one["pwm"] for one in found])
    document: dict[str, Any] = {"simulations": study.n_simulations, "slots": study.n_slots, "rate": RATE, "panels": {}}
    place = 0
    for name, panel in study.settings.items():
        part = slice(place, place + len(panel))
        document["panels"][name] = {
            "x": list(panel),
            "alone": _curve(alone[:, part]),
            "pwm": _curve(pwm[:, part]),
            "ratio": _ratio(pwm[:, part], alone[:, part]),
        }
        place += len(panel)
    tried = [one for one in found if "rates" in one]
    rates = np.array([one["rates"] for one in tried])
    document["tried"] = len(tried)
    document["rates"] = {"x": list(RATES), "alone": _curve(rates[:, :, 0]), "pwm": _curve(rates[:, :, 1])}
    if isinstance(study.stream, RotatingHyperplane):
        perfect = np.array([one["perfect"] for one in tried])
        document["weights"] = _weights(np.array([one["weights"] for one in found]), study.stream.n_relevant)
        document["perfect_local"] = {"alone": _number(perfect[:, 0]), "pwm": _number(perfect[:, 1])}
    return document


def _batch(work: tuple[SyntheticStream, range, int, list[Setting]]) -> list[dict[str, Any]]:
    stream, simulations, n_slots, settings = work
    every = next(n for n, setting in enumerate(settings) if setting.n_aggregated == stream.n_learners)
    found = []
    for simulation in simulations:
        outcome = simulate(stream, simulation, n_slots, settings)
        one = {"alone": outcome.alone, "pwm": outcome.pwm, "weights": np.abs(outcome.weights[every])}
        if simulation < TRIED:
            others = [simulate(stream, simulation, n_slots, [settings[every]], rate) for rate in RATES]
            one["rates"] = np.array([(other.alone[0], other.pwm[0]) for other in others])
            if isinstance(stream, RotatingHyperplane):
                one["perfect"] = np.array(perfect_errors(stream, simulation, n_slots, PWM))
        found.append(one)
    return found


def perfect_errors(
    stream: RotatingHyperplane, simulation: int, n_slots: int, *rules: Callable[[int], Rule]
) -> list[float]:
    """How wrong learner 1 is, alone and with each rule, where everybody knows its own part of the hyperplane."""
    votes, labels = stream.perfect_votes(simulation, n_slots), stream.simulation(simulation, n_slots).labels
    decided = [votes[:, 0], *(rule(stream.n_learners).run(votes, labels) for rule in rules)]
    return [float((each != labels).mean()) for each in decided]


def _weights(weights: Any, n_relevant: int) -> dict[str, Any]:
    relevant, irrelevant = weights[:, 1 : n_relevant + 1].mean(axis=1), weights[:, n_relevant + 1 :].mean(axis=1)
    ratio = _ratio(relevant[:, None], irrelevant[:, None])
    return {
        "relevant": _number(relevant),
        "irrelevant": _number(irrelevant),
        "ratio": {"mean": ratio["mean"][0], "half": ratio["half"][0]},
    }


def _ratio(above: Any, below: Any) -> dict[str, list[float]]:
    """Ratios of means over the same simulations, and half of their 95 % intervals by the delta method."""
    whole = ~np.isnan(above) & ~np.isnan(below)
    means, halves = [], []
    for place in range(above.shape[1]):
        top, bottom = above[whole[:, place], place], below[whole[:, place], place]
        ratio = top.mean() / bottom.mean()
        spread = np.std(top - ratio * bottom, ddof=1) / (bottom.mean() * np.sqrt(len(top))) if len(top) > 1 else 0.0
        means.append(float(ratio))
        halves.append(float(1.96 * spread))
    return {"mean": means, "half": halves}


def _curve(values: Any) -> dict[str, list[float]]:
    """Means over the simulations that have a slot that counts, and half of their 95 % intervals."""
    counts = (~np.isnan(values)).sum(axis=0)
    half = 1.96 * np.nanstd(values, axis=0, ddof=1) / np.sqrt(counts) if len(values) > 1 else 0 * values[0]
    return {"mean": np.nanmean(values, axis=0).tolist(), "half": half.tolist()}


def _number(values: Any) -> dict[str, float]:
    curve = _curve(values[:, None])
    return {"mean": curve["mean"][0], "half": curve["half"][0]}
