"""The portfolio: one rule that is good on every stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index, mul
from typing import TYPE_CHECKING, Any, SupportsIndex

from quorate.errors import LocalError, SnapshotError
from quorate.rules import portfolio_steps as steps
from quorate.rules.base import BaseRule
from quorate.rules.fitted_voter import fitted_weights, with_fitted, with_fitted_column
from quorate.rules.inputs import as_label, as_labels, as_matrix, as_votes
from quorate.rules.portfolio_names import learner_names, member_names
from quorate.rules.portfolio_said import Said, is_note
from quorate.rules.portfolio_state import read_portfolio

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from quorate.rules.portfolio_kernels import Trace

__all__ = ["Portfolio"]

_FIXED = steps.N_COPIES * steps.N_MEMBERS


class Portfolio(BaseRule):
    r"""Tracks the best of a small set of members, whatever the stream does.

    The members are the learners and their opposites, the two constant answers, the last label, PWM and its average,
    three logistic regressions on the votes and the last label, Winnow2 for either class, FixedShare, and the plain
    majority.
    Fixed-share Hedge weighs them, in four copies from quick to slow; with :math:`q` the part of the shares that erred,

    .. math:: p_i \leftarrow (1 - g) \frac{1 - \eta [i \text{ erred}]}{1 - \eta q} p_i + g \pi_i,
              \qquad g = (q + 2^{-20}) \eta^2 / 10

    where :math:`\pi` is what they start with: most for those that believe the learners, little for constants and
    opposites. A member that abstains, or has no opinion yet, sleeps: it is neither weighed nor changed. Each copy
    decides by the sign of its sum, and the copies are weighed alike, but share a constant part. So the learning rate
    and the share are learned too, and there is nothing to tune. `docs/portfolio.md` tells how members and numbers were
    chosen, `quorate.bounds.certify_portfolio` what is guaranteed.

    When a label is late, members and copies answer for what they said when the slot was decided, not for what they
    would say now: `note` gives that as a number, and a learner hands it back to `update`.

    Parameters
    ----------
    n_learners
        How many learners vote.

    Examples
    --------
    >>> rule = Portfolio(3)
    >>> rule.run([[1, -1, 1], [-1, -1, 1]] * 50, [-1, 1] * 50)[-4:].tolist()  # the first learner is always wrong
    [-1, 1, -1, 1]
    >>> shares = rule.explain(["ann", "bob", "eve"])
    >>> max(shares, key=shares.get), round(shares["not ann"], 3), round(sum(shares.values()), 6)
    ('PWM', 0.024, 1.0)

    References
    ----------
    [^1]: Herbster, Warmuth, "Tracking the Best Expert", Machine Learning 32 (1998).
    [^2]: Freund, Schapire, Singer, Warmuth, "Using and Combining Predictors That Specialize", STOC (1997), for members
    that sleep.
    """

    def __init__(self, n_learners: int) -> None:
        super().__init__(n_learners)
        n, nothing = self.n_learners, [0.0] * steps.N_LINEAR
        self._state = {
            "linear": [*nothing, *steps.LINEAR_STARTS * n, *nothing],
            "winnow": [1.0] * (2 * n),
            "recent": [1.0] * n,
            "shares": [prior for prior in steps.PRIOR for _ in range(steps.N_COPIES)] + _shares_of_one(n) * n,
            "top": [1 / steps.N_COPIES] * steps.N_COPIES,
            "last": [0.0],
            "fitted": [],
        }
        self._tables = steps.TABLES

    @property
    def weights(self) -> list[float]:
        """The share of each learner less that of its opposite, those of the two constants first; mean of the copies.

        As a part of what all had at the start: those who join and leave bring and take their shares. What is put on
        members that combine votes is not in it, nor how the copies stand: `explain` shows that. What an abstainer has
        here does not change.

        >>> [round(weight, 3) for weight in Portfolio(2).weights]
        [0.0, 0.067, 0.067]
        """
        shares, n = self._state["shares"], steps.N_COPIES
        starts = [0, *range(_FIXED, _FIXED + 2 * n * self.n_learners, 2 * n)]
        whole = n * steps.PRIOR_TOTAL
        return [(sum(shares[at : at + n]) - sum(shares[at + n : at + 2 * n])) / whole for at in starts]

    @property
    def n_voters(self) -> int:
        """How many vote: the learners, and the weights that were fitted if any were."""
        return self.n_learners + bool(self._state["fitted"])

    def explain(self, names: Sequence[str] | None = None) -> dict[str, float]:
        """The current share of each member; together 1.

        Parameters
        ----------
        names
            What to call the learners, all different. Default: learner-1, learner-2, and so on. One that is called as
            another member is ("PWM", or "not ann" beside ann) is told from it by "learner PWM".

        Examples
        --------
        >>> shares = Portfolio(2).explain(["ann", "bob"])
        >>> [round(shares[name], 3) for name in ("ann", "not ann", "plain majority", "last label", "always +1")]
        [0.07, 0.004, 0.141, 0.035, 0.004]
        """
        learners = learner_names(names, self.n_learners)
        members = member_names(learners, fitted=bool(self._state["fitted"]))
        return dict(zip(members, self._shares(), strict=True))

    def _shares(self) -> list[float]:
        """The share of each member, of all copies together."""
        shares, top, n, totals = self._state["shares"], self._state["top"], steps.N_COPIES, self._totals()
        parts = [weight / total / sum(top) for weight, total in zip(top, totals, strict=True)]
        return [sum(map(mul, parts, shares[at : at + n])) for at in range(0, len(shares), n)]

    def share(self, votes: Sequence[int]) -> float:
        """The part of the shares that stands behind +1, from 0 to 1, of the members that are awake."""
        said = self._look(self._all(as_votes(votes, self.n_learners)))
        top, leans, awake = self._state["top"], said.sums[7:11], said.sums[11:15]
        behind = sum(share * (0.5 + 0.5 * lean / total) for share, lean, total in zip(top, leans, awake, strict=True))
        return min(1.0, behind / sum(top))

    def note(self, votes: Sequence[int]) -> int:
        """What members and copies say of a slot now, as a number for `update` when its label comes. Changes nothing.

        >>> Portfolio(2).note([1, 1])
        44673685
        """
        return self._look(self._all(as_votes(votes, self.n_learners))).note()

    def is_note(self, note: SupportsIndex) -> bool:
        """Whether a number can be what `note` gave.

        >>> Portfolio(2).is_note(44673685), Portfolio(2).is_note(3)
        (True, False)
        """
        try:
            return not isinstance(note, bool) and is_note(index(note))
        except TypeError:  # an array of several has an index, too, and says only now that it has none
            return False

    def update(
        self, votes: Sequence[int], label: int, *, synchronous: bool | None = None, note: SupportsIndex | None = None
    ) -> bool:
        """Learn from one labelled slot; True, as something always changes.

        Parameters
        ----------
        votes, label
            As for any rule.
        synchronous
            Makes no difference here.
        note
            What `note` gave when the slot was decided. Default: what it gives now, right where labels come at once.
        """
        if note is None:
            return super().update(votes, label, synchronous=synchronous)
        checked, truth = self._all(as_votes(votes, self.n_learners)), as_label(label)
        return self._learn(checked, truth, self._recall(checked, note))

    def _recall(self, votes: tuple[int, ...], note: SupportsIndex) -> Said:
        if not self.is_note(note):
            raise LocalError(f"{note!r} is no note of a portfolio; give what `note` gave for the slot")
        said = Said()
        said.recall(self._state, votes, self._tables, index(note))
        return said

    def fit(self, votes: ArrayLike, labels: ArrayLike) -> Self:
        """Let the members learn from a block of votes and labels from before the stream, anew.

        The weights that `AdaBoostWeights` finds on the block become one more voter, which no late label misleads. Whom
        to trust stays open: the block does not tell how late the labels of the stream will be. Nor is its last label a
        label of the stream: until one comes there is none.

        Examples
        --------
        >>> rule = Portfolio(3).fit([[-1, -1, 1], [-1, -1, -1]] * 50, [1, -1] * 50)
        >>> rule.predict([-1, -1, 1]), Portfolio(3).predict([-1, -1, 1])
        (1, -1)
        >>> round(rule.explain()["fitted weights"], 3)
        0.035
        """
        matrix = as_matrix(votes, self.n_learners)
        labels = as_labels(labels, len(matrix))
        if not len(matrix):
            self._state = type(self)(self.n_learners)._state
            return self
        weights = fitted_weights(matrix, labels)
        new, taught = type(self)(self.n_learners + 1), type(self)(self.n_learners + 1)
        taught.run(with_fitted_column(matrix, weights, though_absent=True), labels)
        kept = {name: taught._state[name] for name in ("linear", "winnow")}
        self._state = new._state | kept | {"recent": [1.0] * self.n_learners, "fitted": weights}
        return self

    def all_votes(self, votes: NDArray[np.int8]) -> NDArray[np.int8]:
        """Votes of shape (slots, learners), and in one more column what the fitted weights say of them, if any were."""
        return with_fitted_column(votes, self._state["fitted"])

    def _all(self, votes: tuple[int, ...]) -> tuple[int, ...]:
        return with_fitted(votes, self._state["fitted"])

    def _look(self, votes: tuple[int, ...]) -> Said:
        """Ask all members and copies."""
        said = Said()
        said.look(self._state, votes, self._tables)
        return said

    def _learn(self, votes: tuple[int, ...], label: int, said: Said) -> bool:
        state = self._state
        steps.learn(
            votes,
            label,
            said.answers,
            said.copies,
            state["linear"],
            state["winnow"],
            state["recent"],
            state["shares"],
            state["top"],
            state["last"],
            self._tables,
            said.sums,
        )
        return True

    def _predict(self, votes: tuple[int, ...]) -> int:
        return self._look(self._all(votes)).decision

    def _update(self, votes: tuple[int, ...], label: int, synchronous: bool) -> bool:
        votes = self._all(votes)
        return self._learn(votes, label, self._look(votes))

    def _run(self, votes: NDArray[np.int8], labels: NDArray[np.int8]) -> NDArray[np.int8]:
        return self._traced(votes, labels, None, None)

    def _run_late(
        self, votes: NDArray[np.int8], labels: NDArray[np.int8], arrivals: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        return self._traced(votes, labels, arrivals, None)

    def _traced(
        self,
        votes: NDArray[np.int8],
        labels: NDArray[np.int8],
        arrivals: NDArray[np.int64] | None,
        trace: Trace | None,
    ) -> NDArray[np.int8]:
        """Run compiled, writing down what was answered where that is wanted."""
        from quorate.rules.portfolio_kernels import run_portfolio

        decisions, self._state = run_portfolio(
            self.all_votes(votes), labels, arrivals, self._state, trace, self._tables
        )
        return decisions

    def _join(self) -> None:
        state, n = self._state, self.n_learners  # what was fitted votes after all learners
        at = steps.N_LINEAR * (n + 1)
        state["linear"][at:at] = steps.LINEAR_STARTS
        state["winnow"][2 * n : 2 * n] = [1.0, 1.0]
        state["recent"][n:n] = [1.0]
        at = _FIXED + 2 * steps.N_COPIES * n
        parts = [total / steps.PRIOR_TOTAL for total in self._totals()] * 2
        of_one = _shares_of_one(len(state["winnow"]) // 2)
        state["shares"][at:at] = [part * share for part, share in zip(parts, of_one, strict=True)]
        if state["fitted"]:
            state["fitted"].append(0.0)
        self._settle()

    def _leave(self, place: int) -> None:
        state = self._state
        at = steps.N_LINEAR * (place + 1)
        del state["linear"][at : at + steps.N_LINEAR]
        del state["winnow"][2 * place : 2 * place + 2]
        del state["recent"][place]
        at = _FIXED + 2 * steps.N_COPIES * place
        del state["shares"][at : at + 2 * steps.N_COPIES]
        del state["fitted"][place : place + 1]
        self._settle()

    def _settle(self) -> None:
        """Do not let what those bring and leave behind who come and go pile up."""
        shares = self._state["shares"]
        for copy, total in enumerate(self._totals()):
            if not 0.5 <= total / steps.PRIOR_TOTAL <= 2:
                for each in range(copy, len(shares), steps.N_COPIES):
                    shares[each] *= steps.PRIOR_TOTAL / total

    def _totals(self) -> list[float]:
        """The sum of the shares of each copy."""
        return [math.fsum(self._state["shares"][copy :: steps.N_COPIES]) for copy in range(steps.N_COPIES)]

    def snapshot(self) -> dict[str, Any]:
        """Give the whole state as a JSON-able dict."""
        state = {name: list(each) for name, each in self._state.items() if each}  # nothing fitted is nothing
        return {"rule": type(self).__name__, **state, "schema": 1}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Self:
        """Make a rule from its snapshot."""
        state, n_learners = read_portfolio(snapshot, cls)
        rule, wanted = cls(n_learners), cls(n_learners + bool(state["fitted"]))._state
        wanted["recent"], wanted["fitted"] = rule._state["recent"], state["fitted"] and [0.0] * n_learners
        for name, values in state.items():
            if len(values) != len(wanted[name]):
                raise SnapshotError(f"snapshot field {name!r} has {len(values)} numbers, not {len(wanted[name])}")
        rule._state = state
        return rule


def _shares_of_one(n_learners: int) -> list[float]:
    """What one of so many learners starts with in each copy, and then its opposite."""
    return [prior / n_learners for prior in steps.PRIOR_LEARNERS for _ in range(steps.N_COPIES)]
