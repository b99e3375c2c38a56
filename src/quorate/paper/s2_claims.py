"""What the paper says of S2, judged with the numbers of its text first, then with those that fit its figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quorate.paper.verdicts import Claim, Verdict, near, number

__all__ = ["s2_claims"]

_OTHER = "with events of probability 0.1 and noise ten times smaller, not with the text's numbers"


def s2_claims(published: dict[str, Any], written: dict[str, Any], s1: dict[str, Any] | None = None) -> list[Claim]:
    """Judge what is said of S2; `s1` is the study of S1, for what is said of both."""

    def judged(
        text: str, paper: str, show: Callable[[dict[str, Any]], str], holds: Callable[[dict[str, Any]], bool]
    ) -> Claim:
        ours = f"{show(published['panels'])}; with the text's numbers {show(written['panels'])}"
        if holds(written["panels"]):
            return Claim("S2", text, paper, ours, Verdict.YES, "with the numbers of the text")
        if holds(published["panels"]):
            return Claim("S2", text, paper, ours, Verdict.OTHER, _OTHER)
        return Claim("S2", text, paper, ours, Verdict.NO, "with neither numbers")

    def value(who: str) -> Callable[[dict[str, Any]], str]:
        return lambda panels: number(panels["aggregated"][who], -1)

    def late(panels: dict[str, Any]) -> float:
        curves = [panels["delay"][who]["mean"] for who in ("alone", "pwm")]
        return max(abs(float(curve[-1]) - float(curve[0])) for curve in curves)

    claims = [
        judged(
            "ALONE errs in this part of the slots",
            "about 0.47",
            value("alone"),
            lambda panels: near(panels["aggregated"]["alone"]["mean"][-1], 0.47, 0.0, 0.02),
        ),
        judged(
            "PWM with all eight errs in this part of the slots",
            "about 0.01",
            value("pwm"),
            lambda panels: near(panels["aggregated"]["pwm"]["mean"][-1], 0.01, 0.0, 0.005),
        ),
        judged("PWM's error falls linearly with the number of learners", "linear", _line, _is_line),
        judged(
            "Late labels do not matter",
            "no change",
            lambda panels: f"at most {late(panels):.3f} for 50 slots on average",
            lambda panels: late(panels) < 0.01,
        ),
        judged(
            "Also with very few labels PWM is much better than ALONE",
            "much better",
            lambda panels: f"{number(panels['label_prob']['ratio'], 0)} times as often wrong with one label in ten",
            lambda panels: panels["label_prob"]["ratio"]["mean"][0] < 0.5,
        ),
    ]
    return [*claims, _few_instances(published), *([_synchronicity(published, s1)] if s1 is not None else [])]


def _fit(panels: dict[str, Any]) -> float:
    curve = panels["aggregated"]
    return float(np.corrcoef(curve["x"], curve["pwm"]["mean"])[0, 1] ** 2)


def _line(panels: dict[str, Any]) -> str:
    means = panels["aggregated"]["pwm"]["mean"]
    return f"R² of a line {_fit(panels):.3f}, from {means[0]:.3f} to {means[-1]:.3f}"


def _is_line(panels: dict[str, Any]) -> bool:
    return _fit(panels) > 0.95 and bool((np.diff(panels["aggregated"]["pwm"]["mean"]) < 0).all())


def _apart(panels: dict[str, Any], name: str) -> float:
    return abs(float(panels[name]["pwm"]["mean"][0] - panels[name]["alone"]["mean"][0]))


def _few_instances(published: dict[str, Any]) -> Claim:
    one, every = (_apart(published["panels"], name) for name in ("observe_prob", "observe_prob_everybody"))
    text, paper = "When few instances are observed PWM is close to ALONE", "close"
    ours = (
        f"as published, apart by {every:.3f} where each learner observes one in ten, by {one:.3f} where learner 1 does"
    )
    if one < 0.05:
        return Claim("S2", text, paper, ours, Verdict.YES, "less than 0.05 apart")
    if every < 0.05:
        return Claim("S2", text, paper, ours, Verdict.OTHER, "if every learner misses instances, not learner 1 alone")
    return Claim("S2", text, paper, ours, Verdict.NO, "0.05 apart or more, under both readings")


def _synchronicity(published: dict[str, Any], s1: dict[str, Any]) -> Claim:
    def lost(panels: dict[str, Any], name: str) -> float:
        return float(panels[name]["pwm"]["mean"][0] - panels[name]["pwm"]["mean"][-1])

    names = ("observe_prob", "observe_prob_everybody")
    here, there = [lost(published["panels"], name) for name in names], [lost(s1["panels"], name) for name in names]
    text = "Synchronicity matters much more than in S1"
    ours = (
        f"PWM's error grows by {here[0]:.3f} (S1: {there[0]:.3f}) when learner 1 observes one instance in ten, by "
        f"{here[1]:.3f} (S1: {there[1]:.3f}) when each learner does"
    )
    more = [one > 2 * other for one, other in zip(here, there, strict=True)]
    if more[0]:
        return Claim("S2", text, "strongly affected", ours, Verdict.YES, "more than twice as much")
    if more[1]:
        reason = "more than twice as much, if every learner misses instances"
        return Claim("S2", text, "strongly affected", ours, Verdict.OTHER, reason)
    return Claim("S2", text, "strongly affected", ours, Verdict.NO, "not twice as much, under either reading")
