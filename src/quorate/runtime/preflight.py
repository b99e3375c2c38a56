"""Before a node is started: whether everything is there that it will need."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from quorate.errors import CredentialsError, LogError, QuorateError, RefusedError
from quorate.log.subjects import stream_of
from quorate.runtime.assembly import check_picklable, model_of, source_of
from quorate.runtime.config import Config
from quorate.runtime.links import BrokerLinks, credentials_of
from quorate.runtime.schema import LearnerTable

__all__ = ["Finding", "examine_file"]

#: How far this machine's clock may be from the broker's before somebody should look.
CLOCK_S = 5.0
#: How long is waited for a first instance.
FIRST_S = 3.0


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    state: str
    """``ok``, ``missing`` (optional, and not there) or ``bad`` (there, and not working)."""
    detail: str


async def examine_file(config: Config, name: str | None = None) -> list[Finding]:
    """Look at all that learners of a file need.

    Parameters
    ----------
    config
        The file.
    name
        One learner. Default: all.
    """
    learners = [config.learner(name)] if name is not None else config.learners
    findings = [Finding("file", "ok", f"{config.path}: {config.name}, {len(config.learners)} learners")]
    for learner in learners:
        if learner.model is not None and learner.name not in config.children:
            findings.append(await asyncio.to_thread(_tried, f"model of {learner.name}", _model, config, learner))
            findings.append(await _source(config, learner))
    findings.append(_tried("checkpoints", _folder, config))
    if config.file.broker.servers:
        findings += await _broker(config, learners[0].name)
    else:
        findings.append(Finding("broker", "missing", "no `broker.servers`; quorate run needs none"))
    return findings


def _tried(what: str, look: Callable[..., str], *arguments: Any) -> Finding:
    try:
        return Finding(what, "ok", look(*arguments))
    except (QuorateError, OSError) as error:
        return Finding(what, "bad", str(error))
    except Exception as error:  # a user's own module may raise anything
        return Finding(what, "bad", f"{type(error).__name__}: {error}")


def _model(config: Config, learner: LearnerTable) -> str:
    model = model_of(config, learner)
    check_picklable(model)
    return f"{learner.model}, {'learns' if model.learns else 'does not learn'}"


async def _source(config: Config, learner: LearnerTable) -> Finding:
    what = f"source of {learner.name}"
    table = config.source_of(learner)
    if table.stdin or table.subject is not None:
        return Finding(what, "ok", "standard input" if table.stdin else f"subject {table.subject}")
    try:
        source = source_of(config, learner, None)
        async with asyncio.timeout(FIRST_S), contextlib.aclosing(source.instances(-1)) as some:  # type: ignore[type-var]
            async for instance in some:
                seen = "nothing" if instance.x is None else f"{instance.x!r:.60}"
                return Finding(what, "ok", f"{table.file or table.python}: slot {instance.slot}, {seen}")
        return Finding(what, "bad", f"{table.file or table.python} is empty")
    except TimeoutError:
        return Finding(what, "ok", f"{table.file or table.python}: nothing to see yet")
    except Exception as error:  # a user's own module may raise anything
        return Finding(
            what, "bad", str(error) if isinstance(error, QuorateError) else f"{type(error).__name__}: {error}"
        )


def _folder(config: Config) -> str:
    folder = config.checkpoint_of("any").parent
    parent = folder
    while not parent.exists():
        parent = parent.parent
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{folder} cannot be written; mend `checkpoints.folder`")
    return str(folder)


async def _broker(config: Config, name: str) -> list[Finding]:
    addresses = ", ".join(config.file.broker.servers)
    key = credentials_of(config, name)
    try:
        links = await BrokerLinks.open(config, name)
    except CredentialsError as error:
        return [Finding("broker", "ok", f"{addresses} answers"), Finding("credentials", "bad", str(error))]
    except (QuorateError, OSError) as error:
        return [Finding("broker", "bad", str(error))]
    async with links:
        findings = [Finding("broker", "ok", f"{addresses}, version {links.connection.connected_server_version}")]
        findings.append(Finding("credentials", "ok" if key else "missing", str(key or "none, and none asked for")))
        below = [config.children[name]] if name in config.children else []
        findings += [await _stream(links, each) for each in (config, *below)]
        findings.append(await _clock(links, config))
        return findings


async def _stream(links: BrokerLinks, config: Config) -> Finding:
    what = f"stream of {config.name}"
    try:
        log = await links.log_of(config, declare=False)
        return Finding(what, "ok", f"{await log.last()} entries")
    except RefusedError as error:
        return Finding(what, "bad", str(error))
    except LogError as error:
        return Finding(what, "missing" if config.file.broker.declare else "bad", str(error))


async def _clock(links: BrokerLinks, config: Config) -> Finding:
    """Compare this machine's clock with the broker's: nothing here depends on them, but people read both journals."""
    try:
        began = time.time()
        answer = await links.connection.request(f"$JS.API.STREAM.INFO.{stream_of(config.name)}", b"", timeout=2)
        late = datetime.fromisoformat(json.loads(answer.data)["ts"]).timestamp() - (began + time.time()) / 2
    except Exception as error:
        return Finding("clock", "missing", f"the broker did not tell the time ({type(error).__name__})")
    state = "ok" if abs(late) < CLOCK_S else "bad"
    return Finding("clock", state, f"{abs(late):.1f} s {'behind' if late > 0 else 'ahead of'} the broker's")
