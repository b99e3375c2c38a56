"""What the paper says of S1, judged."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from quorate.paper.verdicts import Claim, Verdict, claim, near, number

__all__ = ["s1_claims"]


def s1_claims(study: dict[str, Any]) -> list[Claim]:
    """Judge what is said of S1; `study` is of the drift's 0.1 as a standard deviation."""
    panels = study["panels"]
    whole = panels["aggregated"]
    alone, pwm, ratio = whole["alone"], whole["pwm"], whole["ratio"]
    eight = whole["x"].index(8)
    weights = study["weights"]["ratio"]
    few = panels["label_prob"]["ratio"]
    return [
        claim(
            "S1",
            "With one learner ALONE and PWM are equivalent",
            "equal",
            f"ALONE {number(alone, 0)}, PWM {number(pwm, 0)}",
            near(pwm["mean"][0], alone["mean"][0], absolute=0.01, relative=0.0),
            "they differ by at most 0.01",
            "they differ by more than 0.01: each mistake of a learner that errs often moves PWM's two weights",
        ),
        claim(
            "S1",
            "The gap grows with the number of learners",
            "it grows",
            f"PWM {number(pwm, 0)} with 1 learner, {number(pwm, eight)} with 8",
            all(after < before for before, after in pairwise(pwm["mean"][: eight + 1])),
            "with each of the eight relevant learners PWM's error falls, and ALONE's is the same",
            "PWM's error does not fall with each of the eight relevant learners",
        ),
        _half(study, ratio),
        claim(
            "S1",
            "From 8 to 16 learners, the last 8 irrelevant, PWM stays the same",
            "constant",
            f"{number(pwm, eight)} with 8, {number(pwm, -1)} with 16",
            near(pwm["mean"][-1], pwm["mean"][eight], absolute=0.015, relative=0.0),
            "it changes by less than 0.015",
            "it changes by more than 0.015",
        ),
        claim(
            "S1",
            "The weights of the relevant learners are about twice those of the irrelevant",
            "about 2",
            f"{weights['mean']:.2f} ± {weights['half']:.2f}",
            near(weights["mean"], 2.0, 0.15),
            "within 15 % of it",
            "not within 15 % of it",
        ),
        _delays(panels["delay"]),
        claim(
            "S1",
            "When one label in ten is observed PWM errs about half as often as ALONE",
            "about 0.5",
            f"{number(few, 0)} times as often",
            few["mean"][0] < 0.6,
            "less than 0.6 times as often",
            "0.6 times as often or more",
        ),
        _instances_or_labels(panels),
        _few_instances(panels),
    ]


def _half(study: dict[str, Any], ratio: dict[str, Any]) -> Claim:
    perfect = study["perfect_local"]["pwm"]["mean"] / study["perfect_local"]["alone"]["mean"]
    text, paper = "With all learners PWM errs less than half as often as ALONE", "below 0.5"
    ours = f"{number(ratio, -1)} times as often; {perfect:.2f} where local models know their part of the hyperplane"
    if ratio["mean"][-1] < 0.5:
        return Claim("S1", text, paper, ours, Verdict.YES, "less than half as often")
    if perfect < 0.5:
        reason = "if the local models know their part of the hyperplane"
        return Claim("S1", text, paper, ours, Verdict.OTHER, reason)
    reason = "not even with local models that know their own part of the hyperplane"
    return Claim("S1", text, paper, ours, Verdict.NO, reason)


def _delays(delay: dict[str, Any]) -> Claim:
    changes = [delay[who]["mean"][-1] - delay[who]["mean"][0] for who in ("alone", "pwm")]
    halves = [float(np.hypot(delay[who]["half"][-1], delay[who]["half"][0])) for who in ("alone", "pwm")]
    little = all(-half <= change < 0.03 for change, half in zip(changes, halves, strict=True))
    alike = abs(changes[1] - changes[0]) < 0.015
    return claim(
        "S1",
        "Late labels (50 slots on average) matter little, and the gap stays",
        "slightly more errors",
        f"{changes[0]:+.3f} ± {halves[0]:.3f} for ALONE, {changes[1]:+.3f} ± {halves[1]:.3f} for PWM",
        little and alike,
        "neither falls, neither grows by 0.03, and they differ by less than 0.015",
        "one falls, or grows by 0.03, or they differ by 0.015",
    )


def _instances_or_labels(panels: dict[str, Any]) -> Claim:
    labels = panels["label_prob"]

    def harder(name: str) -> list[Any]:
        return [
            np.array(panels[name][who]["mean"][:-1]) - np.array(labels[who]["mean"][:-1]) for who in ("alone", "pwm")
        ]

    one, every = harder("observe_prob"), harder("observe_prob_everybody")
    shown = [f"{alone.mean():+.3f} for ALONE and {pwm.mean():+.3f} for PWM" for alone, pwm in (one, every)]
    ours = f"on average {shown[0]}; where every learner misses instances {shown[1]}"
    text, paper = "Missing instances are worse than missing labels", "both curves higher"
    if all((each > 0).all() for each in one):
        return Claim("S1", text, paper, ours, Verdict.YES, "both curves are, at every probability")
    if all((each > 0).all() for each in every):
        return Claim("S1", text, paper, ours, Verdict.OTHER, "both curves are, if every learner misses instances")
    higher = "PWM's curve is higher only if every learner misses instances, ALONE's under neither reading"
    reason = higher if (every[1] > 0).all() and not (one[1] > 0).all() else "not both curves are, under either reading"
    return Claim("S1", text, paper, ours, Verdict.NO, reason)


def _few_instances(panels: dict[str, Any]) -> Claim:
    gains = [1 - panels[name]["ratio"]["mean"][0] for name in ("observe_prob", "observe_prob_everybody")]
    half = panels["observe_prob"]["ratio"]["half"][0]
    text, paper = "When one instance in ten is observed the gain is about 40 %", "about 40 %"
    ours = f"{gains[0]:.0%} ± {half:.0%}; {gains[1]:.0%} where every learner misses instances"
    verdicts = ((gains[0], Verdict.YES, "within a quarter of it"), (gains[1], Verdict.OTHER, "if every learner does"))
    for gain, verdict, reason in verdicts:
        if near(gain, 0.4, 0.25):
            return Claim("S1", text, paper, ours, verdict, reason)
    way = "smaller" if max(gains) < 0.4 else "other"
    return Claim("S1", text, paper, ours, Verdict.NO, f"it is {way} under both readings")
