"""Nodes on every kind of log: what they become is what a replay of the log gives, whatever happens to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quorate import ExtendedPWM, Label, Learner, Monitor, Portfolio, Vote
from quorate.ensemble.models import Model
from quorate.errors import LocalError, LogError, ModelError, SnapshotError
from quorate.events import Decision, Event, Join, Labels, Leave, Votes
from quorate.log import Faults, JetStreamLog, MemoryLog, SimulatedLog, run_in_virtual_time
from quorate.log.broker import Broker
from quorate.log.jetstream import connect
from quorate.node import Checkpoint, FileStore, Instance, ListSource, MemoryStore, Node, replay
from quorate.node.worker import Worker
from quorate.runtime.audit import audit

#: How many simulated runs there are; `make torture` asks for more.
SEEDS = int(os.environ.get("QUORATE_SEEDS", "500"))
FIRST_SEED = int(os.environ.get("QUORATE_FIRST_SEED", "0"))
PARTS = 20


class Remembering(Model):
    """A model that votes what it sees, and remembers what it learned."""

    def __init__(self) -> None:
        super().__init__("a", None, (False, True))
        self.learned: list[tuple[Any, bool]] = []

    def vote(self, x: Any) -> int:
        return int(x)

    def learn(self, kept: Any, y: Any) -> None:
        self.learned.append((kept, y))


class SlowSource:
    """Instances that come one by one, now and then, the same ones each time."""

    def __init__(self, views: list[int], pause_s: float, labels: dict[int, Instance] | None = None) -> None:
        self.views, self.pause_s, self.labels = views, pause_s, labels or {}

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        for slot, x in enumerate(self.views):
            if slot > after:
                await asyncio.sleep(self.pause_s)
                yield self.labels.get(slot, Instance(slot, x))


class World:
    """Some nodes, a log and everything that goes wrong, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = draw = random.Random(seed)
        self.rule = Portfolio if seed % 2 else ExtendedPWM
        self.members = [f"n{place}" for place in range(draw.randint(1, 4))]
        self.names = [*self.members, "onlooker"] if draw.random() < 0.3 else list(self.members)
        self.n_slots = draw.randint(5, 40)
        self.horizon = draw.choice([0, 3, 1000])
        self.deadline_s = draw.choice([0.05, 0.5, 5.0])
        self.truth = [draw.choice((-1, 1)) for _ in range(self.n_slots)]
        self.views = {
            name: [0 if draw.random() < 0.1 else y if draw.random() < 0.8 else -y for y in self.truth]
            for name in self.members
        }
        self.comes_later = "late" if draw.random() < 0.3 else None
        if self.comes_later:
            self.names.append("late")
            self.views["late"] = self.views["n0"]
        self.giver = draw.choice([None, *self.members])  # whose source knows labels, and gives them to all
        self.owed: dict[int, Instance] = {}
        if self.giver:
            for slot, x in enumerate(self.views[self.giver]):
                if draw.random() < 0.5:
                    self.owed[slot] = Instance(slot, x or None, self.truth[slot], slot + draw.choice([0, 2, 10]))
        self.shared = MemoryLog()
        self.clients: dict[str, SimulatedLog] = {}
        self.stores = {name: MemoryStore() for name in self.names}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.nodes: dict[str, Node] = {}
        self.issued: dict[str, dict[int, int]] = {name: {} for name in self.names}
        self.crashes = self.checked = 0

    def learner(self, name: str) -> Learner:
        return Learner(name, self.members, self.rule(len(self.members)), horizon=self.horizon, open_slots_max=64)

    def client(self, faults: Faults) -> SimulatedLog:
        return SimulatedLog(self.shared, self.random.randrange(2**32), faults)

    def start(self, name: str) -> None:
        draw = self.random
        self.clients[name] = self.client(Faults.drawn(draw))

        def issue(decision: Decision) -> None:
            # Given again after a crash, but never otherwise.
            assert self.issued[name].setdefault(decision.slot, decision.value) == decision.value

        brings: dict[str, Any] = {}
        if name in self.views:
            owed = self.owed if name == self.giver else None
            pause_s = draw.choice([0.0, 0.01, 0.1])
            brings = {"source": SlowSource(self.views[name], pause_s, owed), "model": Remembering()}
            brings |= {"joins": name == self.comes_later, "batch": draw.choice([1, 4, 512])}
        self.nodes[name] = Node(
            self.learner(name),
            self.clients[name],
            self.stores[name],
            deadline_s=self.deadline_s,
            checkpoint_slots=draw.choice([1, 5, 1000]),
            checkpoint_s=draw.choice([0.2, 1000.0]),
            ahead=draw.choice([1, 8, 32]),
            in_threads=False,
            on_decision=issue,
            **brings,
        )
        self.tasks[name] = asyncio.ensure_future(self.nodes[name].run())

    async def crash(self, name: str) -> None:
        """End a node wherever it is; nothing of it is left but what it had written. At times in peace."""
        self.crashes += 1
        if self.random.random() < 0.2:
            self.nodes[name].stop()
            try:
                await self.tasks[name]
            except LogError as error:  # the log has failed for as long as a node drains: the next life sends it
                if "events unsent: the log was away" not in str(error):
                    raise
            return
        self.tasks[name].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.tasks[name]
        if self.random.random() < 0.3:
            self.stores[name].tear(self.random.randrange(200))

    async def label(self) -> None:
        """Labels late, in disorder, twice, contradicting each other, or never; and some that nobody can use."""
        client = self.client(Faults.drawn(self.random))
        slots = [slot for slot in range(self.n_slots) if self.random.random() < 0.8]
        slots.sort(key=lambda slot: slot + self.random.choice([0, 0, 3, 30]) * self.random.random())
        for slot in slots:
            await asyncio.sleep(self.random.choice([0.0, 0.02, 0.5]))
            event = Label(slot, self.truth[slot])
            strange: list[Event] = [Label(slot + 10**6, 1), Label(slot, -event.value), Vote(slot, "stranger", 1)]
            for sent in [event, *([self.random.choice(strange)] if self.random.random() < 0.1 else [])]:
                while True:
                    try:
                        await client.append([sent])
                        break
                    except LogError:
                        await asyncio.sleep(0.05)

    async def trouble(self) -> None:
        """Crashes, cut links and changes of membership."""
        epoch, inside = 0, False
        for _ in range(self.random.randint(0, 12)):
            await asyncio.sleep(self.random.random() * self.random.choice([0.05, 0.5, 2.0]))
            name = self.random.choice(self.names)
            happening = self.random.random()
            if happening < 0.5:
                await self.crash(name)
                await asyncio.sleep(self.random.random() * self.random.choice([0.0, 0.1, 3.0]))
                self.start(name)
            elif happening < 0.8:
                self.clients[name].cut()
                await asyncio.sleep(self.random.random() * 2)
                self.clients[name].mend()
            else:
                epoch += 1
                epoch = max(epoch, *(node.learner.epoch + 1 for node in self.nodes.values()))
                change: Event = Leave("guest", epoch=epoch) if inside else Join("guest", epoch=epoch)
                inside = not inside
                await self.shared.append([change])

    async def settle(self) -> None:
        """Until every node has done all it can, and read all there is."""
        for _ in range(2000):
            await asyncio.sleep(1.0)
            for name, task in self.tasks.items():
                assert not task.done(), f"{name} ended: {task.exception()!r}"
            last = await self.shared.last()
            if all(node.is_idle and node.position == last for node in self.nodes.values()):
                return
        raise AssertionError("the nodes do not come to rest")

    async def play(self) -> None:
        for name in self.names:
            self.start(name)
        await asyncio.gather(self.label(), self.trouble())
        await self.settle()
        await self.audit()
        for name in self.names:
            await self.crash(name)

    async def audit(self) -> None:
        cast: dict[str, dict[int, int]] = {name: {} for name in self.members}
        given: set[tuple[int, int]] = set()
        last = await self.shared.last()
        async for entry in self.shared.read():
            event = entry.event
            votes = list(event) if isinstance(event, Vote | Votes) else []
            for vote in votes:
                if vote.learner in cast:
                    cast[vote.learner].setdefault(vote.slot, vote.value)
            labels = list(event) if isinstance(event, Label | Labels) else []
            given |= {(label.slot, label.value) for label in labels}
            if entry.position == last:
                break
        for name in self.members:  # no vote is lost, none is changed
            assert cast[name] == {slot: x for slot, x in enumerate(self.views[name]) if x}
        if self.giver:  # no label is lost that was due
            closed = self.nodes[self.giver].learner.last_closed or -1
            assert given >= {(slot, each.label) for slot, each in self.owed.items() if each.due <= closed}
        if self.comes_later:
            assert all(self.comes_later in node.learner.members for node in self.nodes.values())
        for name, node in self.nodes.items():
            fresh = self.learner(name)
            monitor = Monitor(fresh) if self.rule is ExtendedPWM else None
            again = await replay(self.shared, fresh)
            assert node.learner.snapshot() == again.learner.snapshot()
            assert (node.faults, node.position) == (again.faults, again.position)
            assert self.issued[name] == {slot: decision.value for slot, decision in again.decisions.items()}
            if monitor is not None:
                certificate = monitor.certificate()
                certificate.verify()
                assert monitor.mistakes <= certificate.heard_mistakes_max
        for found in await audit(self.shared, [self.learner(name) for name in self.names], lambda name: None):
            assert found.difference is None  # each decision, and its note, is what the log gives where it was made
            self.checked += found.checked


