"""Every number and claim of the paper's Section VI, beside ours, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

__all__ = ["Claim", "Verdict", "claim", "near", "percent"]


class Verdict(StrEnum):
    """Whether a claim holds."""

    YES = "reproduced"
    OTHER = "reproduced under another reading"
    NO = "not reproduced"


class Claim(msgspec.Struct, frozen=True):
    """A number or a claim of the paper, and what became of it.

    Parameters
    ----------
    about
        ``table``, ``S1``, ``S2`` or ``S3``.
    text
        What the paper says.
    paper
        Its value.
    ours
        Ours, with its interval where it has one.
    verdict
        Whether it holds.
    reason
        Why, in one sentence.
    """

    about: str
    text: str
    paper: str
    ours: str
    verdict: Verdict
    reason: str


def claim(
    about: str, text: str, paper: str, ours: str, holds: bool, why: str, why_not: str, other: bool = False
) -> Claim:
    """A claim whose verdict follows from whether it holds, as the paper is read first or under another reading."""
    verdict = (Verdict.OTHER if other else Verdict.YES) if holds else Verdict.NO
    return Claim(about, text, paper, ours, verdict, why if holds else why_not)


def near(ours: float, paper: float, relative: float = 0.1, absolute: float = 0.0) -> bool:
    """Whether two numbers are the same, as far as an evaluation on other rows and machines can tell.

    >>> near(0.175, 0.19), near(11.2, 14.3), near(0.0, 0.1, absolute=0.2)
    (True, False, True)
    """
    return abs(ours - paper) <= max(relative * abs(paper), absolute)


def percent(value: float, bounds: Sequence[float] | None = None) -> str:
    """A part as text, with its interval.

    >>> percent(0.1116, (0.1, 0.12)), percent(0.00175)
    ('11.2 % (10.0 to 12.0)', '0.18 %')
    """
    digits = 2 if value < 0.01 else 1
    shown = f"{100 * value:.{digits}f} %"
    if bounds is None:
        return shown
    return f"{shown} ({100 * max(bounds[0], 0.0):.{digits}f} to {100 * bounds[1]:.{digits}f})"


def number(curve: dict[str, Any], place: int) -> str:
    """A point of a curve as text, with its interval."""
    return f"{curve['mean'][place]:.3f} ± {curve['half'][place]:.3f}"
