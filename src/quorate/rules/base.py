"""What a rule is, and the base class that gives one its manners.

A rule sees only votes and labels. It knows nothing of slots, names, delays or networks: that is the learner's
work (`quorate.Learner`), which hands a rule one labelled slot at a time.
"""

from __future__ import annotations

import abc
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import msgspec

from quorate.errors import LocalError, SnapshotError
from quorate.rules.inputs import (
    are_plain,
    as_arrivals,
    as_count,
    as_label,
    as_labels,
    as_matrix,
    as_place,
    as_votes,
    learning_order,
)

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["BaseRule", "ExplainingRule", "FittingRule", "NotingRule", "Rule", "read_state", "read_versioned"]


@runtime_checkable
class Rule(Protocol):
    """How votes become a decision and how labels change that; your own class may be one.

    The first four members are what a rule is; the others let a learner save it and change its membership.
    `quorate.rules.check_rule` tests that a class keeps these conventions; `BaseRule` gives it most of them.
    """

    @property
    def n_learners(self) -> int:
        """How many learners vote."""

    @property
    def weights(self) -> Sequence[float]:
        """A copy of the weights, the bias first, then one a learner."""

    def predict(self, votes: Sequence[int]) -> int:
        """Decide on one slot: -1 or +1, from one vote (-1, 0 or +1) a learner. Changes nothing."""

    def update(self, votes: Sequence[int], label: int, *, synchronous: bool | None = None) -> bool:
        """Learn from one labelled slot; True when the rule changed.

        `synchronous` says whether every member voted when the slot was closed. By default the votes tell; a
        learner says it where membership has changed since.
        """

    def run(self, votes: ArrayLike, labels: ArrayLike) -> NDArray[np.int8]:
        """Predict, then update, row after row: exactly what the loop gives, but compiled."""

    def join(self) -> None:
        """Take in one more learner, after the others.

        With weight 0; where weights are multiplied, which a 0 would never leave, with the least that one has; in a
        portfolio with the share that a learner starts with.
        """

    def leave(self, place: int) -> None:
        """Forget the learner at this place and its weight."""

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""


@runtime_checkable
class NotingRule(Rule, Protocol):
    """A rule that wants to be told, with a late label, what it noted when the slot was decided.

    From `predict` and `update` alone a rule cannot know how late labels are: what it says now of a slot whose label has
    come may be better than what it said then. A learner keeps the note with the slot, and hands it back.
    """

    def note(self, votes: Sequence[int]) -> int:
        """What to remember of a slot that is decided now: a number of up to 32 bits. Changes nothing."""

    def is_note(self, note: int) -> bool:
        """Whether a number can be what `note` gave: it may come from a file, or from afar."""

    def update(
        self, votes: Sequence[int], label: int, *, synchronous: bool | None = None, note: int | None = None
    ) -> bool:
        """Learn from one labelled slot, with its note; without, as if it had been decided just now."""

    def run(self, votes: ArrayLike, labels: ArrayLike, arrivals: ArrayLike | None = None) -> NDArray[np.int8]:
        """Predict row after row, and update with the notes, each after the row at which its label arrives."""


@runtime_checkable
class ExplainingRule(Rule, Protocol):
    """A rule that can say what it trusts, where its weights do not: reports and metrics show that, too."""

    def explain(self, names: Sequence[str] | None = None) -> dict[str, float]:
        """The share of each of what it tracks, together 1; `names` are the learners', in order."""


@runtime_checkable
class FittingRule(Rule, Protocol):
    """A rule that can learn from a block of votes and labels from before the stream."""

    def fit(self, votes: ArrayLike, labels: ArrayLike) -> Self:
        """Learn the block, anew; give the rule itself."""