@pytest.mark.parametrize("part", range(PARTS))
def test_simulated_runs(part: int) -> None:
    for seed in range(FIRST_SEED + part, FIRST_SEED + SEEDS, PARTS):
        try:
            run_in_virtual_time(World(seed).play())
        except BaseException:
            print(f"to see it again: QUORATE_FIRST_SEED={seed} QUORATE_SEEDS=1 pytest tests/test_node.py -k simulated")
            raise


def test_the_trouble_is_real() -> None:
    """Over some seeds everything that can go wrong does."""
    crashes, departed, faults, expired, stale, checked = 0, 0, 0, 0, 0, 0
    for seed in range(60):
        world = World(seed)
        run_in_virtual_time(world.play())
        crashes += world.crashes - len(world.names)
        checked += world.checked
        for node in world.nodes.values():
            departed += node.learner.epoch
            faults += node.faults
            expired += node.learner.counters.expired_slots
            stale += node.learner.counters.duplicate_decisions + node.learner.counters.duplicate_votes
    assert min(crashes, departed, faults, expired, stale, checked) > 10


def test_the_same_seed_is_the_same_run() -> None:
    def told(seed: int) -> Any:
        world = World(seed)
        run_in_virtual_time(world.play())
        return [(name, node.learner.snapshot(), node.position) for name, node in world.nodes.items()]

    assert told(11) == told(11)


