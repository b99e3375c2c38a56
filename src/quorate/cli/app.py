"""The commands, their options and their help."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

from quorate._extras import load
from quorate._version import __version__
from quorate.cli.exits import EXIT_CODES, EXIT_DEFECT, exit_code_of

load("rich", "The command line")
load("typer", "The command line")
import typer  # noqa: E402  # after the error that names the extra

__all__ = ["app", "run"]

app = typer.Typer(
    name="quorate",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
)

# Typer carries its own copy of Click since 0.29 and exports only this subclass of UsageError.
_UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quorate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Ensembles of distributed learners that classify a common event online, exchanging one bit per event."""


@app.command(
    epilog="Examples: [bold]quorate demo[/bold]; [bold]quorate demo --slots 20000 --seed 7 --out demo.png[/bold]; "
    "[bold]quorate demo --json | jq .rows[/bold]"
)
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Draws the stream, the delays and the gaps.")] = 0,
    slots: Annotated[int, typer.Option(min=100, max=1_000_000, help="How many events are classified.")] = 5000,
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("quorate-demo.png"),
    as_json: Json = False,
) -> None:
    """Eight learners on one drifting stream: one often absent, one always wrong, labels late or missing."""
    from quorate.cli.demo import show

    show(seed=seed, n_slots=slots, out=out, as_json=as_json)


@app.command(epilog="Examples: [bold]quorate doctor[/bold]; [bold]quorate doctor --json[/bold]")
def doctor(
    data: Annotated[
        Path | None, typer.Option(help="The data folder. Default: QUORATE_DATA, else ../shared/data.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is installed, which extras are missing, and whether caches and data are where they should be."""
    from quorate.cli.doctor import show

    raise typer.Exit(0 if show(data, as_json=as_json) else 1)


def run() -> None:
    """Run the command line; an error is one line, never a traceback (unless QUORATE_TRACEBACK is set)."""
    try:
        sys.exit(app(standalone_mode=False))
    except _UsageError as error:
        where = error.ctx.command_path if error.ctx else "quorate"
        _fail(f"{error.format_message()} (see {where} --help)", error.exit_code)
    except typer.Abort:
        _fail("interrupted", exit_code_of(KeyboardInterrupt()))
    except Exception as error:
        if os.environ.get("QUORATE_TRACEBACK"):
            raise
        code = exit_code_of(error)
        if code == EXIT_DEFECT:
            what = f"{type(error).__name__}: {error} (a defect; QUORATE_TRACEBACK=1 shows where; please report it)"
        else:
            what = str(error)
        _fail(what, code)


def _fail(what: str, code: int) -> NoReturn:
    print(f"quorate: {' '.join(what.split())}", file=sys.stderr)
    sys.exit(code)
