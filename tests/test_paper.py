"""The paper's evaluation: the compiled simulation against the plain learner, the figures, the verdicts, the report."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import linear_model, optim

from quorate import PWM, ExtendedPWM, Label, Learner, Vote
from quorate.errors import LocalError
from quorate.paper import real_votes
from quorate.paper.bound_figure import MUS, run_bounds
from quorate.paper.panels import run_study, s1_study, s2_study
from quorate.paper.published import PUBLISHED
from quorate.paper.reproduce import PARTS, reproduce
from quorate.paper.simulation import RATE, Run, Setting, logistic_votes, play, simulate
from quorate.paper.stream_claims import s1_claims, s2_claims, s3_claims
from quorate.paper.table import run_table
from quorate.paper.table_claims import table_claims
from quorate.paper.verdicts import Verdict
from quorate.paper.work import spread
from quorate.streams import NEVER, EventDetection, Gaussian, RotatingHyperplane, SyntheticStream, load
from tests.commands import quorate

HARD = [
    Setting(),
    Setting(n_aggregated=3),
    Setting(delay_max=40),
    Setting(label_prob=0.3),
    Setting(observe_prob=0.4),
    Setting(observe_prob=0.6, everybody=True),
    Setting(delay_max=25, label_prob=0.6, observe_prob=0.7),
    Setting(delay_max=25, label_prob=0.6, observe_prob=0.7, everybody=True, judged="all"),
]


class PlainLogistic:
    """A logistic regression, one gradient step a label, written down plainly."""

    def __init__(self, n_features: int, rate: float) -> None:
        self.weights, self.rate = [0.0] * (n_features + 1), rate

    def margin(self, x: list[float]) -> float:
        return self.weights[0] + sum(weight * value for weight, value in zip(self.weights[1:], x, strict=True))

    def learn(self, x: list[float], label: int) -> None:
        step = self.rate * label / (1 + math.exp(label * self.margin(x)))
        self.weights = [weight + step * value for weight, value in zip(self.weights, [1.0, *x], strict=True)]


def plainly(stream: SyntheticStream, simulation: int, n_slots: int, setting: Setting, run: Run) -> tuple[Any, Any, Any]:
    """The same simulation by learners, models and events, with the delays and absences of a compiled run."""
    drawn = stream.simulation(simulation, n_slots)
    n_learners = stream.n_learners
    n_used = setting.n_aggregated or n_learners
    names = stream.names[:n_used]
    learner = Learner(names[0], names, ExtendedPWM(n_used), horizon=n_slots)
    models = [PlainLogistic(stream.n_features, RATE) for _ in range(n_learners)]
    local = drawn.local_labels
    cast = np.zeros((n_slots, n_learners), int)
    decisions = []
    present = run.votes != 0
    for slot in range(n_slots):
        for place in range(n_learners):
            if present[slot, place]:
                cast[slot, place] = 1 if models[place].margin(drawn.features[slot, place].tolist()) >= 0 else -1
                if place < n_used:
                    learner.receive(Vote(slot, names[place], int(cast[slot, place])))
        decisions.append(learner.close(slot).value)
        for late in np.flatnonzero(run.arrivals == slot).tolist():
            label = int(drawn.labels[late])
            learner.receive(Label(late, label))
            if present[late, 0]:
                own = label if local is None else int(local[late, 0])
                models[0].learn(drawn.features[late, 0].tolist(), own)
        for place in range(1, n_learners):
            if present[slot, place]:
                own = int(drawn.labels[slot] if local is None else local[slot, place])
                models[place].learn(drawn.features[slot, place].tolist(), own)
    assert isinstance(learner.rule, ExtendedPWM)
    return cast, decisions, [learner.rule.weights_synchronous, learner.rule.weights_asynchronous]


@pytest.mark.parametrize("setting", HARD, ids=range(len(HARD)))
@pytest.mark.parametrize(
    "stream", [RotatingHyperplane(6, 3, seed=5), EventDetection.as_published(n_learners=4, seed=7)], ids=["S1", "S2"]
)
def test_the_compiled_simulation_is_what_learners_do(stream: SyntheticStream, setting: Setting) -> None:
    for simulation in (0, 3):
        run = play(stream, simulation, 400, setting)
        cast, decisions, weights = plainly(stream, simulation, 400, setting, run)
        assert run.votes.tolist() == cast.tolist()
        assert run.decisions.tolist() == decisions
        assert run.weights.tolist() == weights
        labels = stream.simulation(simulation, 400).labels
        counts = run.observed if setting.judged == "observed" else np.ones(400, bool)
        outcome = simulate(stream, simulation, 400, [Setting(), setting])
        assert outcome.pwm[1] == (run.decisions != labels)[counts].mean()


def test_feedback_is_as_the_setting_says() -> None:
    run = play(RotatingHyperplane(4, 2), 0, 20_000, Setting(delay_max=40, label_prob=0.5, observe_prob=0.8))
    late = (run.arrivals - np.arange(20_000))[run.arrivals != NEVER]
    assert (late.min(), late.max()) == (0, 40)
    assert late.mean() == pytest.approx(20, abs=0.5)
    assert run.observed.mean() == pytest.approx(0.8, abs=0.02)
    assert (run.arrivals != NEVER).mean() == pytest.approx(0.4, abs=0.02)
    assert (run.votes[:, 1:] != 0).all()
    everybody = play(RotatingHyperplane(4, 2), 0, 20_000, Setting(observe_prob=0.8, everybody=True))
    assert (everybody.votes == 0).mean(axis=0) == pytest.approx([0.2] * 4, abs=0.02)
    with pytest.raises(LocalError, match="n_aggregated is 5; there are 4 learners"):
        play(RotatingHyperplane(4, 2), 0, 10, Setting(n_aggregated=5))


def test_local_models_are_rivers_logistic_regression() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(500, 3))
    labels = np.where(features @ [1.0, -2.0, 0.5] + generator.normal(size=500) > 0, 1, -1).astype(np.int8)
    model = linear_model.LogisticRegression(optimizer=optim.SGD(0.1), intercept_lr=0.1)
    said = []
    for row, label in zip(features.tolist(), labels.tolist(), strict=True):
        x: dict[Hashable, Any] = dict(enumerate(row))
        said.append(1 if model.predict_one(x) else -1)
        model.learn_one(x, label > 0)
    votes = logistic_votes(features, labels, np.arange(500), rate=0.1)
    assert votes[1:].tolist() == said[1:]  # before it has learned anything River says no, and a margin of 0 is +1 here


# The streams


def test_s2_as_published_is_the_papers_figure() -> None:
    found = run_study(s2_study(seed=1, n_simulations=4))
    panel = found["panels"]["aggregated"]
    assert panel["alone"]["mean"][-1] == pytest.approx(0.47, abs=0.015)
    assert panel["pwm"]["mean"][-1] == pytest.approx(0.01, abs=0.005)
    assert np.corrcoef(panel["x"], panel["pwm"]["mean"])[0, 1] < -0.98
    assert (np.diff(panel["pwm"]["mean"]) < 0).all()


def test_s3_agrees_with_the_closed_forms() -> None:
    found = run_bounds(seed=2, n_simulations=600, n_certified=20)
    for name in ("alone", "am"):
        measured, exact = np.array(found["measured"][name]["mean"]), np.array(found["closed_form"][name])
        half = np.array(found["measured"][name]["half"])
        assert (np.abs(measured - exact) < 2.5 * half + 1e-4).all()
    pwm = []
    for mu in (0.0, 1.0, 2.0):
        drawn = Gaussian(mu, 8, seed=2).simulation(0, 1000)
        decisions = PWM(8).run(np.where(drawn.features[:, :, 0] >= 0, 1, -1), drawn.labels)
        pwm.append(float((decisions != drawn.labels).mean()))
    one = run_bounds(seed=2, n_simulations=1)
    assert [one["measured"]["pwm"]["mean"][MUS.index(mu)] for mu in (0.0, 1.0, 2.0)] == pwm
    assert found["broken"] == 0
    assert (np.array(found["certificate"]) <= np.array(found["b2"]) + 1e-9).all()
    assert found["crossings"] == pytest.approx([0.97, 1.86], abs=0.03)


# The table


def test_pwm_on_the_table() -> None:
    table = {name: run_table(load(name), schemes=[], n_starts=1) for name in ("R1", "R2", "R3", "R4")}
    errors = {name: {row: 100 * each["error"] for row, each in found["rows"].items()} for name, found in table.items()}
    assert errors["R1"]["PWM"] <= 0.3
    assert errors["R2"]["PWM"] == pytest.approx(11.2, abs=0.5)
    assert 3 <= errors["R3"]["PWM"] <= 7
    assert errors["R4"]["PWM"] == pytest.approx(31.5, abs=1)
    for name in ("R1", "R3"):
        for other in ("WeightedMajority", "BlumMajority", "FixedShare", "AverageMajority", "AdaBoostWeights"):
            assert errors[name]["PWM"] < errors[name][other]
    for name, percent in (("R1", 0.17), ("R2", 13.7), ("R3", 3.4), ("R4", 31.9)):
        assert errors[name]["PreviousLabel"] == pytest.approx(percent, abs=0.06)
    claims = {claim.text: claim for claim in table_claims(table)}
    assert claims["PWM on R1"].verdict == Verdict.YES
    assert claims["AM (AverageMajority) on R1"].verdict == Verdict.NO
    for name in ("R1", "R2", "R3"):
        assert claims[f"The gain of PWM over WM on {name}"].reason
    assert not any("R4" in text and "without bias" in text for text in claims)


def published_table() -> dict[str, Any]:
    """The paper's own numbers, as if we had found them."""

    def row(error: float) -> dict[str, Any]:
        return {"error": error, "interval": [error, error], "kappa": 0.0, "kappa_temporal": 0.0}

    names = ("R1", "R2", "R3", "R4")
    table: dict[str, Any] = {}
    for place, name in enumerate(names):
        rows = {each.name: row(each.percent[place] / 100) for each in PUBLISHED}
        rows["PWM without bias"] = row((0.23, 14.4, 4.1, 31.5)[place] / 100)
        rows |= {"PreviousLabel": row(0.5), "MajorityClass": row(0.2)}
        sweep = {
            rule: [each["error"]] for rule, each in rows.items() if rule not in ("FanBoosting", "WangEnsemble", "DDD")
        }
        table[name] = {"rows": rows, "sweep": sweep}
    return table