# A node by itself


def a_node(log: Any, **options: Any) -> Node:
    learner = Learner("a", ["a", "b"], horizon=100)
    return Node(learner, log, in_threads=False, **options)


async def running(node: Node) -> asyncio.Task[None]:
    task = asyncio.ensure_future(node.run())
    await asyncio.sleep(0)
    return task


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_a_straggler_delays_nobody_beyond_the_deadline() -> None:
    async def story() -> None:
        log = MemoryLog()
        decided: list[tuple[float, Decision]] = []
        now = asyncio.get_running_loop().time
        node = a_node(log, deadline_s=0.05, on_decision=lambda decision: decided.append((now(), decision)))
        task = await running(node)
        await log.append([Vote(0, "a", 1), Vote(0, "b", 1)])
        await asyncio.sleep(1)
        await log.append([Vote(1, "a", -1)])  # b is silent
        await asyncio.sleep(1)
        await log.append([Vote(1, "b", 1)])  # too late
        await asyncio.sleep(1)
        (first_s, first), (second_s, second) = decided
        assert first_s == pytest.approx(0.0, abs=0.001)
        assert second_s == pytest.approx(1.05, abs=0.001)
        assert (first.votes, second.votes) == ((1, 1), (-1, 0))
        assert node.learner.counters.late_votes == 1
        await ended(task)

    run_in_virtual_time(story())


