"""Eight nodes on a broker of their own, against nats-py that does nothing but carry the same messages.

Each learner is a process, as it is in the field, and so is each client of nats-py. These publish, byte for byte and
with the same headers, what the nodes have published just before, each what its learner did, and each reads all of it;
they vote on nothing, decide nothing and learn nothing. They wait for each other as nodes must: a decision for the votes
it is made from, a vote for the decisions it may be ahead of, a label for its decision. They pull what they read, as our
nodes do: the same messages in the same way. And, beside it, they have them pushed: the quickest that nats-py can do.
"""

from __future__ import annotations

import asyncio
import inspect
import statistics
import tempfile
from bisect import bisect_left
from pathlib import Path
from typing import Any, NamedTuple

import nats

from benchmarks.members import NAMES, Message, Span, Work, ours, ours_live, raw, raw_live
from benchmarks.processes import side_by_side
from quorate.events import Decision, Decisions, Event, Label, Labels, Vote, Votes, decode
from quorate.log import JetStreamLog
from quorate.log.broker import Broker
from quorate.log.connection import connect
from quorate.log.reading import FETCH
from quorate.node import Node
from quorate.runtime.schema import EnsembleTable

__all__ = ["BATCHES", "CatchUp", "Latency", "measure"]

#: What a node is told, and how many slots it works through: as a file has it where it says nothing, with messages as
#: long as `Node` has them by itself, and without batches.
BATCHES: dict[str, tuple[dict[str, Any], int]] = {
    "default": ({"ahead": EnsembleTable(name="any").ahead}, 12_000),
    "long": ({}, 60_000),
    "unbatched": ({"ahead": EnsembleTable(name="any").ahead, "batch": 1}, 600),
}
#: How far ahead a node votes where it is told nothing.
AHEAD: int = inspect.signature(Node).parameters["ahead"].default
#: At a rate: how many slots a second, and for how long.
RATE, LIVE_SLOTS = 100.0, 1000


class CatchUp(NamedTuple):
    """One round of both: slots a second, and what they have computed for a slot, the broker included."""

    ours: float
    raw: float
    """It pulls, as we do."""
    pushed: float
    """The broker pushes."""
    ours_cpu_us: float
    raw_cpu_us: float
    pushed_cpu_us: float
    n_messages: int
    slots_a_message: float
    lost_labels: int


class Decided(NamedTuple):
    """The last slot of a decision, how far its learner had read when it made it, and its own place."""

    slot: int
    made_at: int
    place: int


class Latency(NamedTuple):
    """Seconds: half of all, and all but one in a hundred, took no longer."""

    p50: float
    p99: float

    @classmethod
    def of(cls, taken: list[float]) -> Latency:
        """Of so many times."""
        parts = statistics.quantiles(taken, n=100)
        return cls(parts[49], parts[98])


def measure(repeats: int) -> tuple[dict[str, list[CatchUp]], dict[str, list[Latency]]]:
    """Measure both in turn, on the same broker: as fast as possible by batch, and at a rate."""
    return asyncio.run(_measure(repeats))


async def _measure(repeats: int) -> tuple[dict[str, list[CatchUp]], dict[str, list[Latency]]]:
    rounds: dict[str, list[CatchUp]] = {name: [] for name in BATCHES}
    live: dict[str, list[Latency]] = {"a decision": [], "a raw round trip": []}
    async with Broker() as broker:
        for turn in range(repeats):
            for name, (options, n_slots) in BATCHES.items():
                rounds[name].append(await catch_up(broker, f"{name}-{turn}", n_slots, options))
            decided, round_trip = await at_a_rate(broker, f"live-{turn}")
            live["a decision"].append(decided)
            live["a raw round trip"].append(round_trip)
    return rounds, live


async def catch_up(broker: Broker, name: str, n_slots: int, options: dict[str, Any]) -> CatchUp:
    """Let both work through the slots once."""
    with tempfile.TemporaryDirectory() as folder:
        work = Work(broker.address, f"{name}-our", Path(folder), n_slots, options)
        await _declare(broker, f"{name}-our", f"{name}-raw", f"{name}-pushed")
        spans, cpu_us = await _timed(broker, ours, n_slots, [(work, each) for each in NAMES])
        by_name = await published(broker, f"{name}-our", int(options.get("ahead", AHEAD)))
        n_messages = sum(map(len, by_name.values()))

        async def of_raw(kind: str, pulls: bool) -> tuple[list[Span], float]:
            like = work._replace(ensemble=f"{name}-{kind}")
            return await _timed(broker, raw, n_slots, [(like, by_name[each], n_messages, pulls) for each in NAMES])

        raw_spans, raw_cpu_us = await of_raw("raw", pulls=True)
        pushed_spans, pushed_cpu_us = await of_raw("pushed", pulls=False)
    return CatchUp(
        n_slots / _took_s(spans),
        n_slots / _took_s(raw_spans),
        n_slots / _took_s(pushed_spans),
        cpu_us,
        raw_cpu_us,
        pushed_cpu_us,
        n_messages,
        n_slots * (2 * len(NAMES) + 1) / n_messages,
        max(span.lost_labels for span in spans),
    )


