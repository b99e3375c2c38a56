"""Ensembles of distributed learners that classify a common event online, exchanging one bit per event.

>>> from quorate import ExtendedPWM, Label, Learner, Vote
>>> learner = Learner("paris", members=["paris", "tokyo", "lima"], rule=ExtendedPWM(3), horizon=1000)
>>> learner.receive(Vote(slot=1, learner="tokyo", value=-1))
True
>>> learner.close(1)
Decision(slot=1, learner='paris', value=1, votes=(0, -1, 0))
>>> learner.receive(Label(slot=1, value=-1))
True
>>> learner.rule.weights_asynchronous
[-1, 0, 1, 0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quorate._version import __version__
from quorate.errors import LocalError, MissingExtraError, QuorateError, RemoteError
from quorate.events import Decision, Event, Join, Label, Leave, Vote, Votes, decode, encode
from quorate.learner import Counters, Learner
from quorate.rules import (
    PWM,
    AdaBoostWeights,
    AverageMajority,
    BlumMajority,
    ExtendedPWM,
    FixedShare,
    MajorityClass,
    Portfolio,
    PreviousLabel,
    Rule,
    WeightedMajority,
    Winnow2,
)

if TYPE_CHECKING:
    from quorate.bounds import (
        Certificate,
        Monitor,
        TrackingCertificate,
        best_static_rule,
        certify,
        certify_portfolio,
    )
    from quorate.ensemble import Cascade, Ensemble

__all__ = [
    "PWM",
    "AdaBoostWeights",
    "AverageMajority",
    "BlumMajority",
    "Cascade",
    "Certificate",
    "Counters",
    "Decision",
    "Ensemble",
    "Event",
    "ExtendedPWM",
    "FixedShare",
    "Join",
    "Label",
    "Learner",
    "Leave",
    "LocalError",
    "MajorityClass",
    "MissingExtraError",
    "Monitor",
    "Portfolio",
    "PreviousLabel",
    "QuorateError",
    "RemoteError",
    "Rule",
    "TrackingCertificate",
    "Vote",
    "Votes",
    "WeightedMajority",
    "Winnow2",
    "__version__",
    "best_static_rule",
    "certify",
    "certify_portfolio",
    "decode",
    "encode",
]

_LAZY = {
    **dict.fromkeys(("Cascade", "Ensemble"), "quorate.ensemble"),
    **dict.fromkeys(
        ("Certificate", "Monitor", "TrackingCertificate", "best_static_rule", "certify", "certify_portfolio"),
        "quorate.bounds",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
