"""A million slots at K = 16 fit in 64 MiB, open or pending: the growth of a real process is measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMIT_KIB = 64 * 1024

PREPARE = """
import resource
from quorate import Learner, Votes
names = [f"n{place}" for place in range(16)]
million = 1_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""

PENDING = """
learner = Learner("n0", names, horizon=million)
for slot in range(million + 1000):
    if slot % 50_000 == 0:
        for name in names:
            learner.receive(Votes.pack(name, slot, [1] * 500))
    learner.close(slot)
kept, lost = len(learner._fold.slots) - 1, learner.counters.expired_slots
"""

OPEN = """
learner = Learner("n0", names, horizon=10, open_slots_max=million)
for first in range(0, million + 50_000, 50_000):
    learner.receive(Votes.pack("n1", first, [1, -1] * 25_000))
kept, lost = len(learner._fold.slots), learner.counters.overflowed_slots
"""

REPORT = """
print(kept, lost, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(("fill", "lost"), [(PENDING, 999), (OPEN, 50_000)], ids=["pending", "open"])
def test_a_million_slots_fit(fill: str, lost: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + fill + REPORT], capture_output=True, text=True, check=True, timeout=300
    )
    kept, seen_lost, grown_kib = map(int, done.stdout.split())
    assert (kept, seen_lost) == (1_000_000, lost)
    assert grown_kib < LIMIT_KIB
