"""What each of eight processes does: a learner at work, or nats-py alone with the same messages."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nats
import nats.errors
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from benchmarks.processes import Gate
from quorate.ensemble.models import wrap
from quorate.events import Decision
from quorate.learner import Learner
from quorate.log import JetStreamLog
from quorate.log.jetstream import connect
from quorate.log.publishing import WINDOW
from quorate.log.reading import FETCH, FETCH_S
from quorate.node import FileStore, Instance, ListSource, Node, end_all

__all__ = ["NAMES", "Message", "Span", "Work", "a_node", "instances_of", "ours", "ours_live", "raw", "raw_live"]

#: K = 8.
NAMES = [f"learner-{place}" for place in range(8)]
#: How often is looked whether all is done.
LOOK_S = 0.02


class Work(NamedTuple):
    """What is to be done."""

    address: str
    ensemble: str
    folder: Path
    n_slots: int
    options: dict[str, Any]
    """For the node; nothing for its defaults."""
    rate: float = 0.0
    """Slots a second; 0 for as fast as possible."""


class Message(NamedTuple):
    """What one of our nodes published."""

    kind: str
    """The end of its subject."""
    payload: bytes
    headers: dict[str, str]
    after: int
    """How many messages it had to have read before."""

    def to(self, ensemble: str) -> dict[str, Any]:
        """What nats-py publishes for another ensemble."""
        headers = {**self.headers, "Nats-Expected-Stream": f"quorate-{ensemble}"}
        return {"subject": f"quorate.{ensemble}.{self.kind}", "payload": self.payload, "headers": headers}


def instances_of(name: str, n_slots: int) -> list[Instance]:
    """What a learner sees: its vote, wrong once in ten times; the first learner knows the labels."""
    draw, truth = random.Random(name), random.Random(0)
    seen = []
    for slot in range(n_slots):
        label = truth.choice((-1, 1))
        x = label if draw.random() < 0.9 else -label
        seen.append(Instance(slot, x, label, slot) if name == NAMES[0] else Instance(slot, x))
    return seen


def as_seen(x: int) -> int:
    """The model: it takes the same time for everything."""
    return x


def a_node(log: Any, store: Any, name: str, source: Any, **options: Any) -> Node:
    """A node of eight, with all else as it is by default."""
    return Node(Learner(name, NAMES), log, store, source=source, model=wrap(name, as_seen, (False, True)), **options)


# As fast as possible


class Span(NamedTuple):
    """When work began and ended, by the machine's monotonic clock, and what the process has computed meanwhile."""

    begin: float
    end: float
    cpu_s: float
    lost_labels: int = 0
    """Labels that came when the horizon was past."""


async def ours(gate: Gate, work: Work, name: str) -> Span:
    """A learner works through all slots, until it has heard the last label."""
    connection = await connect(work.address, name)
    log = await JetStreamLog(connection, work.ensemble).open()
    source = ListSource(instances_of(name, work.n_slots))
    node = a_node(log, FileStore(work.folder / name), name, source, deadline_s=60.0, **work.options)
    begin, cpu_s = await gate(), time.process_time()
    running = asyncio.ensure_future(node.run())
    while (counters := node.learner.counters).labels + counters.unknown_labels < work.n_slots:
        await asyncio.sleep(LOOK_S)
        if running.done():
            running.result()
    span = Span(begin, time.monotonic(), time.process_time() - cpu_s, counters.unknown_labels)
    await end_all([running])
    await connection.close()
    return span