class BaseRule(abc.ABC):
    """A rule with its inputs checked: write `_predict`, `_update`, the state, and you have one.

    Parameters
    ----------
    n_learners
        How many learners vote.

    Examples
    --------
    A rule of your own, that believes the first learner and nobody else:

    >>> class First(BaseRule):
    ...     weights = property(lambda self: [0, 1] + [0] * (self.n_learners - 1))
    ...     def _predict(self, votes): return votes[0] or 1
    ...     def _update(self, votes, label, synchronous): return False
    ...     def _join(self): pass
    ...     def _leave(self, place): pass
    ...     def snapshot(self): return {"rule": "First", "n_learners": self.n_learners}
    ...     @classmethod
    ...     def restore(cls, snapshot): return cls(snapshot["n_learners"])
    >>> First(2).run([[1, -1], [-1, 1]], [1, 1]).tolist()
    [1, -1]
    >>> First(2).predict([1, 2])
    Traceback (most recent call last):
    ...
    quorate.errors.VotesError: votes[1] is 2; votes are -1, 0 or +1
    """

    def __init__(self, n_learners: int) -> None:
        self._n_learners = as_count(n_learners)

    @property
    def n_learners(self) -> int:
        """How many learners vote."""
        return self._n_learners

    @property
    @abc.abstractmethod
    def weights(self) -> Sequence[float]:
        """A copy of the weights, the bias first, then one a learner."""

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in parameters)})"

    def predict(self, votes: Sequence[int]) -> int:
        """Decide on one slot: -1 or +1. Changes nothing."""
        return self._predict(as_votes(votes, self._n_learners))

    def update(self, votes: Sequence[int], label: int, *, synchronous: bool | None = None) -> bool:
        """Learn from one labelled slot; True when the rule changed.

        Parameters
        ----------
        votes
            One vote a learner: -1, +1, or 0 for an abstention.
        label
            The truth, -1 or +1.
        synchronous
            Whether every member voted when the slot was closed; by default the votes tell.
        """
        checked = as_votes(votes, self._n_learners)
        return self._update(checked, as_label(label), 0 not in checked if synchronous is None else synchronous)

    def run(self, votes: ArrayLike, labels: ArrayLike, arrivals: ArrayLike | None = None) -> NDArray[np.int8]:
        """Predict, then update, row after row; give the predictions.

        Parameters
        ----------
        votes
            Any array-like of integers or booleans of shape (N, K): -1, 0, +1, or False and True for -1 and +1.
        labels
            N labels, -1 or +1 (or False and True).
        arrivals
            The row after which each label is learned; a negative number for never. Default: its own.
        """
        if arrivals is None and are_plain(votes, labels, self._n_learners):
            decisions = self._run_unchecked(votes, labels)  # type: ignore[arg-type]
            if decisions is not None:
                return decisions
        matrix = as_matrix(votes, self._n_learners)
        truth = as_labels(labels, len(matrix))
        if arrivals is None:
            return self._run(matrix, truth)
        return self._run_late(matrix, truth, as_arrivals(arrivals, len(matrix)))

    def join(self) -> None:
        """Take in one more learner, after the others."""
        self._join()
        self._n_learners += 1

    def leave(self, place: int) -> None:
        """Forget the learner at this place (from 0) and its weight."""
        place = as_place(place, self._n_learners)
        if self._n_learners == 1:
            raise LocalError("the last learner cannot leave: a rule needs at least one")
        self._leave(place)
        self._n_learners -= 1

    @abc.abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""

    @classmethod
    @abc.abstractmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""

    @abc.abstractmethod
    def _predict(self, votes: tuple[int, ...]) -> int:
        """Decide from checked votes."""

    @abc.abstractmethod
    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        """Learn from checked votes and a checked label."""

    @abc.abstractmethod
    def _join(self) -> None:
        """Give a new learner, after the others, its weight of 0."""

    @abc.abstractmethod
    def _leave(self, place: int) -> None:
        """Forget the weight at a checked place."""

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        """Run over checked arrays; a rule with a compiled form overrides this loop."""
        decisions = labels.copy()
        for row, (row_votes, label) in enumerate(zip(votes.tolist(), labels.tolist(), strict=True)):
            slot_votes = tuple(row_votes)
            decisions[row] = self._predict(slot_votes)
            self._update(slot_votes, label, 0 not in slot_votes)
        return decisions

    def _run_unchecked(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8] | None:
        """Run over arrays of the right shape and type; None, and no change, where a value is bad or may be.

        A rule whose compiled form checks the values as it meets them overrides this, and saves a reading of them.
        """
        return None

    def _run_late(
        self, votes: NDArray[np.int8], labels: NDArray[np.int8], arrivals: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        """Run over checked arrays whose labels come late; one that is compiled or takes notes overrides this loop."""
        order, learned = learning_order(arrivals)
        decisions = labels.copy()
        done = 0
        for slot, until in enumerate(learned):
            decisions[slot] = self._predict(tuple(votes[slot].tolist()))
            for late in order[done:until]:
                late_votes = tuple(votes[late].tolist())
                self._update(late_votes, int(labels[late]), 0 not in late_votes)
            done = until
        return decisions


StateT = TypeVar("StateT", bound=msgspec.Struct)


def read_state(snapshot: object, state: type[StateT], rule: type) -> StateT:
    """Read a rule's snapshot into the struct that describes it, or say what is wrong with it and where."""
    read = read_versioned(snapshot, state, "rule snapshot")
    if read.rule != rule.__name__:  # type: ignore[attr-defined]
        raise SnapshotError(f"the snapshot is of rule {read.rule!r}, not of {rule.__name__!r}")  # type: ignore[attr-defined]
    return read


def read_versioned(snapshot: object, state: type[StateT], what: str) -> StateT:
    """Read a versioned document into the struct that describes it.

    The struct's last field is ``schema``, its default the version this release reads.

    >>> class Point(msgspec.Struct):
    ...     x: int
    ...     schema: int = 1
    >>> read_versioned({"x": 1, "schema": 2}, Point, "point")
    Traceback (most recent call last):
    ...
    quorate.errors.SnapshotError: the point has schema 2; this release reads schema 1: use the release that wrote it
    """
    if not isinstance(snapshot, dict):
        raise SnapshotError(f"the {what} is a {type(snapshot).__name__}, not a dict")
    if "schema" not in snapshot:
        raise SnapshotError(f"the {what} has no field 'schema'; it is incomplete or not a {what}")
    newest = state.__struct_defaults__[-1]
    if snapshot["schema"] != newest:
        raise SnapshotError(
            f"the {what} has schema {snapshot['schema']!r}; this release reads schema {newest}: "
            "use the release that wrote it"
        )
    try:
        return msgspec.convert(snapshot, state)
    except msgspec.ValidationError as error:
        raise SnapshotError(f"the {what} cannot be restored: {error}") from None
