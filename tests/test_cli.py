"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import ExtendedPWM, __version__
from quorate.cli.demo import run
from quorate.evaluate import decide
from quorate.runtime.demo_site import SITES
from quorate.streams import data_folder
from tests.commands import quorate


def test_version(tmp_path: Path) -> None:
    done = quorate("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, f"quorate {__version__}")


@pytest.mark.parametrize("command", [[], ["demo"], ["compare"], ["bounds"], ["schemes"], ["doctor"]])
def test_help_has_examples_and_exit_codes(command: list[str], tmp_path: Path) -> None:
    done = quorate(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert ("Examples" if command else "Exit codes") in done.stdout


def test_demo_prints_a_table_and_draws_a_picture(tmp_path: Path) -> None:
    done = quorate("demo", "--slots", "600", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for who in [*SITES, "plain majority", "previous label", "PWM"]:
        assert who in done.stdout
    picture = (tmp_path / "quorate-demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_demo_as_json_is_reproducible(tmp_path: Path) -> None:
    def document(seed: str) -> Any:
        done = quorate("demo", "--slots", "400", "--seed", seed, "--out", "x.png", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    one, two, other = document("3"), document("3"), document("4")
    assert one == two
    assert one["rows"] != other["rows"]
    assert one["seed"] == 3
    assert (tmp_path / "x.png").exists()


def test_the_demo_is_what_it_says() -> None:
    demo = run(seed=1, n_slots=4000)
    recording = demo.recording
    came = recording.arrivals >= 0
    delays = (recording.arrivals - np.arange(4000))[came]
    assert 0.77 < came.mean() < 0.83
    assert (delays.min(), delays.max()) == (0, 50)
    absent = (recording.votes == 0).mean(axis=0)
    assert 0.47 < absent[SITES.index("perth")] < 0.53
    assert (recording.votes[:, SITES.index("quito")] == -recording.labels).all()
    errors = {name: float((issued != recording.labels).mean()) for name, issued in demo.decisions.items()}
    assert errors["PWM"] < 0.02 < errors["PWM without quito"] < errors["plain majority"]
    # The ensemble's own decisions are those of a learner that is given its votes and labels afterwards.
    again = decide(recording, ExtendedPWM(len(SITES)), horizon=50)
    assert (again == demo.decisions["PWM"]).all()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["demo", "--out", "no/such/folder/x.png"], 5, "quorate: nothing can be written to no/such/folder"),
        (["demo", "--out", "folder.png"], 5, "quorate: folder.png cannot be written: it is a folder"),
        (["demo", "--slots", "3"], 2, "Invalid value for '--slots'"),
        (["demo", "--seed", "x"], 2, "Invalid value for '--seed'"),
        (["dmeo"], 2, "No such command 'dmeo'"),
        (["demo", "--out", "x.nonsense", "--slots", "100"], 3, "quorate: x.nonsense"),
    ],
)
def test_errors_are_one_line_with_their_exit_code(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    (tmp_path / "folder.png").mkdir()
    done = quorate(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("quorate: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stdout == ""


def test_doctor_tells_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "r2_elec2.csv.gz").write_bytes(b"")
    done = quorate("doctor", "--json", cwd=tmp_path, QUORATE_DATA=str(tmp_path))
    assert done.returncode == 0, done.stdout
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert findings["numba"]["state"] == findings["compiled rules"]["state"] == "ok"
    assert "r2_elec2.csv.gz" in findings["data folder"]["detail"]
    assert quorate("doctor", cwd=tmp_path).stdout.count("ok") > 8


def test_doctor_tells_what_is_not_there(tmp_path: Path) -> None:
    done = quorate("doctor", "--data", str(tmp_path / "nowhere"), "--json", cwd=tmp_path)
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert (findings["data folder"]["state"], done.returncode) == ("bad", 1)  # it was asked for
    done = quorate("doctor", "--json", cwd=tmp_path, QUORATE_DATA="")  # whatever this machine has
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert (findings["data folder"]["state"], done.returncode) == ("missing", 0)


def test_no_command_shows_the_help(tmp_path: Path) -> None:
    done = quorate(cwd=tmp_path)
    assert done.returncode == 2
    assert "demo" in done.stdout
    assert done.stderr == ""


def test_an_interrupt_is_one_line(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "quorate"), "demo", "--slots", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        time.sleep(5)  # into the work, or its start: either must end the same way
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "quorate: interrupted\n"


def test_an_interrupt_that_a_library_swallows_comes_again() -> None:
    program = """
import time
from quorate.cli import hear_interrupts
hear_interrupts()
try:
    print("ready", flush=True)
    time.sleep(60)
except:
    print("swallowed", flush=True)
time.sleep(60)
print("never", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert stdout == b"swallowed\n"
    assert stderr.endswith(b"KeyboardInterrupt\n")


def test_an_error_has_its_number_though_a_library_still_reads() -> None:
    """Threads of pyarrow's that call Python while it cleans up abort it."""
    program = """
import io, sys, time
from quorate import cli
from quorate.cli import app

class Slow(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, buffer):
        time.sleep(0.005)
        rows = b"1,2\\n" * 16
        buffer[: len(rows)] = rows
        return len(rows)

def run():
    from pyarrow import csv
    app.kept = csv.open_csv(Slow(), read_options=csv.ReadOptions(use_threads=False, block_size=64))
    print("said")
    sys.exit(3)

app.run = run
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\n", "")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    executable = Path(sys.executable).parent / "quorate"
    for options in ("", "--json"):
        script = f"set -o pipefail; {executable} doctor {options} | true"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_picture_may_be_svg_and_its_ending_in_capitals(tmp_path: Path) -> None:
    for name in ("x.svg", "x.PNG"):
        done = quorate("demo", "--slots", "100", "--out", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).stat().st_size > 5_000


ELECTRICITY = str((Path(__file__).parent.parent / (data_folder() or Path())).resolve() / "r2_elec2.csv.gz")


def test_compare_on_electricity(tmp_path: Path) -> None:
    done = quorate("compare", ELECTRICITY, "--label", "class", "--positive", "UP", "--out", "new/folder", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("PWM", "AverageMajority", "PreviousLabel (baseline)", "MajorityClass (baseline)"):
        assert name in done.stdout
    out = tmp_path / "new" / "folder"
    rows = {row["name"]: row for row in json.loads((out / "compare.json").read_text())["rows"]}
    assert rows["PWM"]["error"] == pytest.approx(0.1178, abs=0.002)
    assert rows["PreviousLabel"]["error"] == pytest.approx(0.1418, abs=0.0005)
    assert rows["PreviousLabel"]["kappa_temporal"] == 0
    assert (out / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "compare.parquet").stat().st_size > 10_000


def test_compare_with_a_day_of_delay_shows_the_previous_label_collapse(tmp_path: Path) -> None:
    arguments = ["compare", ELECTRICITY, "--label", "class", "--positive", "UP", "--delay", "48", "--json"]
    done = quorate(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["PreviousLabel"]["error"] > 0.3
    assert rows["AverageMajority"]["error"] < rows["PreviousLabel"]["error"]
    assert document["feedback"]["delay"] == "Constant(slots=48)"


def small_csv(path: Path, labels: str = "ab", n_rows: int = 200) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.4f},{rng.normal():.4f},{labels[number % len(labels)]}" for number in range(n_rows)]
    path.write_text("u,v,y\n" + "\n".join(rows) + "\n")


def test_compare_with_every_option(tmp_path: Path) -> None:
    small_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open("a") as file:
        file.write("1,2\n")
    options = (
        "--label y --positive a --learners 2 --train-rows 30 --model sklearn.tree:DecisionTreeClassifier "
        "--model river.linear_model:Perceptron --views --delay uniform:0:9 --label-prob 0.7 --observe-prob 0.9 "
        "--window 20 --seed 4 --repeat 3 --category u --on-bad-row skip --json"
    )
    done = quorate("compare", "a.csv", *options.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["rows_skipped"] == 1
    assert document["seeds"] == [4, 5, 6]
    assert [each["model"] for each in document["learners"]] == [
        "DecisionTreeClassifier()",
        "Perceptron ( l2=0. clip_gradient=1e+12 initializer=Zeros () )",
    ]
    assert document["rows"][0]["intervals"]["kappa"] is not None
    assert document["curves"]["window"] == 20
    assert document["columns"] == {"u": "category", "v": "number"}
    shown = quorate("compare", "a.csv", *options.replace("--json", "").split(), cwd=tmp_path)
    assert "±" in shown.stdout
    assert "1 rows left out" in shown.stdout


def test_schemes_are_listed_with_their_marks(tmp_path: Path) -> None:
    done = quorate("schemes", cwd=tmp_path)
    assert done.returncode == 0
    for name in ("PWM", "FixedShare", "FanBoosting", "MultiPartitionEnsemble", "DDD"):
        assert name in done.stdout
    listed = json.loads(quorate("schemes", "--json", cwd=tmp_path).stdout)
    assert len(listed["schemes"]) == 17
    pwm = next(each for each in listed["schemes"] if each["name"] == "PWM")
    assert all(pwm["paper"].values())


def test_compare_with_schemes(tmp_path: Path) -> None:
    small_csv(tmp_path / "a.csv", n_rows=400)
    arguments = ["compare", "a.csv", "--label", "y", "--learners", "2", "--schemes", "all", "--delay", "5", "--json"]
    done = quorate(*arguments, "--repeat", "2", "--label-prob", "0.9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    for name in (
        "FanBoosting",
        "WangEnsemble",
        "SEA",
        "MultiPartitionEnsemble",
        "EnsembleTracker",
        "AddExp",
        "DWM",
        "DDD",
    ):
        assert rows[name]["kind"] == "scheme"
        assert len(rows[name]["repeats"]) == 2
        assert rows[name]["slots"] == rows["PWM"]["slots"]
    done = quorate("compare", "a.csv", "--label", "y", "--schemes", "SAE", cwd=tmp_path)
    assert done.returncode == 3
    assert "no scheme is named 'SAE'; there are all, FanBoosting" in done.stderr


def test_compare_takes_a_model_from_the_working_folder(tmp_path: Path) -> None:
    small_csv(tmp_path / "a.csv")
    (tmp_path / "mymodels.py").write_text("def thumb(row):\n    return row['u'] > 0\n")
    options = [
        "--label",
        "y",
        "--learners",
        "1",
        "--model",
        "mymodels:thumb",
        "--drop",
        "v",
        "--number",
        "u",
        "--fitted",
    ]
    done = quorate("compare", "a.csv", *options, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["learners"] == [{"name": "learner-1", "model": "mymodels:thumb", "columns": 1}]
    assert document["rows_train"] == 0


@pytest.mark.parametrize(
    ("name", "content", "options", "code", "message"),
    [
        ("a.csv", "u,y\n1,a\n2\n", "--label y", 3, "a.csv, line 3: 1 fields where 2 were expected"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label z", 3, "has no column 'z'; it has u, y"),
        ("a.csv", "u,y\n" + "1,a\n" * 50, "--label y", 3, "are all 'a'"),
        ("a.csv", "", "--label y", 3, "a.csv cannot be read as csv: it is empty"),
        ("a.csv", "u,y\n", "--label y", 3, "it is empty"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n3,c\n" * 50, "--label y", 3, "holds 3 values ('a', 'b', 'c')"),
        ("a.csv.gz", "u,y\n1,a\n", "--label y", 3, "a.csv.gz cannot be read as csv compressed with gzip"),
        ("a.parquet", "u,y\n1,a\n", "--label y", 3, "a.parquet cannot be read as parquet"),
        ("a.xls", "u,y\n1,a\n", "--label y", 3, "its ending says no format"),
        ("b.csv", "u,y\n1,a\n", "--label y", 3, "a.csv is not a file"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label y --delay soon", 3, "delay is 'soon'"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label y --delay 99999999999999999999", 3, "whole numbers of slots"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label y --delay geometric:nan", 3, "its mean must be"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label y --drop z", 3, "has no column 'z'"),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label y --model no.such:Model", 3, "no model is at 'no.such:Model'"),
        (
            "a.csv",
            "u,y\n" + "x,a\nz,b\n" * 50,
            "--label y --learners 1 --model river.naive_bayes:GaussianNB",
            3,
            "the model of 'learner-1' could not learn: TypeError",
        ),
        ("a.csv", "u,y\n" + "1,a\n2,b\n" * 50, "--label y --out a.csv", 3, "a.csv is not a folder"),
        ("a.csv", "u,y\n1,a\n", "", 2, "Missing option '--label'"),
        ("a.csv", "u,y\n1,a\n", "--label y --label-prob 2", 2, "Invalid value for '--label-prob'"),
        ("a.csv", "u,y\n1,a\n", "--label y --on-bad-row cry", 2, "Invalid value for '--on-bad-row'"),
    ],
)
def test_bad_files_are_one_clear_line(
    name: str, content: str, options: str, code: int, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    file = "a.csv" if name == "b.csv" else name
    done = quorate("compare", file, *options.split(), cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("quorate: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
