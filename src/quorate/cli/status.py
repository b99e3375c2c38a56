"""`quorate status`: how a running ensemble stands."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec
from rich.live import Live

from quorate.cli.broker_commands import links_to
from quorate.cli.output import Output, print_json
from quorate.cli.standing import standing, with_missing
from quorate.errors import SnapshotError
from quorate.learner import Learner
from quorate.node import FileStore
from quorate.runtime.config import Config, read_config
from quorate.runtime.links import BrokerLinks
from quorate.runtime.report import Report, report_of_learner
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
        async with await links_to(config, user, credentials, servers) as links:
            if not watch:
                _print(config, *await _look(config, links), as_json=as_json)
                return
            with contextlib.nullcontext() if as_json else Live(console=Output(), auto_refresh=False) as live:
                while True:
                    rows, last = await _look(config, links)
                    if live is None:
                        print_json(_document(config, rows, last), indent=None)
                    else:
                        live.update(standing(rows, title=f"{config.name}: {last} entries"), refresh=True)
                    await asyncio.sleep(WATCH_S)

    with_loop(work)


async def _look(config: Config, links: BrokerLinks) -> tuple[list[Report], int]:
    log = await links.log_of(config, declare=False)
    found = await ask(links.connection, config.name, [learner.name for learner in config.learners])
    rows = with_missing(config, found)
    return [_remembered(config, row) if row.state == "gone" else row for row in rows], await log.last()


def _remembered(config: Config, report: Report) -> Report:
    """What is known of a learner that does not answer: its checkpoint, where that is here."""
    with contextlib.suppress(SnapshotError, OSError):
        kept = FileStore(config.checkpoint_of(report.learner)).load()
        if kept is not None:
            learner = Learner.restore(kept.learner)
            known = report_of_learner(config.name, learner, state="gone", position=kept.position, faults=kept.faults)
            return msgspec.structs.replace(known, voted=kept.voted)
    return report


def _document(config: Config, rows: list[Report], last: int) -> dict[str, Any]:
    return {"ensemble": config.name, "entries": last, "nodes": [row.document() for row in rows]}


def _print(config: Config, rows: list[Report], last: int, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(config, rows, last))
        return
    Output().print(standing(rows, title=f"{config.name}: {last} entries"))
