"""The log of an ensemble: the protocol, and what implements it."""

from typing import TYPE_CHECKING, Any

from quorate.log.base import Entry, Log
from quorate.log.memory import MemoryLog
from quorate.log.simulated import Faults, SimulatedLog
from quorate.log.virtual_time import run_in_virtual_time

if TYPE_CHECKING:
    from quorate.log.jetstream import JetStreamLog

__all__ = ["Entry", "Faults", "JetStreamLog", "Log", "MemoryLog", "SimulatedLog", "run_in_virtual_time"]


def __getattr__(name: str) -> Any:
    if name != "JetStreamLog":
        raise AttributeError(f"module 'quorate.log' has no attribute {name!r}")
    from quorate.log.jetstream import JetStreamLog

    return JetStreamLog