def test_the_papers_own_numbers_are_reproduced() -> None:
    claims = table_claims(published_table())
    assert len(claims) == 36 + 3 + 3 + 3 + 1 + 1
    wrong = [claim for claim in claims if claim.verdict != Verdict.YES]
    assert [claim.text for claim in wrong] == []


def test_other_numbers_are_not_reproduced() -> None:
    table = published_table()
    for found in table.values():
        for row in found["rows"].values():
            row["error"] = 0.99 - row["error"]
            row["interval"] = [row["error"], row["error"]]
        found["sweep"] = {rule: [found["rows"][rule]["error"]] for rule in found["sweep"]}
    assert {claim.verdict for claim in table_claims(table)} == {Verdict.NO}
    table = published_table()
    for rule, each in table["R1"]["rows"].items():
        table["R1"]["sweep"][rule] = [each["error"], 0.5]
        each.update(error=0.5, interval=[0.5, 0.5])
    swept = [claim for claim in table_claims(table) if claim.text.endswith("on R1") and "gain" not in claim.text]
    assert {claim.verdict for claim in swept} == {Verdict.OTHER}


def test_the_claims_of_the_streams_follow_the_numbers() -> None:
    found = run_study(s1_study(seed=0, n_simulations=10))
    by_text = {claim.text: claim for claim in s1_claims(found)}
    assert len(by_text) == 9
    less = "With all learners PWM errs less than half as often as ALONE"
    assert by_text[less].verdict == Verdict.NO
    found["panels"]["aggregated"]["pwm"]["mean"][-1] = 0.1
    assert {claim.text: claim for claim in s1_claims(found)}[less].verdict == Verdict.YES
    published, written = run_study(s2_study(0, 2)), run_study(s2_study(0, 2, published=False))
    assert s2_claims(published, written)[0].verdict == Verdict.OTHER
    assert s2_claims(written, published)[0].verdict == Verdict.YES
    assert s2_claims(written, written)[0].verdict == Verdict.NO
    bounds = run_bounds(seed=0, n_simulations=20, n_certified=2)
    cusp = "The bound has a cusp at about mu = 1.75"
    assert {claim.text: claim for claim in s3_claims(bounds)}[cusp].verdict == Verdict.NO
    bounds["crossings"][-1] = 1.76
    assert {claim.text: claim for claim in s3_claims(bounds)}[cusp].verdict == Verdict.YES


