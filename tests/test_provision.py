"""Provisioned brokers: who may do what, what is refused in words, and attacks that must come to nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trustme

from quorate.errors import CredentialsError, LocalError, LogError, RefusedError
from quorate.events import Decision, Event, Join, Label, Vote, encode
from quorate.log import Entry, JetStreamLog, Log
from quorate.log.broker import Broker, start_cluster
from quorate.log.connection import connect, seed_of
from quorate.log.subjects import message_id, status_subject
from quorate.runtime.provision import Provisioned, Role, Tls, permissions_of, provision
from tests.commands import quorate

USERS: dict[str, Sequence[Role]] = {
    "paris": [Role("grid", "paris")],
    "rome": [Role("grid", "rome", publishes=("out.rome",), subscribes=("in.rome",))],
    "truth": [Role("grid", gives_labels=True)],
    "lima": [Role("other", "lima")],
}


class World:
    """A provisioned broker, and connections of its users."""

    def __init__(self, out: Path, broker: Broker, made: Provisioned) -> None:
        self.out, self.broker, self.made = out, broker, made
        self.connections: list[Any] = []

    async def user(self, name: str, *, called: str | None = None, **options: Any) -> Any:
        connection = await connect(
            self.broker.address, called or name, credentials=self.made.credentials[name], **options
        )
        self.connections.append(connection)
        return connection

    async def log(self, name: str, ensemble: str = "grid") -> JetStreamLog:
        return await JetStreamLog(await self.user(name), ensemble).open(declare=name == "owner")


@contextlib.asynccontextmanager
async def world(
    folder: Path, users: dict[str, Sequence[Role]] | None = None, tls: Tls | None = None
) -> AsyncIterator[World]:
    made = provision(folder / "out", USERS if users is None else users, tls=tls)
    async with Broker(folder / "broker", made.config) as broker:
        it = World(folder / "out", broker, made)
        try:
            async with asyncio.timeout(60):
                yield it
        finally:
            for connection in it.connections:
                await connection.close()


@contextlib.asynccontextmanager
async def declared(folder: Path) -> AsyncIterator[World]:
    async with world(folder) as it:
        owner = await it.user("owner")
        for ensemble in ("grid", "other"):
            await JetStreamLog(owner, ensemble).open()
        yield it


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await story()

    asyncio.run(main())


async def entries(log: Log) -> list[Entry]:
    """All that is in a log."""
    found: list[Entry] = []
    last = await log.last()
    if last:
        async for entry in log.read(await log.first() - 1):
            found.append(entry)
            if entry.position >= last:
                break
    return found


# What each may do


def test_learners_do_their_work_and_nothing_else(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            paris, rome, truth = [await it.log(name) for name in ("paris", "rome", "truth")]
            work: list[Event] = [Vote(1, "paris", 1), Decision(1, "paris", 1, (1,)), Join("paris", epoch=1)]
            await paris.append(work)
            await rome.append([Vote(1, "rome", -1)])
            labels: list[Event] = [Label(1, 1), Label(1, 1, "paris")]
            await truth.append(labels)
            for log in (paris, rome, truth):
                assert [entry.event for entry in await entries(log)] == [*work, Vote(1, "rome", -1), *labels]

            for log, event, subject in (
                (rome, Vote(2, "paris", 1), "quorate.grid.vote.paris"),
                (rome, Decision(2, "paris", 1, (1,)), "quorate.grid.decision.paris"),
                (rome, Join("paris", epoch=2), "quorate.grid.member.paris"),
                (rome, Label(2, 1), "quorate.grid.label"),
                (rome, Label(2, 1, "rome"), "quorate.grid.label.rome"),
                (truth, Vote(2, "truth", 1), "quorate.grid.vote.truth"),
            ):
                name = log._watch.name
                words = f"the broker refuses to let '{name}' publish on {subject}: ask the owner for credentials that"
                with pytest.raises(RefusedError, match=words):
                    await log.append([Vote(2, "rome", 1), event] if log is rome else [event])
            assert await paris.last() == 7  # rome's own vote is there: what was allowed was done
            assert rome._publisher.n_under_way == 0

            elsewhere = JetStreamLog(rome._connection, "other")  # on the same connection
            with pytest.raises(RefusedError, match=r"'rome' publish on \$JS\.API\.STREAM\.INFO\.quorate-other"):
                await elsewhere.open()
            with pytest.raises(RefusedError, match=r"'rome' publish on quorate\.other\.vote\.rome"):
                await elsewhere.append([Vote(1, "rome", 1)])
            assert await rome.append([Vote(3, "rome", 1)]) == 8

    run(story)


def test_names_of_any_letters(tmp_path: Path) -> None:
    name, ensemble = "ÖREBRO_1-" + "X" * 55, "Grid-" + "ß" * 59
    made = provision(tmp_path / "out", {name: [Role(ensemble, name)]})

    async def story() -> None:
        async with asyncio.timeout(60), Broker(tmp_path / "broker", made.config) as broker:
            owner = await connect(broker.address, "owner", credentials=made.credentials["owner"])
            await JetStreamLog(owner, ensemble).open()
            user = await connect(broker.address, name, credentials=made.credentials[name])
            log = await JetStreamLog(user, ensemble).open()
            await log.append([Vote(1, name, 1)])
            assert [entry.event for entry in await entries(log)] == [Vote(1, name, 1)]
            with pytest.raises(RefusedError, match=f"publish on quorate.{ensemble}.vote.{'É' * 64}: ask"):
                await log.append([Vote(1, "É" * 64, 1)])
            await user.close()
            await owner.close()

    run(story)


def test_only_the_owner_declares_a_stream(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as it:
            rome = JetStreamLog(await it.user("rome"), "grid")
            with pytest.raises(LogError, match="has no stream 'quorate-grid'; create it"):
                await rome.open(declare=False)
            words = "refuses to let 'rome' make it: declare it with the owner's credentials .quorate declare FILE --cr"
            with pytest.raises(RefusedError, match=words):
                await rome.open()
            await it.log("owner")
            await rome.open()

    run(story)


def test_reading_is_refused_in_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            rome = await it.log("rome")
            await rome.append([Vote(1, "rome", 1)])
            config = it.made.users
            whole = config.read_text()
            for action in ("CREATE", "MSG.NEXT"):
                config.write_text(
                    whole.replace(f'"$JS.API.CONSUMER.{action}.quorate-grid.*", ', "").replace(
                        f', "$JS.API.CONSUMER.{action}.quorate-grid.*"', ""
                    )
                )
                await it.broker.reload()
                reader = await it.log("rome")
                with pytest.raises(
                    RefusedError, match=rf"'rome' publish on \$JS\.API\.CONSUMER\.{action}\.quorate-grid"
                ):
                    await entries(reader)

    run(story)


# Credentials


def test_who_is_not_known_is_told_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            with pytest.raises(CredentialsError, match="does not know 'rome', who shows no credentials: ask its owner"):
                await connect(it.broker.address, "rome")
            other = provision(tmp_path / "another", USERS)
            with pytest.raises(
                CredentialsError, match=r"does not know 'rome', who shows the credentials of .*rome\.nk"
            ):
                await connect(it.broker.address, "rome", credentials=other.credentials["rome"])
            with pytest.raises(CredentialsError):
                await connect([it.broker.address, "nats://127.0.0.1:1"], "rome")
            mistaken = await it.user("rome", called="paris")
            with pytest.raises(
                RefusedError, match="let 'paris' hear answers on _INBOX_paris: are these the credentials"
            ):
                await JetStreamLog(mistaken, "grid").open()
            with pytest.raises(RefusedError, match="are these the credentials of another user"):
                await JetStreamLog(mistaken, "grid").append([Vote(1, "paris", 1)])

    run(story)


def test_who_is_dropped_is_known_no_longer(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            states: list[str] = []
            paris = await it.log("paris")
            rome = await JetStreamLog(await it.user("rome", on_state=states.append), "grid").open()
            reading = asyncio.ensure_future(anext(rome.read()))
            less = {name: roles for name, roles in USERS.items() if name != "rome"}
            assert provision(it.out, less).kept == ("rome",)  # nobody is dropped by being forgotten
            await it.broker.reload()
            await rome.last()
            assert provision(it.out, less, drop=["rome"]).dropped == ("rome",)
            await it.broker.reload()
            for asked in (reading, rome.append([Vote(1, "rome", 1)]), rome.last(), rome.open()):
                with pytest.raises(CredentialsError, match="does not know 'rome'"):
                    await asked
            assert any("Authorization Violation" in state or state == "closed" for state in states)
            await paris.append([Vote(1, "paris", 1)])

    run(story)


def test_who_is_dropped_while_the_broker_was_away_is_known_no_longer(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            states: list[str] = []
            rome = await JetStreamLog(await it.user("rome", on_state=states.append), "grid").open()
            reading = asyncio.ensure_future(anext(rome.read()))
            await it.broker.kill()
            users = it.made.users.read_text()
            provision(it.out, {name: roles for name, roles in USERS.items() if name != "rome"}, drop=["rome"])
            await it.broker.start()
            with pytest.raises(CredentialsError):
                await reading
            with pytest.raises(CredentialsError):
                await rome.append([Vote(1, "rome", 1)])
            it.made.users.write_text(users)  # it was a mistake
            await it.broker.kill()
            await it.broker.start()
            while "reconnected" not in states:
                await asyncio.sleep(0.02)
            assert await rome.append([Vote(1, "rome", 1)]) == 1

    run(story)


# Attacks


async def settled(connection: Any) -> None:
    """Wait until the broker has taken in all that was sent; the first ping may overtake it."""
    for _ in range(2):
        await connection.flush()


async def as_attacker(connection: Any, asked: Awaitable[Any], subject: str) -> None:
    """What the broker refuses: nothing comes back, and the complaint names the subject."""
    before = len(connection.told)
    with pytest.raises(Exception, match=r"timeout|refuse"):
        await asked
    assert any(f'"{subject.lower()}' in each for each in connection.told[before:]), connection.told


async def attacker(it: World, name: str = "rome") -> Any:
    told: list[str] = []
    connection = await it.user(name, on_state=told.append)
    connection.told = told
    return connection


def test_streams_and_entries_cannot_be_altered(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            owner = JetStreamLog(it.connections[0], "grid")
            await (await it.log("paris")).append([Vote(slot, "paris", 1) for slot in range(5)])
            rome = await attacker(it)
            for call, body in (
                ("STREAM.DELETE.quorate-grid", b""),
                ("STREAM.PURGE.quorate-grid", b"{}"),
                ("STREAM.UPDATE.quorate-grid", b'{"name":"quorate-grid","subjects":["quorate.grid.>"],"max_msgs":1}'),
                ("STREAM.MSG.DELETE.quorate-grid", b'{"seq":1}'),
                ("STREAM.MSG.GET.quorate-grid", b'{"seq":1}'),
                ("STREAM.CREATE.mine", b'{"name":"mine","subjects":["mine"]}'),
                ("STREAM.RESTORE.quorate-grid", b"{}"),
                ("STREAM.SNAPSHOT.quorate-grid", b'{"deliver_subject":"_INBOX_rome.x"}'),
                ("STREAM.NAMES", b""),
                ("CONSUMER.LIST.quorate-grid", b""),
                ("CONSUMER.NAMES.quorate-grid", b""),
                ("CONSUMER.DELETE.quorate-grid.x", b""),
                ("CONSUMER.INFO.quorate-grid.x", b""),
                ("CONSUMER.DURABLE.CREATE.quorate-grid.x", b"{}"),
                ("CONSUMER.CREATE.quorate-other.x", b"{}"),
                ("DIRECT.GET.quorate-grid", b'{"seq":1}'),
                ("INFO", b""),
            ):
                subject = f"$JS.API.{call}"
                await as_attacker(rome, rome.request(subject, body, timeout=0.1), subject)
            await as_attacker(rome, rome.request("$SYS.REQ.SERVER.PING", b"", timeout=0.1), "$SYS.REQ.SERVER.PING")
            assert [entry.event for entry in await entries(await owner.open())] == [
                Vote(slot, "paris", 1) for slot in range(5)
            ]
            js = rome.jetstream()
            for header in ({"Nats-Rollup": "all"}, {"Nats-Rollup": "sub"}, {"Nats-TTL": "1s"}):
                with pytest.raises(Exception, match=r"rollup|ttl|TTL"):
                    await js.publish("quorate.grid.vote.rome", b"", headers=header)
            assert (await owner.first(), await owner.last()) == (1, 5)

    run(story)


def test_nothing_is_stored_in_another_name_by_tricks_with_replies(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            forged = encode(Vote(9, "paris", -1))
            rome = await attacker(it)
            await rome.publish("quorate.grid.vote.rome", forged)  # under one's own subject: stored, with a fault
            api = "$JS.API"

            async def made(**config: Any) -> bytes:
                body = {"stream_name": "quorate-grid", "config": {"ack_policy": "none", **config}}
                answer = await rome.request(
                    f"{api}.CONSUMER.CREATE.quorate-grid.{config['name']}", json.dumps(body).encode()
                )
                return bytes(answer.data)

            assert b"forms a cycle" in await made(name="y", deliver_subject="quorate.grid.vote.paris")
            assert b"error" not in await made(name="z", deliver_subject="quorate.other.vote.lima")
            for at, target in enumerate(("quorate.grid.vote.paris", "quorate.grid.label", "quorate.other.vote.lima")):
                assert b"error" not in await made(name=f"x{at}")
                for subject, body in (
                    (f"{api}.CONSUMER.MSG.NEXT.quorate-grid.x{at}", b'{"batch":5,"no_wait":true}'),
                    (f"{api}.CONSUMER.CREATE.quorate-grid.x{at}", forged),
                    (f"{api}.STREAM.INFO.quorate-grid", forged),
                    ("quorate.grid.vote.rome", encode(Vote(9, "rome", 1))),
                    ("out.rome", forged),
                    (status_subject("grid", "rome"), forged),
                ):
                    await rome.publish(subject, body, reply=target)
            await settled(rome)
            await asyncio.sleep(0.3)
            for name, ensemble in (("paris", "grid"), ("lima", "other")):
                found = await entries(await it.log(name, ensemble))
                assert len(found) > 3
                assert {entry.event for entry in found} <= {None, Vote(9, "rome", 1)}
                assert any("published on quorate.grid.vote.rome" in (entry.fault or "") for entry in found)
            assert all(entry.event is None for entry in found)

    run(story)


def test_answers_to_requests_open_no_way_to_another_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            rome = await attacker(it)
            owner = it.connections[0]
            heard: asyncio.Queue[Any] = asyncio.Queue()

            async def answer(request: Any) -> None:
                for subject in (request.reply, status_subject("grid", "paris"), status_subject("grid", "rome")):
                    await rome.publish(subject, encode(Vote(1, "paris", 1)))

            onlooker = permissions_of(
                "eve", [Role("grid", publishes=("quorate-status.grid",), subscribes=("quorate-status.grid.*",))]
            )
            assert onlooker["subscribe"] == ["_INBOX_eve.>", "quorate-status.grid.*"]
            await rome.subscribe(status_subject("grid"), cb=answer)
            await owner.subscribe(f"{status_subject('grid')}.*", cb=heard.put)
            await settled(rome)
            await settled(owner)
            await rome.publish(status_subject("grid"), b"", reply="quorate.grid.vote.paris")
            await owner.publish(status_subject("grid"), b"", reply="quorate.grid.vote.paris")  # by mistake
            message = await heard.get()
            assert message.subject == "quorate-status.grid.rome"
            await settled(rome)
            assert await (await it.log("paris")).last() == 0
            assert any("quorate.grid.vote.paris" in each for each in rome.told)

    run(story)


def test_another_s_vote_cannot_be_passed_off_as_a_repeat(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            rome, paris = await attacker(it), await it.log("paris")
            vote = Vote(7, "paris", 1)
            key = seed_of(it.made.credentials["rome"]).encode()[:64]
            for guess in (message_id(vote, encode(vote)), message_id(vote, encode(vote), key), "vote:paris:7"):
                await rome.jetstream().publish("quorate.grid.vote.rome", b"", headers={"Nats-Msg-Id": guess})
            assert await paris.append([vote]) == await paris.append([vote]) == 4
            assert (await entries(paris))[-1].event == vote

    run(story)


def test_another_s_answers_and_other_subjects_cannot_be_heard(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            rome = await attacker(it)
            for subject in ("_INBOX_paris.>", "_INBOX.>", ">", "quorate.grid.>", "$JS.>", "in.paris", "*.rome"):
                before = len(rome.told)
                await rome.subscribe(subject)
                await settled(rome)
                assert any("violation for subscription" in each for each in rome.told[before:]), subject
            before = len(rome.told)
            await rome.subscribe("in.rome")
            await rome.publish("out.rome", b"")
            await settled(rome)
            assert len(rome.told) == before
            await as_attacker(rome, rome.request("out.paris", b"", timeout=0.1), "out.paris")

    run(story)


POISON = {
    "a status": b"NATS/1.0\r\nStatus: 404\r\n\r\n",
    "a status of failure": b"NATS/1.0\r\nStatus: 503\r\nDescription: No Responders\r\n\r\n",
    "a status in line": b"NATS/1.0 409 Consumer Deleted\r\n\r\n",
    "a header that is cut": b"NATS/1.0",
    "a header that is none": b"\r\n",
    "a header that is no text": b"NATS/1.0 \xff\xff\xff \xff\r\n\xff\xff: \xff\r\n\r\n",
}


def test_no_message_stops_a_reader(tmp_path: Path) -> None:
    async def story() -> None:
        async with declared(tmp_path) as it:
            rome, truth = await it.user("rome"), await it.user("truth")
            for header in POISON.values():  # nats-py would not send these
                await rome._send_command(
                    b"HPUB quorate.grid.vote.rome %d %d\r\n%s\r\n" % (len(header), len(header), header)
                )
            await rome.publish("quorate.grid.vote.rome", bytes(1 << 20), reply="quorate.grid.vote.rome")
            await truth._send_command(b"PUB quorate.grid.label.\xff\xfe 2\r\nxx\r\n")
            await settled(rome)
            await settled(truth)
            paris = await it.log("paris")
            await paris.append([Vote(1, "paris", 1)])
            found = await entries(paris)
            # The answer that the last message asks for on that subject may be stored before the vote or after it.
            assert [entry.event for entry in found if entry.event is not None] == [Vote(1, "paris", 1)]
            assert sum(entry.fault is not None for entry in found) == len(found) - 1 >= len(POISON) + 1

    run(story)


def test_readers_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.log.jetstream.CONSUMERS_MAX", 20)

    async def story() -> None:
        async with declared(tmp_path) as it:
            js = (await attacker(it)).jetstream()
            for _ in range(20):
                await js.add_consumer("quorate-grid", name=f"r{_}", ack_policy="none")
            with pytest.raises(Exception, match="maximum consumers limit"):
                await js.add_consumer("quorate-grid", name="one-more", ack_policy="none")

    run(story)


# Files


def test_one_more_learner_touches_nobody_else(tmp_path: Path) -> None:
    made = provision(tmp_path, USERS)
    assert made.added == ("owner", *USERS)
    files = {name: (path.read_bytes(), path.stat().st_mtime_ns) for name, path in made.credentials.items()}
    for path in made.credentials.values():
        assert path.stat().st_mode & 0o777 == 0o600
    keys = json.loads((tmp_path / "keys.json").read_text())
    made.credentials["rome"].unlink()  # it was moved to its site
    again = provision(tmp_path, {**USERS, "oslo": [Role("grid", "oslo")]})
    assert (again.added, again.dropped) == (("oslo",), ())
    assert not made.credentials["rome"].exists()
    for name, (content, changed) in files.items():
        if name != "rome":
            assert (made.credentials[name].read_bytes(), made.credentials[name].stat().st_mtime_ns) == (
                content,
                changed,
            )
    now = json.loads((tmp_path / "keys.json").read_text())
    assert {**now, **keys} == now
    assert keys["rome"] in made.users.read_text()
    for seed, _ in files.values():
        assert seed.decode().strip() not in made.users.read_text() + (tmp_path / "keys.json").read_text()
    before = made.users.stat().st_mtime_ns
    assert provision(tmp_path, {**USERS, "oslo": [Role("grid", "oslo")]}).added == ()
    assert made.users.stat().st_mtime_ns == before
    everybody = tuple(sorted([*USERS, "oslo"]))
    assert provision(tmp_path, {})[-3:] == ((), everybody, ())
    assert provision(tmp_path, {}, drop=everybody)[-3:] == (everybody, (), ())
    with pytest.raises(LocalError, match=r"paris\.nk is there, but keys\.json does not know its user; move it away"):
        provision(tmp_path, USERS)


ENSEMBLE = """
[ensemble]
name = "grid"
[labels]
subject = "registry.outcomes"
"""


def written(folder: Path, *learners: str) -> Path:
    file = folder / "grid.toml"
    file.write_text(ENSEMBLE + "".join(f'[[learner]]\nname = "{name}"\n' for name in learners))
    return file


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_text(), path.stat().st_mtime_ns) for path in files}


def test_what_is_not_said_again_still_holds(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("cert.pem", "key.pem"):
        (out / name).touch()
    (tmp_path / "ca.pem").touch()
    file = written(tmp_path, "paris", "rome", "lima")

    def run_it(*options: str, code: int = 0) -> str:
        done = quorate("provision", "grid.toml", "--out", "out", *options, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    run_it(
        "--host", "0.0.0.0", "--port", "4333", "--labeller", "registry", "--onlooker", "monitor",
        "--tls-certificate", "out/cert.pem", "--tls-key", "out/key.pem",
    )  # fmt: skip
    before = contents(out)
    config = before["broker.conf"][0]
    assert 'listen: "0.0.0.0:4333"' in config
    assert f'cert_file: "{out}/cert.pem"' in config
    assert f'store_dir: "{out}/jetstream", sync_interval: always' in config
    run_it()
    assert contents(out) == before

    written(tmp_path, "paris", "rome", "lima", "oslo")
    assert "new: oslo\n" in run_it()
    after = contents(out)
    changed = {"users.conf", "keys.json", "options.json"}
    assert {name: after[name] for name in before if name not in changed} == {
        name: before[name] for name in before if name not in changed
    }
    assert after.keys() - before.keys() == {"credentials/oslo.nk"}
    keys, old_keys = json.loads(after["keys.json"][0]), json.loads(before["keys.json"][0])
    assert {**keys, **old_keys} == keys
    options, old = json.loads(after["options.json"][0]), json.loads(before["options.json"][0])
    assert options["allowed"] == {**options["allowed"], **old["allowed"]}
    assert {**options, "allowed": 0} == {**old, "allowed": 0}
    assert (old["labellers"], old["onlookers"]) == (["registry"], ["monitor"])
    assert "registry.outcomes" in old["allowed"]["registry"]["publish"]
    assert "registry.outcomes" not in str(old["allowed"]["monitor"])

    run_it("--tls-ca", "ca.pem", "--labeller", "registry", "--labeller", "doctor")
    assert f'ca_file: "{tmp_path}/ca.pem", verify: true' in contents(out)["broker.conf"][0]
    assert "go together" in run_it("--tls-key", "out/key.pem", code=3)
    run_it(
        "--tls-certificate", "out/cert.pem", "--tls-key", "out/key.pem"
    )  # a new certificate: users must still show theirs
    assert "verify: true" in contents(out)["broker.conf"][0]

    written(tmp_path, "paris", "rome", "oslo")
    users = contents(out)["users.conf"][0]
    assert "lima is not in grid.toml, and still known to the broker: use --drop lima to revoke it" in run_it()
    assert sorted(contents(out)["users.conf"][0].splitlines()) == sorted(users.splitlines())
    assert "contradict each other" in run_it("--drop", "doctor", "--labeller", "doctor", code=3)
    assert "'quito' cannot be dropped; the users that can are" in run_it("--drop", "quito", code=3)
    assert "'owner' cannot be dropped" in run_it("--drop", "owner", code=3)
    assert "no longer known: doctor, lima" in run_it("--drop", "lima", "--drop", "doctor")
    assert "lima" not in contents(out)["users.conf"][0] + run_it()
    assert json.loads((out / "options.json").read_text())["labellers"] == ["registry"]
    assert "doctor.nk is there, but keys.json does not know its user" in run_it("--labeller", "doctor", code=3)

    # The table of a first member stays, as the log begins with it; the broker knows him no longer all the same.
    told = "rome is in grid.toml, and was dropped: to let it in again, take it out of `dropped` in out/options.json"
    assert told in (said := run_it("--drop", "rome"))
    assert "no longer known: rome" in said
    users = contents(out)["users.conf"][0]
    (out / "credentials" / "rome.nk").unlink()
    assert told in run_it()
    assert contents(out)["users.conf"][0] == users
    assert "vote.rome" not in users
    (out / "options.json").write_text((out / "options.json").read_text().replace('"rome"', ""))
    assert "new: rome\n" in run_it()

    moved = tmp_path / "moved"
    out.rename(moved)
    assert quorate("provision", file, "--out", "moved", cwd=tmp_path).returncode == 0
    assert str(out) not in (config := (moved / "broker.conf").read_text())
    assert f'key_file: "{moved}/key.pem"' in config


def test_options_that_are_lost_are_asked_for(tmp_path: Path) -> None:
    provision(tmp_path, USERS, port=4333)
    file = tmp_path / "options.json"
    whole = file.read_text()
    for content in ("{", '{"port": "x"}', '{"hots": "here"}'):
        file.write_text(content)
        with pytest.raises(LocalError, match=r"options\.json cannot be read: .*; get it back from a copy"):
            provision(tmp_path, USERS)
    file.unlink()
    with pytest.raises(LocalError, match=r"has no options\.json, which says where the broker listens"):
        provision(tmp_path, USERS)
    with pytest.raises(LocalError, match=r"does not say what 'lima' may do; name it again, or drop it"):
        provision(tmp_path, {}, host="127.0.0.1", port=4333)
    provision(tmp_path, USERS, host="127.0.0.1", port=4333)
    assert file.read_text() == whole
    with pytest.raises(LocalError, match="users are called 'PARIS' and 'paris'"):
        provision(tmp_path, {"PARIS": []})


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "broker.conf").write_text("port: 4222\n")
    with pytest.raises(LocalError, match=r"broker\.conf was not written by quorate provision; move it away"):
        provision(tmp_path, USERS)
    assert [path.name for path in tmp_path.iterdir()] == ["broker.conf"]
    (tmp_path / "broker.conf").unlink()
    for content, reason in (
        ("{", "cannot be read"),
        ("[]", "does not hold public keys"),
        ('{"a": "b"}', "public keys"),
    ):
        (tmp_path / "keys.json").write_text(content)
        with pytest.raises(LocalError, match=f"keys.json.*{reason}"):
            provision(tmp_path, USERS)


def test_an_own_configuration_is_included(tmp_path: Path) -> None:
    async def story() -> None:
        out = tmp_path / "out"
        out.mkdir()
        (out / "local.conf").write_text("max_payload: 2222\n")
        async with world(tmp_path) as it:
            assert (await it.user("rome")).max_payload == 2222
            (out / "local.conf").write_text("nonsense: {\n")
            with pytest.raises(LogError, match="does not take its configuration"):
                await it.broker.reload()
        with pytest.raises(LogError, match="the broker does not run"):
            await it.broker.reload()

    run(story)


@pytest.mark.parametrize(
    ("users", "reason"),
    [
        ({"owner": []}, "a user is called 'owner'"),
        ({"a.b": []}, r"a user is called 'a\.b'; a name is 1 to 64"),
        ({"Rome": [], "rome": []}, "users are called 'Rome' and 'rome'"),
        ({"a": [Role("x.>", "a")]}, "user 'a': 'x.>' is no name"),
        ({"a": [Role("x", "*")]}, r"user 'a': '\*' is no name"),
        ({"a": [Role("x", publishes=("quorate.x.label",))]}, r"the subject 'quorate\.x\.label' is not for users"),
        ({"a": [Role("x", publishes=("$JS.API.>",))]}, "is not for users"),
        ({"a": [Role("x", publishes=("quorate-status.x.b",))]}, "is not for users"),
        ({"a": [Role("x", subscribes=("quorate-status.y.*",))]}, "is not for users"),
        ({"a": [Role("x", subscribes=("_INBOX_b.>",))]}, "is not for users"),
        ({"a": [Role("x", publishes=(">",))]}, "'>' is no subject"),
        ({"a": [Role("x", publishes=("*.x",))]}, r"'\*\.x' is no subject"),
        ({"a": [Role("x", publishes=("a b",))]}, "'a b' is no subject"),
        ({"a": [Role("x", publishes=('a"b',))]}, "cannot stand in a broker's configuration"),
    ],
)
def test_names_and_subjects_that_are_not_allowed(tmp_path: Path, users: Any, reason: str) -> None:
    with pytest.raises(LocalError, match=reason):
        provision(tmp_path, users)
    assert not list(tmp_path.iterdir())


def test_the_least_permissions_of_a_learner() -> None:
    assert permissions_of("paris", [Role("grid", "paris"), Role("region", "paris", gives_labels=True)]) == {
        "publish": [
            "quorate.grid.vote.paris",
            "quorate.grid.decision.paris",
            "quorate.grid.member.paris",
            "quorate-status.grid.paris",
            "$JS.API.STREAM.INFO.quorate-grid",
            "$JS.API.CONSUMER.CREATE.quorate-grid.*",
            "$JS.API.CONSUMER.MSG.NEXT.quorate-grid.*",
            "quorate.region.vote.paris",
            "quorate.region.decision.paris",
            "quorate.region.member.paris",
            "quorate-status.region.paris",
            "quorate.region.label",
            "quorate.region.label.*",
            "$JS.API.STREAM.INFO.quorate-region",
            "$JS.API.CONSUMER.CREATE.quorate-region.*",
            "$JS.API.CONSUMER.MSG.NEXT.quorate-region.*",
        ],
        "subscribe": ["_INBOX_paris.>", "quorate-status.grid", "quorate-status.region"],
    }


# TLS and clusters


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_tls_with_the_user_s_certificates(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    out = tmp_path / "out"
    out.mkdir()
    issued.private_key_pem.write_to_path(str(out / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(out / "cert.pem"))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = Tls(out / "cert.pem", out / "key.pem")

    async def story() -> None:
        async with world(tmp_path, tls=tls) as it:
            assert f'cert_file: "{out}/cert.pem"' in it.made.config.read_text()
            owner = await it.user("owner", tls=trusting(authority))
            log = await JetStreamLog(owner, "grid").open()
            await log.append([Vote(1, "paris", 1)])
            assert len(await entries(log)) == 1
            await it.broker.kill()
            await it.broker.start()
            while True:
                with contextlib.suppress(LogError):
                    assert await log.append([Vote(1, "paris", 1)]) == 1
                    break
            for wrong in (trusting(trustme.CA()), None):
                with pytest.raises(LogError, match=r"no connection to .*certificate verify failed"):
                    await it.user("rome", tls=wrong)
            provision(it.out, USERS, tls=Tls(*tls[:2], tmp_path / "ca.pem"))
            await it.broker.kill()
            await it.broker.start()
            with pytest.raises(LogError, match="no connection to"):
                await it.user("rome", tls=trusting(authority))
            shown = trusting(authority)
            authority.issue_cert("rome").configure_cert(shown)
            assert await (await JetStreamLog(await it.user("rome", tls=shown), "grid").open()).last() == 1

    run(story)
    with pytest.raises(LocalError, match=r"the certificate file .*nowhere is not there"):
        provision(tmp_path / "more", USERS, tls=Tls(out / "cert.pem", tmp_path / "nowhere"))


def test_a_broker_without_tls_is_refused_where_tls_is_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as it:
            with pytest.raises(LogError, match="secure connection not available"):
                await it.user("rome", tls=trusting(trustme.CA()))

    run(story)


def test_of_several_brokers_the_first_that_is_good_is_taken(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    for name, issuer in (("good", authority), ("bad", other)):
        issued = issuer.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / f"{name}.pem"))
    certificates = {name: Tls(tmp_path / f"{name}.pem", tmp_path / f"{name}.pem") for name in ("good", "bad")}

    async def story() -> None:
        async with (
            world(tmp_path / "1", tls=certificates["good"]) as good,
            world(tmp_path / "2", tls=certificates["bad"]) as bad,
            Broker() as plain,
        ):
            for order in range(4):  # they are tried in any order
                addresses = ["nats://127.0.0.1:1", bad.broker.address, plain.address, good.broker.address]
                seed = good.made.credentials["owner"]
                connection = await connect(addresses, f"owner{order}", credentials=seed, tls=trusting(authority))
                assert connection.connected_url.netloc == good.broker.address.rpartition("/")[2]
                await connection.close()

    run(story)


def test_a_provisioned_cluster(tmp_path: Path) -> None:
    made = provision(tmp_path / "out", USERS)

    async def story() -> None:
        async with asyncio.timeout(60), start_cluster(3, tmp_path / "brokers", made.users) as brokers:
            addresses = [broker.address for broker in brokers]
            owner = await connect(addresses, "owner", credentials=made.credentials["owner"])
            await JetStreamLog(owner, "grid").open(replicas=3)
            rome = await connect(addresses, "rome", credentials=made.credentials["rome"])
            log = await JetStreamLog(rome, "grid").open()
            with pytest.raises(RefusedError, match=r"'rome' publish on quorate\.grid\.vote\.paris"):
                await log.append([Vote(1, "paris", 1)])
            await log.append([Vote(1, "rome", 1)])
            assert [entry.event for entry in await entries(log)] == [Vote(1, "rome", 1)]
            await rome.close()
            await owner.close()

    run(story)
