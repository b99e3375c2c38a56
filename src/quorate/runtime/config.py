"""One TOML file an ensemble: read, checked, with every mistake named by its key."""

from __future__ import annotations

import difflib
import re
import tomllib
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from quorate.errors import LocalError
from quorate.events import is_name
from quorate.rules import Rule, rule_named
from quorate.runtime.first_rule import first_rule
from quorate.runtime.schema import File, LearnerTable, SourceTable
from quorate.streams import delay_from_text

__all__ = ["Config", "read_config"]

_CHILD = "ensemble:"
_SOURCES = ("file", "stdin", "subject", "python")
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "left out",
}


class Config:
    """What a file says, checked as a whole.

    Parameters
    ----------
    path
        The file; what it names by relative paths lies beside it.
    file
        Its tables.

    Attributes
    ----------
    children
        The ensembles that are models here, by learner.
    """

    def __init__(self, path: Path, file: File) -> None:
        self.path, self.file = path, file
        self.name = file.ensemble.name
        self.children: dict[str, Config] = {}

    @property
    def learners(self) -> list[LearnerTable]:
        """All learners, those that join later included."""
        return self.file.learner

    @property
    def members(self) -> list[str]:
        """Who is a member from the beginning, in the order of the weights."""
        return [learner.name for learner in self.learners if not learner.joins]

    @property
    def label_giver(self) -> str | None:
        """Whose node gives labels, if one does."""
        labels = self.file.labels
        if labels.column is None and labels.subject is None and labels.python is None:
            return None
        return labels.given_by or self.learners[0].name

    def learner(self, name: str) -> LearnerTable:
        """One learner's table."""
        for learner in self.learners:
            if learner.name == name:
                return learner
        raise LocalError(
            f"{self.path} has no learner {name!r}; there are {', '.join(each.name for each in self.learners)}"
        )

    def source_of(self, learner: LearnerTable) -> SourceTable:
        """What a learner observes: its own table, and for what that leaves out the common one."""
        own, common = (msgspec.structs.asdict(table) for table in (learner.source, self.file.source))
        if any(own[kind] is not None for kind in _SOURCES):
            common |= dict.fromkeys(_SOURCES)
        return SourceTable(**{key: common[key] if value is None else value for key, value in own.items()})

    def beside(self, name: str) -> Path:
        """A path that the file names."""
        return self.path.parent / name

    def first_rule(self) -> Rule:
        """The rule that every learner begins with."""
        ensemble = self.file.ensemble
        file = None if ensemble.rule_file is None else self.beside(ensemble.rule_file)
        return first_rule(ensemble.rule, len(self.members), file)

    def checkpoint_of(self, name: str, folder: Path | None = None) -> Path:
        """Where a learner's checkpoint is, in the file's own folder or another."""
        return (folder or self.beside(self.file.checkpoints.folder)) / f"{self.name}.{name}.checkpoint"

    def child_of(self, learner: LearnerTable) -> str | None:
        """The ensemble that is a learner's model, if one is."""
        return learner.model[len(_CHILD) :] if learner.model and learner.model.startswith(_CHILD) else None

    def family(self) -> Iterator[Config]:
        """All ensembles that are models in this one, however deep, the deepest first, and itself."""
        seen: set[str] = set()
        for child in self.children.values():
            for each in child.family():
                if each.name not in seen:
                    seen.add(each.name)
                    yield each
        yield self


