"""The commands that run ensembles: run, node, provision, declare, replay, status, label, leave."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quorate.cli.app import Json, app

__all__: list[str] = []


class Level(StrEnum):
    """From which level on a node says something."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class Form(StrEnum):
    """What its lines look like."""

    text = "text"
    json = "json"


File = Annotated[Path, typer.Argument(help="The ensemble's TOML file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="What holds instead: ensemble.deadline_ms=50, learner.paris.model=..."),
]
Credentials = Annotated[Path | None, typer.Option(help="The file of a key. Default: as the file says.")]
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="As which user of the broker. Default: as the key's file is called; without, who gives labels (label), "
        "who leaves (leave), else the first learner.",
    ),
]
Server = Annotated[list[str] | None, typer.Option(help="A broker's address, instead of the file's.")]


@app.command(
    epilog="Examples: [bold]quorate run examples/demo/demo.toml[/bold]; "
    "[bold]quorate run examples/demo/demo.toml --processes --picture run.png[/bold]; "
    "[bold]quorate run grid.toml --set ensemble.rule=PWM --json[/bold]"
)
def run(
    file: File,
    processes: Annotated[
        bool, typer.Option("--processes", help="One process a learner, on a private broker that is started for it.")
    ] = False,
    overrides: Overrides = None,
    state: Annotated[
        Path | None,
        typer.Option(help="With --processes: keep streams and checkpoints here, to go on with. Default: nowhere."),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="The picture to draw at the end.")] = None,
    as_json: Json = False,
) -> None:
    """Run a whole ensemble on this machine, until its sources are at their end: a live table, then a summary."""
    from quorate.cli.run import show

    show(file, overrides or [], processes=processes, state=state, picture=picture, as_json=as_json)


@app.command(
    epilog="Examples: [bold]quorate node grid.toml --name paris[/bold]; "
    "[bold]cat events.jsonl | quorate node grid.toml --name paris --set source.stdin=true[/bold]"
)
def node(
    file: File,
    name: Annotated[str, typer.Option(help="Which learner this is.")],
    overrides: Overrides = None,
    server: Server = None,
    credentials: Credentials = None,
    checkpoints: Annotated[Path | None, typer.Option(help="Where checkpoints are. Default: as the file says.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve /metrics and /health here; 0 for any free port.")
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="On this address.")] = "127.0.0.1",
    idle_exit: Annotated[
        float | None, typer.Option(min=0, help="End after so many seconds with nothing to do.")
    ] = None,
    join: Annotated[bool, typer.Option("--join", help="Join again, if it has left.")] = False,
    held: Annotated[
        bool, typer.Option("--held", hidden=True, help="Vote only once quorate run gives the sign.")
    ] = False,
    log_level: Annotated[Level, typer.Option(help="From which level on it says something.")] = Level.info,
    log_format: Annotated[Form, typer.Option(help="What its lines on standard error look like.")] = Form.text,
) -> None:
    """Run one learner on a broker that somebody runs, until it is told to stop (SIGTERM)."""
    from quorate.cli.node import serve_one

    serve_one(
        file,
        name,
        overrides or [],
        servers=server or [],
        credentials=credentials,
        checkpoints=checkpoints,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
        idle_exit_s=idle_exit,
        held=held,
        rejoins=join,
        level=log_level.value,
        form=log_format.value,
    )


