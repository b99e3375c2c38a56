"""A result that knows where it comes from, and saves itself."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from quorate._extras import load
from quorate._version import __version__
from quorate.evaluate.measures import FADING, Measures, fading_mean, finite, interval, rolling_mean
from quorate.evaluate.recording import BLOCK_SLOTS, Recording
from quorate.evaluate.trust import shares_over_time
from quorate.rules import Portfolio

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Comparison", "Row", "versions"]


def versions() -> dict[str, str]:
    """The versions of everything a result may depend on."""
    found = {"quorate": __version__, "python": platform.python_version()}
    for name in ("numpy", "numba", "scikit-learn", "river", "pyarrow", "scipy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


class Row(msgspec.Struct, frozen=True):
    """One competitor: its measures in each repeat.

    Parameters
    ----------
    name
        The rule, baseline or learner.
    kind
        ``rule``, ``baseline`` (needs no votes) or ``learner`` (one local model alone).
    repeats
        The measures of each repeat.
    """

    name: str
    kind: str
    repeats: list[Measures]

    def mean(self, measure: str) -> float:
        """The mean of a measure over the repeats."""
        return float(np.mean([getattr(each, measure) for each in self.repeats]))

    def interval(self, measure: str) -> tuple[float, float] | None:
        """The 95 % interval of that mean, where there is more than one repeat."""
        return interval([getattr(each, measure) for each in self.repeats])


class Comparison(msgspec.Struct, frozen=True):
    """Competitors on one stream, best first, and how it was done.

    Parameters
    ----------
    rows
        The competitors, by their mean error.
    facts
        Source, rows used, seeds, feedback, versions.
    recordings
        Votes, labels and arrivals of each repeat.
    decisions
        The decisions of each repeat by competitor, as they were issued.
    tuning
        Votes and labels from before the stream, which rules were fitted on; None where there were none.
    """

    rows: list[Row]
    facts: dict[str, Any]
    recordings: list[Recording]
    decisions: list[dict[str, NDArray[np.int8]]]
    tuning: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None

    def __getitem__(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def document(self) -> dict[str, Any]:
        """Everything but the slots, as a JSON-able dict."""
        fields = Measures.__struct_fields__
        rows = [
            {
                "name": row.name,
                "kind": row.kind,
                **{field: finite(row.mean(field)) for field in fields},
                "intervals": {field: row.interval(field) for field in fields[:-1]} if len(row.repeats) > 1 else None,
                "repeats": [each.document() for each in row.repeats],
            }
            for row in self.rows
        ]
        curves = self.curves()
        if "Portfolio" in self.decisions[0]:
            curves["portfolio"] = shares_over_time(self.recordings[0], self.tuning)
        return {"rows": rows, "curves": curves, **self.facts}

    def portfolio(self) -> Portfolio | None:
        """The portfolio as it began the stream, fitted where there was something to fit it on; None without one.

        Its snapshot is what a TOML file's ``ensemble.rule_file`` names, and `certify_portfolio` takes it as ``before``.
        """
        if "Portfolio" not in self.decisions[0]:
            return None
        begun = Portfolio(len(self.recordings[0].names))
        return begun if self.tuning is None else begun.fit(*self.tuning)

    def curves(self, points: int = 200) -> dict[str, Any]:
        """The windowed and the fading error of each rule and baseline over the first repeat, at some points."""
        labels = self.recordings[0].labels
        window, step = self.facts["window"], max(1, len(labels) // points)
        curves: dict[str, Any] = {"window": window, "fading_factor": FADING, "slots": list(range(0, len(labels), step))}
        for kind in ("windowed_error", "fading_error"):
            curves[kind] = {}
        for name, issued in self.decisions[0].items():
            wrong = issued != labels
            curves["windowed_error"][name] = rolling_mean(wrong, window, step).round(6).tolist()
            curves["fading_error"][name] = fading_mean(wrong, FADING, step).round(6).tolist()
        return curves

    def save_json(self, path: str | Path) -> None:
        """Write the document."""
        Path(path).write_text(json.dumps(self.document(), indent=2) + "\n")

    def save_parquet(self, path: str | Path) -> None:
        """Write every slot of every repeat: votes, label, arrival, and each competitor's decision."""
        load("pyarrow", "Saving a result as Parquet")
        import pyarrow as pa
        from pyarrow import parquet

        facts = {b"quorate": json.dumps(self.facts).encode()}
        writer = None
        for repeat, (recording, decided) in enumerate(zip(self.recordings, self.decisions, strict=True)):
            for first in range(0, len(recording.labels), BLOCK_SLOTS):
                table = pa.table(_columns(repeat, recording, decided, slice(first, first + BLOCK_SLOTS)))
                writer = writer or parquet.ParquetWriter(path, table.schema.with_metadata(facts))
                writer.write_table(table.replace_schema_metadata(facts))
        if writer is not None:
            writer.close()


def _columns(
    repeat: int, recording: Recording, decided: dict[str, NDArray[np.int8]], block: slice
) -> dict[str, NDArray[Any]]:
    labels = recording.labels[block]
    columns: dict[str, NDArray[Any]] = {
        "repeat": np.full(len(labels), repeat, np.int16),
        "slot": np.arange(block.start, block.start + len(labels), dtype=np.int64),
        "label": labels,
        "arrival": recording.arrivals[block],
    }
    votes = {f"vote:{name}": recording.votes[block, place] for place, name in enumerate(recording.names)}
    return columns | votes | {f"decision:{name}": issued[block] for name, issued in decided.items()}
