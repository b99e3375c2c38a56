"""What the paper says of its figure of the bounds, judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.paper.verdicts import Claim, Verdict, claim, near

__all__ = ["s3_claims"]

#: What simulations of this size cannot tell apart.
_NOISE = 0.002


def s3_claims(figure: dict[str, Any]) -> list[Claim]:
    """Judge what is said of the bound figure."""
    mus = np.array(figure["x"])
    alone, majority, pwm = (np.array(figure["measured"][name]["mean"]) for name in ("alone", "am", "pwm"))
    halves = np.array(figure["measured"]["pwm"]["half"])
    first, second, bound = (np.array(figure[name]) for name in ("b1", "b2", "b"))
    certificate = np.array(figure["certificate"])
    low, at = mus <= 1.0, int(np.flatnonzero(mus == 1.0)[0])
    away, closer = pwm - majority, bound - pwm
    place = int(np.argmax(away))
    between = bool(((pwm - _NOISE <= certificate) & (certificate <= bound + _NOISE)).all())
    falling = all(bool((np.diff(curve) <= _NOISE / 10).all()) for curve in (alone, majority, pwm))
    return [
        claim(
            "S3",
            "For low mu PWM errs much less than the bound B",
            "much lower",
            f"at mu = 1 PWM {pwm[at]:.3f} ± {halves[at]:.3f}, B {bound[at]:.3f}, certificate {certificate[at]:.3f}",
            bool((pwm[low] < 0.7 * bound[low]).all()),
            "for every mu up to 1 less than 0.7 times B" + ("; our certificate lies between the two" * between),
            "not for every mu up to 1 less than 0.7 times B",
        ),
        claim(
            "S3",
            "For low mu PWM is very close to the plain majority, the best rule",
            "very close",
            f"at most {away[place]:.3f} ± {halves[place]:.3f} above it, at mu = {mus[place]:g}",
            float(away.max()) < 0.02,
            "less than 0.02 above it",
            "0.02 above it or more: weights that every mistake moves never settle",
        ),
        claim(
            "S3",
            "The plain majority is the best rule here",
            "the best",
            f"at every mu ALONE is at least {float((alone - majority).min()):+.4f} and PWM at least "
            f"{float(away.min()):+.4f} above it",
            bool((majority <= alone + _NOISE).all() and (majority <= pwm + _NOISE).all()),
            f"neither is below it by more than the noise of {_NOISE:g}",
            "one is below it",
        ),
        claim(
            "S3",
            "For low mu the local classifiers are inaccurate and their ensemble is accurate",
            "inaccurate, accurate",
            f"at mu = 1: ALONE {alone[at]:.3f}, the plain majority {majority[at]:.3f}",
            bool(majority[at] < alone[at] / 5),
            "the majority errs less than a fifth as often",
            "the majority errs a fifth as often or more",
        ),
        claim(
            "S3",
            "All errors fall with mu, and the bound comes closer to PWM",
            "closer",
            f"B - PWM: {closer[0]:.3f} at mu = 0, {closer[at]:.3f} at 1, {closer[-1]:.3f} at 3",
            falling and closer[-1] < closer[at] < closer[0],
            "no curve rises, and the difference shrinks",
            "a curve rises, or the difference does not shrink",
        ),
        _cusp(figure),
        _order(figure, mus, first, second),
    ]


def _cusp(figure: dict[str, Any]) -> Claim:
    text, paper = "The bound has a cusp at about mu = 1.75", "1.75"
    found = [figure[name][-1] if figure[name] else None for name in ("crossings", "crossings_all_best")]
    shown = [f"{each:.2f}" if each is not None else "none" for each in found]
    ours = f"{shown[0]}; {shown[1]} with v* = 8, all learners being equally good"
    if found[0] is not None and near(found[0], 1.75, 0.0, 0.05):
        return Claim("S3", text, paper, ours, Verdict.YES, "within 0.05, with P* and v* of each simulation")
    if found[1] is not None and near(found[1], 1.75, 0.0, 0.05):
        reason = "if v* is the number of learners that are equally good, not of those that happen to be best"
        return Claim("S3", text, paper, ours, Verdict.OTHER, reason)
    return Claim("S3", text, paper, ours, Verdict.NO, "not within 0.05, under either reading of v*")


def _order(figure: dict[str, Any], mus: Any, first: Any, second: Any) -> Claim:
    crossings = figure["crossings"]
    text, paper = "Before the cusp B1 is stricter than B2, after it B2", "B1 before, B2 after"
    ours = "they change places at mu = " + " and ".join(f"{each:.2f}" for each in crossings) if crossings else "never"
    cusp = crossings[-1] if crossings else float("inf")
    before, after = mus < cusp, mus > cusp
    is_after = bool((second[after] < first[after]).all()) and bool(after.any())
    if bool((first[before] < second[before]).all()) and is_after:
        return Claim("S3", text, paper, ours, Verdict.YES, "so it is")
    reason = (
        "after it B2 is; before it B1 is only down to the lower crossing, below which B2 is again"
        if is_after and len(crossings) > 1
        else "the order is another"
    )
    return Claim("S3", text, paper, ours, Verdict.NO, reason)
