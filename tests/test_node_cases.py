"""What once went wrong with a node, each as the smallest story that shows it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from quorate import Decision, ExtendedPWM, Label, Learner, Portfolio, Vote, Votes
from quorate.errors import LocalError, LogError, SnapshotError
from quorate.events import Join, Labels, Leave, encode
from quorate.log import Faults, MemoryLog, SimulatedLog, run_in_virtual_time
from quorate.node import Checkpoint, Instance, ListSource, MemoryStore, Node
from quorate.node.checkpoint import packed, unpacked
from quorate.node.keeper import Keeper
from quorate.node.replay import applied
from quorate.node.voter import Voter
from tests.test_node import Remembering, SlowSource


async def at_work(*nodes: Node) -> Callable[[], Coroutine[Any, Any, None]]:
    """Nodes that run; what is given ends them."""
    tasks = [asyncio.ensure_future(node.run()) for node in nodes]
    await asyncio.sleep(0)

    async def end() -> None:
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    return end


def test_one_vote_on_a_far_slot_ends_nothing() -> None:
    async def story() -> None:
        log = MemoryLog()
        views = [1] * 60
        nodes = [
            Node(
                Learner(name, ["a", "b", "c"], open_slots_max=64),
                log,
                source=SlowSource(views, 0.1),
                model=Remembering(),
                deadline_s=0.05,
                ahead=8,
                in_threads=False,
            )
            for name in ("a", "b")
        ]
        end = await at_work(*nodes)
        await log.append([Vote(10**15, "c", 1)])
        for slot in range(10**6, 10**6 + 500, 7):  # and many more
            await log.append([Votes.pack("c", 10**9 + slot, [1] * 3)])
        await asyncio.sleep(20)
        for node in nodes:
            assert node.learner.last_closed == 59
            assert node.learner.counters.decisions == 60
            assert node.is_idle
            assert len(node._deadlines._runs) <= 64
        await end()

    run_in_virtual_time(story())


def test_models_that_abstain_at_first_learn_nevertheless() -> None:
    """Nobody votes, but all have seen it: the slot is decided, its label comes, and the models learn."""

    class Shy(Remembering):
        def vote(self, x: Any) -> int:
            return int(x) if len(self.learned) > 3 else 0

    async def story() -> None:
        log, truth = MemoryLog(), [1, -1] * 20
        owed = {slot: Instance(slot, y, y, slot) for slot, y in enumerate(truth)}
        nodes = [
            Node(
                Learner(name, ["a", "b"]),
                log,
                source=SlowSource(truth, 0.05, owed if name == "a" else None),
                model=Shy(),
                deadline_s=0.1,
                ahead=2,
                in_threads=False,
            )
            for name in ("a", "b")
        ]
        end = await at_work(*nodes)
        await asyncio.sleep(60)
        for node in nodes:
            assert node.learner.counters.decisions == node.learner.counters.labels == 40
            assert node.learner.counters.mistakes < 10
            assert node.voter is not None
            assert isinstance(node.voter.model, Remembering)
            assert len(node.voter.model.learned) == 40
        await end()

    run_in_virtual_time(story())


def test_a_giver_that_crashed_comes_to_rest() -> None:
    """Its labels stand in the log, and a broker that drops repeats will not deliver them again."""

    async def story() -> None:
        shared = MemoryLog()
        owed = {slot: Instance(slot, 1, 1, slot) for slot in range(5)}
        for _ in range(2):
            client = SimulatedLog(shared, 0, Faults(dropped=1.0))
            node = Node(
                Learner("a", ["a"]),
                client,
                source=SlowSource([1] * 5, 0.0, owed),
                model=Remembering(),
                in_threads=False,
            )
            end = await at_work(node)
            await asyncio.sleep(5)
            assert node.is_idle
            assert node.learner.counters.labels == 5
            await end()

    run_in_virtual_time(story())


def test_a_label_is_learned_once_also_where_a_batch_repeats_some() -> None:
    async def story() -> None:
        log, store = MemoryLog(), MemoryStore()
        source = ListSource([Instance(slot, 0) for slot in range(20)])  # it sees all, and never votes
        learned = []
        for life in range(2):
            model = Remembering()
            learner = Learner("a", ["a", "b"])
            node = Node(learner, log, store, source=source, model=model, deadline_s=0.1, in_threads=False)
            end = await at_work(node)
            await log.append([Votes.pack("b", 0, [1] * 20)])
            await asyncio.sleep(2)
            await log.append([Labels.pack(0, [1] * (10 * life + 10))])
            await asyncio.sleep(2)
            node.stop()
            await asyncio.sleep(2)
            await end()
            assert node.voter is not None
            assert isinstance(node.voter.model, Remembering)
            learned = node.voter.model.learned
        assert len(learned) == 20

    run_in_virtual_time(story())


def test_a_model_waits_for_labels_also_where_slots_are_sparse() -> None:
    async def story() -> None:
        log, model = MemoryLog(), Remembering()
        slots = range(0, 300_000, 100)
        source = ListSource([Instance(slot, 1) for slot in slots])
        node = Node(Learner("a", ["a"], horizon=2000), log, source=source, model=model, in_threads=False)
        end = await at_work(node)
        await asyncio.sleep(20)
        await log.append([Label(slot, 1) for slot in slots])
        await asyncio.sleep(5)
        assert len(model.learned) == node.learner.counters.labels == 2001
        await end()

    run_in_virtual_time(story())


def test_who_has_left_votes_no_more_and_joins_only_when_told() -> None:
    async def story() -> None:
        log, store = MemoryLog(), MemoryStore()

        def node(**options: Any) -> Node:
            source = SlowSource([1] * 2000, 0.05)
            learner = Learner("late", ["a"])
            return Node(
                learner, log, store, source=source, model=Remembering(), joins=True, in_threads=False, **options
            )

        async def votes() -> int:
            found = 0
            async for entry in log.read():
                found += isinstance(entry.event, Vote | Votes) and entry.event.learner == "late"
                if entry.position == await log.last():
                    break
            return found

        first = node()
        end = await at_work(first)
        await asyncio.sleep(3)
        assert "late" in first.learner.members
        await log.append([Leave("late", epoch=2)])
        await asyncio.sleep(1)
        cast = await votes()
        await asyncio.sleep(3)
        assert await votes() == cast
        first.stop()
        await asyncio.sleep(1)
        await end()
        for told in (False, True):
            again = node(rejoins=told)
            end = await at_work(again)
            await asyncio.sleep(3)
            assert ("late" in again.learner.members) == told
            await end()

    run_in_virtual_time(story())


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Learner("a", ["a", "c"]), r"whose members was \['a', 'b'\], and is now \['a', 'c'\]"),
        (Learner("a", ["a", "b"], horizon=7), "whose horizon was 1000, and is now 7"),
        (Learner("a", ["a", "b"], ExtendedPWM(2), open_slots_max=7), "whose open_slots_max was 1024, and is now 7"),
        (Learner("b", ["a", "b"]), "whose name was 'a', and is now 'b'"),
        (
            Learner("a", ["a", "b"], Portfolio(2).fit([[1, -1]], [1])),
            "whose rule was 'ExtendedPWM', and is now 'Portfolio'",
        ),
    ],
)
def test_a_changed_file_is_noticed(learner: Learner, words: str) -> None:
    async def story() -> None:
        log, store = MemoryLog(), MemoryStore()
        store.save(Checkpoint(log.identity, 0, -1, 0, Learner("a", ["a", "b"]).snapshot()))
        with pytest.raises(SnapshotError, match=words):
            await Node(learner, log, store, ahead=1).run()

    run_in_virtual_time(story())


def test_a_rule_that_began_otherwise_is_noticed() -> None:
    """Whoever folds the log anew begins with the rule of now, and would blame the node."""
    block = [[1, -1], [-1, -1]], [1, -1]

    async def until_slot(node: Node, slot: int) -> None:
        end = await at_work(node)
        while node.learner.closed_until < slot:
            await asyncio.sleep(0.1)
        node.stop()
        await asyncio.sleep(1)
        await end()

    async def story() -> None:
        log, store = MemoryLog(), MemoryStore()
        learner = Learner("a", ["a", "b"], Portfolio(2).fit(*block))
        for slot, late in ((1, "c"), (2, "d")):
            await log.append([Vote(slot, "a", 1), Vote(slot, "b", 1), Label(slot, 1), Join(late, epoch=slot)])
            await until_slot(Node(learner, log, store), slot)
            kept = store.load()
            assert kept is not None
            assert kept.learner["epoch"] == slot
            for rule in (Portfolio(2), Portfolio(2).fit(*(part[::-1] for part in block)), taught(Portfolio(2))):
                with pytest.raises(SnapshotError, match="had learned something else before the stream"):
                    await Node(Learner("a", ["a", "b"], rule), log, store).run()
            learner = Learner("a", ["a", "b"], Portfolio(2).fit(*block))

    def taught(rule: Portfolio) -> Portfolio:
        rule.run(*block)
        return rule

    run_in_virtual_time(story())


def test_a_log_that_lost_its_tail_is_noticed() -> None:
    async def story() -> None:
        log, store = MemoryLog(), MemoryStore()
        store.save(Checkpoint(log.identity, 5, -1, 0, Learner("a", ["a"]).snapshot()))
        with pytest.raises(LogError, match="the log ends at entry 0, but the checkpoint is at 5"):
            await Node(Learner("a", ["a"]), log, store).run()

    run_in_virtual_time(story())


def test_what_could_not_be_sent_is_said() -> None:
    async def story() -> None:
        client = SimulatedLog(MemoryLog(), 0, Faults())
        node = Node(Learner("a", ["a"]), client)
        task = asyncio.ensure_future(node.run())
        await asyncio.sleep(1)
        client.cut()
        node.put([Label(1, 1)])
        node.stop()
        with pytest.raises(LogError, match="'a' stopped with 1 events unsent"):
            await task

    run_in_virtual_time(story())


def test_what_a_slow_model_has_voted_goes_out_and_a_stop_is_heard() -> None:
    class Slow(Remembering):
        def vote(self, x: Any) -> int:
            time.sleep(0.1)
            return int(x)

    async def story() -> None:
        log = MemoryLog()
        source = ListSource([Instance(slot, 1) for slot in range(1000)])
        node = Node(Learner("a", ["a"]), log, source=source, model=Slow(), ahead=256)
        task = asyncio.ensure_future(node.run())
        async with asyncio.timeout(60):
            while node.learner.last_closed is None:
                await asyncio.sleep(0.01)
            node.stop()
            await task
        assert node.learner.counters.decisions < 100  # not all that it may vote ahead

    asyncio.run(story())


def test_what_is_told_to_another_is_nobody_elses() -> None:
    """A label that is addressed to b is not learned by a's model, and does not stand for the one a owes to all."""

    async def story() -> None:
        log, model = MemoryLog(), Remembering()
        owed = {0: Instance(0, 1, 1, 1)}
        node = Node(
            Learner("a", ["a", "b"]),
            log,
            source=SlowSource([1, 1, 1], 1.0, owed),
            model=model,
            deadline_s=0.1,
            in_threads=False,
        )
        end = await at_work(node)
        await asyncio.sleep(1.5)
        await log.append([Label(0, -1, "b"), Label(0, 1, "b")])
        await asyncio.sleep(10)
        assert model.learned == [(1, True)]
        assert node.learner.counters.labels == 1
        await end()

    run_in_virtual_time(story())