async def _timed(
    broker: Broker, program: Any, n_slots: int, arguments: list[tuple[Any, ...]]
) -> tuple[list[Span], float]:
    """Run it; give what each took, and what all have computed for a slot, in us, the broker included."""
    before_s = _cpu_s(broker)
    spans: list[Span] = await side_by_side(program, arguments)
    return spans, (sum(span.cpu_s for span in spans) + _cpu_s(broker) - before_s) / n_slots * 1e6


async def at_a_rate(broker: Broker, name: str) -> tuple[Latency, Latency]:
    """How long a decision takes from when its instance is there, and how long a message takes there and back."""
    with tempfile.TemporaryDirectory() as folder:
        work = Work(broker.address, f"{name}-our", Path(folder), LIVE_SLOTS, {}, RATE)
        await _declare(broker, f"{name}-our", f"{name}-raw")
        taken = await side_by_side(ours_live, [(work, each) for each in NAMES])
        by_name = await published(broker, f"{name}-our", AHEAD)
        work = work._replace(ensemble=f"{name}-raw")
        own = {each: [one for one in by_name[each] if one.kind.endswith(each)] for each in NAMES}  # no labels
        others = await side_by_side(raw_live, [(work, own[each], each) for each in NAMES])
    return Latency.of([each for some in taken for each in some]), Latency.of([each for some in others for each in some])


async def _declare(broker: Broker, *ensembles: str) -> None:
    connection = await connect(broker.address, "benchmark")
    for ensemble in ensembles:
        await JetStreamLog(connection, ensemble).open()
    await connection.close()


async def published(broker: Broker, ensemble: str, ahead: int) -> dict[str, list[Message]]:
    """Who published what, and what it had to wait for."""
    decided: dict[str, list[Decided]] = {name: [] for name in NAMES}
    place = 0
    connection = await nats.connect(broker.address)
    js = connection.jetstream()
    found: dict[str, list[Message]] = {name: [] for name in NAMES}
    left = (await js.stream_info(f"quorate-{ensemble}")).state.messages
    reading = await js.pull_subscribe(f"quorate.{ensemble}.>", stream=f"quorate-{ensemble}")
    while left:
        for message in await reading.fetch(FETCH):
            left, place = left - 1, place + 1
            *_, last = message.subject.split(".")
            name = last if last in found else NAMES[0]
            after = _waited_for(decode(message.data), place, decided[name], ahead)
            kind = message.subject.removeprefix(f"quorate.{ensemble}.")
            found[name].append(Message(kind, message.data, message.headers or {}, after))
            await message.ack()
    await connection.close()
    return found


def _waited_for(event: Event, place: int, decided: list[Decided], ahead: int) -> int:
    """Up to which place a node must have read before it could publish an event."""
    match event:
        case Decision() | Decisions():
            last = event.slot if isinstance(event, Decision) else event.first_slot + event.count - 1
            decided.append(Decided(last, event.at, place))
            return event.at
        case Votes() | Labels():
            last = event.first_slot + event.count - 1
        case Vote() | Label():
            last = event.slot
        case _:
            return 0
    until = last - ahead if isinstance(event, Vote | Votes) else last
    at = bisect_left(decided, until, key=lambda each: each.slot)
    if until < 0 or at == len(decided):
        return 0
    # A vote goes with the decision that makes room for it; a label waits until the decision is read back.
    return decided[at].made_at if isinstance(event, Vote | Votes) else decided[at].place


def _took_s(spans: list[Span]) -> float:
    return max(span.end for span in spans) - min(span.begin for span in spans)


def _cpu_s(broker: Broker) -> float:
    """What the broker has computed so far, where the system tells."""
    stat = Path(f"/proc/{broker.pid}/stat")
    if not stat.is_file():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100
