"""Guarantees on the test blocks of the paper's real data sets, and the command that shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from quorate import PWM, Portfolio, best_static_rule, certify
from quorate.bounds import TrackingCertificate
from quorate.cli import tracked
from quorate.errors import LocalError, SourceError
from quorate.evaluate import read_recording
from quorate.paper import real_votes
from quorate.streams import NEVER
from tests.commands import quorate

#: The best static rule's error, in percent, as the reading notes have it.
STATIC = {"R1": 0.67, "R2": 27.70, "R3": 17.13, "R4": 19.68}


@pytest.mark.parametrize("name", STATIC)
def test_the_gap_closes_on_the_test_block(name: str) -> None:
    votes, labels, _, _ = real_votes(name)
    found = best_static_rule(votes, labels, time_limit_s=300)
    assert found.is_exact
    assert 100 * found.error == pytest.approx(STATIC[name], abs=0.12)
    weights = np.array(found.weights)
    assert int((np.where(weights[0] + votes @ weights[1:] >= 0, 1, -1) != labels).sum()) == found.mistakes
    certificate = certify(votes, labels, rule="PWM")
    certificate.verify(votes, labels)
    assert int((PWM(8).run(votes, labels) != labels).sum()) <= certificate.mistakes_max


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    labels = generator.choice((-1, 1), 400)
    cast = labels[:, None] * generator.choice((-1, 1), (400, 3), p=(0.2, 0.8))
    rows = [f"{','.join(map(str, row))},{label}" for row, label in zip(cast.tolist(), labels.tolist(), strict=True)]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["ann,bob,cy,truth", *rows]) + "\n")
    return path


def test_bounds_prints_writes_and_verifies(votes: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    done = quorate("bounds", votes, "--label", "truth", "--certificate", proof, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in (
        "PWM, what it did",
        "Portfolio, unfitted, what it did",
        "certificate",
        "proven",
        "B1 (Lemma 1)",
        "B2 (Lemma 2)",
        "B (Theorem 1)",
    ):
        assert text in done.stdout
    checked = quorate("bounds", votes, "--label", "truth", "--verify", proof, cwd=tmp_path)
    assert checked.returncode == 0
    assert "it follows" in checked.stdout
    both = quorate("bounds", votes, "--label", "truth", "--verify", proof, "--certificate", "new.json", cwd=tmp_path)
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)
    assert "--verify and --certificate exclude each other" in both.stderr
    document = json.loads(proof.read_text())
    document["PWM"]["mistakes_max"] -= 1
    proof.write_text(json.dumps(document))
    refused = quorate("bounds", votes, "--label", "truth", "--verify", proof, cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)
    assert "is claimed" in refused.stderr


def test_bounds_reads_what_compare_wrote(tmp_path: Path) -> None:
    from quorate.streams import Gaussian

    features, labels, _ = Gaussian(mu=0.8, n_learners=4, seed=1).arrays(1500)
    rows = [
        ",".join(map(str, [*row, label])) for row, label in zip(features[0, :, :, 0].tolist(), labels[0], strict=True)
    ]
    (tmp_path / "s.csv").write_text("\n".join(["a,b,c,d,y", *rows]))
    imperfect = ["--delay", "3", "--label-prob", "0.7", "--observe-prob", "0.9", "--repeat", "2"]
    done = quorate(
        "compare", tmp_path / "s.csv", "--label", "y", "--learners", "4", *imperfect, "--out", tmp_path, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    done = quorate("bounds", tmp_path / "compare.parquet", "--label-prob", "0.7", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    compared = {row["name"]: row for row in json.loads((tmp_path / "compare.json").read_text())["rows"]}
    for rule, name in (("PWM", "PWM"), ("ExtendedPWM", "ExtendedPWM"), ("Portfolio", "Portfolio, unfitted")):
        assert document["mistakes"][rule] / document["slots"] == compared[name]["repeats"][0]["error"]
        assert document["mistakes"][rule] <= document["certificates"][rule][-1]["mistakes_max"]
    names = [each["bound"] for each in document["paper"]]
    assert [name.partition(",")[0] for name in names[3:]] == ["Theorem 4", "Theorem 6", "Theorem 10"]

    done = quorate("bounds", "compare.parquet", cwd=tmp_path)
    assert "Portfolio, as recorded" in " ".join(done.stdout.split())
    begun: list[str | Path] = ["--before", tmp_path / "portfolio.json"]
    done = quorate("bounds", "compare.parquet", *begun, "--certificate", "c.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    fitted = json.loads(done.stdout)
    assert fitted["mistakes"]["Portfolio"] / fitted["slots"] == compared["Portfolio"]["repeats"][0]["error"]
    assert fitted["certificates"]["Portfolio"][0]["mistakes_max"] >= fitted["mistakes"]["Portfolio"]
    assert fitted["mistakes"]["PWM"] == document["mistakes"]["PWM"]
    checked = quorate("bounds", "compare.parquet", *begun, "--verify", "c.json", "--json", cwd=tmp_path)
    bound = fitted["certificates"]["Portfolio"][0]["mistakes_max"]
    assert json.loads(checked.stdout)["Portfolio"]["mistakes_max"] == bound
    for given, hint in (
        (begun[:0], "it is about was a fitted one: give --before"),
        (begun, "portfolio.json (--before)"),
    ):
        if given:  # of another beginning
            (tmp_path / "portfolio.json").write_text(json.dumps(Portfolio(4).snapshot()))
        refused = quorate("bounds", "compare.parquet", *given, "--verify", "c.json", cwd=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)
        assert hint in refused.stderr
    refused = quorate("bounds", "compare.parquet", "--before", "nowhere.json", "--verify", "c.json", cwd=tmp_path)
    assert (refused.returncode, "nowhere.json cannot be read" in refused.stderr) == (3, True)


def test_bounds_of_a_recording_that_is_too_long_for_the_portfolio(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = read_recording(votes, "truth").recording
    certificate = tracked.certified(recording, Portfolio(3))[1]
    assert isinstance(certificate, TrackingCertificate)
    assert tracked.check(certificate.document(), recording, Portfolio(3), None) == certificate
    monkeypatch.setattr(tracked, "SHARES_MAX", 7200)  # 72 a label
    reason = "a recording of at most 100 labels of 3 learners is certified"
    assert tracked.certified(recording, Portfolio(3))[1] == reason
    with pytest.raises(LocalError, match=f"cannot be checked here: only {reason}"):
        tracked.check(certificate.document(), recording, Portfolio(3), None)
    few = msgspec.structs.replace(recording, arrivals=np.where(np.arange(400) % 5 == 0, np.arange(400), NEVER))
    assert isinstance(tracked.certified(few, Portfolio(3))[1], TrackingCertificate)  # labels count, not slots


def test_the_members_that_a_certificate_compares_with_have_the_names_of_the_file(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    labels = np.where(generator.random(3000) < 0.5, 1, -1)
    cast = np.where(generator.random((3000, 3)) < [1, 0.6, 0.55], labels[:, None], -labels[:, None])
    rows = [",".join(map(str, [*row, label])) for row, label in zip(cast.tolist(), labels.tolist(), strict=True)]
    (tmp_path / "file.csv").write_text("\n".join(["learner-3,learner-1,PWM,label", *rows]) + "\n")
    done = quorate("bounds", "file.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["certificates"]["Portfolio"]
    assert made["argument"] == "beside learner-3, wrong 0 times"
    assert made["mistakes_max"] < 400
    (tmp_path / "short.csv").write_text("\n".join(["a,b,c,label", *rows[:20]]) + "\n")
    done = quorate("bounds", "short.csv", "--json", cwd=tmp_path)
    (made,) = json.loads(done.stdout)["certificates"]["Portfolio"]
    assert (made["mistakes_max"], made["argument"]) == (20, "nothing follows for so few labels, or so many mistakes")


def arrays(path: Path, **given: Any) -> Path:
    np.savez(path / "arrays.npz", **given)
    return path / "arrays.npz"


def test_bounds_of_arrays_and_of_too_many_learners(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    labels = generator.choice((-1, 1), 200)
    labels[:20] = 0  # never came
    cast = generator.choice((-1, 1), (200, 21))
    done = quorate("bounds", arrays(tmp_path, votes=cast, labels=labels), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert "at most 20 learners" in document["best_static_rule"]["not_computed"]
    assert (document["labels"], document["slots"]) == (180, 200)
    late = np.where(labels == 0, NEVER, np.arange(200) + 2)
    done = quorate("bounds", arrays(tmp_path, votes=cast[:, :3], labels=labels, arrivals=late), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "late labels" in done.stdout


def test_bounds_of_bad_files_is_one_line(votes: Path, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("ann,label\nyes,1\nno,-1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "unlabelled.csv").write_text("ann,label\n1,\n-1,\n")
    (tmp_path / "not.npz").write_text("no")
    bad: list[tuple[list[Any], str]] = [
        ([votes], "no column 'label' to take the label from; it has ann, bob, cy, truth"),
        ([tmp_path / "names.csv"], "row 1 of column 'ann' is 'yes'; votes and labels are -1 and +1"),
        ([tmp_path / "empty.csv"], "empty.csv"),
        ([tmp_path / "unlabelled.csv"], "none of the 2 slots has a label"),
        ([tmp_path / "not.npz"], "cannot be read"),
        ([tmp_path / "nowhere.npz"], "is not a file"),
        ([arrays(tmp_path, votes=np.ones((2, 2)))], "has no array 'labels'; it has votes"),
        ([votes, "--label", "truth", "--verify", votes], "holds no certificates"),
    ]
    for arguments, text in bad:
        done = quorate("bounds", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), (arguments, done.stderr)
        assert text in done.stderr


def test_slots_may_be_numbered_otherwise(tmp_path: Path) -> None:
    """The same run, with slots from 1000 on in steps of 10, gives the same numbers."""
    generator = np.random.default_rng(0)
    labels = generator.choice((-1, 1), 300)
    cast = labels[:, None] * generator.choice((-1, 1), (300, 3), p=(0.2, 0.8))
    late = np.arange(300) + generator.integers(0, 5, 300)
    documents = []
    for name, slots in (("from_0", np.arange(300)), ("from_1000", 1000 + 10 * np.arange(300))):
        arrival = slots[0] + (slots[1] - slots[0]) * late
        rows = [
            ",".join(map(str, [slot, came, *votes, label]))
            for slot, came, votes, label in zip(slots, arrival, cast, labels, strict=True)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["slot,arrival,ann,bob,cy,label", *rows]) + "\n")
        done = quorate("bounds", f"{name}.csv", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        documents.append({**json.loads(done.stdout), "source": ""})
    assert documents[0]["mistakes"] == documents[1]["mistakes"]
    assert documents[0]["certificates"] == documents[1]["certificates"]
    assert documents[0]["labels_came"] == documents[1]["labels_came"] < 300
    assert any("Theorem 4" in each["bound"] for each in documents[0]["paper"])


def test_truth_values_and_gaps_are_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "words.csv").write_text("ann,bob,label\ntrue,False,true\nfalse,,false\ntrue,true,\n")
    pq.write_table(
        pa.table({"ann": [True, False, True], "bob": [False, None, True], "label": [True, False, None]}),
        tmp_path / "bools.parquet",
    )
    for name in ("words.csv", "bools.parquet"):
        read = read_recording(tmp_path / name).recording
        assert read.votes.tolist() == [[1, -1], [-1, 0], [1, 1]]
        assert read.labels.tolist() == [1, -1, 0]
        assert read.arrivals.tolist() == [0, 1, NEVER]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("ann,label\n1,1\n0,0\n1,0\n", "the votes are 0 and 1, never -1; 0 is read as none"),
        ("ann,label\n1,1\n-1,0\n", "the labels, column 'label', are 0 and 1, never -1"),
        ("ann,label,arrival\n1,1,x\n-1,-1,y\n", "column 'arrival' holds 'x'; it must hold whole numbers"),
        ("ann,label,arrival\n1,1,0.5\n-1,-1,1.5\n", "row 1 of column 'arrival' is"),
        ("ann,label,slot,arrival\n1,1,5,5\n-1,-1,5,5\n", "row 2 has slot 5 after 5; slots only grow"),
        ("ann,label,arrival\n1,1,0\n-1,-1,0\n", "a label comes at the end of its slot or later"),
    ],
    ids=["votes", "labels", "text", "fraction", "slots", "early"],
)
def test_files_that_mislead_are_refused(content: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text(content)
    done = quorate("bounds", "file.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert text in done.stderr


def test_arrays_of_other_lengths_are_refused(tmp_path: Path) -> None:
    path = arrays(tmp_path, votes=np.ones((3, 2)), labels=-np.ones(3), arrivals=np.arange(2))
    with pytest.raises(SourceError, match="has arrays of shapes"):
        read_recording(path)


def test_what_a_certificate_rests_on_is_said(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    labels = generator.choice((-1, 1), 300)
    told = np.where(generator.random(300) < 0.7, labels, 0)
    path = arrays(tmp_path, votes=labels[:, None] * generator.choice((-1, 1), (300, 3), p=(0.1, 0.9)), labels=told)
    done = quorate("bounds", path, "--label-prob", "0.7", "--certificate", "c.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "holds with 95% confidence" in done.stdout
    done = quorate("bounds", path, "--verify", "c.json", cwd=tmp_path)
    assert "with 95% confidence, if each label comes with a probability of at least 0.7, at most" in done.stdout
    done = quorate("bounds", path, "--verify", "c.json", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["PWM"]["confidence"] == 0.95
    for option in (["--confidence", "1"], ["--label-prob", "0"]):
        done = quorate("bounds", path, *option, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1)
