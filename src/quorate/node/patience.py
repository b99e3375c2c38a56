"""Asking a log until it answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from quorate.errors import CredentialsError, LogError, RefusedError

__all__ = ["patiently"]

#: How long is waited after a failure, at first and at last.
BACK_OFF_S, BACK_OFF_MAX_S = 0.05, 2.0
_logger = logging.getLogger("quorate.node")


async def patiently(ask: Callable[[], Awaitable[int]], name: str) -> int:
    """Ask until there is an answer; what is refused is refused for good.

    Parameters
    ----------
    ask
        Gives what is awaited.
    name
        Who asks, for the journal.
    """
    back_off, since = BACK_OFF_S, None
    while True:
        try:
            answer = await ask()
        except (CredentialsError, RefusedError):
            raise
        except LogError as error:
            since = asyncio.get_running_loop().time() if since is None else since
            _logger.warning("%s: %s", name, error)
            await asyncio.sleep(back_off)
            back_off = min(2 * back_off, BACK_OFF_MAX_S)
        else:
            if since is not None:
                away_s = asyncio.get_running_loop().time() - since
                _logger.warning("%s: the log is back, after %.1f s", name, away_s)
            return answer