async def raw(gate: Gate, work: Work, messages: Sequence[Message], n_messages: int, pulls: bool) -> Span:
    """Publish these messages and read those of all; wait for each as a node must: until it has read enough.

    Parameters
    ----------
    gate, work
        When all begin, and what is done.
    messages, n_messages
        What this one publishes, and how many all publish.
    pulls
        Whether it asks the broker for messages, as our nodes do, or has them pushed.
    """
    connection = await nats.connect(work.address)
    js = connection.jetstream(publish_async_max_pending=WINDOW)
    n_read, more, done = 0, asyncio.Event(), asyncio.Event()

    def count(n_more: int) -> None:
        nonlocal n_read
        n_read += n_more
        more.set()
        if n_read >= n_messages:
            done.set()

    async def taken(message: Any) -> None:
        count(1)

    async def pull(reading: Any) -> None:
        while not done.is_set():
            with contextlib.suppress(nats.errors.TimeoutError):
                count(len(await reading.fetch(FETCH, timeout=FETCH_S)))

    if pulls:
        reading = asyncio.ensure_future(pull(await _reader(js, work.ensemble, ">")))
    else:
        stream = f"quorate-{work.ensemble}"
        await js.subscribe(f"quorate.{work.ensemble}.>", stream=stream, ordered_consumer=True, cb=taken)
    prepared = [(each.after, each.to(work.ensemble)) for each in messages]
    begin, cpu_s = await gate(), time.process_time()
    answers = []
    for after, message in prepared:
        while n_read < after:
            more.clear()
            await more.wait()
        answers.append(await js.publish_async(**message))
    await asyncio.gather(*answers)
    await done.wait()
    span = Span(begin, time.monotonic(), time.process_time() - cpu_s)
    if pulls:
        await reading
    await connection.close()
    return span


async def _reader(js: Any, ensemble: str, subjects: str) -> Any:
    """The consumer that our nodes read by, made by nats-py."""
    config = ConsumerConfig(
        ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL, mem_storage=True, inactive_threshold=60.0
    )
    return await js.pull_subscribe(f"quorate.{ensemble}.{subjects}", stream=f"quorate-{ensemble}", config=config)


# At a rate


class Paced:
    """A source that gives an instance at a time, and remembers when."""

    def __init__(self, instances: list[Instance], rate: float) -> None:
        self._instances, self._rate = instances, rate
        self.begin = 0.0
        self.given: list[float] = []

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        for instance in self._instances[after + 1 :]:
            await _until(self.begin + instance.slot / self._rate)
            self.given.append(time.monotonic())
            yield instance


async def _until(instant: float) -> None:
    wait = instant - time.monotonic()
    if wait > 0:
        await asyncio.sleep(wait)


async def ours_live(gate: Gate, work: Work, name: str) -> list[float]:
    """A learner decides as instances come; give how long each took, until its decision was read back."""
    connection = await connect(work.address, name)
    log = await JetStreamLog(connection, work.ensemble).open()
    source = Paced(instances_of(name, work.n_slots), work.rate)
    taken: list[float] = []

    def decided(decision: Decision) -> None:
        taken.append(time.monotonic() - source.given[decision.slot])

    node = a_node(log, FileStore(work.folder / name), name, source, on_decision=decided, **work.options)
    source.begin = await gate() + 0.5
    running = asyncio.ensure_future(node.run())
    while len(taken) < work.n_slots:
        await asyncio.sleep(0.1)
        if running.done():
            running.result()
    await asyncio.sleep(0.5)  # the others may not be done
    await end_all([running])
    await connection.close()
    return taken


async def raw_live(gate: Gate, work: Work, messages: Sequence[Message], name: str) -> list[float]:
    """Publish a learner's votes and decisions, spread over the same time, and read them; give how long each took.

    One at a time, and its own only: for more at once nats-py would wait until all of them are there.
    """
    connection = await nats.connect(work.address)
    js = connection.jetstream(publish_async_max_pending=WINDOW)
    reading = await _reader(js, work.ensemble, f"*.{name}")
    begin = await gate() + 0.5
    sent: dict[bytes, float] = {}
    taken: list[float] = []

    async def publish() -> None:
        answers = []
        for place, message in enumerate(messages):
            await _until(begin + place * work.n_slots / work.rate / len(messages))
            sent[message.payload] = time.monotonic()
            answers.append(await js.publish_async(**message.to(work.ensemble)))
        await asyncio.gather(*answers)

    publishing = asyncio.ensure_future(publish())
    while len(taken) < len(messages):
        (message,) = await reading.fetch(1, timeout=10)
        taken.append(time.monotonic() - sent[message.data])
    await publishing
    await connection.close()
    return taken