def test_votes_gathered_while_the_log_was_away_go_in_one_message() -> None:
    async def story() -> None:
        shared = MemoryLog()
        client = SimulatedLog(shared, 0, Faults())
        source = ListSource([Instance(slot, 1) for slot in range(200)])
        node = a_node(client, source=source, model=Remembering(), ahead=256, deadline_s=0.1)
        task = await running(node)
        client.cut()
        await asyncio.sleep(10)
        client.mend()
        await asyncio.sleep(10)
        assert node.learner.last_closed == 199
        kinds: dict[str, int] = {}
        async for entry in shared.read():
            kinds[type(entry.event).__name__] = kinds.get(type(entry.event).__name__, 0) + 1
            if entry.position == await shared.last():
                break
        assert node.learner.counters.decisions == 200
        assert kinds.pop("Votes") + kinds.pop("Decisions") <= 6
        assert kinds == {}
        await ended(task)

    run_in_virtual_time(story())


def test_a_model_learns_each_label_once_also_over_a_crash() -> None:
    async def story() -> None:
        log, store = MemoryLog(), MemoryStore()
        source = ListSource([Instance(slot, 1 if slot % 2 else -1) for slot in range(20)])
        lives = []
        for life in range(3):
            node = a_node(log, store=store, source=source, model=Remembering(), checkpoint_slots=1, deadline_s=0.01)
            lives.append(node)
            task = await running(node)
            await asyncio.sleep(1)
            await log.append([Label(slot, 1) for slot in range(5 * life, 5 * life + 5)])
            await asyncio.sleep(1)
            node.save()
            await ended(task)
        voter = lives[-1].voter
        assert voter is not None
        assert isinstance(voter.model, Remembering)
        assert voter.model.learned == [(1 if slot % 2 else -1, True) for slot in range(15)]
        assert (
            lives[-1].learner.snapshot()
            == (await replay(log, Learner("a", ["a", "b"], horizon=100))).learner.snapshot()
        )

    run_in_virtual_time(story())


def test_a_model_that_fails_ends_the_node() -> None:
    class Broken(Remembering):
        def learn(self, kept: Any, y: Any) -> None:
            raise ZeroDivisionError("broken")

    async def story(in_threads: bool) -> None:
        log = MemoryLog()
        source = SlowSource([1] * 100, 0.01)
        node = Node(Learner("a", ["a"]), log, source=source, model=Broken(), deadline_s=0.01, in_threads=in_threads)
        task = await running(node)
        await asyncio.sleep(0.2)
        await log.append([Label(slot, 1) for slot in range(3)])
        with pytest.raises(ModelError, match="the model of 'a' raised ZeroDivisionError: broken"):
            await asyncio.wait_for(task, 20)

    run_in_virtual_time(story(in_threads=False))
    asyncio.run(story(in_threads=True))


def test_a_model_that_is_quick_is_asked_at_once_and_one_that_is_not_never() -> None:
    async def story(pause_s: float) -> list[bool]:
        worker = Worker(in_thread=True)

        def ask() -> list[bool]:  # of many it answers one, as a slow model does
            time.sleep(pause_s)
            return [threading.current_thread() is threading.main_thread()]

        answers = [await worker.call(ask, size=size) for size in (100, 100, *range(20, 0, -1))]
        await worker.close()
        return [answer for some in answers for answer in some]

    slow = asyncio.run(story(0.01))
    assert not any(slow)
    quick = asyncio.run(story(0.0))
    assert not quick[0]
    assert any(quick)


