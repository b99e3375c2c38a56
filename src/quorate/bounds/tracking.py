"""What a portfolio is guaranteed against the best sequence of its members, for the losses that were incurred.

`docs/guarantees.md`, section 6, has the proof. A certificate is a list of stretches. Over each, some member was
followed by some copy, and what was really run bounds the copy's mistakes, and then the portfolio's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from quorate.bounds.document import Documented
from quorate.bounds.inputs import checked, checked_arrivals
from quorate.bounds.stretch import Stretch
from quorate.errors import CertificateError, LocalError
from quorate.rules import Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.rules.inputs import learning_order
from quorate.rules.portfolio_kernels import Trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["TrackingCertificate", "certify_portfolio"]

#: How many mistakes a change of the member must save, in the sequences that are tried.
PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0)
#: Of members with as many mistakes, the one with the larger share at the start is compared with: its bound is smaller.
TIE = 1e-6


class TrackingCertificate(Documented, frozen=True):
    """At most so many mistakes, given how often the members that are compared with were wrong.

    Parameters
    ----------
    mistakes_max
        The most mistakes, of all slots, that the portfolio can have made; a slot without a label counts as one.
    mistakes
        How many it did make, of the slots whose labels were learned.
    n_slots, n_learners, n_labels
        What it is about, and how many labels were learned.
    n_stale
        Late labels: how often it had decided wrong, and would decide right when the label came.
    stretches
        The sequence of members, one stretch after the other.

    Examples
    --------
    >>> certificate = certify_portfolio([[1, -1]] * 100 + [[-1, 1]] * 100, [1] * 200)
    >>> certificate.mistakes, certificate.members_mistakes, certificate.mistakes_max
    (1, 0, 150)
    >>> TrackingCertificate.from_document(certificate.document()).verify()
    """

    mistakes_max: int
    mistakes: int
    n_slots: int
    n_learners: int
    n_labels: int
    n_stale: int
    stretches: list[Stretch]

    @property
    def members_mistakes(self) -> int:
        """How many mistakes the sequence of members made; where one slept, what the copy made."""
        return sum(stretch.member_mistakes + stretch.asleep_mistakes for stretch in self.stretches)

    @property
    def regret(self) -> int:
        """The tracking regret: how many more mistakes than the sequence of members; negative where fewer."""
        return self.mistakes - self.members_mistakes

    def _follows(self) -> int:
        return self._heard_max() + self.n_slots - self.n_labels

    def _heard_max(self) -> int:
        """The most mistakes in slots whose labels were learned."""
        return min(sum(stretch.mistakes_max for stretch in self.stretches) + self.n_stale, self.n_labels)

    def verify(self, votes: Any = None, labels: Any = None, arrivals: Any = None, before: Any = None) -> None:
        """Check that the number follows from the stretches; with the data, that a run over these gives them.

        The data are those that `certify_portfolio` was given.

        >>> certify_portfolio([[1, -1]] * 200, [1] * 200).verify([[1, -1]] * 200)
        Traceback (most recent call last):
        ...
        quorate.errors.LocalError: votes were given without labels; give both, or neither

        Raises
        ------
        CertificateError
            It does not follow, or the data are others.
        """
        if self.n_learners < 1:
            raise CertificateError(f"it is about {self.n_learners} learners")
        expected = 0
        for stretch in self.stretches:
            stretch.check(self.n_learners)
            if stretch.first != expected:
                raise CertificateError(f"a stretch begins at {stretch.first}, not at {expected}")
            expected = stretch.last + 1
        if expected != self.n_labels or self.n_labels > self.n_slots:
            raise CertificateError(f"the stretches are about {expected} labels, not {self.n_labels} of {self.n_slots}")
        if self._follows() != self.mistakes_max:
            raise CertificateError(f"it follows {self._follows()}, but {self.mistakes_max} is claimed")
        if not 0 <= self.n_stale <= self.n_labels:
            raise CertificateError(f"{self.n_stale} stale decisions are not so many of {self.n_labels} labels")
        if not 0 <= self.mistakes <= self._heard_max():
            raise CertificateError(f"{self.mistakes} mistakes are ruled out: it follows {self._heard_max()}")
        if (votes is None) != (labels is None):
            raise LocalError(
                f"{'labels' if votes is None else 'votes'} were given without "
                f"{'votes' if votes is None else 'labels'}; give both, or neither"
            )
        if votes is None and (arrivals is not None or before is not None):
            given = "before" if arrivals is None else "arrivals"
            raise LocalError(f"{given} was given without votes and labels; give these, too, or neither")
        if votes is not None:
            run = _Run(votes, labels, arrivals, before)
            claimed = [(each.first, each.last, each.member, each.copy) for each in self.stretches]
            if any(member not in run.names for _, _, member, _ in claimed) or expected != len(run.labels):
                raise CertificateError("a run over these votes and labels has other members or labels")
            made = run.certificate([run.stretch(*each) for each in claimed])
            mine = [own.nearly(its) for own, its in zip(self.stretches, made.stretches, strict=True)]
            if msgspec.structs.replace(self, stretches=mine, mistakes_max=made.mistakes_max) != made:
                raise CertificateError("a run over these votes and labels gives another certificate")


def _beginning(before: Any, n_learners: int) -> Portfolio:
    """The portfolio as it was when the stream began; what is given is not changed."""
    if before is None:
        return Portfolio(n_learners)
    if isinstance(before, Portfolio):
        if before.n_learners != n_learners:
            raise LocalError(f"before is a portfolio of {before.n_learners} learners; the votes are of {n_learners}")
        return type(before).restore(before.snapshot())
    if not isinstance(before, tuple | list) or len(before) != 2:
        raise LocalError("before is no block; give a pair, its votes and its labels, or the fitted portfolio")
    try:
        return Portfolio(n_learners).fit(*before)
    except LocalError as error:
        raise LocalError(f"before is no block of votes and labels: {error}") from None


class _Run:
    """A run of a portfolio from its beginning, and all that a certificate asks about it, label after label."""

    def __init__(self, votes: Any, labels: Any, arrivals: Any, before: Any) -> None:
        matrix, truth = checked(votes, labels, unknown=True)
        came = checked_arrivals(arrivals, truth)
        self.n_slots, self.n_learners = matrix.shape
        order, _ = learning_order(came)
        rule = _beginning(before, self.n_learners)
        trace = Trace(self.n_slots, rule.n_voters, np.arange(len(order)))
        self.names = list(rule.explain())
        decided = rule._traced(matrix, truth, came, trace)[order]
        self.labels = truth[order]
        voted = rule.all_votes(matrix)
        opposites = np.stack((voted, -voted), axis=2).reshape(self.n_slots, -1)
        answers = np.concatenate((trace.answers, opposites), axis=1)[order]
        self.wrong, self.awake = answers == -self.labels[:, None], answers != 0
        self.mistakes = int((decided != self.labels).sum())
        copies = trace.copies[order]
        weighed = np.where((trace.top * copies).sum(axis=1) >= 0, 1, -1)  # what the copies said, weighed as of now
        self.n_stale = int(((decided != self.labels) & (weighed == self.labels)).sum())
        self.top = trace.top / trace.top.sum(axis=1, keepdims=True)
        self.shares, self.mass, self.given, self.copies_wrong, self.copies_stale = [], [], [], [], []
        for copy in range(steps.N_COPIES):
            shares = trace.shares[:, copy :: steps.N_COPIES]
            awake = (shares * self.awake).sum(axis=1)
            erring = (shares * self.wrong).sum(axis=1) / awake
            now = np.where((shares * answers).sum(axis=1) >= 0, 1, -1)
            mass = shares.sum(axis=1)
            raised = np.log1p(np.maximum(steps.AWAKE_LEAST - awake, 0.0) / mass)
            self.shares.append(shares)
            self.mass.append(mass)
            self.given.append(raised - np.log1p(-steps.COPY_SHARES[copy] * (erring + steps.SHARE_LEAST)))
            self.copies_wrong.append(copies[:, copy] != self.labels)
            self.copies_stale.append((copies[:, copy] != self.labels) & (now == self.labels))

    def stretch(self, first: int, last: int, member: str, copy: int) -> Stretch:
        """What there is to say of a stretch."""
        place, rows = self.names.index(member), slice(first, last + 1)
        awake = self.awake[rows, place]
        return Stretch(
            first=first,
            last=last,
            member=member,
            copy=copy,
            member_mistakes=int(self.wrong[rows, place].sum()),
            asleep_mistakes=int((self.copies_wrong[copy][rows] & ~awake).sum()),
            stale=int((self.copies_stale[copy][rows] & awake).sum()),
            entry=min(1.0, float(self.shares[copy][first, place] / self.mass[copy][first])),
            copy_entry=min(1.0, float(self.top[first, copy])),
            given=float(self.given[copy][rows].sum()),
        )

    def followed(self, first: int, last: int, member: str) -> Stretch:
        """A stretch through the copy that makes most of it."""
        copies = (self.stretch(first, last, member, copy) for copy in range(steps.N_COPIES))
        return min(copies, key=lambda stretch: stretch.mistakes_max)

    def path(self, penalty: float) -> list[tuple[int, int, str]]:
        """The members with the fewest mistakes, an absence counting one, when each change costs so many more."""
        costs = (self.wrong | ~self.awake).astype(np.float64)
        best = costs[0] - TIE * self.shares[0][0] / self.mass[0][0]
        stays = np.ones(costs.shape, bool)
        froms = np.zeros(len(costs), np.intp)
        for label in range(1, len(costs)):
            froms[label] = best.argmin()
            other = best[froms[label]] + penalty
            stays[label] = best <= other
            best = np.minimum(best, other) + costs[label]
        place = int(best.argmin())
        found, last = [], len(costs) - 1
        for label in range(len(costs) - 1, 0, -1):
            if not stays[label, place]:
                found.append((label, last, self.names[place]))
                place, last = int(froms[label]), label - 1
        return [*reversed([*found, (0, last, self.names[place])])]

    def certificate(self, stretches: list[Stretch]) -> TrackingCertificate:
        """Put the stretches together."""
        made = TrackingCertificate(
            0, self.mistakes, self.n_slots, self.n_learners, len(self.labels), self.n_stale, stretches
        )
        return msgspec.structs.replace(made, mistakes_max=made._follows())


def certify_portfolio(
    votes: ArrayLike,
    labels: ArrayLike,
    *,
    arrivals: ArrayLike | None = None,
    before: tuple[ArrayLike, ArrayLike] | Portfolio | None = None,
    switches_max: int | None = None,
) -> TrackingCertificate:
    """Give a number of mistakes that a portfolio cannot have exceeded on these votes and labels.

    It is the smallest of those that follow from each member alone and from sequences of members with few mistakes.

    Parameters
    ----------
    votes
        Of shape (slots, learners): -1, +1, or 0 for an absent learner.
    labels
        Of shape (slots,): -1 or +1, or 0 where the label is not known.
    arrivals
        The slot at whose end each label came, or `quorate.streams.NEVER`.
    before
        Votes and labels of a block before the stream that the portfolio was fitted on (`Portfolio.fit`), or the
        portfolio as it was when the stream began. Default: it was not fitted.
    switches_max
        How often the sequence of members that is compared with may change. Default: as often as helps.

    Examples
    --------
    A learner that is always right, and at half time it is another one:

    >>> votes = [[1, -1], [-1, 1]] * 250 + [[-1, 1], [1, -1]] * 250
    >>> certificate = certify_portfolio(votes, [1, -1] * 500)
    >>> certificate.mistakes, certificate.members_mistakes, certificate.mistakes_max
    (2, 3, 162)
    """
    if switches_max is not None and not (isinstance(switches_max, int) and switches_max >= 0):
        raise LocalError(f"switches_max is {switches_max!r}; it must be a whole number from 0 on")
    run = _Run(votes, labels, arrivals, before)
    paths = [[(0, len(run.labels) - 1, name)] for name in run.names] if len(run.labels) else [[]]
    for penalty in PENALTIES if len(run.labels) else ():
        path = run.path(penalty)
        if switches_max is None or len(path) <= switches_max + 1:
            paths.append(path)
    found = [run.certificate([run.followed(*each) for each in path]) for path in paths]
    return min(found, key=lambda certificate: (certificate.mistakes_max, certificate.members_mistakes))
