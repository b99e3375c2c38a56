"""What the members and copies of a portfolio say of one slot, and the note of it."""

from __future__ import annotations

from quorate.rules import portfolio_steps as steps

__all__ = ["Said", "is_note"]

_VARYING = slice(2, steps.N_MEMBERS - 1)  # the members whose answers the votes alone do not tell
_NOTE_DIGITS = steps.N_MEMBERS - 3 + steps.N_COPIES  # base 4, one for each of those and each copy


def is_note(number: int) -> bool:
    """Whether a number can be a note.

    >>> is_note(44673685), is_note(3)
    (True, False)
    """
    digits = _digits(number)
    return 0 <= number < 4**_NOTE_DIGITS and 3 not in digits and 1 not in digits[-steps.N_COPIES :]


def _digits(note: int) -> list[int]:
    return [note >> 2 * place & 3 for place in range(_NOTE_DIGITS)]


class Said:
    """What they say of one slot. Each asking has its own, so that asking changes nothing, in whatever thread.

    Attributes
    ----------
    answers, copies
        -1, +1, or 0 for a member that sleeps.
    sums
        Of the members and of the shares, as `quorate.rules.portfolio_steps` leaves them.
    decision
        The portfolio's.
    """

    __slots__ = ("answers", "copies", "decision", "sums")

    def __init__(self) -> None:
        self.answers = [0] * steps.N_MEMBERS
        self.copies = [0] * steps.N_COPIES
        self.sums = [0.0] * steps.N_SCRATCH
        self.decision = 0

    def look(self, state: dict[str, list[float]], votes: tuple[int, ...], tables: list[float]) -> None:
        """Ask them now."""
        self._ask(state, votes, state["last"][0])
        self._weigh(state, votes, tables)

    def recall(self, state: dict[str, list[float]], votes: tuple[int, ...], tables: list[float], note: int) -> None:
        """Ask them now, and put what the note tells that they answered then in the place of it."""
        answers = [digit - 1 for digit in _digits(note)]
        self._ask(state, votes, answers[0] * abs(state["last"][0]))
        self.answers[_VARYING] = answers[: -steps.N_COPIES]
        self._weigh(state, votes, tables)
        self.copies[:] = answers[-steps.N_COPIES :]

    def note(self) -> int:
        """What they say, as a number of 26 bits."""
        note = 0
        for answer in reversed([*self.answers[_VARYING], *self.copies]):
            note = 4 * note + int(answer) + 1
        return note

    def _ask(self, state: dict[str, list[float]], votes: tuple[int, ...], memory: float) -> None:
        steps.ask(votes, memory, state["linear"], state["winnow"], state["recent"], self.answers, self.sums)

    def _weigh(self, state: dict[str, list[float]], votes: tuple[int, ...], tables: list[float]) -> None:
        self.decision = steps.weigh(votes, self.answers, state["shares"], state["top"], self.copies, tables, self.sums)
