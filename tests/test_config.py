"""The TOML file: what it may say, and how its mistakes are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorate import PWM, Portfolio
from quorate.errors import LocalError
from quorate.runtime.config import read_config

GOOD = """
[ensemble]
name = "grid"
[source]
file = "power.csv"
rate = 10
[labels]
column = "class"
[[learner]]
name = "paris"
model = "river.linear_model:LogisticRegression"
[[learner]]
name = "tokyo"
model = "river.linear_model:LogisticRegression"
[learner.source]
columns = ["load"]
[[learner]]
name = "lima"
joins = true
"""


def written(folder: Path, text: str, name: str = "grid.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_says_who_and_what(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, GOOD), ["ensemble.deadline_ms=50", "learner.tokyo.source.rate=3.5"])
    assert config.members == ["paris", "tokyo"]
    assert config.label_giver == "paris"
    assert config.file.ensemble.deadline_ms == 50
    tokyo = config.source_of(config.learner("tokyo"))
    assert (tokyo.file, tokyo.rate, tokyo.columns) == ("power.csv", 3.5, ["load"])
    paris = config.source_of(config.learner("paris"))
    assert (paris.rate, paris.columns) == (10, None)


def test_a_learners_own_source_replaces_the_common_one(tmp_path: Path) -> None:
    changes = ["learner.tokyo.source.subject=load.tokyo", "learner.tokyo.source.slot=n"]
    config = read_config(written(tmp_path, GOOD), changes)
    tokyo = config.source_of(config.learner("tokyo"))
    assert (tokyo.file, tokyo.subject) == (None, "load.tokyo")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("ensemble.deadline_ms=0", "`ensemble.deadline_ms` must be at least 1, got 0"),
        ("ensemble.deadline_ms=soon", "`ensemble.deadline_ms` must be a whole number, got 'soon'"),
        ("ensemble.deadline=5", "`ensemble.deadline` is unknown; did you mean `deadline_ms`"),
        ("ensemble.rule=PWN", "`ensemble.rule`: no rule is named 'PWN'; did you mean 'PWM'"),
        ("ensemble.rule_file=none.json", "`ensemble.rule_file`: .*none.json cannot be read: No such file"),
        ("ensemble.name=a b", "`ensemble.name` is 'a b'; a name is 1 to 64 letters"),
        ("ensemble.ahead=5000", "`ensemble.ahead` must be at most 512"),
        ("learner.tokyo.modle=x", "`learner.tokyo.modle` is unknown; did you mean `model`"),
        ("learner.rome.model=x", "has no learner 'rome'"),
        ("learner.tokyo.name=paris", "two learners are named 'paris'"),
        ("labels.delay=uniform:50:0", "`labels.delay`: delay is .*; its low is above its high"),
        ("labels.prob=1.5", "`labels.prob` must be at most 1.0, got 1.5"),
        ("labels.given_by=rome", "has no learner 'rome'; there are paris, tokyo, lima"),
        ("labels.subject=x", "labels come from a column, from a function or from a subject; take one"),
        ("broker.servers=nats", "`broker.servers` must be a list, got 'nats'"),
        ("broker.tls_key=k.pem", "`broker.tls_certificate` and `broker.tls_key` go together"),
        ("broker.password=secret", "`broker.password` is unknown"),
        ("source.stdin=true", "the source of 'paris' is file and stdin; take one"),
        ("source.on_bad_row=skip", "say which column numbers the slots"),
        ("decisions.file=all.jsonl", "must have {name} in it"),
        ("learner.tokyo.source.subject=x", "the source of 'tokyo' is subject: say which key numbers the slots"),
        ("ensemble.name.x.y=1", "ensemble.name.x is no table"),
        ("learner.tokyo.source.rate=-1", "`learner.tokyo.source.rate` must be at least 0.0, got -1"),
        ("nonsense", "is not of the form table.key=value"),
        ("learner.tokyo.file=x.toml", "is for a model that is an ensemble"),
        ("learner.tokyo.model=ensemble:west", "there is no .*west.toml; write it, or say where it is"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, override: str, message: str) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(LocalError, match=message):
        read_config(path, [override])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is no JSON object"),
        (b"[1]", "is no JSON object"),
        (b"[" * 100_000, "is no JSON object"),
        (b" " * (1 << 25), "has more than 16777216 bytes"),
        (b"{}", "is no snapshot of a rule; write the JSON"),
        (b'{"rule":"Portfolio"}', "is no snapshot of Portfolio"),
        (json.dumps(PWM(2).snapshot()).encode(), "is a snapshot of 'PWM', not of Portfolio"),
        (json.dumps(Portfolio(3).snapshot()).encode(), "is of a rule for 3 learners; here there are 2"),
    ],
)
def test_a_file_that_is_no_rule_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "rule.json").write_bytes(content)
    with pytest.raises(LocalError, match=rf"`ensemble\.rule_file`: [^ ]*rule\.json {message}"):
        read_config(written(tmp_path, GOOD), ["ensemble.rule_file=rule.json"])
    with pytest.raises(LocalError, match=r"`ensemble\.rule`: no rule is named 'PWN'"):
        read_config(written(tmp_path, GOOD), ["ensemble.rule_file=rule.json", "ensemble.rule=PWN"])


def test_what_is_no_toml_is_said_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"is no TOML file: .*line 2"):
        read_config(written(tmp_path, "[ensemble]\nname = grid\n"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(LocalError, match="not text"):
        read_config(tmp_path / "bytes.toml")
    with pytest.raises(LocalError, match="`learner` is missing"):
        read_config(written(tmp_path, '[ensemble]\nname = "grid"\n'))


def test_ensembles_in_ensembles(tmp_path: Path) -> None:
    top = '[ensemble]\nname = "top"\n[[learner]]\nname = "west"\nmodel = "ensemble:low"\n'
    low = '[ensemble]\nname = "low"\n[[learner]]\nname = "paris"\n'
    written(tmp_path, low, "low.toml")
    config = read_config(written(tmp_path, top, "top.toml"))
    assert [each.name for each in config.family()] == ["low", "top"]
    written(tmp_path, low + 'model = "ensemble:top"\n', "low.toml")
    with pytest.raises(LocalError, match="which rests on this one"):
        read_config(tmp_path / "top.toml")
    written(tmp_path, low.replace('"low"', '"other"'), "low.toml")
    with pytest.raises(LocalError, match="is of ensemble 'other', not of 'low'"):
        read_config(tmp_path / "top.toml")


@pytest.mark.parametrize("name", ["demo/demo", "hierarchy/country", "hospitals/hospitals"])
def test_the_examples_are_good(name: str) -> None:
    config = read_config(Path(__file__).parent.parent / "examples" / f"{name}.toml")
    assert len(list(config.family())) == (5 if name.startswith("hierarchy") else 1)
