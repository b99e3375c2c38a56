"""The command line: `quorate demo`, `quorate doctor`."""

from __future__ import annotations

import signal
import sys
from typing import Any

from quorate.errors import MissingExtraError

__all__ = ["hear_interrupts", "main"]

#: After how long an interrupt that nobody has heard is raised again.
AGAIN_S = 2.0


def main() -> None:
    """Run the command line, or say in one line what it lacks."""
    hear_interrupts()
    try:
        from quorate.cli.app import run

        run()
    except MissingExtraError as error:
        print(f"quorate: {error}", file=sys.stderr)
        sys.exit(4)
    except KeyboardInterrupt:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        print("quorate: interrupted", file=sys.stderr)
        sys.exit(130)


def hear_interrupts() -> None:
    """Raise an interrupt again and again until the program ends: some libraries swallow it while they are imported."""

    def interrupt(number: int, frame: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        raise KeyboardInterrupt

    if hasattr(signal, "setitimer"):
        for each in (signal.SIGINT, signal.SIGALRM):
            signal.signal(each, interrupt)
