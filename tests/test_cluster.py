"""Three brokers, three copies of the stream: its leader is killed while nodes work, and nothing is lost."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from quorate import Decision, Learner
from quorate.log import JetStreamLog
from quorate.log.broker import start_cluster
from quorate.log.jetstream import connect
from quorate.node import Instance, Node, replay
from tests.sites import NAMES, truth, view
from tests.test_node import Remembering, SlowSource

MEMBERS = NAMES[:3]


def test_the_leader_is_killed_under_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n_slots = 800

    async def story() -> float:
        async with start_cluster(3, tmp_path) as brokers:
            addresses = [broker.address for broker in brokers]
            connections = [await connect(addresses, name) for name in MEMBERS]
            logs = [await JetStreamLog(each, "cluster").open(replicas=3) for each in connections]
            decided: list[float] = []
            now = asyncio.get_running_loop().time

            def note(decision: Decision) -> None:
                decided.append(now())

            nodes = []
            for name, log in zip(MEMBERS, logs, strict=True):
                views = [view(name, slot) for slot in range(n_slots)]
                owed = {slot: Instance(slot, views[slot], truth(slot), slot) for slot in range(n_slots)}
                source = SlowSource(views, 0.002, owed if name == MEMBERS[0] else None)
                learner = Learner(name, MEMBERS, horizon=n_slots)
                told = note if name == MEMBERS[0] else None
                nodes.append(Node(learner, log, source=source, model=Remembering(), deadline_s=30.0, on_decision=told))
            tasks = [asyncio.ensure_future(node.run()) for node in nodes]
            async with asyncio.timeout(120):
                while len(decided) < n_slots // 4:
                    await asyncio.sleep(0.01)
                leader = (await logs[0]._info()).cluster.leader
                await brokers[int(leader.rpartition("-")[2])].kill()
                while not all(node.is_idle for node in nodes):
                    await asyncio.sleep(0.05)
                    for task in tasks:
                        assert not task.done(), task.exception()
            for node in nodes:
                again = await replay(logs[0], Learner(node.learner.name, MEMBERS, horizon=n_slots), until=node.position)
                assert node.learner.snapshot() == again.learner.snapshot()
                assert node.learner.counters.decisions == node.learner.counters.labels == n_slots
                assert again.decisions[n_slots - 1].votes == tuple(view(name, n_slots - 1) for name in MEMBERS)
            for node in nodes:
                node.stop()
            await asyncio.gather(*tasks)
            for connection in connections:
                await connection.close()
            return max(later - earlier for earlier, later in pairwise(decided))

    pause_s = asyncio.run(story())
    with capsys.disabled():
        print(f"\nthe stream's leader was killed: no decision for {pause_s:.1f} s, none lost")
