"""Some labels in a row over which a portfolio followed one member through one copy, and what that bounds."""

from __future__ import annotations

import math

import msgspec

from quorate.errors import CertificateError
from quorate.rules import portfolio_steps as steps
from quorate.rules.portfolio_names import is_member

__all__ = ["Stretch"]

#: Logarithms are rounded; a bound is what follows if all of them were so much too small.
SLACK = 1e-6
#: Floating-point numbers count so far.
LONGEST = 2**53
#: By what part they may differ from one machine to the next.
ROUNDING = 1e-9


class Stretch(msgspec.Struct, frozen=True):
    """Some labels in a row, and the member that is compared with there.

    Parameters
    ----------
    first, last
        From which label to which, in the order in which they were learned.
    member, copy
        The member's name, and through which of the four copies it is followed.
    member_mistakes, asleep_mistakes
        How often the member was wrong, and how often the copy was where the member slept.
    stale
        Late labels: how often the copy had decided wrong, and would decide right when the label came.
    entry, copy_entry
        The member's share in the copy, and the copy's share, at the beginning.
    given
        What the copy shared out meanwhile, the sum of -ln(1 - g), and by what raising those awake raised all.

    Examples
    --------
    >>> from quorate.bounds import certify_portfolio
    >>> (stretch,) = certify_portfolio([[1, -1]] * 200, [1] * 200).stretches
    >>> stretch.member, stretch.copy, stretch.member_mistakes, stretch.mistakes_max
    ('Winnow2 for +1', 0, 0, 150)
    """

    first: int
    last: int
    member: str
    copy: int
    member_mistakes: int
    asleep_mistakes: int
    stale: int
    entry: float
    copy_entry: float
    given: float

    @property
    def length(self) -> int:
        """How many labels it is about."""
        return self.last - self.first + 1

    @property
    def copy_mistakes_max(self) -> int:
        """The most mistakes the copy can have made."""
        followed = _most(self.entry, self.member_mistakes, self.given, steps.COPY_RATES[self.copy])
        return min(self.length, followed + self.asleep_mistakes + self.stale)

    @property
    def mistakes_max(self) -> int:
        """The most mistakes the copies together can have made."""
        given = -math.log1p(-steps.TOP_SHARE) * self.length
        return min(self.length, _most(self.copy_entry, self.copy_mistakes_max, given, steps.TOP_RATE))

    def nearly(self, other: Stretch) -> Stretch:
        """The same, or the other if they differ by no more than two machines do."""
        ours, theirs = ((each.entry, each.copy_entry, each.given) for each in (self, other))
        if not all(math.isclose(own, its, rel_tol=ROUNDING) for own, its in zip(ours, theirs, strict=True)):
            return self
        return msgspec.structs.replace(self, entry=other.entry, copy_entry=other.copy_entry, given=other.given)

    def check(self, n_learners: int) -> None:
        """Refuse what cannot be."""
        if not 0 <= self.first <= self.last or not 0 <= self.copy < steps.N_COPIES:
            raise CertificateError(f"there is no stretch from {self.first} to {self.last} of copy {self.copy}")
        if not is_member(self.member, n_learners):
            raise CertificateError(f"a portfolio of {n_learners} learners has no member {self.member!r}")
        counts = self.member_mistakes, self.asleep_mistakes, self.stale
        if min(counts) < 0 or max(counts) > self.length:
            raise CertificateError(f"the stretch from {self.first} has fewer mistakes than none, or more than labels")
        if self.last > LONGEST:
            raise CertificateError(f"no stretch has more than {LONGEST} labels")
        least = -math.log1p(-steps.COPY_SHARES[self.copy] * steps.SHARE_LEAST) * self.length * (1 - SLACK)
        if not (0 < self.entry <= 1 and 0 < self.copy_entry <= 1 and least <= self.given <= LONGEST):
            raise CertificateError(f"the stretch from {self.first} has shares that cannot be")


def _most(entry: float, mistakes: int, given: float, rate: float) -> int:
    """The most decisions by weighted majority that were wrong, when one of those weighed made so many mistakes."""
    logarithm = -math.log(entry) - mistakes * math.log1p(-rate) + given
    return math.floor((logarithm + SLACK) / -math.log1p(-rate / 2))
