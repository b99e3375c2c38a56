"""Checkpoints: all that a node needs to go on where it stood, written so that a crash leaves a whole one.

A file is one line that says how long the two parts are and what their digest is, the document as JSON, and the model as
its own bytes. It is written beside the old one, synced, and put in its place; the old one is kept as ``.previous``.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from quorate.errors import LocalError, SnapshotError
from quorate.rules.base import read_versioned

__all__ = ["Checkpoint", "FileStore", "MemoryStore", "Store", "packed", "unpacked"]

_MAGIC = "quorate-checkpoint"
_logger = logging.getLogger("quorate.node")


class Checkpoint(msgspec.Struct, frozen=True):
    """What a node writes down.

    Parameters
    ----------
    log
        Which log it reads.
    position
        The last entry it has applied.
    voted
        The last slot that it has seen and whose vote it has read back: its source goes on after it. -1 for none.
    faults
        How many entries could not be used.
    learner
        The learner's snapshot.
    model
        The model and the instances that wait for their labels, as the node pickled them.
    began
        The digest of what the learner's rule was at its beginning; empty where that is not known.
    schema
        The version of this form.
    """

    log: str
    position: int
    voted: int
    faults: int
    learner: dict[str, Any]
    model: bytes = b""
    began: str = ""
    schema: int = 1


class Store(Protocol):
    """Where checkpoints are kept."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; when this returns, it outlives a loss of power."""

    def load(self) -> Checkpoint | None:
        """The last whole checkpoint, if there is any."""


def packed(checkpoint: Checkpoint) -> bytes:
    """The bytes of a checkpoint.

    >>> packed(Checkpoint("log", 7, 3, 0, {"schema": 1}))[:60]
    b'quorate-checkpoint 1 92 0 1df96bdff966da22512ec94dcf72b05a89'
    """
    fields = msgspec.structs.asdict(checkpoint)
    del fields["model"]
    document = msgspec.json.encode(fields)
    body = document + checkpoint.model
    digest = hashlib.sha256(body).hexdigest()
    return f"{_MAGIC} 1 {len(document)} {len(checkpoint.model)} {digest}\n".encode() + body


def unpacked(content: bytes, where: str) -> Checkpoint:
    """Read a checkpoint, or say what is wrong with it.

    >>> unpacked(packed(Checkpoint("log", 7, 3, 0, {"schema": 1})), "here").position
    7
    >>> unpacked(packed(Checkpoint("log", 7, 3, 0, {"schema": 1}))[:-1], "here")
    Traceback (most recent call last):
    ...
    quorate.errors.SnapshotError: the checkpoint here is damaged: it has 91 of 92 bytes
    """
    head, _, body = content.partition(b"\n")
    try:
        magic, version, n_document, n_model, digest = head.decode().split()
        sizes = int(n_document), int(n_model)
    except (UnicodeDecodeError, ValueError):
        raise SnapshotError(f"{where} is no checkpoint") from None
    if magic != _MAGIC or version != "1":
        raise SnapshotError(f"{where} is a checkpoint of form {version}; this release reads form 1")
    if len(body) != sum(sizes):
        raise SnapshotError(f"the checkpoint {where} is damaged: it has {len(body)} of {sum(sizes)} bytes")
    if hashlib.sha256(body).hexdigest() != digest:
        raise SnapshotError(f"the checkpoint {where} is damaged: its digest is another")
    try:
        document = msgspec.json.decode(body[: sizes[0]])
    except msgspec.MsgspecError as error:
        raise SnapshotError(f"the checkpoint {where} cannot be read: {error}") from None
    return msgspec.structs.replace(read_versioned(document, Checkpoint, f"checkpoint {where}"), model=body[sizes[0] :])


class FileStore:
    """Checkpoints in a file.

    Parameters
    ----------
    path
        The file; its folder is made.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.previous = self.path.with_name(self.path.name + ".previous")

    @property
    def is_there(self) -> bool:
        """Whether there is a checkpoint, whole or damaged."""
        return self.path.exists() or self.previous.exists()

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep every other process from these checkpoints: two nodes on one would undo each other."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(self.path.name + ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise LocalError(
                    f"another process works on {self.path}: this learner is running already; stop it first"
                ) from None
            yield

    def save(self, checkpoint: Checkpoint) -> None:
        """Write beside, sync, put in place."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".new")
        with beside.open("wb") as file:
            file.write(packed(checkpoint))
            file.flush()
            os.fsync(file.fileno())
        if self.path.exists():
            self.path.replace(self.previous)
        beside.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def load(self) -> Checkpoint | None:
        """The last whole checkpoint; damaged ones are passed over while there is another."""
        damage: SnapshotError | None = None
        for path in (self.path, self.previous):
            if not path.exists():
                continue
            try:
                kept = unpacked(path.read_bytes(), str(path))
            except SnapshotError as error:
                damage = damage or error
                continue
            if damage is not None:
                _logger.warning("%s; going on from the one before, %s", damage, path)
            return kept
        if damage is not None:
            raise damage
        return None


class MemoryStore:
    """Checkpoints in memory, in their written form; for one process, and for trials with damage.

    >>> store = MemoryStore()
    >>> store.save(Checkpoint("log", 7, 3, 0, {})), store.save(Checkpoint("log", 9, 4, 0, {}))
    (None, None)
    >>> store.tear(20)
    >>> store.load().position
    7
    """

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, and the one before it."""
        self._kept = [*self._kept[-1:], packed(checkpoint)]

    def tear(self, n_bytes: int) -> None:
        """Leave only the beginning of the last checkpoint, if there is one before it."""
        if len(self._kept) == 2:
            self._kept[1] = self._kept[1][:n_bytes]

    def load(self) -> Checkpoint | None:
        """The last whole checkpoint."""
        for content in reversed(self._kept):
            try:
                return unpacked(content, "in memory")
            except SnapshotError:
                continue
        return None
