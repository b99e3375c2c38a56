"""The command line: `quorate demo`, `quorate doctor`."""

from __future__ import annotations

import sys

from quorate.errors import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say in one line what it lacks."""
    try:
        from quorate.cli.app import run

        run()
    except MissingExtraError as error:
        print(f"quorate: {error}", file=sys.stderr)
        sys.exit(4)
    except KeyboardInterrupt:
        print("quorate: interrupted", file=sys.stderr)
        sys.exit(130)
