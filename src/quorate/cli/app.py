"""The commands, their options and their help."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

from quorate._extras import load
from quorate._version import __version__
from quorate.cli.exits import EXIT_CODES, EXIT_DEFECT, EXIT_INTERRUPTED, exit_code_of
from quorate.errors import QuorateError

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


class BadRowsOption(StrEnum):
    """What a row that cannot be read is."""

    error = "error"
    skip = "skip"


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


@app.command(
    "compare",
    epilog="Examples: [bold]quorate compare prices.csv.gz --label class --positive UP[/bold]; "
    "[bold]quorate compare prices.csv.gz --label class --delay 48 --label-prob 0.8 --repeat 5[/bold]; "
    "[bold]quorate compare rows.parquet --label y --model sklearn.tree:DecisionTreeClassifier --views[/bold]",
)
def compare_command(
    file: Annotated[Path, typer.Argument(help="CSV (also .gz .bz2 .xz .zst .zip), Parquet, JSON lines or ARFF.")],
    label: Annotated[str, typer.Option(help="The column of the label.")],
    positive: Annotated[str | None, typer.Option(help="The class that is +1. Default: of two, the later.")] = None,
    learners: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="How many learners there are. Default: 8.")
    ] = None,
    train_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows each model is trained on. Default: 2000, at most half in all.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A local model's import path; several are dealt in turn.")
    ] = None,
    views: Annotated[bool, typer.Option("--views", help="Split the columns over the learners.")] = False,
    delay: Annotated[
        str, typer.Option(help="Slots a label is late: N, uniform:LOW:HIGH, geometric:MEAN, column:NAME.")
    ] = "0",
    label_prob: Annotated[float, typer.Option(min=0, max=1, help="How likely a label ever comes.")] = 1.0,
    observe_prob: Annotated[float, typer.Option(min=0, max=1, help="How likely a learner observes a slot.")] = 1.0,
    window: Annotated[int | None, typer.Option(min=1, help="Slots of the rolling error in the picture.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws delays, gaps and absences.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="How often they are drawn, for an interval.")] = 1,
    fitted: Annotated[
        bool, typer.Option("--fitted", help="The models are fitted: take them as they are, train none.")
    ] = False,
    category: Annotated[list[str] | None, typer.Option(help="A column of numbers that are names.")] = None,
    number: Annotated[list[str] | None, typer.Option(help="A column of numbers; what is none is a bad row.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    schemes: Annotated[
        list[str] | None, typer.Option(help="A scheme to compare too (see quorate schemes), or all. They are slow.")
    ] = None,
    on_bad_row: Annotated[BadRowsOption, typer.Option(help="What a row that cannot be read is.")] = BadRowsOption.error,
    out: Annotated[Path, typer.Option(help="The folder for compare.json and what goes with it.")] = Path("."),
    as_json: Json = False,
) -> None:
    """Show which rule suits a stream, under the delays and gaps it really has."""
    from quorate.cli.compare import show

    show(
        file,
        label,
        models=model or [],
        window=window,
        out=out,
        as_json=as_json,
        positive=positive,
        learners=learners,
        train_rows=train_rows,
        views=views,
        delay=delay,
        label_prob=label_prob,
        observe_prob=observe_prob,
        seed=seed,
        repeat=repeat,
        fitted=fitted,
        types={**dict.fromkeys(category or [], "category"), **dict.fromkeys(number or [], "number")},
        drop=drop or [],
        schemes=schemes or [],
        on_bad_row=on_bad_row.value,
    )


@app.command(
    epilog="Examples: [bold]quorate bounds compare.parquet[/bold]; "
    "[bold]quorate bounds votes.csv --label truth --certificate proof.json[/bold]; "
    "[bold]quorate bounds votes.csv --label truth --verify proof.json[/bold]; "
    "[bold]quorate bounds compare.parquet --before portfolio.json[/bold]"
)
def bounds(
    file: Annotated[
        Path, typer.Argument(help="The Parquet of compare, a table with a column of votes a learner, or .npz.")
    ],
    label: Annotated[str, typer.Option(help="The column of the label.")] = "label",
    label_prob: Annotated[
        float | None, typer.Option(help="How likely a label comes at least, whatever happened before: 0 to 1.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="For what rests on that: with which probability it holds.")] = 0.95,
    time_limit: Annotated[float, typer.Option(min=0.01, help="Seconds for the best static rule.")] = 60.0,
    before: Annotated[
        Path | None, typer.Option(help="The portfolio as it began, fitted: the portfolio.json of compare.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="The file to write the certificates to, as JSON.")] = None,
    verify: Annotated[Path | None, typer.Option(help="Only check certificates of this file against FILE.")] = None,
    as_json: Json = False,
) -> None:
    """Show how wrong PWM and the portfolio can have been on recorded votes: bounds, certificates that hold, and P^O."""
    from quorate.cli import bounds as command

    if verify is not None:
        if certificate is not None:
            raise typer.BadParameter("--verify and --certificate exclude each other: what is checked is not written")
        command.verify(file, label, verify, before=before, as_json=as_json)
        return
    command.show(
        file,
        label,
        probability=label_prob,
        confidence=confidence,
        time_limit_s=time_limit,
        before=before,
        out=certificate,
        as_json=as_json,
    )


@app.command(
    epilog="Examples: [bold]quorate reproduce all --out report --data ../shared/data[/bold]; "
    "[bold]quorate reproduce s1 s3 --out report --quick[/bold]; [bold]quorate reproduce --only table[/bold]"
)
def reproduce(
    parts: Annotated[
        list[str] | None, typer.Argument(help="What to reproduce: all, table, S1, S2, S3, related.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for report.html, results.json and the figures.")] = Path(
        "reproduced"
    ),
    data: Annotated[
        Path | None, typer.Option(help="The folder of R1 to R4. Default: QUORATE_DATA, else ../shared/data.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this part; may be given several times.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke run: few simulations, no schemes that retrain.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Draws the synthetic streams.")] = 0,
    jobs: Annotated[int, typer.Option(min=-1, help="Processes; -1 for one a core.")] = -1,
    backend: Annotated[
        str | None, typer.Option(help="Joblib's backend: loky, threading, or one that Dask or Ray register.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Regenerate the paper's table and figures, beside the paper's numbers, with a verdict on each claim."""
    from quorate.cli.reproduce import chosen, show

    if only and parts and parts != ["all"]:
        raise typer.BadParameter(f"{' '.join(parts)} and --only {' '.join(only)} exclude each other")
    show(
        chosen(only or parts or ["all"]),
        out=out,
        as_json=as_json,
        data=data,
        seed=seed,
        jobs=jobs,
        backend=backend,
        quick=quick,
    )


