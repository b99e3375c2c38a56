"""Real commands on real brokers: credentials, status, labels, joining and leaving, a member that stalls, junk."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorate.events import Label, Vote, encode
from quorate.log.broker import Broker
from quorate.log.jetstream import connect
from tests.commands import quorate
from tests.fleet import COMMAND, ROOT, Fleet
from tests.sites import truth


def test_a_provisioned_ensemble(tmp_path: Path) -> None:
    """From the owner's first command to the audit, with nobody having more rights than needed."""

    async def story() -> None:
        names = ["site-0", "site-1", "site-2"]
        extra = '[[learner]]\nname = "late"\nmodel = "tests.sites:Counting"\njoins = true\n'
        extra += '[learner.source]\nstdin = true\nslot = "n"\n'
        fleet = Fleet(tmp_path, names, "nats://127.0.0.1:1", n_slots=400, rate=100.0, extra=extra)
        code, out, err = await fleet.ask("provision", str(fleet.file), "--out", "broker", "--labeller", "doctor")
        assert code == 0, err
        assert "quorate declare" in out
        keys = tmp_path / "broker" / "credentials"
        assert {path.stem for path in keys.iterdir()} == {*names, "late", "owner", "doctor"}
        async with Broker(tmp_path / "store", config=tmp_path / "broker" / "broker.conf") as broker:
            text = fleet.file.read_text().replace("nats://127.0.0.1:1", broker.address)
            fleet.file.write_text(
                text.replace("[checkpoints]", 'credentials = "broker/credentials/{name}.nk"\n[checkpoints]')
            )
            fleet.address = broker.address
            try:
                # Who is not known ends at once, with words and a code of its own; so does who may not.
                stranger = tmp_path / "stranger.nk"
                code, _, err = await fleet.ask("provision", str(fleet.file), "--out", "elsewhere")
                assert code == 0, err
                stranger.write_bytes((tmp_path / "elsewhere" / "credentials" / "site-0.nk").read_bytes())
                code, _, err = await fleet.ask(
                    "node", str(fleet.file), "--name", "site-0", "--credentials", str(stranger), "--log-level", "error"
                )
                assert (code, "does not know 'site-0'" in err) == (7, True), err
                code, _, err = await fleet.ask("node", str(fleet.file), "--name", "site-0", "--log-level", "error")
                assert (code, "quorate declare" in err) == (8, True), err

                code, out, err = await fleet.ask("declare", str(fleet.file), "--credentials", str(keys / "owner.nk"))
                assert (code, "is there, with 0 entries" in out) == (0, True), err
                code, out, err = await fleet.ask("doctor", str(fleet.file), "--name", "site-1", "--json")
                findings = {found["what"]: found for found in json.loads(out)["findings"]}
                assert code == 0, out
                assert [findings[what]["state"] for what in ("broker", "credentials", "stream of fleet", "clock")] == [
                    "ok"
                ] * 4

                for name in names:
                    await fleet.start(
                        name, *(["--metrics-port", "0", "--log-level", "info"] if name == "site-1" else [])
                    )
                lines = b"".join(json.dumps({"n": slot, "sees": truth(slot)}).encode() + b"\n" for slot in range(300))
                await asyncio.sleep(2.5)
                late = await asyncio.create_subprocess_exec(
                    *_command(fleet, "late"), stdin=asyncio.subprocess.PIPE, env=fleet.env, cwd=tmp_path
                )
                fleet.processes["late"] = late
                assert late.stdin is not None
                late.stdin.write(lines)
                await late.stdin.drain()
                async with asyncio.timeout(60):
                    while any("late" not in node["members"] for node in (await fleet.status()).values()):
                        await asyncio.sleep(0.1)
                port = _port(tmp_path / "site-1.log")
                assert "quorate_decisions_total" in await asyncio.to_thread(
                    _fetched, f"http://127.0.0.1:{port}/metrics"
                )
                assert await asyncio.to_thread(_fetched, f"http://127.0.0.1:{port}/health")

                # Only who may give labels can.
                give = ["label", "399", "1", "--file", str(fleet.file)]
                code, _, err = await fleet.ask(*give, "--as", "site-2", "--credentials", str(keys / "site-2.nk"))
                assert (code, "refuses to let 'site-2' publish" in err) == (8, True), err
                code, out, err = await fleet.ask(*give, "--as", "doctor", "--credentials", str(keys / "doctor.nk"))
                assert (code, "The label +1 of slot 399 is entry" in out) == (0, True), err

                late.stdin.close()
                code, out, err = await fleet.ask(
                    "leave", str(fleet.file), "--name", "late", "--credentials", str(keys / "owner.nk")
                )
                assert (code, "late left" in out) == (0, True), err
                async with asyncio.timeout(60):
                    while {node["epoch"] for node in (await fleet.status()).values()} != {2}:
                        await asyncio.sleep(0.1)
                code, _, err = await fleet.ask("leave", str(fleet.file), "--name", "late", "--as", "late")
                assert (code, "is no member" in err) == (3, True), err
                code, out, err = await fleet.ask("status", str(fleet.file))
                assert (code, "site-2" in out) == (0, True), err

                codes = [await fleet.stop(name) for name in [*names, "late"]]
                assert codes == [0, 0, 0, 0]
                gone = await fleet.status()
                assert {node["state"] for node in gone.values()} == {"gone"}
                assert all(node["decisions"] > 0 for node in gone.values())  # from the checkpoints that are here
                code, out, err = await fleet.ask("replay", str(fleet.file), "--json")
                assert code == 0, out + err
                assert all(found["checked"] > 0 for found in json.loads(out)["learners"])
            finally:
                await fleet.end()

    asyncio.run(story())


