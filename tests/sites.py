"""Sites for tests with real processes: what each sees is a function of the slot, so anybody can tell what must come."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

NAMES = [f"site-{place}" for place in range(8)]


def n_slots() -> int:
    return int(os.environ.get("QUORATE_TEST_SLOTS", "1000"))


def _bits(what: str) -> int:
    return blake2b(what.encode(), digest_size=1).digest()[0]


def truth(slot: int) -> int:
    return 1 if _bits(f"truth {slot}") % 2 else -1


def view(name: str, slot: int) -> int:
    """Right four times in five."""
    return truth(slot) if _bits(f"{name} {slot}") % 5 else -truth(slot)


def instances(name: str, after: int) -> Iterator[tuple[int, Any, int]]:
    for slot in range(after + 1, n_slots()):
        yield slot, {"sees": view(name, slot)}, truth(slot)


async def halved(name: str, after: int) -> AsyncIterator[tuple[int, Any, int]]:
    """The second half comes when the file `go` is there: how quick the machine is does not matter."""
    for instance in instances(name, after):
        while instance[0] >= n_slots() // 2 and not Path("go").exists():
            await asyncio.sleep(0.05)
        yield instance


class Counting:
    """A model that says what it sees, and counts what it has learned; it is pickled with each checkpoint."""

    def __init__(self) -> None:
        self.learned = 0

    def predict_one(self, x: dict[str, int]) -> bool:
        return x["sees"] > 0

    def learn_one(self, x: dict[str, int], y: bool) -> None:
        self.learned += 1