def read_config(path: str | Path, overrides: Sequence[str] = (), above: tuple[str, ...] = ()) -> Config:
    """Read a file and all it rests on.

    Parameters
    ----------
    path
        The file.
    overrides
        What holds instead, as ``ensemble.deadline_ms=50``; for a learner ``learner.paris.model=...``.
    above
        The ensembles that this one is a model in.

    Raises
    ------
    LocalError
        The file is wrong; the message names the key, what it must be, and what it is.
    """
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text())
    except UnicodeDecodeError:
        raise LocalError(f"{path} is no TOML file: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise LocalError(f"{path} is no TOML file: {error}") from None
    for override in overrides:
        _override(document, override, path)
    _refuse_unknown(document, File, "", path)
    try:
        file = msgspec.convert(document, File)
    except msgspec.ValidationError as error:
        raise LocalError(f"{path}: {_in_words(str(error), document)}") from None
    config = Config(path, file)
    _check(config)
    for learner in config.learners:
        child = config.child_of(learner)
        if child is None:
            continue
        if child in (*above, config.name):
            raise LocalError(f"{path}: learner {learner.name!r} is ensemble {child!r}, which rests on this one")
        file_of = config.beside(learner.file or f"{child}.toml")
        if not file_of.is_file():
            raise LocalError(
                f"{path}: learner {learner.name!r} is ensemble {child!r}, but there is no {file_of}; write it, or say "
                "where it is (learner.file)"
            )
        config.children[learner.name] = read_config(file_of, (), (*above, config.name))
        if config.children[learner.name].name != child:
            raise LocalError(f"{file_of} is of ensemble {config.children[learner.name].name!r}, not of {child!r}")
    return config


def _override(document: dict[str, Any], override: str, path: Path) -> None:
    key, sign, text = override.partition("=")
    *above, last = key.strip().split(".")
    if not sign or not above:
        raise LocalError(f"--set {override!r} is not of the form table.key=value, as ensemble.deadline_ms=50")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # text needs no quotes here
    table: Any = document
    for part in above:
        if isinstance(table, list):
            found = [each for each in table if each.get("name") == part]
            if not found:
                raise LocalError(f"--set {override!r}: {path} has no learner {part!r}")
            table = found[0]
        else:
            table = table.setdefault(part, {})
        if not isinstance(table, dict | list):
            break
    if not isinstance(table, dict):
        raise LocalError(f"--set {override!r}: {'.'.join(above)} is no table; a learner is learner.NAME.key")
    table[last] = value


def _refuse_unknown(document: Any, kind: Any, where: str, path: Path) -> None:
    """Refuse keys nobody knows, and name the nearest one."""
    if not isinstance(document, dict) or not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return
    types = typing.get_type_hints(kind)
    for key, value in document.items():
        name = f"{where}.{key}" if where else key
        if key not in types:
            near = difflib.get_close_matches(key, types, 1)
            meant = f"; did you mean `{near[0]}`?" if near else f"; there are {', '.join(types)}"
            raise LocalError(f"{path}: `{name}` is unknown{meant}")
        if isinstance(value, list) and (inner := typing.get_args(types[key])):
            for place, each in enumerate(value):
                label = each.get("name", place) if isinstance(each, dict) else place
                _refuse_unknown(each, inner[0], f"{name}.{label}", path)
        else:
            _refuse_unknown(value, types[key], name, path)


def _in_words(error: str, document: Any) -> str:
    """What msgspec says, with the value that was there.

    >>> _in_words("Expected `int` >= 1 - at `$.ensemble.deadline_ms`", {"ensemble": {"deadline_ms": 0}})
    '`ensemble.deadline_ms` must be at least 1, got 0'
    """
    found = _WHERE.match(error)
    assert found is not None
    what, where = found["what"], found["path"] or ""
    if missing := re.match(r"Object missing required field `(.*)`", what):
        return f"`{f'{where}.' if where else ''}{missing[1]}` is missing"
    value = _at(document, where)
    name = re.sub(r"^learner\[(\d+)\]", lambda found: f"learner.{_named(document, int(found[1]))}", where)
    name = re.sub(r"\[(\d+)\]", r".\1", name)
    for form, words in (
        (r"Expected `\w+` >= (.*)", "at least {}"),
        (r"Expected `\w+` > (.*)", "above {}"),
        (r"Expected `\w+` <= (.*)", "at most {}"),
        (r"Expected `str` of length >= (.*)", "text of at least {} letter"),
        (r"Expected `array` of length >= (.*)", "a list of at least {}"),
        (r"Expected `array` of length <= (.*)", "a list of at most {}"),
    ):
        if match := re.fullmatch(form, what):
            return f"`{name}` must be {words.format(match[1])}, got {value!r}"
    if match := re.fullmatch(r"Expected `([^`]*)`, got `.*`", what):
        kinds = [_KINDS[kind] for kind in match[1].split(" | ") if kind in _KINDS and kind != "null"]
        return f"`{name}` must be {' or '.join(kinds)}, got {value!r}"
    return f"`{name}`: {what[:1].lower()}{what[1:]}, got {value!r}"


def _named(document: Any, place: int) -> Any:
    return document["learner"][place].get("name", place) if isinstance(document["learner"][place], dict) else place


def _at(document: Any, where: str) -> Any:
    for part in re.findall(r"[^.\[\]]+", where):
        document = document[int(part) if isinstance(document, list) else part]
    return document


def _check(config: Config) -> None:
    """What no single key can be blamed for."""
    path, file = config.path, config.file
    for place, learner in enumerate(config.learners):
        if not is_name(learner.name):
            raise LocalError(
                f"{path}: `learner.name` is {learner.name!r}; a name is 1 to 64 letters, digits, '_' or '-'"
            )
        if learner.name in [each.name for each in config.learners[:place]]:
            raise LocalError(f"{path}: two learners are named {learner.name!r}")
        source = config.source_of(learner)
        kinds = [kind for kind in _SOURCES if getattr(source, kind)]
        if len(kinds) > 1:
            raise LocalError(f"{path}: the source of {learner.name!r} is {' and '.join(kinds)}; take one")
        if (source.stdin or source.subject) and source.slot is None:
            raise LocalError(
                f"{path}: the source of {learner.name!r} is {kinds[0]}: say which key numbers the slots "
                "(`source.slot`), as instances may be missed, or sent again"
            )
        if source.file and source.on_bad_row == "skip" and source.slot is None:
            raise LocalError(
                f"{path}: rows of {source.file} may be skipped: say which column numbers the slots (`source.slot`), as "
                "the order of the others would not be that of other learners"
            )
        if learner.model is not None and not kinds and config.child_of(learner) is None:
            raise LocalError(
                f"{path}: learner {learner.name!r} has a model and no source; give [source] or [learner.source]"
            )
        if learner.file is not None and config.child_of(learner) is None:
            raise LocalError(
                f"{path}: `learner.{learner.name}.file` is for a model that is an ensemble (ensemble:NAME)"
            )
    if not is_name(config.name):
        raise LocalError(f"{path}: `ensemble.name` is {config.name!r}; a name is 1 to 64 letters, digits, '_' or '-'")
    if not config.members:
        raise LocalError(f"{path}: every learner joins later; an ensemble begins with at least one member")
    key = "rule"
    try:
        rule_named(file.ensemble.rule)
        key = "rule_file"
        config.first_rule()
    except LocalError as error:
        raise LocalError(f"{path}: `ensemble.{key}`: {error}") from None
    most = max((file.ensemble.open_slots_max or max(file.ensemble.horizon, 1024)) // 2, 1)
    if file.ensemble.ahead > most:
        got = file.ensemble.ahead
        raise LocalError(f"{path}: `ensemble.ahead` must be at most {most}, half of the open slots, got {got}")
    try:
        delay_from_text(str(file.labels.delay))
    except LocalError as error:
        raise LocalError(f"{path}: `labels.delay`: {error}") from None
    if file.labels.given_by is not None:
        config.learner(file.labels.given_by)
    if file.decisions.file is not None and "{name}" not in file.decisions.file and len(config.learners) > 1:
        raise LocalError(f"{path}: `decisions.file` must have {{name}} in it, for each learner a file of its own")
    labels = file.labels
    if (labels.subject is not None and (labels.column or labels.python)) or (labels.file and labels.python):
        raise LocalError(f"{path}: labels come from a column, from a function or from a subject; take one")
    if labels.file is not None and labels.column is None:
        raise LocalError(f"{path}: `labels.file` needs `labels.column`, the column of the label in it")
    giver = None if config.label_giver is None else config.learner(config.label_giver)
    if labels.column and not labels.file and giver is not None and (giver.model is None or config.child_of(giver)):
        raise LocalError(
            f"{path}: labels are a column of the source of {giver.name!r}, which has none; say where they are "
            "(`labels.file`, `labels.python`), or who gives them (`labels.given_by`)"
        )
    if (file.broker.tls_certificate is None) != (file.broker.tls_key is None):
        raise LocalError(f"{path}: `broker.tls_certificate` and `broker.tls_key` go together")
