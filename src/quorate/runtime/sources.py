"""Where instances come from: files, standard input, a NATS subject, Python, and the decisions of another ensemble."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any

import msgspec

from quorate.errors import LocalError, QuorateError, SourceError
from quorate.events import Decision, Decisions
from quorate.log import Log
from quorate.node import Instance, Source
from quorate.runtime.pump import pumped
from quorate.runtime.shape import Shape
from quorate.streams import TableReader
from quorate.streams.columns import Kind

__all__ = ["ChildSource", "FileSource", "HeldSource", "LinesSource", "PythonSource", "SubjectSource"]


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


class _Order:
    """Makes instances, and sees to it that their slots grow; what is bad is an error, or skipped and counted."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.bad = 0
        self._last = -1

    def read(self, content: bytes, where: str) -> Instance | None:
        """The instance of a JSON object."""
        try:
            row = _decoder.decode(content)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            return self._refuse(where, f"not a JSON object: {error}")
        return self.instance(row, 0, where)

    def instance(self, row: dict[str, Any], number: int, where: str) -> Instance | None:
        """The instance of a row."""
        try:
            instance = self.shape.instance(row, number)
        except SourceError as error:
            return self._refuse(where, str(error))
        if instance is not None and instance.slot <= self._last:
            return self._refuse(where, f"slot {instance.slot} came after slot {self._last}; slots only grow")
        if instance is not None:
            self._last = instance.slot
        return instance

    def _refuse(self, where: str, reason: str) -> Instance | None:
        what = f"the source of {self.shape.name!r}, {where}: {reason}"
        if self.shape.source.on_bad_row != "skip":
            raise SourceError(f"{what}; mend it, or skip such (`source.on_bad_row`)")
        self.bad += 1
        if self.bad % 1000 == 1:
            _logger.warning("%s", what)
        return None


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
        pace, order = _Pace(self.shape.source.rate or 0.0), _Order(self.shape)
        tables = iter(self.reader)
        first = 0
        while (rows := await asyncio.to_thread(self._next_rows, tables, first, after)) is not None:
            for number, row in enumerate(rows, first):
                instance = order.instance(row, number, f"{self.path}, row {number + 1}") if row is not None else None
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
        How its rows become instances; one of the keys must number the slots, as lines may be sent again.
    lines
        The file. Default: standard input.
    """

    def __init__(self, shape: Shape, lines: IO[bytes] | None = None) -> None:
        self.shape = shape
        self.lines = lines or sys.stdin.buffer

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot."""
        order, place = _Order(self.shape), 0
        async for line in pumped(iter(self.lines)):
            place += 1
            instance = order.read(line, f"line {place}") if line.strip() else None
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
        self.shape, self.connection = shape, connection

    async def instances(self, after: int) -> AsyncIterator[Instance]:
        """Give the instances after a slot, as they come."""
        subscription = await self.connection.subscribe(self.shape.source.subject)
        order = _Order(self.shape)
        try:
            async for message in subscription.messages:
                instance = order.read(message.data, f"a message on {message.subject}")
                if instance is not None and instance.slot > after:
                    yield instance
        finally:
            if self.connection.is_connected:
                await subscription.unsubscribe()


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
        try:
            given = self.function(self.shape.name, after)
            async for each in given if hasattr(given, "__aiter__") else pumped(iter(given)):
                if isinstance(each, Instance):
                    instance: Instance | None = each
                else:
                    slot, x, *label = each
                    instance = self.shape.labelled(slot, x, label[0] if label else 0)
                if instance is not None and instance.slot > after:
                    await pace.wait()
                    yield instance
        except QuorateError:
            raise
        except Exception as error:  # whatever a user's function raises is the user's
            raise SourceError(f"the source of {self.shape.name!r} raised {type(error).__name__}: {error}") from error


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
        self.ready = True  # there was nothing, or nothing is left, to see


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
                for decision in event:
                    if decision.slot > after:
                        after = decision.slot
                        yield Instance(decision.slot, decision.value)
