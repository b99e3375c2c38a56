"""The command line: `quorate demo`, `quorate doctor`."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from typing import Any, NoReturn

from quorate.errors import MissingExtraError

__all__ = ["hear_interrupts", "main"]

#: After how long an interrupt that nobody has heard is raised again.
AGAIN_S = 2.0


def main() -> None:
    """Run the command line, or say in one line what it lacks."""
    try:
        _run()
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code:
            _end(ended.code)
        raise


def _run() -> None:
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


def _end(code: int) -> NoReturn:
    """End at once: where a file was left half read, threads of pyarrow's would abort a Python that cleans up."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def hear_interrupts() -> None:
    """Raise an interrupt again and again until the program ends: some libraries swallow it while they are imported."""

    def interrupt(number: int, frame: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        raise KeyboardInterrupt

    if hasattr(signal, "setitimer"):
        for each in (signal.SIGINT, signal.SIGALRM):
            signal.signal(each, interrupt)
