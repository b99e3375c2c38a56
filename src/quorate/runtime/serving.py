"""Running sites: their nodes and what runs beside these, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

import msgspec

from quorate.log.subjects import status_subject
from quorate.node import FileStore, end_all, until_done
from quorate.runtime.assembly import Site
from quorate.runtime.links import Links
from quorate.runtime.report import Report, report_of
from quorate.runtime.sources import HeldSource

__all__ = ["BEGIN", "ask", "reports", "serve", "with_loop"]

#: What is asked once all are there, where learners are held until then.
BEGIN = b"begin"
#: How long answers to a question for the status are waited for.
ANSWER_S = 1.0

_logger = logging.getLogger("quorate.node")


def reports(sites: Sequence[Site], links: Links) -> list[Report]:
    """How all nodes of some sites stand."""
    found = []
    for each in [every for site in sites for every in site.all()]:
        report = report_of(each.config.name, each.node, links.is_connected)
        source = None if each.node.voter is None else each.node.voter.source
        if isinstance(source, HeldSource) and not source.ready:
            report = msgspec.structs.replace(report, state="catching up")
        if not each.labels_done.is_set():
            report = msgspec.structs.replace(report, idle=False)
        found.append(report)
    return found


async def serve(sites: Sequence[Site], links: Links, stop: asyncio.Event) -> None:
    """Run sites until told to stop, or until one fails; then all end, in peace where they can.

    Parameters
    ----------
    sites
        What runs.
    links
        How they reach their logs.
    stop
        Set to end them.
    """
    every = [each for site in sites for each in site.all()]
    with contextlib.ExitStack() as claims:
        for each in every:
            store = each.node.keeper.store
            if isinstance(store, FileStore):
                claims.enter_context(store.claimed())
        running = [asyncio.ensure_future(each.node.run()) for each in every]
        beside = [asyncio.ensure_future(helper()) for each in every for helper in each.helpers]
        if links.connection is not None:
            beside += [
                asyncio.ensure_future(_answer(sites, links, name)) for name in {each.config.name for each in every}
            ]
        try:
            await until_done(asyncio.ensure_future(stop.wait()), [*running, *beside])
            for each in every:
                each.node.stop()
            await asyncio.gather(*running)
        finally:
            await end_all([*running, *beside])


async def _answer(sites: Sequence[Site], links: Links, ensemble: str) -> None:
    """Answer whoever asks how the nodes of an ensemble stand, each on its own subject: nobody answers for another."""
    subscription = await links.connection.subscribe(status_subject(ensemble))
    async for message in subscription.messages:
        if message.data == BEGIN:
            for site in sites:
                site.begin.set()
        for report in reports(sites, links):
            if report.ensemble == ensemble:
                with contextlib.suppress(Exception):  # the broker may be away: who asked will ask again
                    await links.connection.publish(
                        status_subject(ensemble, report.learner), msgspec.json.encode(report)
                    )


async def ask(connection: Any, ensemble: str, names: Iterable[str], question: bytes = b"") -> list[Report]:
    """Ask all nodes of an ensemble how they stand, until those named have answered; who is not in time is left out."""
    wanted = set(names)
    subscription = await connection.subscribe(status_subject(ensemble, "*"))
    found: dict[str, Report] = {}
    try:
        await connection.publish(status_subject(ensemble), question)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                while not wanted <= found.keys():
                    message = await subscription.next_msg(timeout=None)
                    with contextlib.suppress(msgspec.MsgspecError):  # nonsense is left out
                        report = msgspec.json.decode(message.data, type=Report)
                        if message.subject == status_subject(ensemble, report.learner):
                            found[report.learner] = report
    finally:
        with contextlib.suppress(Exception):
            await subscription.unsubscribe()
    return list(found.values())


def with_loop(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine, on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())
