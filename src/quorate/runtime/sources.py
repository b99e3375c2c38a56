"""Where instances come from: files, standard input, a NATS subject, Python, and the decisions of another ensemble."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any

import msgspec

from quorate.errors import LocalError, SourceError
from quorate.events import Decision, Decisions
from quorate.log import Log
from quorate.node import Instance, Source
from quorate.runtime.shape import Shape
from quorate.streams import TableReader
from quorate.streams.columns import Kind

__all__ = ["ChildSource", "FileSource", "HeldSource", "LinesSource", "PythonSource", "SubjectSource"]

#: Instances that are read and not yet taken.
READ_AHEAD = 1024

_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])
_logger = logging.getLogger("quorate.source")


class _Pace:
    """Lets so many pass a second."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._passed = 0
        self._began = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        """Until the next may pass."""
        if self.rate:
            due = self._began + self._passed / self.rate
            self._passed += 1
            delay = due - asyncio.get_running_loop().time()
            if delay > 0:
                await asyncio.sleep(delay)


class FileSource:
    """The rows of a file, in order; after a crash they are read again from where the node stood.

    Parameters
    ----------
    path
        The file.
    shape
        How its rows become instances.
    """

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path, self.shape = path, shape
        source = shape.source
        kinds: dict[str, Kind] = dict.fromkeys(source.category or [], "category")
        kinds |= dict.fromkeys(source.number or [], "number")
        if shape.label_key is not None:
            kinds[shape.label_key] = "category"
        self.reader = TableReader(path, kinds, source.on_bad_row or "error")

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        pace = _Pace(self.shape.source.rate or 0.0)
        tables = iter(self.reader)
        first = 0
        while (rows := await asyncio.to_thread(self._next_rows, tables, first, after)) is not None:
            for number, row in enumerate(rows, first):
                instance = self.shape.instance(row, number) if row is not None else None
                if instance is not None and instance.slot > after:
                    await pace.wait()
                    yield instance
            first += len(rows)

    def _next_rows(self, tables: Iterator[Any], first: int, after: int) -> list[Any] | None:
        table = next(tables, None)
        if table is None:
            return None
        if self.shape.source.slot is None and first + table.num_rows - 1 <= after:
            return [None] * table.num_rows  # all were seen
        rows: list[Any] = table.to_pylist()
        return rows


class LinesSource:
    """JSON lines, as on standard input: one object an instance. After a crash, send them again: they are read once.

    Parameters
    ----------
    shape
        How its rows become instances. Without ``slot``, lines are numbered on from the last that was voted on.
    lines
        The file. Default: standard input.
    """

    def __init__(self, shape: Shape, lines: IO[bytes] | None = None) -> None:
        self.shape = shape
        self.lines = lines or sys.stdin.buffer
        self.bad = 0

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(READ_AHEAD)

        def read() -> None:
            # In a thread that nobody waits for: a read from a pipe cannot be called off.
            try:
                for line in self.lines:
                    asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
                asyncio.run_coroutine_threadsafe(queue.put(None), loop).result()
            except (RuntimeError, ValueError, CancelledError):
                return  # the loop has ended, or the file was closed

        threading.Thread(target=read, name="quorate-lines", daemon=True).start()
        number, place = after + 1, 0
        while (line := await queue.get()) is not None:
            place += 1
            if not line.strip():
                continue
            row = _row(line, f"line {place}", self.shape, self)
            instance = None if row is None else self.shape.instance(row, number)
            number += row is not None
            if instance is not None and instance.slot > after:
                yield instance


class SubjectSource:
    """JSON objects on a NATS subject, one an instance. Who publishes them must number them, as some may be missed.

    Parameters
    ----------
    shape
        How they become instances.
    connection
        A connection of nats-py.
    """

    def __init__(self, shape: Shape, connection: Any) -> None:
        if connection is None:
            raise LocalError(f"the source of {shape.name!r} is a subject, which needs a broker: quorate node")
        if shape.source.slot is None:
            raise LocalError(
                f"the source of {shape.name!r} is a subject: say which key numbers the slots (`source.slot`), as "
                "messages that come while nobody listens are missed"
            )
        self.shape, self.connection = shape, connection
        self.bad = 0

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot, as they come."""
        subscription = await self.connection.subscribe(self.shape.source.subject)
        highest = after
        try:
            async for message in subscription.messages:
                row = _row(message.data, f"a message on {message.subject}", self.shape, self)
                instance = None if row is None else self.shape.instance(row, 0)
                if instance is not None and instance.slot > highest:
                    highest = instance.slot
                    yield instance
        finally:
            if self.connection.is_connected:
                await subscription.unsubscribe()


def _row(content: bytes, where: str, shape: Shape, counting: LinesSource | SubjectSource) -> dict[str, Any] | None:
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError as error:
        if shape.source.on_bad_row != "skip":
            raise SourceError(
                f"the source of {shape.name!r}, {where}: not a JSON object: {error}; mend it, or skip such "
                "(`source.on_bad_row`)"
            ) from None
        counting.bad += 1
        if counting.bad % 1000 == 1:
            _logger.warning("%s, %s: not a JSON object: %s", shape.name, where, error)
        return None


class PythonSource:
    """What a function gives: it is called with the learner's name and a slot, and gives what comes after that slot.

    Parameters
    ----------
    shape
        How what it gives becomes instances.
    function
        Gives an iterator, asynchronous or not, of ``(slot, x)``, ``(slot, x, label)`` or `Instance`.
    """

    def __init__(self, shape: Shape, function: Any) -> None:
        if not callable(function):
            raise LocalError(f"the source of {shape.name!r} is {function!r}, which cannot be called")
        self.shape, self.function = shape, function

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        pace = _Pace(self.shape.source.rate or 0.0)
        given = self.function(self.shape.name, after)
        async for each in given if hasattr(given, "__aiter__") else _turned(given):
            if isinstance(each, Instance):
                instance: Instance | None = each
            else:
                slot, x, *label = each
                instance = self.shape.labelled(slot, x, label[0] if label else 0)
            if instance is not None and instance.slot > after:
                await pace.wait()
                yield instance


async def _turned(iterable: Any) -> AsyncIterator[Any]:
    for each in iterable:
        yield each


class HeldSource:
    """A source that waits for a sign, so that learners that are started together begin together.

    Parameters
    ----------
    source
        The source.
    begin
        The sign.

    Attributes
    ----------
    ready
        Whether the first instance is there, and only the sign is awaited.
    """

    def __init__(self, source: Source, begin: asyncio.Event) -> None:
        self.source, self.begin = source, begin
        self.ready = self.endless = getattr(source, "endless", False)

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot, once the sign was given."""
        async for instance in self.source.instances(after):
            self.ready = True
            await self.begin.wait()
            yield instance


class ChildSource:
    """The decisions of one learner in another ensemble: that ensemble is the model here.

    Parameters
    ----------
    log
        The other ensemble's log.
    learner
        Whose decisions there.
    """

    endless = True

    def __init__(self, log: Log, learner: str) -> None:
        self.log, self.learner = log, learner

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the decisions after a slot, each once."""
        begin = max(await self.log.first() - 1, 0)
        async with aclosing(self.log.read(begin)) as entries:  # type: ignore[type-var]
            async for entry in entries:
                event = entry.event
                if not isinstance(event, Decision | Decisions) or event.learner != self.learner:
                    continue
                for decision in [event] if isinstance(event, Decision) else event:
                    if decision.slot > after:
                        after = decision.slot
                        yield Instance(decision.slot, decision.value)