def _command(fleet: Fleet, name: str) -> list[str]:
    return [COMMAND, "node", str(fleet.file), "--name", name, "--log-level", "error"]


def _port(log: Path) -> str:
    found = re.search(r"metrics at http://127.0.0.1:(\d+)/metrics", log.read_text())
    assert found is not None
    return found[1]


def _fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=20) as answer:
        content: bytes = answer.read()
        return content.decode()


def test_a_member_that_stalls_and_a_stream_full_of_junk(tmp_path: Path) -> None:
    """With a deadline of 50 ms the others go on without it, and it catches up by itself; junk changes nothing."""

    async def story() -> None:
        names = ["site-0", "site-1", "site-2"]
        async with Broker(tmp_path / "broker") as broker:
            fleet = Fleet(
                tmp_path, names, broker.address, n_slots=900, rate=100.0, deadline_ms=50, source="halved",
                rule="ExtendedPWM",
            )  # fmt: skip
            try:
                await fleet.start_all()
                async with asyncio.timeout(60):
                    while min(node["slot"] for node in (await fleet.status()).values()) < 449:
                        await asyncio.sleep(0.1)
                fleet.processes["site-2"].send_signal(signal.SIGSTOP)
                sent = await _flood(broker.address, "fleet")
                (tmp_path / "go").touch()
                async with asyncio.timeout(60):
                    while (nodes := await fleet.status())["site-0"]["slot"] < 650:
                        await asyncio.sleep(0.1)
                assert nodes["site-2"]["state"] == "gone"
                assert any(nodes["site-0"]["weights_asynchronous"])
                fleet.processes["site-2"].send_signal(signal.SIGCONT)
                async with asyncio.timeout(120):
                    nodes = await fleet.until_idle()
                for name, node in nodes.items():  # a decision is looked at by who is said to have made it
                    assert node["faults"] == (sent if name == "site-0" else sent - 200)
                assert all(node["decisions"] == 900 for node in nodes.values())
                assert [await fleet.stop(name) for name in names] == [0, 0, 0]
                code, out, err = await fleet.ask("replay", str(fleet.file), "--json")
                assert code == 0, out + err
                for found in json.loads(out)["learners"]:
                    assert found["checkpoint"] == found["position"]
                for name in names:  # a flood of junk is no flood of lines
                    assert (tmp_path / f"{name}.log").read_text().count("cannot be used") <= 2 + sent // 1000
            finally:
                await fleet.end()

    asyncio.run(story())


