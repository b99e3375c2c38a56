"""River's streams, for the portfolio: who votes on them, and what those who vote have seen."""

from __future__ import annotations

from itertools import islice

import numpy as np
from river.datasets import synth

from quorate.paper.river_streams import river_streams


def test_a_world_that_jumps_is_rivers_own_rows_one_kind_after_the_other() -> None:
    stream = next(river_streams(3, 1000))
    assert stream.tuning is not None
    drawn = [label for kind in range(4) for _, label in islice(synth.SEA(kind, noise=0.1, seed=3 + kind), 250)]
    assert [*stream.tuning[1], *stream.labels] == [1 if label else -1 for label in drawn]


def test_no_model_votes_on_the_rows_that_it_was_trained_on() -> None:
    for stream in islice(river_streams(4, 1000), 3):
        assert stream.tuning is not None
        votes, labels = stream.tuning
        assert votes.shape == (len(labels), 8) == (8 * 62, 8)
        assert stream.votes.shape == (1000 - 8 * 62, 8)
        assert ((votes == 0) == np.kron(np.eye(8, dtype=bool), np.ones((62, 1), bool))).all()


def test_every_world_is_voted_on_by_three_kinds_of_ensembles_where_there_are_columns_for_all() -> None:
    names = [stream.name for stream in river_streams(5, 400)]
    worlds = {name.rpartition(", ")[0] for name in names}
    assert len(worlds) == 9
    assert len(set(names)) == len(names) == 2 * 9 + 5
    assert {name for name in names if name.startswith("RandomTree")} == {
        "RandomTree, regressions",
        "RandomTree, views",
        "RandomTree, trees too",
    }
