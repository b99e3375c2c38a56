"""What a learner counted: its work, and everything it was told that it could not use."""

from __future__ import annotations

import msgspec

__all__ = ["Counters"]


class Counters(msgspec.Struct):
    """How often each thing happened to a learner.

    Parameters
    ----------
    decisions
        Slots closed.
    labels
        Labels applied, each to a closed slot, each once.
    mistakes
        Labels that differ from the decision as it was issued.
    updates
        Labels that changed the rule.
    late_votes
        Votes for a slot that was closed, expired or passed over.
    duplicate_votes, conflicting_votes
        Second votes of a learner for an open slot, equal to the first or not.
    unknown_labels
        Labels for a slot that was never seen, or is past the horizon.
    duplicate_labels, conflicting_labels
        Second labels for a slot, equal to the first or not.
    duplicate_decisions, conflicting_decisions
        Own decisions for a slot that was decided, equal to the first or not.
    duplicate_changes
        Changes of membership that had been made.
    expired_slots
        Closed slots whose label never came within the horizon.
    skipped_slots
        Open slots that were passed over: a later one was closed first.
    overflowed_slots
        Open slots that were given up, or never opened, because too many were open.
    lost_labels
        Labels that waited in a slot that was passed over or given up.
    """

    decisions: int = 0
    labels: int = 0
    mistakes: int = 0
    updates: int = 0
    late_votes: int = 0
    duplicate_votes: int = 0
    conflicting_votes: int = 0
    unknown_labels: int = 0
    duplicate_labels: int = 0
    conflicting_labels: int = 0
    duplicate_decisions: int = 0
    conflicting_decisions: int = 0
    duplicate_changes: int = 0
    expired_slots: int = 0
    skipped_slots: int = 0
    overflowed_slots: int = 0
    lost_labels: int = 0
