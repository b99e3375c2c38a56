"""Who votes, who did before, and how votes of an earlier membership read today."""

from __future__ import annotations

from collections.abc import Sequence

from quorate.errors import MembersError, MessageError, StrangerError
from quorate.events import Decision, Join, Leave, is_name

__all__ = ["EPOCHS_KEPT", "Membership", "checked_name"]

#: How many former memberships are remembered, to understand decisions that were under way at a change.
EPOCHS_KEPT = 64


class Membership:
    """The members in the order of the rule's weights, and the number of changes there were.

    Parameters
    ----------
    members
        Their names.
    epoch
        How many changes there were.
    former
        The members of earlier epochs, as far as remembered.

    Examples
    --------
    >>> membership = Membership(["paris", "tokyo"])
    >>> membership.apply(Join("lima")), membership.apply(Leave("paris"))
    (2, 0)
    >>> membership.members, membership.epoch
    (('tokyo', 'lima'), 2)
    >>> membership.as_of_now(Decision(slot=1, learner="paris", value=1, votes=(1, -1), epoch=0))
    (-1, 0)
    """

    def __init__(
        self, members: Sequence[str], epoch: int = 0, former: dict[int, tuple[str, ...]] | None = None
    ) -> None:
        self.members = _checked_members(members)
        self.epoch = epoch
        self.former = former or {}
        self.place_of = {member: place for place, member in enumerate(self.members)}

    def place(self, learner: str, what: str) -> int:
        """The place of a member; `what` is the event that names it."""
        place = self.place_of.get(learner)
        if place is None:
            raise StrangerError(f"a {what} of {learner!r}, who is no member; the members are {', '.join(self.members)}")
        return place

    def is_new(self, change: Join | Leave) -> bool:
        """Whether a change is still to be made; a change that cannot be made raises."""
        joins = isinstance(change, Join)
        made = (change.learner in self.place_of) == joins
        if made if change.epoch is None else change.epoch <= self.epoch:
            return False
        if change.epoch is not None and change.epoch > self.epoch + 1:
            raise MessageError(f"change of membership {change.epoch} came, but {self.epoch + 1} is the next")
        if made:
            raise MessageError(
                f"{change.learner!r} cannot {'join' if joins else 'leave'}: "
                f"it is {'already' if joins else 'not'} a member"
            )
        if not joins and len(self.members) == 1:
            raise MessageError(f"{change.learner!r} cannot leave: it is the last member")
        return True

    def apply(self, change: Join | Leave) -> int:
        """Make a change that is new; give the place that was filled or emptied."""
        if isinstance(change, Join):
            place = len(self.members)
            members = (*self.members, change.learner)
        else:
            place = self.place_of[change.learner]
            members = (*self.members[:place], *self.members[place + 1 :])
        self.former[self.epoch] = self.members
        self.former.pop(self.epoch - EPOCHS_KEPT, None)
        self.members = members
        self.place_of = {member: place for place, member in enumerate(members)}
        self.epoch += 1
        return place

    def check_votes(self, slot: int, epoch: int, n_votes: int) -> None:
        """Refuse a decision of an epoch that is not known, or had another number of members."""
        members = self._at(epoch)
        if members is None:
            raise MessageError(
                f"the decision on slot {slot} is of epoch {epoch}; "
                f"this learner knows {min(self.former, default=self.epoch)} to {self.epoch}"
            )
        if n_votes != len(members):
            raise MessageError(
                f"the decision on slot {slot} has {n_votes} votes; epoch {epoch} had {len(members)} members"
            )

    def as_of_now(self, decision: Decision) -> tuple[int, ...]:
        """The votes of a decision in the order of today's members: who left is gone, who joined abstained."""
        if decision.epoch == self.epoch:
            return decision.votes
        vote_of = dict(zip(self._at(decision.epoch) or (), decision.votes, strict=True))
        # Who left and joined again is a new learner under an old name, so every epoch between counts.
        for epoch in range(decision.epoch + 1, self.epoch + 1):
            present = self._at(epoch) or ()
            vote_of = {member: vote for member, vote in vote_of.items() if member in present}
        return tuple(vote_of.get(member, 0) for member in self.members)

    def _at(self, epoch: int) -> tuple[str, ...] | None:
        return self.members if epoch == self.epoch else self.former.get(epoch)


def checked_name(name: object) -> str:
    """Refuse what is no learner's name."""
    if isinstance(name, str) and is_name(name):
        return name
    raise MembersError(f"{name!r} is no learner's name; a name is 1 to 64 letters, digits, '_' or '-'")


def _checked_members(members: Sequence[str]) -> tuple[str, ...]:
    if isinstance(members, str):
        raise MembersError(f"members is {members!r}; give a sequence of names")
    checked = tuple(checked_name(member) for member in members)
    if not checked:
        raise MembersError("members is empty; an ensemble has at least 1 learner")
    for place, member in enumerate(checked):
        if member in checked[:place]:
            raise MembersError(f"{member!r} is named twice among the members")
    return checked