@app.command(epilog="Examples: [bold]quorate schemes[/bold]; [bold]quorate schemes --json[/bold]")
def schemes(as_json: Json = False) -> None:
    """List every rule and scheme, its source, and the paper's six marks."""
    from quorate.cli.schemes import show

    show(as_json=as_json)


@app.command(
    epilog="Examples: [bold]quorate doctor[/bold]; [bold]quorate doctor grid.toml --name paris[/bold]; "
    "[bold]quorate doctor --json[/bold]"
)
def doctor(
    file: Annotated[Path | None, typer.Argument(help="An ensemble's file: look at all its learners need, too.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the file, only this learner.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data folder. Default: QUORATE_DATA, else ../shared/data.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is installed and what is missing; with a file, whether its broker, sources and models are good."""
    from quorate.cli.doctor import show

    raise typer.Exit(0 if show(data, file, name, as_json=as_json) else 1)


def run() -> None:
    """Run the command line; an error is one line, never a traceback (unless QUORATE_TRACEBACK is set)."""
    from quorate.cli import network  # noqa: F401  # it adds its commands to the app

    try:
        code = app(standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # Typer makes an exit of Ctrl-C
            raise KeyboardInterrupt
        sys.exit(code)
    except _UsageError as error:
        if not error.format_message():  # no command at all: the help was printed
            sys.exit(error.exit_code)
        where = error.ctx.command_path if error.ctx else "quorate"
        _fail(f"{error.format_message()} (see {where} --help)", error.exit_code)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if os.environ.get("QUORATE_TRACEBACK"):
            raise
        code = exit_code_of(error)
        if code == EXIT_DEFECT and not isinstance(error, QuorateError):
            what = f"{type(error).__name__}: {error} (a defect; QUORATE_TRACEBACK=1 shows where; please report it)"
        else:
            what = str(error)
        _fail(what, code)


def _fail(what: str, code: int) -> NoReturn:
    print(f"quorate: {' '.join(what.split())}", file=sys.stderr)
    sys.exit(code)