def test_a_vote_whose_message_was_lost_is_cast_again() -> None:
    """Of what was cast at once some messages may be stored without those before them."""
    source = ListSource([Instance(slot, 1) for slot in (1, 2, 7, 9)])
    voter = Voter("a", source, Remembering(), ahead=8, keep_slots=100, in_threads=False)
    voter._taken([Instance(slot, 1) for slot in (1, 2, 7, 9)], [(1, None)] * 4)
    voter.read_back(1, 2)
    assert voter.resume == 6
    voter.read_back(9, 9)
    assert voter.resume == 6
    again = Voter("a", source, Remembering(), ahead=8, keep_slots=100, in_threads=False)
    again.restore(voter.pickled(voter.state()), voter.resume)
    again.read_back(9, 9)
    assert again._taken([Instance(7, 1), Instance(9, 1)], [(1, None)] * 2) == [Votes.pack("a", 7, [1])]


def test_what_was_read_back_before_a_crash_is_not_waited_for_again() -> None:
    """A vote stored without the one before it is behind the checkpoint: nobody will read it again."""
    source = ListSource([Instance(slot, 1) for slot in range(4)])
    voter = Voter("a", source, Remembering(), ahead=8, keep_slots=100, in_threads=False)
    voter._taken([Instance(slot, 1) for slot in (0, 1, 2)], [(1, None)] * 3)
    voter.read_back(2, 2)
    again = Voter("a", source, Remembering(), ahead=8, keep_slots=100, in_threads=False)
    again.restore(voter.pickled(voter.state()), voter.resume)
    third = Voter("a", source, Remembering(), ahead=8, keep_slots=100, in_threads=False)
    third.restore(again.pickled(again.state()), again.resume)  # it crashed before it saw anything
    for life in (again, third):
        cast = life._taken([Instance(slot, 1) for slot in range(4)], [(1, None)] * 4)
        assert cast == [Votes.pack("a", 0, [1, 1]), Votes.pack("a", 3, [1])]
        life.read_back(0, 1)
        life.read_back(3, 3)
        assert life.resume == 3


