"""Masud and others' multi-partition, multi-chunk ensemble."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any

from quorate.schemes.base import ChunkScheme, Instance, at_least

__all__ = ["MultiPartitionEnsemble"]


class MultiPartitionEnsemble(ChunkScheme):
    """From the last r chunks, v members a chunk, each trained on all but one of v partitions; the best are kept.

    The rows of the last `n_chunks` chunks are dealt at random into `n_partitions` parts. For each part a member is
    trained on the others, and its error is found on that part; older members' errors on the newest chunk. The
    `n_members` * `n_partitions` with the least error stay, and have one vote each.

    Parameters
    ----------
    model
        The prototype of the members: any River or scikit-learn classifier.
    window
        How many rows make a chunk.
    n_members
        How many members there are at the most, for each partition.
    n_chunks
        r, how many chunks new members are trained on.
    n_partitions
        v, into how many parts these are dealt.
    seed
        Deals the rows.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from quorate.schemes import MultiPartitionEnsemble
    >>> model = MultiPartitionEnsemble(naive_bayes.GaussianNB())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.08%

    References
    ----------
    [^1]: Masud, Gao, Khan, Han, Thuraisingham, "A Multi-partition Multi-chunk Ensemble Technique to Classify
    Concept-Drifting Data Streams", PAKDD 2009.
    """

    def __init__(
        self,
        model: Any,
        window: int = 100,
        n_members: int = 8,
        n_chunks: int = 2,
        n_partitions: int = 5,
        seed: int = 0,
    ) -> None:
        super().__init__(model, window, n_members, seed)
        self.n_chunks = n_chunks
        self.n_partitions = n_partitions
        at_least("n_chunks", n_chunks, 1)
        at_least("n_partitions", n_partitions, 2)
        self._chunks: deque[tuple[list[Instance], list[Hashable]]] = deque(maxlen=n_chunks)

    def _learn_chunk(self, xs: list[Instance], ys: list[Hashable]) -> None:
        judged = [(sum(member.errors(xs, ys)) / len(xs), member) for member in self._members]
        chunks = [*self._chunks, (xs, ys)][-self.n_chunks :]
        rows = [(x, y) for chunk in chunks for x, y in zip(*chunk, strict=True)]
        self._rng.shuffle(rows)
        parts = [rows[part :: self.n_partitions] for part in range(self.n_partitions)]
        for held in range(self.n_partitions):
            rest = [row for part in range(self.n_partitions) if part != held for row in parts[part]]
            if not rest or not parts[held]:
                continue
            member = self._trained([x for x, _ in rest], [y for _, y in rest])
            wrong = member.errors([x for x, _ in parts[held]], [y for _, y in parts[held]])
            judged.append((sum(wrong) / len(wrong), member))
        best = sorted(range(len(judged)), key=lambda place: judged[place][0])[: self.n_members * self.n_partitions]
        self._members = [judged[place][1] for place in sorted(best)]
        self._weights = [1.0] * len(best)
        self._chunks.append((xs, ys))
