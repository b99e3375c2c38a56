"""The C reference, compiled here when there is a C compiler and the processor has AVX2."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Reference"]

SOURCE = Path(__file__).parent / "reference.c"


class Reference:
    """PWM with explicit SIMD, and reading alone."""

    def __init__(self) -> None:
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            raise OSError("the C reference needs gcc, and there is none here")
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "reference.so"
            command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode:
                raise OSError(f"the C reference does not compile here: {made.stderr.strip().splitlines()[-1]}")
            self._library = ctypes.CDLL(str(library))
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        self.version = version.splitlines()[0]
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._library.pwm.argtypes = [pointer, pointer, pointer, number, number, pointer]
        self._library.pwm.restype = None
        self._library.read_all.argtypes = [pointer, number]
        self._library.read_all.restype = number

    def run(self, votes: Any, labels: Any) -> tuple[Any, list[int]]:
        """Give the decisions and the weights, the bias first."""
        decisions, weights = np.empty(len(votes), np.int8), np.zeros(votes.shape[1] + 1, np.int32)
        addresses = (array.ctypes.data for array in (votes, labels, decisions))
        self._library.pwm(*addresses, *votes.shape, weights.ctypes.data)
        return decisions, weights.tolist()

    def read(self, votes: Any) -> int:
        """Read all votes."""
        return int(self._library.read_all(votes.ctypes.data, votes.size))