@app.command(
    epilog="Examples: [bold]quorate provision grid.toml --out broker[/bold]; "
    "[bold]quorate provision grid.toml --out broker --host 0.0.0.0 --tls-certificate c.pem --tls-key k.pem[/bold]; "
    "[bold]quorate provision grid.toml --out broker --drop lima[/bold]"
)
def provision(
    file: File,
    out: Annotated[Path, typer.Option(help="The folder for broker.conf and one key a learner.")],
    host: Annotated[
        str | None, typer.Option(help="Where the broker listens. Default: as before; at first 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="At this port. Default: as before; at first 4222.")
    ] = None,
    labeller: Annotated[list[str] | None, typer.Option(help="Somebody who is no learner and may give labels.")] = None,
    onlooker: Annotated[
        list[str] | None, typer.Option(help="Somebody who may only read, for quorate status and quorate replay.")
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Somebody the broker is to know no longer; may be given several times. Nobody else goes."),
    ] = None,
    tls_certificate: Annotated[Path | None, typer.Option(help="The broker's certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key to it.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="Who must have signed the learners' own certificates.")] = None,
    as_json: Json = False,
) -> None:
    """Write a broker's configuration and one key a learner, each with no more rights than it needs.

    Run again, it keeps all that is not said anew: keys, address, certificate, labellers and onlookers.
    """
    from quorate.cli.provision import show

    show(
        file,
        out,
        host=host,
        port=port,
        labellers=labeller or [],
        onlookers=onlooker or [],
        drop=drop or [],
        tls=(tls_certificate, tls_key, tls_ca),
        as_json=as_json,
    )


@app.command(epilog="Examples: [bold]quorate declare grid.toml --credentials broker/credentials/owner.nk[/bold]")
def declare(file: File, credentials: Credentials = None, server: Server = None, as_json: Json = False) -> None:
    """Make the streams of an ensemble, and of those that are models in it, with the owner's key."""
    from quorate.cli.broker_commands import declare as command

    command(file, credentials, server or [], as_json=as_json)


@app.command(
    epilog="Examples: [bold]quorate replay grid.toml[/bold]; [bold]quorate replay grid.toml --name paris --json[/bold]"
)
def replay(
    file: File,
    name: Annotated[list[str] | None, typer.Option(help="Only this learner; may be given several times.")] = None,
    checkpoints: Annotated[Path | None, typer.Option(help="Where checkpoints are. Default: as the file says.")] = None,
    user: As = None,
    credentials: Credentials = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Decide everything again from the log; compare with what was decided, and with the checkpoints that are here."""
    from quorate.cli.broker_commands import replay as command

    good = command(file, name or [], checkpoints, user, credentials, server or [], as_json=as_json)
    raise typer.Exit(0 if good else 1)


@app.command(
    epilog="Examples: [bold]quorate status grid.toml[/bold]; [bold]quorate status grid.toml --watch[/bold]; "
    "[bold]quorate status grid.toml --json | jq '.nodes[].error'[/bold]"
)
def status(
    file: File,
    watch: Annotated[bool, typer.Option("--watch", help="Go on showing it, until Ctrl-C.")] = False,
    user: As = None,
    credentials: Credentials = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Show how every learner of a running ensemble stands: its last slot, lag, pending labels, error and weights."""
    from quorate.cli.status import show

    show(file, user, credentials, server or [], watch=watch, as_json=as_json)


@app.command(
    epilog="Examples: [bold]quorate label 17 1 --file grid.toml[/bold]; "
    "[bold]quorate label 17 -1 --file grid.toml --as doctor --credentials doctor.nk[/bold]",
    context_settings={"ignore_unknown_options": True},
)
def label(
    slot: Annotated[int, typer.Argument(min=0, help="Which event.")],
    value: Annotated[int, typer.Argument(help="Its label: -1 or 1.")],
    file: Annotated[Path, typer.Option(help="The ensemble's TOML file.", envvar="QUORATE_FILE")] = Path("quorate.toml"),
    user: As = None,
    credentials: Credentials = None,
    server: Server = None,
) -> None:
    """Give the label of one slot to all learners."""
    from quorate.cli.broker_commands import label as command

    command(file, slot, value, user, credentials, server or [])


@app.command(
    epilog="Examples: [bold]quorate leave grid.toml --name lima --credentials broker/credentials/owner.nk[/bold]"
)
def leave(
    file: File,
    name: Annotated[str, typer.Option(help="Who leaves.")],
    user: As = None,
    credentials: Credentials = None,
    server: Server = None,
) -> None:
    """Take a learner out of a running ensemble; a learner joins by itself (joins = true in its table)."""
    from quorate.cli.broker_commands import leave as command

    command(file, name, user, credentials, server or [])