# The command


def test_reproduce_is_the_same_however_it_is_spread(tmp_path: Path) -> None:
    written = []
    for name, jobs in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        reproduce(tmp_path / name, ["S1", "S2", "S3", "related"], seed=3, jobs=jobs, quick=True)
        written.append((tmp_path / name / "results.json").read_bytes())
        assert set(json.loads((tmp_path / name / "run.json").read_text())) == {"seconds", "jobs", "backend", "versions"}
    assert written[0] == written[1]
    for figure in ("s1", "s1_variance", "s2_as_published", "s2_as_written", "s3"):
        for ending in ("svg", "png", "csv"):
            one, two = ((tmp_path / name / f"{figure}.{ending}").read_bytes() for name in ("one", "two"))
            assert one == two
    with (tmp_path / "one" / "s3.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mu"]) for row in rows] == list(MUS)
    (tmp_path / "other").mkdir()
    reproduce(tmp_path / "other", ["S3"], seed=4, quick=True)
    assert json.loads(written[0])["S3"] != json.loads((tmp_path / "other" / "results.json").read_text())["S3"]


def test_reproduce_without_data_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = quorate(
        "reproduce",
        "all",
        "--quick",
        "--out",
        "report",
        "--jobs",
        "1",
        cwd=tmp_path,
        QUORATE_DATA=str(tmp_path / "empty"),
    )
    assert done.returncode == 0, done.stderr
    for name in ("R1", "R2", "R3", "R4"):
        assert f"{name} is missing" in done.stdout
    page = (tmp_path / "report" / "report.html").read_text()
    assert "r4_pakdd2009.csv.gz" in page
    assert "--data" in page
    for part in ("S1, a rotating hyperplane", "S2, distributed event detection", "S3, the bounds", "Related work"):
        assert part in page
    assert "http" not in page.replace("http://www.w3.org", "")  # it stands alone
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {claim["verdict"] for claim in results["claims"]} <= {verdict.value for verdict in Verdict}


def test_bad_arguments_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, text in [
        (["s9"], "there is no part 's9'; there are all, table, S1"),
        (["--only", "s1", "--out", "file"], "file is not a folder"),
        (
            ["s3", "--quick", "--jobs", "2", "--backend", "nonsense"],
            "backend is 'nonsense', which joblib does not have",
        ),
        (["s3", "--quick", "--jobs", "0"], "jobs is 0"),
    ]:
        done = quorate("reproduce", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), (arguments, done.stderr)
        assert text in done.stderr
    with pytest.raises(LocalError, match="there is no part"):
        reproduce(tmp_path, ["s1"])
    assert list(PARTS) == ["table", "S1", "S2", "S3", "related"]


def test_work_is_spread_in_order() -> None:
    assert list(spread(abs, range(-20, 0), jobs=2, backend="threading")) == list(range(20, 0, -1))


def test_the_layout_needs_its_rows() -> None:
    stream = load("R2")
    with pytest.raises(LocalError, match="it cannot start at row 1000"):
        real_votes(stream, start=1000)
