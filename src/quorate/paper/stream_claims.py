"""What the paper says of its synthetic streams, judged."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from quorate.paper.verdicts import Claim, Verdict, claim, near, number

__all__ = ["s1_claims", "s2_claims", "s3_claims"]


def s1_claims(study: dict[str, Any]) -> list[Claim]:
    """Judge what is said of S1; `study` is of the drift's 0.1 as a standard deviation."""
    panels, last = study["panels"], -1
    one, alone, pwm = panels["aggregated"], panels["aggregated"]["alone"], panels["aggregated"]["pwm"]
    ratio = pwm["mean"][last] / alone["mean"][last]
    perfect = study["perfect_local"]["pwm"]["mean"] / study["perfect_local"]["alone"]["mean"]
    eight = one["x"].index(8)
    means = pwm["mean"]
    delay, labels, seen = panels["delay"], panels["label_prob"], panels["observe_prob"]
    slower = [delay[name]["mean"][last] - delay[name]["mean"][0] for name in ("alone", "pwm")]
    few = labels["pwm"]["mean"][0] / labels["alone"]["mean"][0]
    gain = 1 - seen["pwm"]["mean"][0] / seen["alone"]["mean"][0]
    weights = study["weights"]["ratio"]
    return [
        claim(
            "S1",
            "With one learner ALONE and PWM are equivalent",
            "equal",
            f"ALONE {number(alone, 0)}, PWM {number(pwm, 0)}",
            near(pwm["mean"][0], alone["mean"][0], absolute=0.01, relative=0.0),
            "they are",
            "a perceptron of one vote and a bias is thrown about by every mistake of a learner that errs often",
        ),
        claim(
            "S1",
            "The gap grows with the number of learners",
            "it grows",
            f"PWM {number(pwm, 0)} with 1 learner, {number(pwm, eight)} with 8",
            all(after < before for before, after in pairwise(means[: eight + 1])),
            "with each of the eight relevant learners the error falls",
            "it does not fall with every learner",
        ),
        claim(
            "S1",
            "With all learners PWM errs less than half as often as ALONE",
            "below 0.5",
            f"{ratio:.2f} ({number(pwm, last)} against {number(alone, last)}); {perfect:.2f} with perfect local "
            f"classifiers",
            ratio < 0.5,
            "it does",
            "even local classifiers that know their part of the hyperplane do not bring PWM there",
        ),
        claim(
            "S1",
            "From 8 to 16 learners, the last 8 irrelevant, PWM stays the same",
            "constant",
            f"{number(pwm, eight)} with 8, {number(pwm, last)} with 16",
            near(means[last], means[eight], absolute=0.015, relative=0.0),
            "it does",
            "it changes",
        ),
        claim(
            "S1",
            "The weights of the relevant learners are about twice those of the irrelevant",
            "about 2",
            f"{weights:.2f}",
            near(weights, 2.0, 0.25),
            "they are",
            "the ratio is another",
        ),
        claim(
            "S1",
            "Late labels (50 slots on average) matter little, and the gap stays",
            "slightly more errors",
            f"{slower[0]:+.3f} for ALONE, {slower[1]:+.3f} for PWM",
            max(slower) < 0.03 and abs(slower[1] - slower[0]) < 0.015,
            "both grow by little, and by about the same",
            "they matter more, or not equally",
        ),
        claim(
            "S1",
            "When one label in ten is observed PWM errs about half as often as ALONE",
            "about 0.5",
            f"{few:.2f} ({number(labels['pwm'], 0)} against {number(labels['alone'], 0)})",
            few < 0.6,
            "it does",
            "PWM is better than ALONE there, but not by that much",
        ),
        _instances_or_labels(panels),
        claim(
            "S1",
            "When one instance in ten is observed the gain is about 40 %",
            "about 40 %",
            f"{gain:.0%}",
            near(gain, 0.4, 0.25),
            "it is",
            "learner 1 has a tenth of the slots to learn from, and PWM needs more",
        ),
    ]


def _instances_or_labels(panels: dict[str, Any]) -> Claim:
    labels = panels["label_prob"]
    harder = {
        name: [
            np.array(panels[name][who]["mean"][:-1]) - np.array(labels[who]["mean"][:-1]) for who in ("alone", "pwm")
        ]
        for name in ("observe_prob", "observe_prob_everybody")
    }
    (alone, pwm), (_, pwm_everybody) = harder["observe_prob"], harder["observe_prob_everybody"]
    text, paper = "Missing instances are worse than missing labels", "higher curves"
    ours = (
        f"on average {alone.mean():+.3f} for ALONE and {pwm.mean():+.3f} for PWM; {pwm_everybody.mean():+.3f} for PWM "
        "where every learner misses instances"
    )
    if (alone > 0).all() and (pwm > 0).all():
        return Claim("S1", text, paper, ours, Verdict.YES, "they are, for both, at every probability")
    if (pwm_everybody > 0).all():
        reason = "for PWM, if every learner misses instances on its own; if learner 1 alone does, both are alike"
        return Claim("S1", text, paper, ours, Verdict.OTHER, reason)
    return Claim("S1", text, paper, ours, Verdict.NO, "under neither reading")