def test_a_model_that_becomes_slow_is_asked_at_once_no_longer() -> None:
    async def story() -> None:
        worker, pause_s = Worker(in_thread=True), 0.0

        def ask() -> list[bool]:
            time.sleep(pause_s)
            return [threading.current_thread() is threading.main_thread()]

        async with asyncio.timeout(60):
            while not (await worker.call(ask, size=1))[0]:
                pass  # it is not known yet how quick it is
            pause_s = 0.02
            while (await worker.call(ask, size=1))[0]:
                pass
        await worker.close()

    asyncio.run(story())


@pytest.mark.parametrize("every", [2, 5, 50])
def test_a_model_that_is_slow_now_and_then_is_asked_at_once_no_longer(every: int) -> None:
    async def story() -> None:
        worker, slow_at_once, n_asked, is_known = Worker(in_thread=True), 0, 0, False

        def ask() -> list[bool]:
            nonlocal slow_at_once, n_asked
            n_asked += is_known
            at_once = threading.current_thread() is threading.main_thread()
            if is_known and n_asked % every == 0:
                time.sleep(0.02)
                slow_at_once += at_once
            return [at_once]

        async with asyncio.timeout(60):
            while not (await worker.call(ask, size=1))[0]:
                pass  # it is not known yet how quick it is
            is_known = True
            for _ in range(10 * every):
                await worker.call(ask, size=1)
        await worker.close()
        assert slow_at_once <= 1  # the first, which nobody could foresee

    asyncio.run(story())


def test_threads_and_files_for_real(tmp_path: Path) -> None:
    async def story() -> None:
        log, path = MemoryLog(), tmp_path / "a.checkpoint"
        source = ListSource([Instance(slot, 1 if slot % 3 else -1) for slot in range(300)])
        for until in (100, 300):
            learner = Learner("a", ["a"], horizon=1000)
            node = Node(learner, log, FileStore(path), source=source, model=Remembering(), deadline_s=0.05, ahead=32)
            node.keeper.every_slots = 10
            task = await running(node)
            for _ in range(2000):
                closed = node.learner.last_closed or 0
                if closed >= until - 1:
                    break
                assert not task.done()
                await log.append([Label(slot, 1) for slot in range(max(closed - 3, 0), closed + 1)])
                await asyncio.sleep(0.01)
            else:
                raise AssertionError("the node does not get on")
            await ended(task)
        assert FileStore(path).load() is not None
        again = await replay(log, Learner("a", ["a"], horizon=1000), until=node.position)
        assert node.learner.snapshot() == again.learner.snapshot()

    asyncio.run(story())


def test_another_log_is_refused() -> None:
    async def story() -> None:
        store = MemoryStore()
        store.save(Checkpoint("another", 5, 0, 0, Learner("a", ["a", "b"]).snapshot()))
        with pytest.raises(SnapshotError, match="the checkpoint is of the log 'another'"):
            await a_node(MemoryLog(), store=store).run()

    run_in_virtual_time(story())


def test_bad_settings_are_said() -> None:
    log = MemoryLog()
    for options, text in [
        ({"deadline_s": 0}, "deadline_s is 0"),
        ({"ahead": 10**6}, "ahead 1000000; both must be above 0, and ahead at most 512"),
        ({"batch": 0}, "batch is 0; one message covers 1 to 512"),
        ({"checkpoint_slots": 0}, "checkpoint_slots is 0"),
        ({"model": Remembering()}, "a source and a model, or neither"),
    ]:
        with pytest.raises(LocalError, match=text):
            a_node(log, **options)  # type: ignore[arg-type]


