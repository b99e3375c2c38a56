"""The hospitals of the manual, step by step as it says, with the node as the systemd unit starts it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from quorate.errors import SourceError
from quorate.log.broker import broker_binary, ends_with_parent

ROOT = Path(__file__).parent.parent
MANUAL = (ROOT / "docs/operations.md").read_text().partition("## Five hospitals")[2].partition("\n## ")[0]
UNIT = (ROOT / "deploy/quorate-node@.service").read_text()
WAIT_S = 60.0


class Machine:
    """A folder with the example, and what runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = f"{Path(broker_binary() or '').parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "PYTHONPATH": f".:{ROOT}", "COLUMNS": "200", "NO_COLOR": "1"}
        self.running: dict[str, asyncio.subprocess.Process] = {}

    async def start(self, called: str, *command: str, **env: str) -> asyncio.subprocess.Process:
        with (self.folder / f"{called}.log").open("ab") as log:
            self.running[called] = await asyncio.create_subprocess_exec(
                *command, cwd=self.folder, env=self.env | env, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=ends_with_parent(),
            )  # fmt: skip
        return self.running[called]

    async def do(self, command: str, *more: str) -> str:
        """A command of the manual, and options that it has not; what it said."""
        assert f"    {command}\n" in MANUAL, command
        process = await asyncio.create_subprocess_exec(
            *command.split(), *more, cwd=self.folder, env=self.env, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        return said.decode()

    async def node(self, name: str) -> None:
        """As systemd does: no standard input, a folder of its own to write to, and nothing else."""
        state = self.folder / "state" / name
        state.mkdir(parents=True)
        unit = UNIT.replace("\\\n", " ").replace("%i", name)
        for here, there in (
            ("/opt/quorate/bin/quorate", "quorate"),
            ("/etc/quorate/ensemble.toml", "hospitals.toml"),
            ("${CREDENTIALS_DIRECTORY}/key", f"broker/credentials/{name}.nk"),
            ("${STATE_DIRECTORY}", str(state)),
            ("${METRICS_PORT}", "0"),
            ("/var/spool/quorate/", f"{self.folder}/"),
            ("PYTHONPATH=/etc/quorate", f"PYTHONPATH=.:{ROOT}"),
        ):
            assert here in unit, here
            unit = unit.replace(here, there)
        env = dict(re.findall(r"^Environment=(\w+)=(.*)$", unit, re.MULTILINE))
        command = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)[0].split()
        await self.start(name, *command, **env)

    def sees(self, case: int, *names: str) -> None:
        """The wards' systems write a case down."""
        for name in names:
            with (self.folder / f"cases-{name}.jsonl").open("a") as file:
                file.write(json.dumps({"case": case, "age": 71, "lactate": 4.2, "sees": 1}) + "\n")

    def decided(self, name: str) -> dict[int, list[int]]:
        """The votes of each case that a hospital decided on."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.folder / "state" / name / f"decisions-{name}.jsonl").read_text().splitlines()
            return {found["slot"]: found["votes"] for found in map(json.loads, lines)}
        return {}

    async def until(self, holds: Callable[[], bool | Awaitable[bool]]) -> None:
        """Wait for something, as long as everything runs."""
        end = time.monotonic() + WAIT_S
        while True:
            found = holds()
            if found is True or (not isinstance(found, bool) and await found):
                return
            for name, process in self.running.items():
                said = (self.folder / f"{name}.log").read_text()[-2000:]
                assert process.returncode is None, f"{name} ended: {said}"
                assert time.monotonic() < end, f"{name}: {said}"
            await asyncio.sleep(0.1)

    async def end(self) -> None:
        """Nothing is left running."""
        for process in reversed(self.running.values()):
            if process.returncode is None:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def machine(folder: Path) -> AsyncIterator[Machine]:
    it = Machine(folder)
    try:
        yield it
    finally:
        await it.end()


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
        return port


def light(text: str) -> str:
    """Models that are loaded at once: to load river takes each process a second."""
    return re.sub(r'"river\..*"', '"tests.sites:Counting"', text)


def test_the_manual_can_be_followed(tmp_path: Path) -> None:
    folder, port = tmp_path / "hospitals", free_port()
    shutil.copytree(ROOT / "examples/hospitals", folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "hospitals.toml"
    text = file.read_text().partition('[[learner]]\nname = "nantes"')[0]  # three of the five are enough here
    text, paris, others = text.replace("127.0.0.1:4222", f"127.0.0.1:{port}").partition(
        "linear_model:LogisticRegression"
    )
    file.write_text(text + paris + light(others))
    names = ["paris", "lyon", "lille"]

    async def story() -> None:
        async with machine(folder) as it:
            await it.do(
                "quorate provision hospitals.toml --out broker --labeller registry --onlooker monitor",
                "--port", str(port),
            )  # fmt: skip
            assert "    nats-server -c broker/broker.conf\n" in MANUAL
            broker = await it.start("broker", "nats-server", "-c", "broker/broker.conf")
            await it.until(lambda: "Server is ready" in (folder / "broker.log").read_text())
            assert (folder / "broker" / "jetstream").is_dir()
            assert not (folder / "jetstream").exists()
            await it.do("quorate declare hospitals.toml --credentials broker/credentials/owner.nk")
            it.sees(1, *names)
            await asyncio.gather(
                it.do("quorate doctor hospitals.toml --name paris"), *(it.node(name) for name in names)
            )
            await it.until(lambda: all(1 in it.decided(name) for name in names))
            assert [len(it.decided(name)[1]) for name in names] == [3, 3, 3]

            await it.do("python registry.py 1 1")

            async def learned() -> bool:
                found = await it.do("quorate status hospitals.toml --as monitor", "--json")
                return all(node["labels"] == 1 for node in json.loads(found)["nodes"])

            await it.until(learned)

            table = MANUAL.partition("    [[learner]]")[2].partition("\n\n")[0]
            file.write_text(f"{file.read_text()}\n[[learner]]{light(table)}\n")
            config = (folder / "broker" / "broker.conf").read_text()
            said = await it.do("quorate provision hospitals.toml --out broker")
            assert "new: metz\n" in said
            assert (folder / "broker" / "broker.conf").read_text() == config
            await it.do("nats-server --signal reload=broker/broker.pid")
            await it.until(lambda: "Reloaded server" in (folder / "broker.log").read_text())
            await it.do("touch cases-metz.jsonl")
            await it.node("metz")

            case = 1

            def joined() -> bool:
                nonlocal case
                case += 1
                it.sees(case, *names, "metz")
                return all(4 in map(len, it.decided(name).values()) for name in [*names, "metz"])

            await it.until(joined)
            nodes = [it.running[name] for name in [*names, "metz"]]
            for each in nodes:
                each.send_signal(signal.SIGTERM)
            assert [await each.wait() for each in nodes] == [0, 0, 0, 0]
            assert not list(folder.glob("decisions-*"))  # the unit may not write there
            broker.terminate()
            await broker.wait()

    asyncio.run(story())


def test_a_ward_is_followed_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples/hospitals"))
    monkeypatch.setenv("WARD_CASES", str(tmp_path / "{name}.jsonl"))
    from ward import cases  # type: ignore[import-not-found]

    path = tmp_path / "paris.jsonl"

    async def story() -> None:
        with pytest.raises(SourceError, match=r"paris\.jsonl is not there; let the ward's system make it"):
            await anext(cases("paris", -1))
        path.write_text('{"case": 1, "age": 7}\n{"case": 2, "age": 8}\n{"case": 2, "age": 9}\n{"case": 4')
        following: Any = cases("paris", -1)
        assert [await anext(following) for _ in range(2)] == [(1, {"age": 7}), (2, {"age": 8})]
        waiting = asyncio.ensure_future(anext(following))
        assert not (await asyncio.wait([waiting], timeout=0.3))[0]  # half a line is none
        with path.open("a") as file:
            file.write(', "age": 3}\n')
        assert await waiting == (4, {"age": 3})
        assert await anext(cases("paris", 2)) == (4, {"age": 3})
        path.write_text("\n")
        with pytest.raises(SourceError, match="has shrunk below byte"):
            await anext(following)
        for line in ("nonsense", "[]", "{}", '{"case": null}'):
            path.write_text(f"{line}\n")
            with pytest.raises(SourceError, match=r"byte 0: .* is no case with a number"):
                await anext(cases("paris", -1))

    asyncio.run(asyncio.wait_for(story(), WAIT_S))