def s2_claims(published: dict[str, Any], written: dict[str, Any]) -> list[Claim]:
    """Judge what is said of S2, under the reading that fits its figure and with the numbers of its text."""
    claims = []
    whole, text = published["panels"]["aggregated"], written["panels"]["aggregated"]
    for what, name, value, tolerance in (("ALONE", "alone", 0.47, 0.02), ("PWM with all eight", "pwm", 0.01, 0.005)):
        ours, as_written = whole[name]["mean"][-1], text[name]["mean"][-1]
        shown = f"{number(whole[name], -1)}; with the text's numbers {number(text[name], -1)}"
        if near(as_written, value, 0.0, tolerance):
            verdict, reason = Verdict.YES, "with the numbers of the text"
        elif near(ours, value, 0.0, tolerance):
            verdict = Verdict.OTHER
            reason = "with events of probability 0.1 and noise ten times smaller than the text has it"
        else:
            verdict, reason = Verdict.NO, "neither reading gives it"
        claims.append(Claim("S2", f"{what} errs in this part of the slots", f"about {value}", shown, verdict, reason))
    means = np.array(whole["pwm"]["mean"])
    straight = float(np.corrcoef(whole["x"], means)[0, 1] ** 2)
    delay, labels = published["panels"]["delay"], published["panels"]["label_prob"]
    change = max(abs(delay[name]["mean"][-1] - delay[name]["mean"][0]) for name in ("alone", "pwm"))
    alone_only, everybody = published["panels"]["observe_prob"], published["panels"]["observe_prob_everybody"]
    apart = [abs(each["pwm"]["mean"][0] - each["alone"]["mean"][0]) for each in (alone_only, everybody)]
    under = "as published; with the text's numbers PWM is no better than ALONE"
    return [
        *claims,
        claim(
            "S2",
            "PWM's error falls linearly with the number of learners",
            "linear",
            f"R² of a line {straight:.3f}: {', '.join(f'{mean:.3f}' for mean in means)}",
            straight > 0.95 and bool((np.diff(means) < 0).all()),
            f"almost ({under})",
            "it does not",
            other=True,
        ),
        claim(
            "S2",
            "Late labels do not matter",
            "no change",
            f"at most {change:.3f} for 50 slots on average",
            change < 0.01,
            f"they do not ({under})",
            "they do",
            other=True,
        ),
        claim(
            "S2",
            "Also with very few labels PWM is much better than ALONE",
            "much better",
            f"{number(labels['pwm'], 0)} against {number(labels['alone'], 0)} with one label in ten",
            labels["pwm"]["mean"][0] < labels["alone"]["mean"][0] / 2,
            f"it is ({under})",
            "it is not",
            other=True,
        ),
        claim(
            "S2",
            "When few instances are observed PWM is close to ALONE",
            "close",
            f"apart by {apart[1]:.3f} where each learner observes one in ten; {apart[0]:.3f} where only learner 1 "
            f"misses them",
            apart[1] < 0.05,
            "if every learner misses instances on its own, not learner 1 alone (as published)",
            "it is not, under either reading",
            other=True,
        ),
    ]


def s3_claims(figure: dict[str, Any]) -> list[Claim]:
    """Judge what is said of the bound figure."""
    mus = np.array(figure["x"])
    alone, majority, pwm = (np.array(figure["measured"][name]["mean"]) for name in ("alone", "am", "pwm"))
    first, second, bound = (np.array(figure[name]) for name in ("b1", "b2", "b"))
    low = mus <= 1.0
    away = pwm - majority
    place = int(np.argmax(away))
    cusp = figure["crossings"][-1] if figure["crossings"] else float("nan")
    closer = bound - pwm
    certificate = np.array(figure["certificate"])
    at = int(np.flatnonzero(mus == 1.0)[0])
    return [
        claim(
            "S3",
            "For low mu PWM errs much less than the bound B",
            "much lower",
            f"at mu = 1: PWM {pwm[at]:.3f}, B {bound[at]:.3f}; our certificate {certificate[at]:.3f}",
            bool((pwm[low] < 0.7 * bound[low]).all()),
            "for every mu up to 1 it errs less than 0.7 times B; our certificate lies between the two",
            "not for every mu up to 1",
        ),
        claim(
            "S3",
            "For low mu PWM is very close to the plain majority, the best rule",
            "very close",
            f"at most {away[place]:.3f} above it, at mu = {mus[place]:g}",
            float(away.max()) < 0.02,
            "it is",
            "it is above it by more than that: weights that only mistakes move never settle",
        ),
        claim(
            "S3",
            "The plain majority is the best rule here",
            "the best",
            f"ALONE at least {float((alone - majority).min()):+.4f}, PWM at least "
            f"{float((pwm - majority).min()):+.4f} above it",
            bool((majority <= alone + 0.002).all() and (majority <= pwm + 0.002).all()),
            "neither ALONE nor PWM is below it, for any mu",
            "it is not",
        ),
        claim(
            "S3",
            "All errors fall with mu, and the bound comes closer to PWM",
            "closer",
            f"B - PWM: {closer[0]:.3f} at mu = 0, {closer[at]:.3f} at 1, {closer[-1]:.3f} at 3",
            bool((np.diff(alone) < 0).all()) and closer[-1] < closer[at] < closer[0],
            "they do",
            "they do not",
        ),
        claim(
            "S3",
            "The bound has a cusp at about mu = 1.75",
            "1.75",
            f"{cusp:.2f}",
            near(cusp, 1.75, 0.0, 0.05),
            "there",
            "with P* the smallest error of the eight learners in each simulation it lies elsewhere",
        ),
        claim(
            "S3",
            "Before the cusp B1 is stricter than B2, after it B2",
            "B1 below, B2 above",
            "they change places at mu = " + " and ".join(f"{each:.2f}" for each in figure["crossings"]),
            bool((first[mus < cusp] < second[mus < cusp]).all()),
            "so it is",
            "after it, yes; before it B1 is stricter only down to the lower crossing, below which B2 is again",
        ),
    ]