def test_nodes_on_a_real_broker_that_is_killed(tmp_path: Path) -> None:
    """Three nodes, one of them crashed again and again, a broker killed twice: all end as a replay does."""
    members, n_slots = ["a", "b", "c"], 300
    draw = random.Random(0)
    truth = [draw.choice((-1, 1)) for _ in range(n_slots)]
    views = {name: [y if draw.random() < 0.8 else -y for y in truth] for name in members}

    def learner(name: str) -> Learner:
        return Learner(name, members, ExtendedPWM(3), horizon=n_slots)

    async def labels(log: JetStreamLog) -> None:
        for slot in range(n_slots):
            await asyncio.sleep(0.01)
            for attempt in range(200):
                try:
                    await log.append([Label(slot, truth[slot])])
                    break
                except LogError:
                    assert attempt < 199
                    await asyncio.sleep(0.05)

    async def story() -> None:
        async with Broker(tmp_path / "broker") as broker:
            connections = {name: await connect(broker.address, name) for name in [*members, "labels"]}
            logs = {name: await JetStreamLog(each, "grid").open() for name, each in connections.items()}
            nodes: dict[str, Node] = {}
            tasks: dict[str, asyncio.Task[None]] = {}

            def start(name: str) -> None:
                nodes[name] = Node(
                    learner(name),
                    logs[name],
                    FileStore(tmp_path / f"{name}.checkpoint"),
                    source=SlowSource(views[name], 0.01),
                    model=Remembering(),
                    deadline_s=0.2,
                    checkpoint_slots=20,
                )
                tasks[name] = asyncio.ensure_future(nodes[name].run())

            for name in members:
                start(name)
            giving = asyncio.ensure_future(labels(logs["labels"]))
            for trouble in range(4):
                await asyncio.sleep(0.8)
                if trouble % 2:
                    await broker.kill()
                    await broker.start()
                else:
                    await ended(tasks["b"])
                    start("b")
            await giving
            for _ in range(200):
                await asyncio.sleep(0.1)
                last = await logs["labels"].last()
                assert not any(task.done() for task in tasks.values())
                if all(node.is_idle and node.position == last for node in nodes.values()):
                    break
            else:
                told = {
                    name: (node.is_idle, node.position, last, node.learner.last_closed) for name, node in nodes.items()
                }
                raise AssertionError(f"the nodes do not come to rest: {told}")
            for name, node in nodes.items():
                again = await replay(logs["labels"], learner(name))
                assert node.learner.snapshot() == again.learner.snapshot()
                assert node.learner.last_closed == n_slots - 1
                assert node.learner.counters.labels + node.learner.counters.unknown_labels >= n_slots - 5
            for task in tasks.values():
                await ended(task)
            for each in connections.values():
                await each.close()

    asyncio.run(story())


# Checkpoints


def kept(position: int) -> Checkpoint:
    return Checkpoint("log", position, 1, 0, Learner("a", ["a"]).snapshot(), b"model")


def test_a_file_that_was_torn_is_passed_over(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "deep" / "a.checkpoint")
    assert store.load() is None
    store.save(kept(1))
    store.save(kept(2))
    assert store.load() == kept(2)
    whole = store.path.read_bytes()
    for length in range(0, len(whole), 7):
        store.path.write_bytes(whole[:length])
        assert store.load() == kept(1)
    store.path.write_bytes(whole[:-1] + b"X")
    assert store.load() == kept(1)
    store.path.unlink()  # between the two renames
    assert store.load() == kept(1)
    store.previous.write_bytes(b"nonsense")
    with pytest.raises(SnapshotError, match="is no checkpoint"):
        store.load()
    store.path.write_bytes(whole.replace(b"quorate-checkpoint 1", b"quorate-checkpoint 2"))
    with pytest.raises(SnapshotError, match="a checkpoint of form 2; this release reads form 1"):
        store.load()
