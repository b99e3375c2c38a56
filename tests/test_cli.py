"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate import ExtendedPWM, __version__
from quorate.cli.demo import SITES, run
from quorate.evaluate import decide


def quorate(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "quorate"), *arguments]
    # A wide terminal, no colours: the words are tested, not their wrapping.
    env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=240, env=env, check=False)


def test_version(tmp_path: Path) -> None:
    done = quorate("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, f"quorate {__version__}")


@pytest.mark.parametrize("command", [[], ["demo"], ["doctor"]])
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
        (["demo", "--out", "no/such/folder/x.png"], 5, "quorate: no/such/folder/x.png cannot be written"),
        (["demo", "--slots", "3"], 2, "Invalid value for '--slots'"),
        (["demo", "--seed", "x"], 2, "Invalid value for '--seed'"),
        (["dmeo"], 2, "No such command 'dmeo'"),
        (["demo", "--out", "x.nonsense", "--slots", "100"], 3, "quorate: x.nonsense"),
    ],
)
def test_errors_are_one_line_with_their_exit_code(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
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
    assert findings["data folder"]["state"] == "missing"
