"""What a TOML file may say, table by table."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = [
    "BrokerTable",
    "CheckpointsTable",
    "DecisionsTable",
    "EnsembleTable",
    "File",
    "LabelsTable",
    "LearnerTable",
    "SourceTable",
]

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class EnsembleTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[ensemble]``: what all learners have in common; it must be the same at every site."""

    name: _Text
    """Its name; the stream of the log is called after it."""
    rule: _Text = "Portfolio"
    """How votes become a decision."""
    rule_file: _Text | None = None
    """What the rule has learned before the stream: the JSON of its snapshot, beside this file."""
    horizon: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)] = 1000
    """How many slots a label may be late."""
    open_slots_max: _Count | None = None
    """How many slots may be open at once. Default: the horizon, at least 1024."""
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=86_400_000)] = 1000
    """How long a slot waits for votes."""
    ahead: _Count = 32
    """How many slots a learner may vote ahead of its decisions: more is faster on a file, less learns sooner."""


class BrokerTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[broker]``: where the log is, for `quorate node` and all that talks to it."""

    servers: list[_Text] = []
    """Addresses, as ``nats://broker:4222``."""
    credentials: _Text | None = None
    """The file of a learner's key, ``{name}`` standing for its name; QUORATE_CREDENTIALS overrides it."""
    tls_ca: _Text | None = None
    """The certificate of the authority that the broker's own is checked with."""
    tls_certificate: _Text | None = None
    """This site's own certificate, where the broker asks for one, and"""
    tls_key: _Text | None = None
    """the key to it."""
    declare: bool = True
    """Whether a stream that is not there is made."""
    replicas: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    """How many brokers keep the stream that is made."""
    max_age_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """How long it keeps an entry; 0 for ever."""
    max_bytes: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How many bytes it keeps; 0 for any."""


class CheckpointsTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[checkpoints]``: what lets a learner go on after a crash."""

    folder: _Text = "checkpoints"
    """Where they are written, a file for each learner."""
    every_slots: _Count = 1000
    """After how many decisions; after more where writing them would take more than a twentieth of the time."""
    every_s: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """After how long, however few the decisions."""


class SourceTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[source]``, for all learners, and ``[learner.source]``, for one: what a learner observes."""

    file: _Text | None = None
    """CSV (also .gz .bz2 .xz .zst .zip), Parquet, JSON lines or ARFF."""
    stdin: bool | None = None
    """JSON lines on standard input."""
    subject: _Text | None = None
    """JSON objects on a NATS subject."""
    python: _Text | None = None
    """``module:function``, called with the learner's name and a slot, gives the instances after that slot."""
    slot: _Text | None = None
    """The column or key that numbers the slots. Default: the order."""
    columns: list[_Text] | None = None
    """What the model sees. Default: all but the label and the slot."""
    rate: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Instances a second; 0 for as fast as they are decided."""
    category: list[_Text] | None = None
    number: list[_Text] | None = None
    on_bad_row: Literal["error", "skip"] | None = None
    observe_prob: _Probability | None = None
    """How likely the learner sees an instance at all, for trials."""


class LabelsTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[labels]``: where the truth comes from; without, from `quorate label` alone."""

    given_by: _Text | None = None
    """The learner whose node gives them. Default: the first."""
    column: _Text | None = None
    """The column or key of its source, or of the file below."""
    file: _Text | None = None
    """A file of their own, and"""
    slot: _Text | None = None
    """its column that numbers the slots. Default: the order."""
    python: _Text | None = None
    """``module:function``, as for a source; the label is the third of what it gives."""
    positive: str | int | float | bool | None = None
    """The class that is +1; a label that is -1 or +1 needs none."""
    subject: _Text | None = None
    """A NATS subject with JSON objects that have ``slot`` and ``value``."""
    delay: int | str = 0
    """Slots they are late: N, uniform:LOW:HIGH, geometric:MEAN."""
    prob: _Probability = 1.0
    """How likely a label ever comes."""
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Draws delays, gaps and absences."""


class DecisionsTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[decisions]``: where each learner's decisions go, besides the log."""

    stdout: bool = False
    """JSON lines on standard output."""
    file: _Text | None = None
    """JSON lines in a file, ``{name}`` standing for the learner."""
    subject: _Text | None = None
    """A NATS subject, ``{name}`` standing for the learner."""


class LearnerTable(msgspec.Struct, frozen=True, kw_only=True):
    """``[[learner]]``: one learner."""

    name: _Text
    model: _Text | None = None
    """``module:name``; ``file:model.pkl``, a pickle of your own; ``ensemble:NAME``; none for one that only decides."""
    file: _Text | None = None
    """With ``ensemble:NAME``, that ensemble's file. Default: NAME.toml beside this one."""
    joins: bool = False
    """Whether it joined later: it is no member from the beginning, and joins through the log."""
    classes: Annotated[list[str | int | float | bool], msgspec.Meta(min_length=2, max_length=2)] | None = None
    """The model's negative and positive class. Default: false and true."""
    metrics_port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] | None = None
    """Where Prometheus asks this learner; 0 for any free port; none for none."""
    source: SourceTable = SourceTable()


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A whole file."""

    ensemble: EnsembleTable
    learner: Annotated[list[LearnerTable], msgspec.Meta(min_length=1)]
    broker: BrokerTable = BrokerTable()
    checkpoints: CheckpointsTable = CheckpointsTable()
    source: SourceTable = SourceTable()
    labels: LabelsTable = LabelsTable()
    decisions: DecisionsTable = DecisionsTable()
