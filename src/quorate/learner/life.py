"""The life of a slot, as a table.

Theory of operation
===================

A learner is a fold over events. What it knows of a slot is one of five states, and what can happen to a slot
is one of seven inputs; `LIFE` says for each pair which state follows and what the learner does. Nothing else in
the learner decides what an event means.

The paper's Algorithm 2, and where each line of it lives:

- *"If s_j(n) is received for all j ... else s_j(n) <- 0"* and the prediction (equation 1): closing a slot. The caller
  says when (``close``): all have voted, or a deadline has passed. The core has no clock. A vote that was not there at
  that moment is 0 for ever, and whether all were there is kept with the votes.
- *"For each instant m <= n such that y(m) is observed"*: a label. It may come late, out of order, twice or never.
- *"If s_j(m) != 0 for all j"*: which of the two weight vectors a label updates follows from the votes as slot m was
  closed, with the membership of then, not of now.
- *"If y(m) != sgn(w . s(m))"*: the update (equation 2) re-evaluates slot m with the weights of now. Whether the
  decision as it was issued was wrong is counted apart (``Counters.mistakes``): theorem 4 confuses the two.

What the paper leaves open, decided here:

- The first vote of a learner for a slot counts; a repeat and a contradiction are counted and change nothing.
- A vote for a slot that was closed is late: counted, nothing else.
- An abstention, the 0 in a batch of votes, opens its slot and changes nothing else: that there was something to vote on
  is known, and if nobody votes, the slot is decided nevertheless, and its label can be learned.
- A label for an open slot waits in the slot until it is closed, and is applied right after.
- The first label counts, a repeat and a contradiction are counted. A label for a slot that was never seen, or that
  the horizon has passed, is counted.
- Slots are closed in growing order. One that was passed over can never be closed; its votes are dropped and counted.
- A closed slot waits for its label while at most ``horizon`` later slots have been closed (the paper's maximum delay
  d: label m may arrive in slot m + d, not after). Then it expires: dropped and counted.

- Too many open slots: the highest are given up first, since a sender can name any slot but only close ones matter.

So memory is bounded by the horizon, for closed slots, and by ``open_slots_max``, for open ones.

A learner's state is a fold over all events it received, in their order, votes included: a label that comes before its
slot is closed waits only where a vote has opened the slot. Its own decisions are among these events. Deciding
(``decide``) and closing (receiving the decision) are two steps, so that a runtime can write the decision into a
log in between and every learner that reads the log closes the slot at the same place in it. ``close`` does both.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["LIFE", "Input", "State"]


class State(Enum):
    """What a learner knows of a slot."""

    UNSEEN = "no vote has come, and no later slot is closed"
    OPEN = "votes are gathered"
    CLOSED = "decided; the label is awaited"
    LABELLED = "decided and labelled; kept until the horizon, to know a repeated label as one"
    PAST = "expired, passed over, or past the horizon: nothing is kept"


class Input(Enum):
    """What can happen to a slot."""

    VOTE = "a member's vote"
    ABSTENTION = "a member that has seen it does not vote"
    LABEL = "the truth"
    CLOSE = "the decision is made"
    HORIZON = "more than `horizon` later slots have been closed"
    PASSED_OVER = "a later slot is closed"
    OVERFLOW = "too many slots are open, and this is the highest"


#: State and input, to the next state and the method of `Fold` that acts.
LIFE: dict[State, dict[Input, tuple[State, str]]] = {
    State.UNSEEN: {
        Input.VOTE: (State.OPEN, "_open_and_record"),
        Input.ABSTENTION: (State.OPEN, "_open"),
        Input.LABEL: (State.UNSEEN, "_count_unknown_label"),
        Input.CLOSE: (State.CLOSED, "_open_and_close"),
    },
    State.OPEN: {
        Input.VOTE: (State.OPEN, "_record"),
        Input.ABSTENTION: (State.OPEN, "_ignore"),
        Input.LABEL: (State.OPEN, "_hold_label"),
        Input.CLOSE: (State.CLOSED, "_close"),
        Input.PASSED_OVER: (State.PAST, "_pass_over"),
        Input.OVERFLOW: (State.UNSEEN, "_give_up"),
    },
    State.CLOSED: {
        Input.VOTE: (State.CLOSED, "_count_late_vote"),
        Input.ABSTENTION: (State.CLOSED, "_ignore"),
        Input.LABEL: (State.LABELLED, "_learn"),
        Input.CLOSE: (State.CLOSED, "_compare_decision"),
        Input.HORIZON: (State.PAST, "_expire"),
    },
    State.LABELLED: {
        Input.VOTE: (State.LABELLED, "_count_late_vote"),
        Input.ABSTENTION: (State.LABELLED, "_ignore"),
        Input.LABEL: (State.LABELLED, "_compare_label"),
        Input.CLOSE: (State.LABELLED, "_compare_decision"),
        Input.HORIZON: (State.PAST, "_forget"),
    },
    State.PAST: {
        Input.VOTE: (State.PAST, "_count_late_vote"),
        Input.ABSTENTION: (State.PAST, "_ignore"),
        Input.LABEL: (State.PAST, "_count_unknown_label"),
        Input.CLOSE: (State.PAST, "_count_duplicate_decision"),
    },
}
