"""What is asked of a broker in passing: declare, replay, label, leave."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from rich.table import Table

from quorate.cli.output import Output, print_json, progress_bar
from quorate.errors import LabelError, LocalError, LogError
from quorate.events import Event, Label, Leave
from quorate.log import Log
from quorate.node import replay as fold
from quorate.runtime.assembly import learner_of
from quorate.runtime.audit import Finding, audit
from quorate.runtime.config import Config, read_config
from quorate.runtime.links import BrokerLinks
from quorate.runtime.provision import OWNER
from quorate.runtime.serving import with_loop

__all__ = ["declare", "label", "leave", "links_to", "replay"]

#: How often a change of membership is tried when others change it at the same time.
TRIES = 5


async def links_to(config: Config, user: str | None, credentials: Path | None, servers: list[str]) -> BrokerLinks:
    """A connection to an ensemble's broker for a moment; as whom the key says, where one is given."""
    name = user or (credentials.stem if credentials is not None else config.learners[0].name)
    return await BrokerLinks.open(config, name, servers=servers, credentials=credentials)


def declare(file: Path, credentials: Path | None, servers: list[str], *, as_json: bool) -> None:
    """Make the streams."""
    config = read_config(file)

    async def work() -> dict[str, int]:
        async with await links_to(config, None if credentials else OWNER, credentials, servers) as links:
            return {each.name: await (await links.log_of(each, declare=True)).last() for each in config.family()}

    found = with_loop(work)
    if as_json:
        print_json({"streams": [{"ensemble": name, "entries": last} for name, last in found.items()]})
        return
    for name, last in found.items():
        Output().print(f"The stream of {name} is there, with {last} entries.", highlight=False)


def replay(
    file: Path,
    names: list[str],
    checkpoints: Path | None,
    user: str | None,
    credentials: Path | None,
    servers: list[str],
    *,
    as_json: bool,
) -> bool:
    """Audit learners; True when nothing differs."""
    config = read_config(file)
    wanted = [config.learner(name).name for name in names] or [learner.name for learner in config.learners]

    async def work() -> list[Finding]:
        async with await links_to(config, user, credentials, servers) as links:
            log = await links.log_of(config, declare=False)
            with progress_bar() as bars:
                task = bars.add_task("folding the log again", total=None)
                return await audit(
                    log,
                    [learner_of(config, name) for name in wanted],
                    lambda name: config.checkpoint_of(name, checkpoints),
                    lambda done, total: bars.update(task, completed=done, total=total),
                )

    findings: list[Finding] = with_loop(work)
    if as_json:
        print_json({"ensemble": config.name, "learners": [msgspec.to_builtins(each) for each in findings]})
    else:
        table = Table("", "entries", "decisions", "decided again", "checkpoint", "")
        for each in findings:
            compared = "none here" if each.checkpoint is None else f"entry {each.checkpoint}"
            verdict = "[green]the same[/]" if each.difference is None else "[red]differs[/]"
            table.add_row(each.learner, str(each.position), str(each.decisions), str(each.checked), compared, verdict)
        Output().print(table)
        for each in findings:
            if each.difference is not None:
                Output().print(f"{each.learner}: {each.difference}", highlight=False)
    return all(each.difference is None for each in findings)


def label(file: Path, slot: int, value: int, user: str | None, credentials: Path | None, servers: list[str]) -> None:
    """Append a label for all."""
    if value not in (-1, 1):
        raise LabelError(f"the label of slot {slot} is {value}; a label is -1 or 1")
    config = read_config(file)

    async def work() -> int:
        async with await links_to(
            config, user or (None if credentials else config.label_giver), credentials, servers
        ) as links:
            return await (await links.log_of(config, declare=False)).append([Label(slot, value)])

    Output().print(f"The label {value:+d} of slot {slot} is entry {with_loop(work)} of the log.", highlight=False)


def leave(file: Path, name: str, user: str | None, credentials: Path | None, servers: list[str]) -> None:
    """Append that a learner leaves."""
    config = read_config(file)

    async def work() -> str:
        async with await links_to(config, user or (None if credentials else name), credentials, servers) as links:
            log = await links.log_of(config, declare=False)
            return await _change(config, log, name)

    Output().print(with_loop(work), highlight=False)


async def _change(config: Config, log: Log, name: str) -> str:
    for _ in range(TRIES):
        now = (await fold(log, learner_of(config, config.learners[0].name))).learner
        if name not in now.members:
            raise LocalError(f"{name!r} is no member; the members are {', '.join(now.members)}")
        if len(now.members) == 1:
            raise LocalError(f"{name!r} cannot leave: it is the last member")
        change: Event = Leave(name, epoch=now.epoch + 1)
        position = await log.append([change])
        after = (await fold(log, learner_of(config, config.learners[0].name))).learner
        if name not in after.members:
            return f"{name} left at entry {position}; the members are {', '.join(after.members)}."
        await asyncio.sleep(0.1)  # another change took this number
    raise LogError(f"{name!r} could not leave: the membership changes all the time; try again")
