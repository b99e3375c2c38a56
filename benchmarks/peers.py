"""Peers in an environment of their own: Vowpal Wabbit, and MOA as CapyMOA carries it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Timing, timing

__all__ = ["LeftOutError", "in_java", "moa", "pinned", "vowpal_wabbit"]

HERE = Path(__file__).parent
HOME = HERE.parent / ".peers"
PINS = HERE / "peers.txt"
INSTALL_SECONDS_MAX = 600
RUN_SECONDS_MAX = 300


class LeftOutError(Exception):
    """A peer cannot run here; the message says why."""


def pinned() -> dict[str, str]:
    """The versions of the peers."""
    lines = [line.strip() for line in PINS.read_text().splitlines()]
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def _environment() -> Path:
    """Where the peers are installed; they are on the first call, and when their versions change."""
    done = HOME / "installed.txt"
    if not done.is_file() or done.read_text() != PINS.read_text():
        shutil.rmtree(HOME, ignore_errors=True)
        try:
            venv.create(HOME, with_pip=True)
            # Without what they depend on: of CapyMOA only the jar is used, which is MOA itself.
            _call([str(HOME / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(PINS)], True)
        except subprocess.CalledProcessError as error:
            raise LeftOutError(f"the peers could not be installed: {_last_line(error)}") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LeftOutError(f"the peers could not be installed: {error}") from None
        done.write_text(PINS.read_text())
    return HOME


def _call(command: list[str], install: bool = False) -> str:
    limit = INSTALL_SECONDS_MAX if install else RUN_SECONDS_MAX
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit).stdout


def vowpal_wabbit(votes: Any, labels: Any, repeats: int) -> dict[str, Timing]:
    """Time Vowpal Wabbit's own loop over its binary cache, one pass; it predicts each example before it learns it."""
    python = _environment() / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "votes.txt"
        with data.open("w") as file:
            for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
                file.write(f"{label} | {' '.join(f'{place}:{vote}' for place, vote in enumerate(row))}\n")
        out = _output("Vowpal Wabbit", [str(python), str(HERE / "vowpal.py"), str(data), str(repeats)])
    return {"Vowpal Wabbit": timing([float(line) / len(labels) for line in out.split()])}


def moa(votes: Any, labels: Any, repeats: int) -> dict[str, Timing]:
    """Time MOA's perceptron and its weighted majority inside the Java virtual machine: predict, then learn."""
    data = labels.astype(np.int8).tobytes() + votes.astype(np.int8).tobytes()
    lines = in_java("Moa.java", data, [*votes.shape, repeats])
    names = {"perceptron": "MOA Perceptron", "majority": "MOA WeightedMajority"}
    return {
        shown: timing([float(seconds) for found, seconds, _ in lines if found == name]) for name, shown in names.items()
    }


def in_java(program: str, data: bytes, arguments: Sequence[object]) -> list[list[str]]:
    """Run a Java program of this folder beside MOA; give the words of each line it prints.

    Its arguments are a file that holds the data, and those given.
    """
    java = shutil.which("java")
    if java is None:
        raise LeftOutError("MOA needs Java, and there is none here")
    jar = next(_environment().glob("lib/python*/site-packages/capymoa/jar/moa.jar"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.bin"
        file.write_bytes(data)
        out = _output("MOA", [java, "-cp", str(jar), str(HERE / program), str(file), *map(str, arguments)])
    return [line.split() for line in out.splitlines()]


def _output(peer: str, command: list[str]) -> str:
    try:
        return _call(command)
    except subprocess.CalledProcessError as error:
        raise LeftOutError(f"{peer} failed: {_last_line(error)}") from None
    except subprocess.TimeoutExpired:
        raise LeftOutError(f"{peer} took more than {RUN_SECONDS_MAX} s") from None


def _last_line(error: subprocess.CalledProcessError) -> str:
    lines = str(error.stderr or "").strip().splitlines()
    return lines[-1] if lines else f"exit code {error.returncode}"