def test_the_first_of_contradicting_labels_is_the_models_too() -> None:
    voter = Voter("a", ListSource([]), Remembering(), ahead=8, keep_slots=100, in_threads=False)
    voter.hear(Label(3, 1), {3})
    voter.hear(Label(3, -1), {3})
    voter._taken([Instance(3, 1)], [(1, "kept")])
    assert isinstance(voter.model, Remembering)
    assert voter.model.learned == [("kept", True)]


def test_a_stop_is_heard_while_the_log_is_away_from_the_start() -> None:
    async def story() -> None:
        client = SimulatedLog(MemoryLog(), 0, Faults())
        client.cut()
        node = Node(Learner("a", ["a"]), client)
        task = asyncio.ensure_future(node.run())
        await asyncio.sleep(5)
        node.stop()
        async with asyncio.timeout(60):
            await task

    run_in_virtual_time(story())


def test_a_checkpoint_of_another_schema_is_refused() -> None:
    with pytest.raises(SnapshotError, match="has schema 9; this release reads schema 1"):
        unpacked(packed(Checkpoint("log", 1, -1, 0, {}, schema=9)), "here")


def test_checkpoints_that_take_long_are_written_less_often() -> None:
    """At 30,000 slots a second one every thousand slots would be all that a node does."""
    now = 100.0

    class Slow(MemoryStore):
        def save(self, checkpoint: Checkpoint) -> None:
            nonlocal now
            super().save(checkpoint)
            now += 0.5

    learner = Learner("a", ["a"])
    keeper = Keeper(Slow(), every_slots=1, every_s=30.0)

    def clock() -> float:
        return now

    assert keeper.load("log", learner, now) is None
    due = []
    for slot in range(60):
        learner.receive(Vote(slot, "a", 1))
        learner.close(slot)
        now += 1.0
        if keeper.is_due(learner, now):
            due.append(slot)
            keeper.save("log", slot, 0, learner, None, clock)
    assert due == [0, 10, 20, 30, 40, 50]  # half a second in ten, a twentieth
    now += 30.0
    assert keeper.is_due(learner, now)


