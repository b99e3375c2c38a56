"""The whole evaluation: run what is asked for, judge it, draw it, write it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from quorate.errors import LocalError, SourceError
from quorate.evaluate import versions
from quorate.paper import figures
from quorate.paper.bound_figure import run_bounds
from quorate.paper.panels import Study, run_study, s1_study, s2_study
from quorate.paper.report import write_report
from quorate.paper.s1_claims import s1_claims
from quorate.paper.s2_claims import s2_claims
from quorate.paper.s3_claims import s3_claims
from quorate.paper.table import pieces, run_table
from quorate.paper.table_claims import STREAMS, table_claims
from quorate.paper.verdicts import Claim
from quorate.streams import REAL_STREAMS, load

__all__ = ["PARTS", "reproduce"]

#: What there is to reproduce.
PARTS = {
    "table": "the table of results on R1 to R4",
    "S1": "rotating hyperplane",
    "S2": "distributed event detection",
    "S3": "the bounds on a Gaussian stream",
    "related": "the table of related work",
}

#: The figures; those of an earlier run in the same folder are removed.
FIGURES = ("table", "s1", "s1_variance", "s2_as_published", "s2_as_written", "s3")

#: Simulations of S1, S2 and S3: as many as the paper's, or a few; and of how many of S3 a certificate is made.
FULL = {"S1": 1000, "S2": 100, "S3": 10_000, "S3 certified": 500}
QUICK = {"S1": 20, "S2": 4, "S3": 100, "S3 certified": 20}

Progress = Callable[[str, int, int], None]


def reproduce(
    out: Path,
    parts: Sequence[str] = tuple(PARTS),
    *,
    data: Path | None = None,
    seed: int = 0,
    jobs: int = 1,
    backend: str | None = None,
    quick: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> dict[str, Any]:
    """Regenerate parts of the paper's evaluation.

    Parameters
    ----------
    out
        The folder for ``report.html``, ``results.json``, ``run.json`` and the figures.
    parts
        Which parts, of `PARTS`.
    data
        The folder with the real data sets.
    seed
        Draws the synthetic streams.
    jobs, backend
        How joblib spreads the work.
    quick
        A few simulations, no other rows to begin at, and no schemes that retrain: a smoke run.
    progress
        Called with what is done, how much of it, and out of how much.

    Returns
    -------
    dict
        What `results.json` holds: the same for the same seed and parts, however the work was spread.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise LocalError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    sizes = QUICK if quick else FULL
    run = _Run(sizes, seed, jobs, backend, quick, progress)
    results: dict[str, Any] = {"seed": seed, "quick": quick, "parts": [part for part in PARTS if part in parts]}
    claims: list[Claim] = []
    began = time.monotonic()
    took: dict[str, float] = {}
    for part in results["parts"]:
        started = time.monotonic()
        found, judged = getattr(run, part.lower())(*([data] if part == "table" else []))
        results[part] = found
        claims += judged
        took[part] = round(time.monotonic() - started, 1)
    results["missing"] = run.missing
    if results["parts"] == ["table"] and not results["table"]:
        raise SourceError(f"none of the data sets is there: {run.reasons['R1']}")
    for name in FIGURES:
        for ending in (".svg", ".png", ".csv"):
            (out / name).with_suffix(ending).unlink(missing_ok=True)
    results["claims"] = msgspec.to_builtins(claims)
    _draw(results, out)
    (out / "results.json").write_text(json.dumps(results, indent=1, sort_keys=True, allow_nan=False) + "\n")
    took["all"] = round(time.monotonic() - began, 1)
    about = {"seconds": took, "jobs": jobs, "backend": backend, "versions": versions(), "missing": run.reasons}
    (out / "run.json").write_text(json.dumps(about, indent=1) + "\n")
    write_report(results, about, out)
    return {**results, "seconds": took, "reasons": run.reasons}


