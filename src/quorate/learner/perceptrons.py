"""PWM and its extension over many packed rows of votes at once, for a learner that is given batches.

A perceptron changes only by mistakes, so all rows up to the next one are decided by one product of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import mul
from typing import TYPE_CHECKING

from quorate.packing import CODE_OF, VALUE_OF, bytes_needed, is_packed, rows_of, unpack
from quorate.rules import PWM, ExtendedPWM, Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["decided", "fits", "learned"]

#: How many votes are unpacked at once, and how many rows are learned together.
_VOTES_MAX, _MANY = 1 << 20, 512
#: Fewer rows than these are quicker one by one, and so are all where the rule errs in more than this part of them.
_FEW, _OFTEN = 64, 0.06
_PLUS, _MINUS = CODE_OF[1], CODE_OF[-1]


def fits(rule: Rule, n_labels: int = 0) -> bool:
    """Whether this is a rule known here, with weights whose sums a float holds exactly, also after so many labels."""
    halves = _halves(rule)
    return halves is not None and all(sum(map(abs, each)) + n_labels * len(each) < 1 << 53 for each in halves)


def _halves(rule: Rule) -> tuple[list[int], list[int]] | None:
    """The weights for rows without an abstention, and for the others."""
    if type(rule) is ExtendedPWM:
        return rule.weights_synchronous, rule.weights_asynchronous
    return (rule.weights, rule.weights) if type(rule) is PWM else None


def decided(rule: Rule, rows: bytes, n_learners: int) -> bytes:
    r"""The codes of what a rule that fits decides from each row, a byte each.

    >>> from quorate.packing import pack
    >>> rule = PWM(2)
    >>> rule.update([1, 1], -1)
    True
    >>> decided(rule, pack([1, 1]) + pack([-1, -1]), 2)
    b'\x02\x01'
    """
    if len(rows) < _FEW * bytes_needed(n_learners):
        code_of = _CodeOf(rule, n_learners)
        return bytes([code_of[row] for row in rows_of(rows, n_learners)])
    return b"".join(_codes(rule, votes).tobytes() for votes in _parts(rows, n_learners))


def learned(rule: Rule, rows: bytes, n_learners: int, labels: bytes | bytearray) -> int:
    """Let a rule that fits learn each row's label, given as a code, 0 for none; give how often it changed.

    Many rows are looked at together, and after a mistake those that are left of them. A rule that errs often is given
    some rows one by one, which is quicker then, and takes time in proportion to the rows.
    """
    width, updates, done = bytes_needed(n_learners), 0, 0
    while done < len(labels):
        stop = min(done + min(_MANY, _rows_at_once(n_learners)), len(labels))
        some, truth = rows[done * width : stop * width], labels[done:stop]
        n_learned, changes = (0, 0) if stop - done < _FEW else _learned_many(rule, some, n_learners, truth)
        if n_learned < stop - done:
            changes += _learned_few(rule, some[n_learned * width :], n_learners, truth[n_learned:])
        updates, done = updates + changes, stop
    return updates


def _learned_many(rule: Rule, rows: bytes, n_learners: int, labels: bytes | bytearray) -> tuple[int, int]:
    """Learn from the first on, until all are done or the rule errs often; give how many are, and its changes."""
    import numpy as np

    (votes,) = _parts(rows, n_learners)
    truth = np.frombuffer(bytes(labels), np.uint8)
    done = updates = 0
    while updates <= _OFTEN * (done + _FEW):
        wrong = (_codes(rule, votes[done:]) != truth[done:]) & (truth[done:] != 0)
        place = int(wrong.argmax())
        if not wrong[place]:
            return len(labels), updates
        done += place
        updates += rule.update([int(vote) for vote in votes[done].tolist()], VALUE_OF[labels[done]])
        done += 1
        if done == len(labels):
            break
    return done, updates


def _learned_few(rule: Rule, rows: bytes, n_learners: int, labels: bytes | bytearray) -> int:
    updates = 0
    code_of = _CodeOf(rule, n_learners)
    for row, label in zip(rows_of(rows, n_learners), labels, strict=True):
        if label and code_of[row] != label:
            updates += rule.update(unpack(row, n_learners), VALUE_OF[label])
            code_of = _CodeOf(rule, n_learners)
    return updates


class _CodeOf(dict[bytes, int]):
    """The code of what a rule that fits decides from a row, with the weights that it has now."""

    def __init__(self, rule: Rule, n_learners: int) -> None:
        super().__init__()
        halves = _halves(rule)
        assert halves is not None
        self._synchronous, self._asynchronous = halves
        self._n_learners = n_learners

    def __missing__(self, row: bytes) -> int:
        votes = unpack(row, self._n_learners)
        weights = self._asynchronous if 0 in votes else self._synchronous
        code = self[row] = _PLUS if sum(map(mul, weights, (1, *votes))) >= 0 else _MINUS
        return code


def _codes(rule: Rule, votes: NDArray[np.float64]) -> NDArray[np.uint8]:
    import numpy as np

    halves = _halves(rule)
    assert halves is not None
    margins = votes @ np.array(halves[0][1:], np.float64) + halves[0][0]
    if halves[0] != halves[1] and not votes.all():
        others = votes @ np.array(halves[1][1:], np.float64) + halves[1][0]
        margins = np.where(votes.all(axis=1), margins, others)
    return np.where(margins >= 0, np.uint8(1), np.uint8(2))


def _rows_at_once(n_learners: int) -> int:
    return max(1, _VOTES_MAX // n_learners)


def _parts(rows: bytes, n_learners: int) -> Iterator[NDArray[np.float64]]:
    """The votes of all rows, of shape (rows, learners), in parts; as floats, whose products are the quickest."""
    import numpy as np

    width = bytes_needed(n_learners)
    step = _rows_at_once(n_learners) * width
    for first in range(0, len(rows), step):
        votes = _four().take(np.frombuffer(rows[first : first + step], np.uint8)).view(np.int8)
        yield votes.reshape(-1, 4 * width)[:, :n_learners].astype(np.float64)


@cache
def _four() -> NDArray[np.uint32]:
    """The four votes of each byte, as one number; zeros for bytes that hold none."""
    import numpy as np

    each = [unpack(bytes([byte]), 4) if is_packed(bytes([byte]), 4) else (0, 0, 0, 0) for byte in range(256)]
    return np.array(each, np.int8).view(np.uint32)[:, 0]