def test_junk_in_nobody_s_name_is_counted_and_what_members_decide_is_left_unread() -> None:
    from quorate.log.subjects import entry_on

    read: list[str] = []

    class Telling(Learner):
        def receive(self, event: Any, *, checked: bool = False) -> bool:
            read.append(event.learner)
            return super().receive(event, checked=checked)

    learner = Telling("a", ["a", "b"])
    for name in ("nobody", "a.b", "b"):
        entry = entry_on("grid", 1, f"quorate.grid.decision.{name}", b"random bytes")
        counted, fault = applied(learner, entry)
        assert not counted
        assert (fault is None) == (name == "b")  # b looks at it
    good = entry_on("grid", 1, "quorate.grid.decision.nobody", encode(Decision(1, "nobody", 1, (1, 1))))
    assert applied(learner, good) == (False, None)
    assert read == ["nobody"]


def test_what_others_have_decided_is_left_unread_while_a_node_catches_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate.log import base

    opened: list[str] = []
    monkeypatch.setattr(
        base.Entry,
        "event",
        property(lambda self: opened.append(self.decided_by) if self.decided_by else self._event),
    )

    async def story() -> None:
        log = MemoryLog()
        await log.append([Decision(slot, "b", 1, (1, 1)) for slot in range(50)] + [Vote(1, "b", 1)])
        node = Node(Learner("a", ["a", "b"]), log)
        end = await at_work(node)
        await asyncio.sleep(1)
        assert (node.position, node.is_live) == (51, True)
        assert not opened
        await end()

    run_in_virtual_time(story())


@pytest.mark.parametrize("event", [Label(1, 7), Label("x", 1), "junk"])  # type: ignore[arg-type]
def test_who_puts_what_cannot_be_sent_is_told_at_once(event: Any) -> None:
    async def story() -> None:
        node = Node(Learner("a", ["a", "b"]), MemoryLog())
        end = await at_work(node)
        with pytest.raises(LocalError, match="cannot send"):
            node.put([Label(1, 1), event])
        assert not node.outbox
        await asyncio.sleep(1)
        await end()

    run_in_virtual_time(story())
