"""From a file to running nodes: one learner, with all it rests on."""

from __future__ import annotations

import asyncio
import importlib
import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quorate.ensemble.models import Model, wrap
from quorate.errors import LocalError, ModelError
from quorate.evaluate.local_models import model_from_text
from quorate.events import Decision
from quorate.learner import Learner
from quorate.log import Log
from quorate.node import FileStore, Node, Source
from quorate.runtime.config import Config
from quorate.runtime.label_feed import labels_from_source, labels_from_subject
from quorate.runtime.links import Links
from quorate.runtime.schema import LearnerTable, SourceTable
from quorate.runtime.shape import Shape
from quorate.runtime.sinks import sinks_of
from quorate.runtime.sources import ChildSource, FileSource, HeldSource, LinesSource, PythonSource, SubjectSource

__all__ = ["Site", "assemble", "learner_of", "model_of"]


@dataclass
class Site:
    """A learner at work: its node, and whatever else runs for it."""

    config: Config
    node: Node
    helpers: list[Callable[[], Any]]
    """What runs beside the node, as functions that give coroutines."""
    onlookers: list[Site]
    """Nodes in the ensembles that are its model."""
    begin: asyncio.Event = field(default_factory=asyncio.Event)
    """The sign that a learner that is held waits for."""
    labels_done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no more labels come from a file or function of their own."""

    def all(self) -> list[Site]:
        """The site and its onlookers, the deepest first."""
        return [*(each for onlooker in self.onlookers for each in onlooker.all()), self]


class Decided(Model):
    """The model that is another ensemble: what it decided is what is seen."""

    learns = False

    def vote(self, x: Any) -> int:
        """Vote as it decided."""
        return int(x)

    def learn(self, kept: Any, y: Hashable) -> None:
        """Never called: the other ensemble learns by itself."""


def learner_of(config: Config, name: str) -> Learner:
    """A learner that has not begun, as the file has it; the audit begins with the same."""
    ensemble, members = config.file.ensemble, config.members
    return Learner(name, members, config.first_rule(), ensemble.horizon, ensemble.open_slots_max)


def model_of(config: Config, learner: LearnerTable) -> Model:
    """A learner's model.

    Raises
    ------
    ModelError
        It cannot be found or made; the message says why.
    """
    text = learner.model or ""
    negative, positive = learner.classes or (False, True)
    if config.child_of(learner) is not None:
        return Decided(learner.name, None, (False, True))
    if not text.startswith("file:"):
        try:
            found = model_from_text(text)
        except ModelError:
            raise
        except Exception as error:  # a user's own module may raise anything
            raise ModelError(
                f"the model of {learner.name!r}, {text}, raised {type(error).__name__}: {error}"
            ) from error
        return wrap(learner.name, found, (negative, positive))
    path = config.beside(text.removeprefix("file:"))
    try:
        found = pickle.loads(path.read_bytes())  # the user's own, from the user's own disk
    except OSError as error:
        raise ModelError(f"the model of {learner.name!r} cannot be read from {path}: {error.strerror}") from None
    except Exception as error:
        raise ModelError(f"the model of {learner.name!r} in {path} cannot be unpickled: {error}") from None
    return wrap(learner.name, found, (negative, positive))


def check_picklable(model: Model) -> None:
    """Refuse a model that could not be written into a checkpoint."""
    try:
        pickle.dumps(model)
    except Exception as error:
        raise ModelError(
            f"the model of {model.name!r} cannot be pickled, and so not be kept in a checkpoint: {error}; make it of a "
            "class or function that stands in a module"
        ) from None


def source_of(config: Config, learner: LearnerTable, connection: Any) -> Source:
    """What a learner observes, where that is no other ensemble."""
    table = config.source_of(learner)
    labels = config.file.labels
    gives = config.label_giver == learner.name and labels.file is None and labels.python is None
    shape = Shape(learner.name, table, labels if gives else None)
    shape.hidden = labels.column  # who gives no labels must not see them either
    return _source(config, shape, connection)


def _source(config: Config, shape: Shape, connection: Any) -> Source:
    table = shape.source
    if table.file is not None:
        return FileSource(config.beside(table.file), shape)
    if table.stdin:
        return LinesSource(shape)
    if table.subject is not None:
        return SubjectSource(shape, connection)
    module, _, function = (table.python or "").partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:  # a user's own module may raise anything
        raise LocalError(
            f"the source of {shape.name!r} is not at {table.python!r}: {type(error).__name__}: {error}"
        ) from None
    return PythonSource(shape, found)


async def assemble(
    config: Config,
    name: str,
    links: Links,
    *,
    folder: Path | None = None,
    held: bool = False,
    rejoins: bool = False,
) -> Site:
    """Put a learner's node together.

    Parameters
    ----------
    config, name
        The ensemble and the learner.
    links
        How its logs are reached.
    folder
        Where its checkpoints are; None for nowhere.
    held
        Whether it votes only once `Site.begin` is set.
    rejoins
        Whether it joins again, if it has left.
    """
    learner = config.learner(name)
    log = await links.log_of(config)
    onlookers: list[Site] = []
    brings: dict[str, Any] = {}
    if (child := config.children.get(name)) is not None:
        onlookers.append(await _onlooker(child, name, links, folder))
        brings = {"source": ChildSource(await links.log_of(child), name), "model": model_of(config, learner)}
    elif learner.model is not None:
        source = source_of(config, learner, links.connection)
        brings = {"source": source, "model": model_of(config, learner)}
    begin = asyncio.Event()
    if held and brings:
        brings["source"] = HeldSource(brings["source"], begin)
    anew = folder is None or not FileStore(config.checkpoint_of(name, folder)).is_there
    sinks = sinks_of(config.file.decisions, name, config.path.parent, links.connection, anew)
    if folder is not None and brings:
        check_picklable(brings["model"])
    node = _node(config, name, log, folder, joins=learner.joins, rejoins=rejoins, on_decision=_each_of(sinks), **brings)
    helpers: list[Callable[[], Any]] = []
    labels, labels_done = config.file.labels, asyncio.Event()
    if config.label_giver == name and (labels.file is not None or labels.python is not None):
        table = SourceTable(file=labels.file, python=labels.python, slot=labels.slot)
        truth = _source(config, Shape(name, table, labels), None)
        helpers.append(lambda: labels_from_source(node, truth, labels_done))
    elif config.label_giver == name and labels.subject is not None:
        if links.connection is None:
            raise LocalError("`labels.subject` needs a broker: quorate node")
        helpers.append(lambda: labels_from_subject(node, links.connection, labels.subject or ""))
    if (labels.file is None and labels.python is None) or config.label_giver != name:
        labels_done.set()
    return Site(config, node, helpers, onlookers, begin, labels_done)


async def _onlooker(config: Config, name: str, links: Links, folder: Path | None) -> Site:
    if name in [learner.name for learner in config.learners]:
        raise LocalError(f"{config.path} has a learner {name!r}, as the ensemble above it has; give one another name")
    site = Site(config, _node(config, name, await links.log_of(config), folder), [], [])
    site.labels_done.set()
    return site


def _node(config: Config, name: str, log: Log, folder: Path | None, **options: Any) -> Node:
    file = config.file
    store = None if folder is None else FileStore(config.checkpoint_of(name, folder))
    return Node(
        learner_of(config, name),
        log,
        store,
        deadline_s=file.ensemble.deadline_ms / 1000,
        checkpoint_slots=file.checkpoints.every_slots,
        checkpoint_s=file.checkpoints.every_s,
        ahead=file.ensemble.ahead,
        **options,
    )


def _each_of(sinks: list[Callable[[Decision], None]]) -> Callable[[Decision], None] | None:
    if len(sinks) < 2:
        return sinks[0] if sinks else None

    def give(decision: Decision) -> None:
        for sink in sinks:
            sink(decision)

    return give
