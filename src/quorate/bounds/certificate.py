"""A certificate: a number of mistakes that was not exceeded, and all that is needed to check why."""

from __future__ import annotations

from operator import mul
from typing import Any

import msgspec

from quorate.bounds.document import Documented
from quorate.bounds.missing import chance_of_so_few, failure_chance
from quorate.errors import CertificateError

__all__ = ["Certificate", "Part"]


class Part(msgspec.Struct, frozen=True):
    """The slots that share one weight vector, and why it cannot have been updated more often.

    Parameters
    ----------
    slots
        ``all``, ``synchronous`` (nobody abstained) or ``asynchronous``.
    argument
        What the comparison vector is.
    vector, scale
        The comparison vector is `vector` / `scale`, bias first.
    radius_squared
        The largest squared length of a vote vector, the bias included.
    hinge
        The hinge losses of the comparison vector, times `scale`.
    updates_max
        The most updates there can have been.
    waiting_max
        The most slots, of those whose label came, that were waiting for it at once, the one it came for included.
    patterns, counts
        Votes times label, bias first, and in how many slots that was so.
    uncounted, sums
        Slots that are in no pattern, and the sums of their columns.
    start, start_squared
        The weights at the beginning, bias first, and their squared length with those of learners that left since.

    Examples
    --------
    >>> from quorate.bounds import certify
    >>> (part,) = certify([[1, -1]] * 100, [1] * 100, rule="PWM", search=False).parts
    >>> part.argument, part.vector, part.hinge, part.updates_max
    ('best learner', [0, 1, 0], 0, 3)
    """

    slots: str
    argument: str
    vector: list[int]
    scale: int
    radius_squared: int
    hinge: int
    updates_max: int
    waiting_max: int
    patterns: list[list[int]]
    counts: list[int]
    uncounted: int
    sums: list[int]
    start: list[int]
    start_squared: int

    def verify(self) -> None:
        """Derive the number anew, one pattern at a time; raise `CertificateError` where it does not follow."""
        self._check_shape()
        hinge = self.uncounted * max(self.scale, sum(map(abs, self.vector))) - sum(map(mul, self.vector, self.sums))
        for pattern, count in zip(self.patterns, self.counts, strict=True):
            if len(pattern) != len(self.vector) or not {*pattern} <= {-1, 0, 1}:
                raise CertificateError(f"the pattern {pattern} cannot be")
            if sum(map(abs, pattern)) > self.radius_squared:
                raise CertificateError(f"the pattern {pattern} is longer than the radius {self.radius_squared} squared")
            hinge += count * max(0, self.scale - sum(map(mul, self.vector, pattern)))
        if hinge != self.hinge:
            raise CertificateError(f"the hinge losses are {hinge}/{self.scale}, not {self.hinge}/{self.scale}")
        one_more = self.updates_max + 1
        gained = self.scale * one_more - hinge + sum(map(mul, self.vector, self.start))
        length = sum(map(mul, self.vector, self.vector))
        most = length * (self.start_squared + self.radius_squared * one_more)
        # Past the larger root the difference only grows: it must be past it, and not merely before the smaller one.
        growing = 2 * self.scale * gained >= length * self.radius_squared
        if gained <= 0 or gained * gained <= most or not growing:
            raise CertificateError(f"{one_more} updates are not ruled out by the vector {self.vector}/{self.scale}")

    def _check_shape(self) -> None:
        n_columns = len(self.vector)
        least = {"scale": 1, "waiting_max": 1, "updates_max": 0, "uncounted": 0, "start_squared": 0}
        for name, limit in least.items():
            if getattr(self, name) < limit:
                raise CertificateError(f"{name} is {getattr(self, name)}; it is at least {limit}")
        if len(self.counts) != len(self.patterns) or min(self.counts, default=0) < 0:
            raise CertificateError(f"{len(self.patterns)} patterns cannot have the counts {self.counts}")
        if len(self.sums) != (n_columns if self.uncounted else len(self.sums)) or any(
            abs(total) > self.uncounted for total in self.sums
        ):
            raise CertificateError(f"{self.uncounted} uncounted slots cannot have the sums {self.sums}")
        if self.uncounted and self.radius_squared < n_columns:
            raise CertificateError(f"uncounted slots may be longer than the radius {self.radius_squared} squared")
        if len(self.start) != n_columns or sum(map(mul, self.start, self.start)) > self.start_squared:
            raise CertificateError(f"the weights {self.start} to start with do not fit to {self.start_squared}")


