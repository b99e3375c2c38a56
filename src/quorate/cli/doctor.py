"""`quorate doctor`: what is there and what is not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from rich.table import Table

from quorate._extras import EXTRA_OF
from quorate._version import __version__
from quorate.cli.output import Output, print_json
from quorate.runtime.preflight import Finding
from quorate.streams import data_folder

__all__ = ["Finding", "examine", "show"]

_DISTRIBUTION_OF = {"sklearn": "scikit-learn", "nats": "nats-py", "prometheus_client": "prometheus-client"}


def examine(data: Path | None = None) -> list[Finding]:
    """Look at the installation.

    >>> [finding.state for finding in examine() if finding.what == "quorate"]
    ['ok']
    """
    findings = [
        Finding("quorate", "ok", __version__),
        Finding("python", "ok", f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"),
    ]
    findings += [Finding(library, "ok", importlib.metadata.version(library)) for library in ("msgspec", "numpy")]
    for library, extra in EXTRA_OF.items():
        try:
            version = importlib.metadata.version(_DISTRIBUTION_OF.get(library, library))
            findings.append(Finding(library, "ok", version))
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(library, "missing", f"pip install 'quorate[{extra}]'"))
    return [*findings, _cache(), _data(data)]


def _cache() -> Finding:
    """Whether compiled rules are kept between processes."""
    what = "compiled rules"
    try:
        from quorate.rules import PWM, kernels
    except ImportError as error:
        return Finding(what, "missing", str(error))
    PWM(1).run([[1]], [1])
    stats = getattr(kernels.pwm, "stats", None)
    path = getattr(stats, "cache_path", None)
    if path is None:
        return Finding(what, "bad", "no writable place for Numba's cache: set NUMBA_CACHE_DIR to a folder that is")
    if not os.access(path, os.W_OK):
        return Finding(what, "bad", f"Numba's cache {path} is not writable: set NUMBA_CACHE_DIR to a folder that is")
    return Finding(what, "ok", f"cached in {path}")


def _data(data: Path | None) -> Finding:
    """Whether the real data sets are there."""
    folder = data_folder(data)
    if folder is None:
        return Finding("data folder", "missing", "set QUORATE_DATA or give --data; only R1 to R4 need it")
    if not folder.is_dir():
        return Finding("data folder", "bad", f"there is no folder {folder}; mend --data or QUORATE_DATA")
    files = sorted(path.name for path in folder.glob("r[1-4]_*.csv.gz"))
    if not files:
        return Finding("data folder", "missing", f"{folder} holds none of the data sets R1 to R4")
    return Finding("data folder", "ok", f"{folder}: {', '.join(files)}")


def show(data: Path | None, file: Path | None = None, name: str | None = None, *, as_json: bool) -> bool:
    """Print the findings; True when nothing is bad."""
    findings = examine(data)
    if file is not None:
        from quorate.runtime.config import read_config
        from quorate.runtime.preflight import examine_file
        from quorate.runtime.serving import with_loop

        config = read_config(file)
        findings += with_loop(lambda: examine_file(config, name))
    if as_json:
        print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        table = Table("", "", "", box=None, show_header=False)
        colour = {"ok": "green", "missing": "yellow", "bad": "red"}
        for what, state, detail in findings:
            table.add_row(what, f"[{colour[state]}]{state}[/]", detail.replace("[", r"\["))
        Output().print(table)
    return all(finding.state != "bad" for finding in findings)
