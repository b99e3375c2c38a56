"""Messages of a subscription, taken as they are read: a task in between costs as much as reading them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Handover"]


class Handover:
    """Takes the messages of a subscription: at once as they are read where the client knows it, else from a task."""

    def __init__(self, at_once: Callable[[Any], None]) -> None:
        self.at_once = at_once

    async def take(self, message: Any) -> None:
        """What a client that does not know it calls."""
        self.at_once(message)
