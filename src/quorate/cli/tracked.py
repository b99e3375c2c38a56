"""What `quorate bounds` says of a portfolio: what it did, and what is guaranteed beside the best of its members."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorate.bounds import TrackingCertificate, certify_portfolio
from quorate.errors import CertificateError, LocalError
from quorate.evaluate import Recording, decide
from quorate.rules import Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.rules.portfolio_names import learner_names, member_names
from quorate.runtime.first_rule import first_rule
from quorate.streams import NEVER

__all__ = ["argument", "begun", "certified", "check", "summary"]

#: How many shares a run may leave behind, four a member and label: 400 MB, and as much again while it is certified.
SHARES_MAX = 50_000_000


def begun(n_learners: int, before: Path | None) -> Portfolio:
    """The portfolio as it was when the stream began: unfitted, or as a file has it."""
    rule = first_rule("Portfolio", n_learners, before)
    assert isinstance(rule, Portfolio)
    return rule


def certified(recording: Recording, rule: Portfolio) -> tuple[int, TrackingCertificate | str]:
    """How many mistakes a portfolio makes in the slots with a label, and its certificate, or why there is none.

    >>> import numpy as np
    >>> votes = np.array([[1, 1], [-1, 1]] * 200, np.int8)
    >>> recording = Recording(["ann", "bob"], votes, votes[:, 0], np.arange(400))
    >>> mistakes, certificate = certified(recording, Portfolio(2))
    >>> mistakes, certificate.mistakes_max, argument(certificate, recording)
    (1, 151, 'beside Winnow2 for -1, wrong 0 times')
    """
    new = Portfolio.restore(rule.snapshot())
    decided = decide(recording.as_told(), new)
    mistakes = int(((decided != recording.labels) & (recording.labels != 0)).sum())
    if (reason := _too_long(recording, rule)) is not None:
        return mistakes, reason
    return mistakes, certify_portfolio(recording.votes, recording.labels, arrivals=recording.arrivals, before=rule)


def argument(certificate: TrackingCertificate, recording: Recording) -> str:
    """Whom it compares with, in words; the recording has the names of the learners."""
    if certificate.mistakes_max >= certificate.n_slots:
        return "nothing follows for so few labels, or so many mistakes"
    numbered, named = learner_names(None, certificate.n_learners), learner_names(recording.names, len(recording.names))
    known = dict(zip(member_names(numbered, fitted=True), member_names(named, fitted=True), strict=True))
    members = [known[stretch.member] for stretch in certificate.stretches]
    who = ", then ".join(members) if len(members) < 4 else f"{len(members)} members in turn, from {members[0]} on"
    unlabelled = certificate.n_slots - certificate.n_labels
    return f"beside {who or 'nobody'}, wrong {certificate.members_mistakes} times" + (
        f", and {unlabelled} slots without a label in time" if unlabelled else ""
    )


def check(document: Any, recording: Recording, rule: Portfolio, before: Path | None) -> TrackingCertificate:
    """Read a certificate, and check it against votes and labels, and how the portfolio began."""
    certificate = TrackingCertificate.from_document(document)
    certificate.verify()
    if (reason := _too_long(recording, rule)) is not None:
        raise LocalError(f"the certificate of the portfolio cannot be checked here: only {reason}")
    try:
        certificate.verify(recording.votes, recording.labels, recording.arrivals, rule)
    except CertificateError as error:
        began = f"another than {before} (--before)" if before else "a fitted one: give --before"
        raise CertificateError(f"{error}, or the portfolio that it is about was {began}") from None
    return certificate


def summary(certificate: TrackingCertificate, recording: Recording) -> dict[str, Any]:
    """What the document of `quorate bounds` has of it."""
    return {
        "mistakes_max": certificate.mistakes_max,
        "error_max": certificate.mistakes_max / certificate.n_slots,
        "argument": argument(certificate, recording),
        "confidence": 1.0,
    }


def _too_long(recording: Recording, rule: Portfolio) -> str | None:
    """Why a recording cannot be certified, if its run would leave too much behind."""
    n_labels = int(((recording.arrivals != NEVER) & (recording.labels != 0)).sum())
    a_label = steps.N_COPIES * (steps.N_MEMBERS + 2 * rule.n_voters)
    if n_labels * a_label <= SHARES_MAX:
        return None
    return f"a recording of at most {SHARES_MAX // a_label} labels of {rule.n_learners} learners is certified"