class Certificate(Documented, frozen=True):
    """At most so many mistakes, for any votes, labels and delays there could have been.

    Parameters
    ----------
    mistakes_max
        The most decisions, of all slots, that can have been wrong as they were issued.
    heard_mistakes_max
        The same of the slots whose labels came.
    updates_max
        The most updates of the weights there can have been.
    argument
        What gave it, in words.
    confidence
        1 where it holds for certain; less where it rests on how likely a label comes.
    n_slots, n_learners
        What it is about.
    rule
        ``PWM`` or ``ExtendedPWM``.
    n_late, n_never
        Slots whose label had not come by the end, but will; and will not.
    n_before
        Decisions from before the certificate's beginning whose labels came after it.
    n_stale
        Decisions that were made before an update or a change of membership and recorded after it.
    n_departures
        Learners that left meanwhile.
    horizon
        How many later slots a label may come after and still be learned, where that is limited.
    observation_probability, asked_confidence
        How likely a label comes at least, where that is known; and the confidence that was asked for.
    parts
        The arguments, one a weight vector.

    Examples
    --------
    >>> from quorate.bounds import certify
    >>> certificate = certify([[1, -1]] * 100, [1, -1] * 50, rule="PWM", search=False)
    >>> certificate.mistakes_max, certificate.error_max, certificate.argument
    (100, 1.0, 'every slot with a label')
    >>> Certificate.from_document(certificate.document()).verify()
    """

    mistakes_max: int
    heard_mistakes_max: int
    updates_max: int
    argument: str
    confidence: float
    n_slots: int
    n_learners: int
    rule: str
    n_late: int
    n_never: int
    n_before: int
    n_stale: int
    n_departures: int
    horizon: int | None
    observation_probability: float | None
    asked_confidence: float
    parts: list[Part]

    @property
    def error_max(self) -> float:
        """The same as a part of the slots."""
        return self.mistakes_max / self.n_slots if self.n_slots else 0.0

    def verify(self, votes: Any = None, labels: Any = None, arrivals: Any = None) -> None:
        """Check that the number follows; with the data, also that the certificate is about these.

        What it was derived with is not used: every sum is made anew, in Python's integers.

        Raises
        ------
        CertificateError
            It does not follow, or the data are others.
        """
        for part in self.parts:
            part.verify()
        for name in ("n_slots", "n_late", "n_never", "n_before", "n_stale", "n_departures"):
            if getattr(self, name) < 0:
                raise CertificateError(f"{name} is {getattr(self, name)}; it is at least 0")
        updates = sum(part.updates_max for part in self.parts)
        heard_slots = sum(sum(part.counts) + part.uncounted for part in self.parts)
        if heard_slots + self.n_late + self.n_never != self.n_slots + self.n_before:
            raise CertificateError(f"the parts are about {heard_slots} slots of {self.n_slots}, and others are missing")
        waits = sum(part.waiting_max * (part.updates_max + self.n_departures) for part in self.parts)
        heard = min(heard_slots, waits + self.n_before + self.n_stale)
        known = heard + self.n_late
        all_max = min(known + self.n_never, self.n_slots + self.n_before)
        certain = 1.0
        if self.confidence != 1.0:
            certain = self.asked_confidence
            all_max = min(all_max, self._likely(known))
        given = (self.updates_max, self.heard_mistakes_max, self.mistakes_max, self.confidence)
        if given != (updates, heard, all_max, certain):
            raise CertificateError(f"it follows {(updates, heard, all_max, certain)}, but {given} is claimed")
        if votes is not None:
            self._compare(votes, labels, arrivals)

    def _likely(self, known: int) -> int:
        """What is claimed, if one more is unlikely enough."""
        probability, confidence = self.observation_probability, self.asked_confidence
        if probability is None or not 0 < probability < 1 or not 0 < confidence < 1:
            raise CertificateError(f"labels that come with probability {probability} give no confidence {confidence}")
        if chance_of_so_few(known, self.mistakes_max + 1, probability) > failure_chance(known, confidence):
            raise CertificateError(f"{self.mistakes_max + 1} mistakes are not unlikely enough")
        return self.mistakes_max

    def _compare(self, votes: Any, labels: Any, arrivals: Any) -> None:
        """Refuse where the certificate is not about a run over these data from weights of 0."""
        from quorate.bounds.certify import parts_of

        bias = any(pattern[0] for part in self.parts for pattern in part.patterns)
        slots = parts_of(votes, labels, arrivals, self.rule, bias, self.horizon)
        counts = (self.n_slots, self.n_late, self.n_never, self.n_before, self.n_stale, self.n_departures)
        if counts != (slots.n_slots, slots.n_late, slots.n_never, 0, 0, 0):
            raise CertificateError("these votes and labels are not those it is about: the slots are others")
        if [part.slots for part in self.parts] != [shown.slots for shown in slots.parts]:
            raise CertificateError("these votes and labels are not those it is about: its parts are others")
        for part, shown in zip(self.parts, slots.parts, strict=True):
            claimed = dict(zip(map(tuple, part.patterns), part.counts, strict=True))
            found = dict(zip(map(tuple, shown.patterns.rows.tolist()), shown.patterns.counts.tolist(), strict=True))
            same = claimed == found and len(claimed) == len(part.patterns) and not part.uncounted
            enough = shown.waiting_max <= part.waiting_max and shown.radius_squared <= part.radius_squared
            if not same or not enough or any(part.start) or part.start_squared:
                raise CertificateError(f"the {part.slots} slots of these votes and labels are not those it is about")
