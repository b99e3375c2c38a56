"""`quorate node`: one learner, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Sequence
from pathlib import Path

from quorate.runtime.assembly import Site, assemble
from quorate.runtime.config import read_config
from quorate.runtime.journal import begin_journal
from quorate.runtime.links import BrokerLinks, Links
from quorate.runtime.metrics import MetricsServer
from quorate.runtime.report import Report
from quorate.runtime.serving import reports, serve, with_loop

__all__ = ["serve_one"]

#: How long Prometheus waits for an answer at the most.
METRICS_S = 2.0
#: How often is looked whether there is nothing to do.
LOOK_S = 0.2

_logger = logging.getLogger("quorate.node")


def serve_one(
    file: Path,
    name: str,
    overrides: Sequence[str],
    *,
    servers: list[str],
    credentials: Path | None,
    checkpoints: Path | None,
    metrics_port: int | None,
    metrics_host: str,
    idle_exit_s: float | None,
    held: bool,
    rejoins: bool,
    level: str,
    form: str,
) -> None:
    """Run a learner's node until SIGTERM or SIGINT."""
    begin_journal(level, form)
    config = read_config(file, overrides)
    learner = config.learner(name)
    port = learner.metrics_port if metrics_port is None else metrics_port
    folder = checkpoints or config.checkpoint_of(name).parent

    async def work() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        async with await BrokerLinks.open(config, name, servers=servers, credentials=credentials) as links:
            site = await assemble(config, name, links, folder=folder, held=held, rejoins=rejoins)
            with contextlib.ExitStack() as open_ones:
                if port is not None:
                    server = MetricsServer(_asking([site], links, loop), port, metrics_host)
                    open_ones.enter_context(server)
                    _logger.info("%s: metrics at http://%s:%d/metrics", name, metrics_host, server.port)
                idle = asyncio.ensure_future(_until_idle(site, links, idle_exit_s, stop))
                _logger.info("%s: began, as a learner of %s", name, config.name)
                try:
                    await serve([site], links, stop)
                finally:
                    idle.cancel()
            _logger.info("%s: ended at entry %d of the log", name, site.node.position)

    with_loop(work)


def _asking(sites: list[Site], links: Links, loop: asyncio.AbstractEventLoop):  # type: ignore[no-untyped-def]
    """Reports are made where the nodes work, not in the thread that is asked."""

    async def now() -> list[Report]:
        return reports(sites, links)

    return lambda: asyncio.run_coroutine_threadsafe(now(), loop).result(METRICS_S)


async def _until_idle(site: Site, links: Links, after_s: float | None, stop: asyncio.Event) -> None:
    if after_s is None:
        return
    idle_s, position = 0.0, -1
    while idle_s < after_s:
        await asyncio.sleep(LOOK_S)
        idle = all(report.idle for report in reports([site], links)) and position == site.node.position
        idle_s, position = (idle_s + LOOK_S if idle else 0.0), site.node.position
    stop.set()
