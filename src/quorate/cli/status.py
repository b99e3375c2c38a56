"""`quorate status`: how a running ensemble stands."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import msgspec
from rich.live import Live

from quorate.cli.broker_commands import links_to
from quorate.cli.output import Output, print_json
from quorate.cli.standing import standing, with_missing
from quorate.errors import LogError, SnapshotError
from quorate.node import FileStore
from quorate.runtime.config import Config, read_config
from quorate.runtime.links import BrokerLinks
from quorate.runtime.report import Report
from quorate.runtime.serving import ask, with_loop

__all__ = ["show"]

#: How often it is shown anew.
WATCH_S = 1.0


def show(
    file: Path,
    user: str | None,
    credentials: Path | None,
    servers: list[str],
    *,
    watch: bool,
    as_json: bool,
) -> None:
    """Ask every learner how it stands, once or again and again."""
    config = read_config(file)

    async def work() -> None:
        async with links_to(config, user, credentials, servers) as links:
            if not watch:
                _print(config, *await _look(config, links), as_json=as_json)
                return
            with Live(console=Output(), transient=False, auto_refresh=False) as live:
                while True:
                    rows, last = await _look(config, links)
                    if as_json:
                        print(json.dumps(_document(config, rows, last)), flush=True)
                    else:
                        live.update(standing(config, rows, title=f"{config.name}: {last} entries"), refresh=True)
                    await asyncio.sleep(WATCH_S)

    with_loop(work)


async def _look(config: Config, links: BrokerLinks) -> tuple[list[Report], int]:
    log = await links.log_of(config, declare=False)
    found = await ask(links.connection, config.name, [learner.name for learner in config.learners])
    rows = with_missing(config, found)
    return [await _remembered(config, links, row) if row.state == "gone" else row for row in rows], await log.last()


async def _remembered(config: Config, links: BrokerLinks, report: Report) -> Report:
    """What is known of a learner that does not answer: its checkpoint, where that is here."""
    path = config.beside(config.file.checkpoints.folder) / f"{config.name}.{report.learner}.checkpoint"
    with contextlib.suppress(SnapshotError, OSError, LogError):
        kept = FileStore(path).load() if path.exists() else None
        if kept is not None:
            state: dict[str, Any] = kept.learner
            counters, rule = state["counters"], state["rule"]
            weights = rule.get("weights_synchronous") or rule.get("weights") or []
            return msgspec.structs.replace(
                report,
                position=kept.position,
                slot=-1 if state["last_closed"] is None else state["last_closed"],
                voted=kept.voted,
                members=state["members"],
                decisions=counters["decisions"],
                labels=counters["labels"],
                mistakes=counters["mistakes"],
                faults=kept.faults,
                weights=weights,
            )
    return report


def _document(config: Config, rows: list[Report], last: int) -> dict[str, Any]:
    return {"ensemble": config.name, "entries": last, "nodes": [row.document() for row in rows]}


def _print(config: Config, rows: list[Report], last: int, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(config, rows, last))
        return
    Output().print(standing(config, rows, title=f"{config.name}: {last} entries"))
