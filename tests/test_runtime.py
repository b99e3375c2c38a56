"""Sources, sinks, labels, the audit and metrics; a whole ensemble in one process."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from quorate import Decision, Label, Learner, Portfolio, Vote, decode, encode
from quorate.cli.standing import standing
from quorate.errors import LocalError, LogError, ModelError, SourceError
from quorate.events import Decisions
from quorate.log import MemoryLog
from quorate.node import Checkpoint, FileStore, Instance, Node, Source
from quorate.runtime.assembly import assemble, learner_of, model_of
from quorate.runtime.audit import audit
from quorate.runtime.config import Config, read_config
from quorate.runtime.links import MemoryLinks
from quorate.runtime.metrics import MetricsServer
from quorate.runtime.record import Record
from quorate.runtime.report import Report, report_of
from quorate.runtime.schema import DecisionsTable, LabelsTable, SourceTable
from quorate.runtime.shape import Shape
from quorate.runtime.sinks import FileSink, sinks_of
from quorate.runtime.sources import ChildSource, FileSource, LinesSource, PythonSource
from quorate.runtime.together import run_in_one_process

ROWS = "t,sky,rain\n20,blue,no\n,grey,yes\n12,grey,\n30,blue,no\n"
SEEN: list[dict[str, Any]] = [
    {"t": 20.0, "sky": "blue"},
    {"sky": "grey"},
    {"t": 12.0, "sky": "grey"},
    {"t": 30.0, "sky": "blue"},
]


def given(source: Source, after: int = -1) -> list[Instance]:
    async def all_of() -> list[Instance]:
        return [instance async for instance in source.instances(after)]

    return asyncio.run(all_of())


def shape(source: SourceTable | None = None, labels: LabelsTable | None = None) -> Shape:
    return Shape("paris", source or SourceTable(), labels)


# Sources


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_file_gives_its_rows_again_from_any_slot(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"weather.{form}"
    if form == "csv":
        path.write_text(ROWS)
    else:
        rows = [
            {"t": row.get("t"), "sky": row["sky"], "rain": rain}
            for row, rain in zip(SEEN, ["no", "yes", None, "no"], strict=True)
        ]
        if form == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.Table.from_pylist(rows), path)
    labels = LabelsTable(column="rain", positive="yes", delay=2)
    whole = given(FileSource(path, shape(labels=labels)))
    assert [(one.slot, one.x) for one in whole] == list(enumerate(SEEN))
    assert [(one.label, one.due) for one in whole] == [(-1, 2), (1, 3), (0, 0), (-1, 5)]
    for after in range(4):
        assert given(FileSource(path, shape(labels=labels)), after) == whole[after + 1 :]


def test_a_column_may_number_the_slots(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("id,t\n5,1\n9,2\n12,3\n")
    source = FileSource(path, shape(SourceTable(slot="id")))
    assert [(one.slot, one.x) for one in given(source)] == [(5, {"t": 1.0}), (9, {"t": 2.0}), (12, {"t": 3.0})]
    assert [one.slot for one in given(source, after=9)] == [12]
    path.write_text("id,t\n5,1\nx,2\n")
    with pytest.raises(SourceError, match="row 2: an instance of 'paris' has 'x' for its slot"):
        given(FileSource(path, shape(SourceTable(slot="id", category=["id"]))))


def test_lines_are_instances_and_bad_ones_are_said_or_skipped() -> None:
    good = [b'{"n": 5, "t": 0}', b'{"n": 7, "t": 1, "y": 1}', b"", b'{"n": 8, "t": 2, "y": -1}', b'{"n": 9, "t": 3}']
    bad = [
        b"nonsense",
        b"[" * 100_000,
        b'{"n": "x"}',
        b'{"n": 1e30}',
        b'{"n": 8}',
        b'{"n": 12, "y": "maybe"}',
        b'{"n": -1}',
    ]
    table = SourceTable(stdin=True, slot="n", on_bad_row="skip")
    seen = [Instance(7, {"t": 1}, 1, 7), Instance(8, {"t": 2}, -1, 8), Instance(9, {"t": 3})]
    for junk in [bad, *([line] for line in bad)]:
        lines = io.BytesIO(b"\n".join([*good[:4], *junk, *good[4:]]) + b"\n")
        assert given(LinesSource(shape(table, LabelsTable(column="y")), lines), after=6) == seen
    for line in bad:
        strict = Shape("paris", SourceTable(stdin=True, slot="n"), LabelsTable(column="y"))
        with pytest.raises(SourceError, match=r"the source of 'paris', line 5: .*; mend it, or skip such"):
            given(LinesSource(strict, io.BytesIO(b"\n".join([*good[:4], line, *good[4:]]) + b"\n")))


def test_python_gives_instances_in_any_way() -> None:
    async def slowly(name: str, after: int) -> AsyncIterator[Any]:
        for slot in range(after + 1, 4):
            await asyncio.sleep(0)
            yield slot, {"name": name}, 1

    def at_once(name: str, after: int) -> list[Any]:
        return [(0, "a"), Instance(1, "b", -1, 4)]

    labels = LabelsTable(python="x:y", delay=1)
    assert given(PythonSource(shape(labels=labels), slowly), 1)[0] == Instance(2, {"name": "paris"}, 1, 3)
    assert given(PythonSource(shape(), at_once)) == [Instance(0, "a"), Instance(1, "b", -1, 4)]


def test_what_a_function_raises_is_the_users() -> None:
    def broken(name: str, after: int) -> Any:
        yield 0, {}
        raise ZeroDivisionError("my own")

    with pytest.raises(SourceError, match="the source of 'paris' raised ZeroDivisionError: my own"):
        given(PythonSource(shape(), broken))


def test_a_function_that_blocks_keeps_nobody_waiting() -> None:
    turned = threading.Event()

    def slow(name: str, after: int) -> Any:
        yield 0, {}
        assert turned.wait(60)  # only a loop that goes on can set it
        yield 1, {}

    async def story() -> list[int]:
        asyncio.get_running_loop().call_later(0.05, turned.set)
        return [one.slot async for one in PythonSource(shape(), slow).instances(-1)]

    assert asyncio.run(story()) == [0, 1]


def test_absences_and_gaps_are_the_same_each_time() -> None:
    rows = [{"t": slot, "y": 1} for slot in range(2000)]
    drawn = shape(SourceTable(observe_prob=0.5), LabelsTable(column="y", prob=0.25, delay="uniform:0:9", seed=3))
    made = [drawn.instance(row, slot) for slot, row in enumerate(rows)]
    assert made == [drawn.instance(row, slot) for slot, row in enumerate(rows)]
    there = [one for one in made if one is not None]
    assert sum(one.x is not None for one in there) == pytest.approx(1000, abs=80)
    labelled = [one for one in there if one.label]
    assert len(labelled) == pytest.approx(500, abs=80)
    assert {one.due - one.slot for one in labelled} == set(range(10))


def test_a_label_must_be_understood() -> None:
    with pytest.raises(SourceError, match=r"the label of slot 3 is 'rainy'; say which class is \+1"):
        shape(labels=LabelsTable(column="y")).instance({"y": "rainy"}, 3)
    for delay in (-1, "uniform:50:0", "uniform:-9:-5", "geometric:-1", "soon"):
        with pytest.raises(LocalError, match=r"delay"):
            shape(labels=LabelsTable(column="y", delay=delay))


def test_the_decisions_of_another_ensemble() -> None:
    async def story() -> list[Instance]:
        log = MemoryLog()
        await log.append([Vote(1, "a", 1), Decision(1, "west", 1, (1,)), Decision(1, "east", -1, (1,))])
        await log.append([Decision(1, "west", 1, (1,)), Decision(2, "west", -1, (1,))])
        await log.close()
        return [one async for one in ChildSource(log, "west").instances(-1)]

    assert asyncio.run(story()) == [Instance(1, 1), Instance(2, -1)]


# Sinks


def test_a_file_has_each_decision_once_also_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "out" / "decisions.jsonl"
    made = [Decision(slot, "paris", 1, (1, 0)) for slot in range(5)]
    sink = FileSink(path)
    for decision in made[:3]:
        sink(decision)
    with path.open("ab") as file:
        file.write(b'{"slot":3,"lear')  # half a line
    again = FileSink(path)
    for decision in made:
        again(decision)
    assert [json.loads(line)["slot"] for line in path.read_text().splitlines()] == [0, 1, 2, 3, 4]
    FileSink(path, anew=True)(made[0])
    assert len(path.read_text().splitlines()) == 1
    for other in ("something else\n", "no line at all", "one line\nand half"):
        path.write_text(other)
        with pytest.raises(LocalError, match="does not end with a decision of Quorate"):
            FileSink(path)
        assert path.read_text() == other  # what is not ours is left alone


def test_a_subject_needs_a_broker(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="needs a broker"):
        sinks_of(DecisionsTable(subject="out"), "paris", tmp_path, None)


# Models


def config_of(folder: Path, text: str, *overrides: str) -> Config:
    path = folder / "grid.toml"
    path.write_text(text)
    return read_config(path, overrides)


WEATHER = """
[ensemble]
name = "grid"
horizon = 100
deadline_ms = 200
ahead = 4
[source]
file = "weather.csv"
[labels]
column = "rain"
positive = "yes"
given_by = "tokyo"
[decisions]
file = "{name}.jsonl"
[[learner]]
name = "paris"
model = "river.linear_model:LogisticRegression"
[learner.source]
columns = ["t"]
[[learner]]
name = "tokyo"
model = "tests.test_runtime:guess"
"""


def guess(x: dict[str, Any]) -> int:
    assert "rain" not in x
    return 1 if x.get("sky") == "grey" else -1


def weather(folder: Path, n_rows: int = 300) -> None:
    skies = ["grey" if slot % 3 == 0 else "blue" for slot in range(n_rows)]
    rows = [f"{10 + slot % 7},{sky},{'yes' if sky == 'grey' else 'no'}" for slot, sky in enumerate(skies)]
    (folder / "weather.csv").write_text("t,sky,rain\n" + "\n".join(rows) + "\n")


def test_a_model_comes_from_a_pickle_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.pkl").write_bytes(pickle.dumps(guess))
    config = config_of(tmp_path, WEATHER, "learner.paris.model=file:mine.pkl")
    assert model_of(config, config.learner("paris")).vote({"sky": "grey"}) == 1
    for bad, message in (("file:none.pkl", "cannot be read"), ("no.such:thing", "no model is at 'no.such:thing'")):
        config = config_of(tmp_path, WEATHER, f"learner.paris.model={bad}")
        with pytest.raises(ModelError, match=message):
            model_of(config, config.learner("paris"))


# A whole ensemble


def test_an_ensemble_in_one_process(tmp_path: Path) -> None:
    weather(tmp_path)
    config = config_of(tmp_path, WEATHER)
    record, seen = Record(learner_of(config, "paris")), list[list[Report]]()
    asyncio.run(run_in_one_process(config, asyncio.Event(), seen.append, record))
    recording = record.recording()
    assert recording.votes.shape == (300, 2)
    assert (recording.labels != 0).all()
    assert (recording.votes[:, 1] == recording.labels).all()  # tokyo knows
    assert (record.decisions == recording.labels).mean() > 0.9
    final = {report.learner: report for report in seen[-1]}
    assert all(report.idle and report.slot == 299 and report.labels == 300 for report in final.values())
    for name in ("paris", "tokyo"):
        lines = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        assert [line["slot"] for line in lines] == list(range(300))


def test_a_rule_begins_as_its_file_has_it(tmp_path: Path) -> None:
    weather(tmp_path)
    known = Portfolio(2).fit([[1, -1], [-1, 1], [1, 1], [-1, -1]] * 50, [1, -1, -1, 1] * 50)  # tokyo is always wrong
    (tmp_path / "rule.json").write_text(json.dumps(known.snapshot()))
    right = []
    for changes in ([], ["ensemble.rule_file=rule.json"]):
        config = config_of(tmp_path, WEATHER, "labels.prob=0", *changes)
        record = Record(learner_of(config, "paris"))
        asyncio.run(run_in_one_process(config, asyncio.Event(), lambda reports: None, record))
        votes = record.recording().votes
        rule = known if changes else Portfolio(2)
        assert record.decisions.tolist() == [rule.predict(row) for row in votes.tolist()]  # no label ever told
        right.append(float((record.decisions == votes[:, 1]).mean()))
    assert right[1] < 0.5 < right[0]


def test_three_levels_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORATE_DEMO_SLOTS", "200")
    config = read_config(Path(__file__).parent.parent / "examples" / "hierarchy" / "country.toml")
    record, seen = Record(learner_of(config, "north")), list[list[Report]]()
    asyncio.run(run_in_one_process(config, asyncio.Event(), seen.append, record))
    final = {(report.ensemble, report.learner): report for report in seen[-1]}
    assert {report.slot for report in final.values()} == {199}
    assert final["country", "north"].labels == 200
    assert ("region-north", "north") in final  # north looks on there
    assert ("city-lyon", "lyon") in final
    right = record.decisions == record.recording().labels
    assert right[100:].mean() > 0.98  # one site of the south knows; how soon that is learned, is a race


# The audit


def test_the_audit_decides_again_and_finds_the_first_difference(tmp_path: Path) -> None:
    weather(tmp_path)
    config = config_of(tmp_path, WEATHER)

    async def story(forge: Any) -> list[Any]:
        links = MemoryLinks()
        log = await links.log_of(config)
        assert isinstance(log, MemoryLog)
        sites = [await assemble(config, name, links, folder=tmp_path / "state") for name in ("paris", "tokyo")]
        tasks = [asyncio.ensure_future(site.node.run()) for site in sites]
        last = -1
        while not all(site.node.is_idle and site.node.position == last for site in sites):
            await asyncio.sleep(0.01)
            last = await log.last()
        for site in sites:
            site.node.stop()
        await asyncio.gather(*tasks)
        forge(log)
        learners = [learner_of(config, name) for name in ("paris", "tokyo")]
        found = await audit(log, learners, lambda name: tmp_path / "state" / f"grid.{name}.checkpoint")
        for path in (tmp_path / "state").iterdir():
            path.unlink()
        return found

    paris, tokyo = asyncio.run(story(lambda log: None))
    assert paris.difference is None
    assert tokyo.difference is None
    assert (paris.decisions, paris.checked) == (300, 300)
    assert paris.checkpoint is not None

    def lie(log: MemoryLog) -> None:
        """Paris decides otherwise than its weights say, once."""
        for place, message in enumerate(log._messages):
            event = decode(message)
            if place > 200 and isinstance(event, Decision | Decisions) and event.learner == "paris":
                first, *rest = event
                lied = msgspec.structs.replace(first, value=-first.value)
                log._messages[place] = encode(Decisions.pack([lied, *rest]))
                return

    paris, tokyo = asyncio.run(story(lie))
    assert "paris' decided" in (paris.difference or "")
    assert tokyo.difference is None


def test_the_audit_tells_a_checkpoint_that_lies(tmp_path: Path) -> None:
    async def story() -> str | None:
        log = MemoryLog()
        node = Node(Learner("a", ["a"]), log, FileStore(tmp_path / "a.checkpoint"))
        task = asyncio.ensure_future(node.run())
        await asyncio.sleep(0)
        await log.append([Vote(slot, "a", 1) for slot in range(3)])
        while node.learner.last_closed != 2:
            await asyncio.sleep(0.01)
        await log.append([Label(0, -1)])
        while node.learner.counters.labels != 1:
            await asyncio.sleep(0.01)
        node.stop()
        await task
        store = FileStore(tmp_path / "a.checkpoint")
        kept = store.load()
        assert kept is not None
        kept.learner["rule"]["weights_synchronous"] = [5, 5]
        store.save(kept)
        (found,) = await audit(log, [Learner("a", ["a"])], lambda name: tmp_path / "a.checkpoint")
        return str(found.difference)

    assert "has rule" in (asyncio.run(story()) or "")


def test_a_log_without_its_beginning_is_not_audited() -> None:
    async def story() -> None:
        log = MemoryLog(messages_max=10)
        await log.append([Vote(slot, "a", 1) for slot in range(30)])
        with pytest.raises(LogError, match="what came before is gone"):
            await audit(log, [Learner("a", ["a"])], lambda name: None)

    asyncio.run(story())


def test_a_decision_that_says_no_place_is_a_difference() -> None:
    async def story(at: int) -> Any:
        log = MemoryLog()
        await log.append([Vote(0, "a", 1), Decision(0, "a", -1, (1,), at=at)])
        (found,) = await audit(log, [Learner("a", ["a"])], lambda name: None)
        return found.difference

    for at in (0, 2, 7):
        assert "says no place before it" in asyncio.run(story(at))
    assert "decided -1, but with the weights" in asyncio.run(story(1))


def test_a_checkpoint_ahead_of_the_log_is_a_difference(tmp_path: Path) -> None:
    async def story() -> Any:
        log = MemoryLog()
        await log.append([Vote(0, "a", 1)])
        store = FileStore(tmp_path / "a.checkpoint")
        store.save(Checkpoint(log.identity, 5, -1, 0, Learner("a", ["a"]).snapshot()))
        (found,) = await audit(log, [Learner("a", ["a"])], lambda name: store.path)
        return found.difference

    assert "the log ends at 1: the broker has lost what came after" in asyncio.run(story())


# Metrics


def test_a_report_says_what_is_trusted_and_the_table_shows_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner("paris", ["paris", "tokyo"], Portfolio(2))
    for slot in range(40):
        learner.receive(Vote(slot, "paris", 1 if slot % 3 else -1)), learner.receive(Vote(slot, "tokyo", 1))
        learner.close(slot)
        learner.receive(Label(slot, 1 if slot % 3 else -1))
    report = report_of("grid", Node(learner, MemoryLog()))
    assert report.shares == learner.rule.explain(["paris", "tokyo"])  # type: ignore[attr-defined]
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
    first, second = sorted(report.shares, key=lambda name: -report.shares[name])[:2]
    old = report_of("grid", Node(Learner("tokyo", ["paris", "tokyo"]), MemoryLog()))
    assert old.shares == {}
    for width in (120, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        console = Console(file=io.StringIO())
        console.print(standing([msgspec.structs.replace(each, state="live") for each in (report, old)]))
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert "trusts" in text
        assert f"{first} {report.shares[first]:.0%}" in text
        assert (f", {second} {report.shares[second]:.0%}" in text) == (width == 120)
        assert "0 0 0" in text


def test_metrics_and_health() -> None:
    state = ["live"]
    report = report_of("grid", Node(Learner("paris", ["paris", "tokyo"]), MemoryLog()))

    def ask() -> list[Report]:
        return [msgspec.structs.replace(report, state=state[0], decisions=7, weights=[0, 2, -1], shares={"PWM": 0.25})]

    def fetch(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    with MetricsServer(ask, 0) as server:
        code, text = fetch("/metrics")
        assert code == 200
        assert 'quorate_decisions_total{ensemble="grid",learner="paris"} 7.0' in text
        assert 'quorate_weight{ensemble="grid",learner="paris",member="tokyo"} -1.0' in text
        assert 'quorate_share{ensemble="grid",learner="paris",member="PWM"} 0.25' in text
        assert 'quorate_live{ensemble="grid",learner="paris"} 1.0' in text
        assert fetch("/health")[0] == 200
        state[0] = "away"
        assert fetch("/health")[0] == 503
        assert fetch("/nowhere")[0] == 404
        with pytest.raises(LocalError, match="take another port"):
            MetricsServer(ask, server.port)


def test_what_is_there_is_given_at_once_and_nobody_waits_for_the_rest() -> None:
    """A source that has something now and then: the first is not kept back until the second comes."""
    released = threading.Event()

    def now_and_then(name: str, after: int) -> Any:
        yield 0, {}
        released.wait()
        yield 1, {}

    async def story() -> int:
        async with asyncio.timeout(30):
            async for instance in PythonSource(shape(), now_and_then).instances(-1):
                return instance.slot
        return -1

    assert asyncio.run(story()) == 0  # though its thread still waits
    released.set()
