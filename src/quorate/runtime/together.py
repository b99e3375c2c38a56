"""A whole ensemble, and all that are models in it: in one process, or one process a learner on a private broker."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quorate.errors import EndedError, LogError
from quorate.log.broker import Broker, ends_with_parent
from quorate.log.jetstream import connect
from quorate.node import end_all, until_done
from quorate.runtime.assembly import assemble
from quorate.runtime.config import Config
from quorate.runtime.links import BrokerLinks, Links, MemoryLinks
from quorate.runtime.record import Record
from quorate.runtime.report import Report
from quorate.runtime.serving import BEGIN, ask, reports, serve

__all__ = ["run_in_one_process", "run_in_processes"]

#: How often is looked whether all is done, and how often in a row it must be so.
LOOK_S, LOOKS = 0.1, 3
#: How often a learner's process is started again after something killed it, and how long it may take to end in peace.
RESTARTS_MAX, STOP_S = 20, 20.0
#: What is kept of what a process said last.
LAST_LINES_BYTES = 1 << 14

#: Called with how all nodes stand.
Watch = Callable[[list[Report]], None]


async def run_in_one_process(config: Config, stop: asyncio.Event, watch: Watch, record: Record) -> None:
    """Run all learners here, on logs in memory, until their sources are at their end or `stop` is set.

    Parameters
    ----------
    config
        The ensemble.
    stop
        Ends it before.
    watch
        Called with how all nodes stand, now and then.
    record
        Gathers what happens in the ensemble.
    """
    links = MemoryLinks()
    sites = [await assemble(each, one.name, links) for each in config.family() for one in each.learners]

    async def look() -> list[Report]:
        return reports(sites, links)

    ended = asyncio.Event()
    work = [
        asyncio.ensure_future(serve(sites, links, ended)),
        asyncio.ensure_future(record.follow(await links.log_of(config))),
    ]
    try:
        await until_done(asyncio.ensure_future(_until_quiet(config, links, look, stop, watch, record)), work)
        ended.set()
        await work[0]
    finally:
        await end_all(work)
        await links.close()


async def run_in_processes(
    config: Config,
    stop: asyncio.Event,
    watch: Watch,
    record: Record,
    *,
    state: Path,
    overrides: Sequence[str] = (),
) -> None:
    """Run each learner in a process of its own, on a broker that is started and stopped here.

    Parameters
    ----------
    config, stop, watch, record
        As for one process.
    state
        The folder for the broker's streams and the checkpoints; a run that finds them there goes on with them.
    overrides
        As given to `read_config` for this ensemble.
    """
    state.mkdir(parents=True, exist_ok=True)
    async with (
        Broker(state / "broker") as broker,
        BrokerLinks(await connect(broker.address, f"{config.name}-run")) as links,
    ):
        for each in config.family():
            await links.log_of(each, declare=True)
        names = [(each, one.name) for each in config.family() for one in each.learners]
        expected = {(each.name, name) for each, name in names}

        all_there = False

        async def look() -> list[Report]:
            nonlocal all_there
            question = BEGIN if all_there else b""
            asked = [(each.name, [one.name for one in each.learners]) for each in config.family()]
            found = [ask(links.connection, ensemble, wanted, question) for ensemble, wanted in asked]
            reports = [report for some in await asyncio.gather(*found) for report in some]
            live = {(report.ensemble, report.learner) for report in reports if report.state == "live"}
            all_there = all_there or live >= expected
            return reports

        ending = asyncio.Event()
        keepers = [
            asyncio.ensure_future(_keep_running(each, name, broker, state, overrides if each is config else (), ending))
            for each, name in names
        ]
        watching = asyncio.ensure_future(record.follow(await links.log_of(config)))
        try:
            await until_done(
                asyncio.ensure_future(_until_quiet(config, links, look, stop, watch, record)), [*keepers, watching]
            )
        finally:
            ending.set()
            await asyncio.gather(*keepers, return_exceptions=True)
            await end_all([watching])


async def _keep_running(
    config: Config,
    name: str,
    broker: Broker,
    state: Path,
    overrides: Sequence[str],
    ending: asyncio.Event,
) -> None:
    """Keep a learner's process running: one that is killed is started again, one that gives up ends the run."""
    command = [sys.executable, "-m", "quorate", "node", str(config.path), "--name", name]
    command += [
        "--server",
        broker.address,
        "--checkpoints",
        str(state / "checkpoints"),
        "--log-level",
        "error",
        "--held",
    ]
    command += [part for override in overrides for part in ("--set", override)]
    for _ in range(RESTARTS_MAX):
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            preexec_fn=ends_with_parent(),
        )
        listening, told = asyncio.ensure_future(_last_words(process)), asyncio.ensure_future(ending.wait())
        await asyncio.wait([listening, told], return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if ending.is_set():
            await _end(process, listening)
            return
        said, code = await listening, await process.wait()
        if code >= 0:
            words = said.decode(errors="replace").strip().rpartition("\n")[2].removeprefix("quorate: ")
            raise EndedError(f"learner {name!r} of {config.name!r} ended: {words or f'exit code {code}'}", code)
    raise EndedError(f"learner {name!r} of {config.name!r} was killed {RESTARTS_MAX} times", 6)


async def _last_words(process: asyncio.subprocess.Process) -> bytes:
    assert process.stderr is not None
    said = b""
    while some := await process.stderr.read(LAST_LINES_BYTES):
        said = (said + some)[-LAST_LINES_BYTES:]
    return said


async def _end(process: asyncio.subprocess.Process, listening: asyncio.Task[bytes]) -> None:
    """End a process in peace; after a while, without."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    await asyncio.wait([listening], timeout=STOP_S)
    with contextlib.suppress(ProcessLookupError):
        if not listening.done():
            process.kill()
    await process.wait()


async def _until_quiet(
    config: Config, links: Links, look: Any, stop: asyncio.Event, watch: Watch, record: Record
) -> None:
    """Wait until every learner has done all it can and read all there is, a few times in a row."""
    quiet, before = 0, -1
    expected = {(each.name, one.name) for each in config.family() for one in each.learners}
    while quiet < LOOKS and not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await stop.wait()
        found: list[Report] = await look()
        watch(found)
        with contextlib.suppress(LogError):
            ends = {each.name: await (await links.log_of(each)).last() for each in config.family()}
            done = all(report.idle and report.position == ends.get(report.ensemble) for report in found)
            done = done and record.position == ends[config.name]
            there = {(report.ensemble, report.learner) for report in found} >= expected
            quiet = quiet + 1 if done and there and sum(ends.values()) == before else 0
            before = sum(ends.values())
