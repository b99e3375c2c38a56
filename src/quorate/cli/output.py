"""What every command prints with: tables, progress, files that can be written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from quorate.errors import LocalError

__all__ = ["PICTURES", "Output", "check_picture", "check_writable", "leave_quietly", "print_json", "progress_bar"]

#: The endings a picture may have.
PICTURES = (".png", ".svg", ".pdf")


class Output(Console):
    """Standard output, whose reader may go away (``quorate demo | head -1``)."""

    def on_broken_pipe(self) -> None:
        """End without a word, as other programs do."""
        leave_quietly()


def print_json(document: Any, indent: int | None = 2) -> None:
    """Print one JSON document; in one line without an indent."""
    try:
        print(json.dumps(document, indent=indent), flush=True)
    except BrokenPipeError:
        leave_quietly()


def leave_quietly() -> NoReturn:
    """End when nobody reads on; what Python still wants to flush goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def progress_bar(*columns: ProgressColumn) -> Progress:
    """A progress bar on standard error, gone when it is done, and absent where nobody watches."""
    console = Console(stderr=True)
    shown = (TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn())
    return Progress(*shown, console=console, transient=True, disable=not console.is_terminal)


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be drawn or written, before the work for it is done."""
    if path.suffix.lower() not in PICTURES:
        raise LocalError(f"{path} cannot be drawn: a picture ends in {', '.join(PICTURES)}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} cannot be written: it is a folder")
    check_writable(path.parent)


def check_writable(folder: Path) -> None:
    """Refuse a folder that is not there or not writable."""
    if not folder.is_dir():
        raise FileNotFoundError(f"nothing can be written to {folder}: there is no such folder")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"nothing can be written to {folder}: permission denied")
