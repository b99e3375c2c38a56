"""The paper's evaluation, regenerated."""

from quorate.paper.layout import N_LEARNERS, RealVotes, real_votes, rows_needed

__all__ = ["N_LEARNERS", "RealVotes", "real_votes", "rows_needed"]