async def _flood(address: str, ensemble: str) -> int:
    """Random bytes, cut and oversized messages, strangers, a far future, labels of 7: all of it, many times."""
    connection = await connect(address, "junk")
    stream = connection.jetstream()
    draw = random.Random(0)
    whole = encode(Vote(3, "site-1", 1))
    sent = 0
    for _ in range(100):
        junk: list[tuple[str, bytes]] = [
            ("vote.site-1", draw.randbytes(40)),
            ("vote.site-1", whole[: draw.randrange(len(whole))]),
            ("vote.site-1", encode(Vote(3, "site-2", 1))),  # under another's name
            ("vote.stranger", encode(Vote(3, "stranger", 1))),
            ("label", b'{"type":"label","slot":5,"value":7,"v":1}'),
            ("label", b'{"type":"label","slot":-5,"value":1,"v":1}'),
            ("decision.site-0", b'{"type":"decision","slot":1,"learner":"site-0","value":1,"votes":[1],"v":1}'),
            ("decision.site-0", draw.randbytes(40)),
            ("vote.site-0", b'{"type":"vote","slot":1,"learner":"site-0","value":1,"v":99}'),
        ]
        for kind, message in junk:
            await stream.publish(f"quorate.{ensemble}.{kind}", message)
        sent += len(junk)
    await stream.publish(f"quorate.{ensemble}.vote.site-1", b"x" * 900_000)
    # These are no faults of form: a slot far in the future, a label nobody waits for.
    await stream.publish(f"quorate.{ensemble}.vote.site-1", encode(Vote(10**15, "site-1", 1)))
    await stream.publish(f"quorate.{ensemble}.label", encode(Label(10**15, 1)))
    await connection.close()
    return sent + 1


def test_run_in_processes(tmp_path: Path) -> None:
    done = quorate(
        "run", ROOT / "examples/demo/demo.toml", "--processes", "--json", "--picture", "run.png",
        "--state", tmp_path / "state", "--set", "learner.perth.source.observe_prob=1.0",
        "--set", "ensemble.deadline_ms=10000", cwd=tmp_path, QUORATE_DEMO_SLOTS="150",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["processes"], found["slots"]) == (True, 150)
    assert {node["slot"] for node in found["nodes"]} == {149}
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert not _running(str(tmp_path))  # what it started, it has ended


def test_what_run_started_ends_when_run_is_killed(tmp_path: Path) -> None:
    command = [COMMAND, "run", str(ROOT / "examples/demo/demo.toml"), "--processes", "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: len(_running(str(tmp_path))) >= 10)  # itself, the broker, eight learners
        process.kill()
    until(lambda: not _running(str(tmp_path)))


def until(holds: Callable[[], bool]) -> None:
    """Wait for it, but not for ever."""
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


def test_run_without_a_broker_falls_back_and_says_so(tmp_path: Path) -> None:
    done = quorate(
        "run", ROOT / "examples/demo/demo.toml", "--processes", cwd=tmp_path, QUORATE_DEMO_SLOTS="60",
        NATS_SERVER=str(tmp_path / "nothing"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "There is no nats-server" in done.stderr
    assert "paris decides" in done.stdout


def test_errors_have_words_and_codes(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, ["site-0"], "nats://127.0.0.1:1", n_slots=10, rate=0.0)
    trials: list[tuple[list[str | Path], int, str]] = [
        (["node", fleet.file, "--name", "site-0", "--log-level", "error"], 6, "no connection to nats://127.0.0.1:1"),
        (["node", fleet.file, "--name", "rome"], 3, "has no learner 'rome'"),
        (["status", fleet.file], 6, "no connection"),
        (["label", "1", "7", "--file", fleet.file], 3, "a label is -1 or 1"),
        (["run", fleet.file, "--set", "ensemble.deadline_ms=0"], 3, "must be at least 1, got 0"),
        (["run", tmp_path / "none.toml"], 5, "none.toml"),
        (["doctor", fleet.file], 1, ""),
    ]
    for arguments, code, words in trials:
        done = quorate(*arguments, cwd=tmp_path, PYTHONPATH=str(ROOT))
        assert (done.returncode, done.stderr.count("Traceback")) == (code, 0), done.stderr
        assert words in done.stderr
        assert code == 1 or done.stderr.count("\n") == 1


def _running(word: str) -> list[Any]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if word in command and process.name != str(os.getpid()):
            found.append(command)
    return found
