"""Where decisions go, besides the log: standard output, a file, a NATS subject."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec

from quorate.errors import LocalError
from quorate.events import Decision
from quorate.runtime.schema import DecisionsTable

__all__ = ["FileSink", "line_of", "sinks_of"]

_TAIL_BYTES = 1 << 16


def line_of(decision: Decision) -> bytes:
    r"""A decision as a JSON line.

    >>> line_of(Decision(7, "paris", -1, (-1, 0)))
    b'{"slot":7,"learner":"paris","value":-1,"votes":[-1,0]}\n'
    """
    shown = {"slot": decision.slot, "learner": decision.learner, "value": decision.value, "votes": decision.votes}
    return msgspec.json.encode(shown) + b"\n"


class FileSink:
    """JSON lines in a file, each decision once: what a former life has written is not written again.

    Parameters
    ----------
    path
        The file.
    anew
        Whether what stands there, decisions of another log, is thrown away.
    """

    def __init__(self, path: Path, anew: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.last, size = self._whole_part(path)
        if anew:
            self.last, size = -1, 0
        self._file: IO[bytes] = path.open("ab", buffering=0)
        self._file.truncate(size)

    @staticmethod
    def _whole_part(path: Path) -> tuple[int, int]:
        """The slot of the last whole line, and where that ends: a crash may have left half a line after it."""
        if not path.exists() or path.stat().st_size == 0:
            return -1, 0
        with path.open("rb") as file:
            size = file.seek(0, 2)
            begin = max(size - _TAIL_BYTES, 0)
            file.seek(begin)
            tail = file.read()
        whole = tail[: tail.rfind(b"\n") + 1]
        last = whole.rstrip(b"\n").rpartition(b"\n")[2] or tail
        try:
            found = msgspec.json.decode(last)
            return int(found["slot"]) if whole else -1, begin + len(whole)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
            if not whole and tail.startswith(b'{"slot":'):
                return -1, 0  # half a first line
            raise LocalError(f"{path} does not end with a decision of Quorate; give decisions another file") from None

    def __call__(self, decision: Decision) -> None:
        """Write a decision, unless it stands there."""
        if decision.slot > self.last:
            self._file.write(line_of(decision))
            self.last = decision.slot


def _stdout(decision: Decision) -> None:
    sys.stdout.buffer.write(line_of(decision))
    sys.stdout.buffer.flush()


def sinks_of(
    table: DecisionsTable, name: str, folder: Path, connection: Any, anew: bool = False
) -> list[Callable[[Decision], None]]:
    """The sinks of one learner; `anew` where it has no checkpoint, and so decides everything again."""
    sinks: list[Callable[[Decision], None]] = []
    if table.stdout:
        sinks.append(_stdout)
    if table.file is not None:
        sinks.append(FileSink(folder / table.file.replace("{name}", name), anew))
    if table.subject is not None:
        if connection is None:
            raise LocalError("`decisions.subject` needs a broker: quorate node")
        subject = table.subject.replace("{name}", name)
        under_way: set[asyncio.Task[None]] = set()

        def publish(decision: Decision) -> None:
            task = asyncio.ensure_future(connection.publish(subject, line_of(decision).rstrip()))
            under_way.add(task)
            task.add_done_callback(_ended)

        def _ended(task: asyncio.Task[None]) -> None:
            under_way.discard(task)
            task.exception()  # nobody may listen, or the broker be away: the log has the decision

        sinks.append(publish)
    return sinks
