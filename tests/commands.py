"""The command line, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def quorate(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "quorate"), *map(str, arguments)]
    # A wide terminal, no colours: the words are tested, not their wrapping.
    env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=240, env=env, check=False)
