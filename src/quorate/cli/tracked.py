"""What `quorate bounds` says of a portfolio: what it did, and what is guaranteed beside the best of its members."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorate.bounds import TrackingCertificate, certify_portfolio
from quorate.errors import CertificateError
from quorate.evaluate import Recording, decide
from quorate.rules import Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.runtime.first_rule import first_rule

__all__ = ["argument", "begun", "check", "summary", "tracked"]

#: How many shares a run may leave behind, four a member and label: 400 MB.
SHARES_MAX = 50_000_000


def begun(n_learners: int, before: Path | None) -> Portfolio:
    """The portfolio as it was when the stream began: unfitted, or as a file has it."""
    rule = first_rule("Portfolio", n_learners, before)
    assert isinstance(rule, Portfolio)
    return rule


def tracked(recording: Recording, rule: Portfolio) -> tuple[int, TrackingCertificate | str]:
    """How many mistakes a portfolio makes in the slots with a label, and its certificate, or why there is none.

    >>> import numpy as np
    >>> votes = np.array([[1, 1], [-1, 1]] * 200, np.int8)
    >>> mistakes, certificate = tracked(Recording(["ann", "bob"], votes, votes[:, 0], np.arange(400)), Portfolio(2))
    >>> mistakes, certificate.mistakes_max, argument(certificate)
    (1, 151, 'beside Winnow2 for -1, wrong 0 times')
    """
    new = Portfolio.restore(rule.snapshot())
    decided = decide(recording.as_told(), new)
    mistakes = int(((decided != recording.labels) & (recording.labels != 0)).sum())
    n_shares = len(recording.labels) * steps.N_COPIES * (steps.N_MEMBERS + 2 * rule.n_voters)
    if n_shares > SHARES_MAX:
        n_slots = SHARES_MAX * len(recording.labels) // n_shares
        return mistakes, f"a recording of at most {n_slots} slots of so many learners is certified"
    return mistakes, certify_portfolio(recording.votes, recording.labels, arrivals=recording.arrivals, before=rule)


def argument(certificate: TrackingCertificate) -> str:
    """Whom it compares with, in words."""
    members = [stretch.member for stretch in certificate.stretches]
    who = ", then ".join(members) if len(members) < 4 else f"{len(members)} members in turn, from {members[0]} on"
    return f"beside {who or 'nobody'}, wrong {certificate.members_mistakes} times"


def check(document: Any, recording: Recording, before: Path | None) -> TrackingCertificate:
    """Read a certificate, and check it against votes and labels, and how the portfolio began."""
    certificate = TrackingCertificate.from_document(document)
    certificate.verify()
    try:
        certificate.verify(recording.votes, recording.labels, recording.arrivals, begun(len(recording.names), before))
    except CertificateError as error:
        hint = "--before has the one that it is about" if before else "if the portfolio was fitted, give --before"
        raise CertificateError(f"{error}; {hint}") from None
    return certificate


def summary(certificate: TrackingCertificate) -> dict[str, Any]:
    """What the document of `quorate bounds` has of it."""
    return {
        "mistakes_max": certificate.mistakes_max,
        "error_max": certificate.mistakes_max / certificate.n_slots,
        "argument": argument(certificate),
        "confidence": 1.0,
    }
