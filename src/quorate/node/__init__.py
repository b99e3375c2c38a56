"""The node: a running learner, with its model, source, log and checkpoints; and the audit of what it did."""

from quorate.node.batching import batched
from quorate.node.checkpoint import Checkpoint, FileStore, MemoryStore, Store
from quorate.node.node import Node
from quorate.node.replay import Replay, applied, replay
from quorate.node.site import Instance, ListSource, Source
from quorate.node.tasks import end_all, until_done

__all__ = [
    "Checkpoint",
    "FileStore",
    "Instance",
    "ListSource",
    "MemoryStore",
    "Node",
    "Replay",
    "Source",
    "Store",
    "applied",
    "batched",
    "end_all",
    "replay",
    "until_done",
]
