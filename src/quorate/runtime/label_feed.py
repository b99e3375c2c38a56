"""Labels that come from elsewhere than the source of a learner: a file or function of their own, or a NATS subject."""

from __future__ import annotations

import asyncio
import logging
from heapq import heappop, heappush
from typing import Any

import msgspec

from quorate.events import Label, fault_of
from quorate.learner import State
from quorate.node import Node, Source

__all__ = ["labels_from_source", "labels_from_subject"]

#: How often is looked whether a label is due, and how many may wait for that.
LOOK_S, WAITING_MAX = 0.02, 1_000_000

_logger = logging.getLogger("quorate.labels")


class _Given(msgspec.Struct):
    slot: int
    value: int


async def labels_from_source(node: Node, source: Source, done: asyncio.Event) -> None:
    """Give all labels of a source, each when what it waits for is decided, none that stands in the log already."""
    waiting: list[tuple[int, int, int]] = []
    async for instance in source.instances(-1):
        if instance.label:
            heappush(waiting, (instance.due, instance.slot, instance.label))
        while waiting and (len(waiting) > WAITING_MAX or waiting[0][0] <= instance.slot):
            await _give(node, *heappop(waiting))
    done.set()  # what is left is given as soon as it is due; nobody has to wait for what never will be
    while waiting:
        await _give(node, *heappop(waiting))


async def _give(node: Node, due: int, slot: int, label: int) -> None:
    while not node.is_live or node.learner.closed_until < due:
        await asyncio.sleep(LOOK_S)
    if node.learner.state_of(slot) is State.CLOSED:
        node.put([Label(slot, label)])


async def labels_from_subject(node: Node, connection: Any, subject: str) -> None:
    """Put what comes on a subject into the log, as labels for all."""
    decode = msgspec.json.Decoder(_Given).decode
    bad = 0
    subscription = await connection.subscribe(subject)
    try:
        async for message in subscription.messages:
            try:
                given = decode(message.data)
                if reason := fault_of(Label(given.slot, given.value)):
                    raise ValueError(reason)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                bad += 1
                if bad % 1000 == 1:
                    _logger.warning("a message on %s is no label (slot, value -1 or 1): %s", subject, error)
                continue
            node.put([Label(given.slot, given.value)])
    finally:
        if connection.is_connected:
            await subscription.unsubscribe()