class _Run:
    def __init__(
        self, sizes: dict[str, int], seed: int, jobs: int, backend: str | None, quick: bool, progress: Progress
    ) -> None:
        self.sizes, self.seed, self.jobs, self.backend = sizes, seed, jobs, backend
        self.quick, self.progress = quick, progress
        self.missing: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.s1_study: dict[str, Any] | None = None

    def _advance(self, what: str, total: int) -> Callable[[int], None]:
        done = 0
        self.progress(what, 0, total)

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.progress(what, done, total)

        return advance

    def _study(self, what: str, study: Study) -> dict[str, Any]:
        found: dict[str, Any] = run_study(study, self.jobs, self.backend, self._advance(what, study.n_simulations))
        return found

    def s1(self) -> tuple[dict[str, Any], list[Claim]]:
        found = {
            "standard_deviation": self._study("S1", s1_study(self.seed, self.sizes["S1"])),
            "variance": self._study("S1, more drift", s1_study(self.seed, self.sizes["S1"], variance=True)),
        }
        self.s1_study = found["standard_deviation"]
        return found, s1_claims(self.s1_study)

    def s2(self) -> tuple[dict[str, Any], list[Claim]]:
        found = {
            "as_published": self._study("S2 as published", s2_study(self.seed, self.sizes["S2"])),
            "as_written": self._study("S2 as written", s2_study(self.seed, self.sizes["S2"], published=False)),
        }
        return found, s2_claims(found["as_published"], found["as_written"], self.s1_study)

    def s3(self) -> tuple[dict[str, Any], list[Claim]]:
        n_simulations = self.sizes["S3"]
        sizes = (n_simulations, self.sizes["S3 certified"])
        found = run_bounds(self.seed, *sizes, self.jobs, self.backend, self._advance("S3", n_simulations))
        return found, s3_claims(found)

    def related(self) -> tuple[list[dict[str, Any]], list[Claim]]:
        from quorate.schemes.marks import MEANINGS, entries  # River's base classes take a second

        marks = [
            {"name": entry.name, "kind": entry.kind, "source": entry.source}
            | {"cells": dict(zip(MEANINGS, entry.cells, strict=True))}
            for entry in entries()
        ]
        return marks, []

    def table(self, data: Path | None) -> tuple[dict[str, Any], list[Claim]]:
        found = {}
        schemes: list[str] | None = [] if self.quick else None
        n_starts = 1 if self.quick else None
        for name in STREAMS:
            self.progress(f"{name}, reading", 0, 1)
            try:
                stream = load(name, data, download=False)
            except SourceError as reason:
                self.missing[name] = f"{REAL_STREAMS[name].title}: the file {REAL_STREAMS[name].file}"
                self.reasons[name] = str(reason)
                continue
            self.progress(f"{name}, reading", 1, 1)
            options: dict[str, Any] = {"schemes": schemes} | ({} if n_starts is None else {"n_starts": n_starts})
            advance = self._advance(name, pieces(stream, **options))
            found[name] = run_table(stream, jobs=self.jobs, backend=self.backend, advance=advance, **options)
        return found, table_claims(found)


def _draw(results: dict[str, Any], out: Path) -> None:
    if results.get("table"):
        figures.draw_table(results["table"], out / "table")
    if "S1" in results:
        title = "S1, rotating hyperplane: learner 1 alone and with PWM"
        figures.draw_panels(results["S1"]["standard_deviation"], title, out / "s1")
        figures.draw_panels(results["S1"]["variance"], f"{title}\n(drift with variance 0.1)", out / "s1_variance")
    if "S2" in results:
        for preset in ("as_published", "as_written"):
            title = f"S2, event detection, {preset.replace('_', ' ')}: learner 1 alone and with PWM"
            figures.draw_panels(results["S2"][preset], title, out / f"s2_{preset}")
    if "S3" in results:
        figures.draw_bounds(results["S3"], out / "s3")
