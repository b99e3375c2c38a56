"""Learners as real processes on a real broker, for tests that kill them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from quorate.events import Label, Labels, Vote, Votes
from quorate.log import JetStreamLog
from quorate.log.jetstream import connect

ROOT = Path(__file__).parent.parent
COMMAND = str(Path(sys.executable).parent / "quorate")

TOML = """
[ensemble]
name = "{name}"
rule = "{rule}"
horizon = 5000
deadline_ms = {deadline_ms}
ahead = 32
[broker]
servers = ["{address}"]
[checkpoints]
every_slots = 50
every_s = 1.0
[source]
python = "tests.sites:{source}"
rate = {rate}
[labels]
column = "label"
delay = "uniform:0:20"
given_by = "site-0"
[decisions]
file = "{{name}}.jsonl"
"""


class Fleet:
    """Processes of `quorate node`, one a learner.

    Parameters
    ----------
    folder
        Where file, checkpoints and decisions are.
    names
        The learners.
    address
        The broker's.
    n_slots, rate, deadline_ms, source, extra
        How many slots there are, how many a second, how long they wait; whence they come; more of the file.
    """

    def __init__(
        self,
        folder: Path,
        names: list[str],
        address: str,
        *,
        n_slots: int,
        rate: float,
        deadline_ms: int = 500,
        source: str = "instances",
        extra: str = "",
        ensemble: str = "fleet",
        rule: str = "Portfolio",
    ) -> None:
        self.folder, self.names, self.n_slots, self.ensemble, self.address = folder, names, n_slots, ensemble, address
        self.file = folder / "fleet.toml"
        learners = "".join(f'[[learner]]\nname = "{name}"\nmodel = "tests.sites:Counting"\n' for name in names)
        text = TOML.format(name=ensemble, address=address, rate=rate, deadline_ms=deadline_ms, rule=rule, source=source)
        self.file.write_text(text + extra + learners)
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "QUORATE_TEST_SLOTS": str(n_slots), "COLUMNS": "200"}

    async def start(self, name: str, *options: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = await asyncio.create_subprocess_exec(
                COMMAND, "node", str(self.file), "--name", name, "--log-level", "warning", *options,
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=self.env, cwd=self.folder,
            )  # fmt: skip

    async def start_all(self) -> None:
        await asyncio.gather(*(self.start(name) for name in self.names))

    def alive(self, name: str) -> bool:
        return name in self.processes and self.processes[name].returncode is None

    async def mend(self) -> None:
        """Start again who found no broker, as systemd does; for any other end there is no excuse."""
        for name, process in list(self.processes.items()):
            if process.returncode not in (None, -signal.SIGKILL):
                said = (self.folder / f"{name}.log").read_text()[-500:]
                assert process.returncode == 6, f"{name} ended with {process.returncode}: {said}"
                assert "no connection" in said
                await self.start(name)

    def kill(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGKILL)

    async def stop(self, name: str) -> int:
        """In peace."""
        process = self.processes[name]
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        return await process.wait()

    async def end(self) -> None:
        """However it went, nothing is left running."""
        for process in self.processes.values():
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def ask(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command to its end."""
        process = await asyncio.create_subprocess_exec(
            COMMAND, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=self.env,
            cwd=self.folder,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()

    async def status(self) -> dict[str, dict[str, Any]]:
        code, out, err = await self.ask("status", str(self.file), "--json")
        while code == 6 and "has no stream" in err:  # nobody has made it yet
            code, out, err = await self.ask("status", str(self.file), "--json")
        assert code == 0, err
        return {node["learner"]: node for node in json.loads(out)["nodes"]}

    async def until_idle(self) -> dict[str, dict[str, Any]]:
        """Until every learner has decided on the last slot and nothing more comes."""
        before: Any = None
        while True:
            nodes = await self.status()
            now = [(node["idle"], node["slot"], node["position"]) for node in nodes.values()]
            done = all(idle and slot == self.n_slots - 1 for idle, slot, _ in now)
            if done and now == before and len({position for _, _, position in now}) == 1:
                return nodes
            before = now
            await self.mend()
            await asyncio.sleep(0.2)

    def decided(self, name: str) -> list[tuple[int, int]]:
        """What a learner told outside."""
        lines = (self.folder / f"{name}.jsonl").read_text().splitlines()
        return [(decision["slot"], decision["value"]) for decision in map(json.loads, lines)]

    async def in_the_log(self) -> tuple[dict[str, dict[int, int]], dict[int, int]]:
        """The first vote of each learner on each slot, and the first label of each, as they stand there."""
        connection = await connect(self.address, "fleet-test")
        log = await JetStreamLog(connection, self.ensemble).open(declare=False)
        last = await log.last()
        votes: dict[str, dict[int, int]] = {name: {} for name in self.names}
        labels: dict[int, int] = {}
        async for entry in log.read():
            event = entry.event
            if isinstance(event, Vote | Votes) and event.learner in votes:
                for vote in event:
                    votes[event.learner].setdefault(vote.slot, vote.value)
            elif isinstance(event, Label | Labels):
                for label in event:
                    labels.setdefault(label.slot, label.value)
            if entry.position >= last:
                break
        await log.close()
        await connection.close()
        return votes, labels
