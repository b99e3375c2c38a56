"""The package as a whole: light to import, public names, extras, no clock in the core."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quorate

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "quorate"
HEAVY = ["numba", "river", "sklearn", "matplotlib", "nats", "numpy", "pandas", "scipy", "rich", "typer"]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )


def test_import_is_light() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import quorate"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "quorate" in loaded
    assert not loaded & set(HEAVY)


def test_the_learner_works_without_anything_heavy() -> None:
    done = python(
        "import sys\n"
        "from quorate import Label, Learner, Vote\n"
        "one = Learner('a', ['a', 'b'])\n"
        "one.receive(Vote(1, 'b', 1)); one.close(1); one.receive(Label(1, -1))\n"
        "Learner.restore(one.snapshot())\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_everything_exported_is_there_and_nothing_else_is_public() -> None:
    for name in quorate.__all__:
        assert getattr(quorate, name) is not None
    submodules = {module.name for module in pkgutil.iter_modules(quorate.__path__)}
    public = {name for name in vars(quorate) if not name.startswith("_")}
    assert public - submodules - {"annotations", "TYPE_CHECKING", "Any"} <= set(quorate.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        quorate.Nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("library", "extra", "use"),
    [
        ("numba", "fast", "quorate.PWM(1).run([[1]], [1])"),
        ("river", "river", "quorate.Ensemble"),
        ("sklearn", "sklearn", "import quorate.sklearn"),
        ("typer", "cli", "from quorate.cli.app import run"),
        (
            "matplotlib",
            "plot",
            "from pathlib import Path; from quorate.cli.demo import show; show(0, 200, Path('x.png'), as_json=True)",
        ),
    ],
)
def test_a_missing_extra_names_itself(library: str, extra: str, use: str, tmp_path: Path) -> None:
    done = python(
        f"import os, sys; os.chdir({str(tmp_path)!r}); sys.modules[{library!r}] = None\n"
        "import quorate\n"
        f"try:\n    {use}\nexcept ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    assert done.stdout.startswith("MissingExtraError "), done.stderr
    assert f"needs {library}, which is not installed" in done.stdout
    assert f"pip install 'quorate[{extra}]'" in done.stdout


def test_the_command_line_says_which_extra_it_lacks() -> None:
    done = python("import sys; sys.modules['typer'] = None; from quorate.cli import main; main()")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "pip install 'quorate[cli]'" in done.stderr


def test_compiled_rules_work_where_no_cache_can_be_written(tmp_path: Path) -> None:
    code = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from quorate import PWM\n"
        "print(PWM(1).run([[1], [1]], [-1, -1]).tolist())"
    )
    done = python(code)
    assert done.stdout.strip() == "[1, -1]", done.stderr


CORE = ["errors.py", "packing.py", "events", "rules", "learner"]
FORBIDDEN = {"time", "datetime", "secrets", "socket", "asyncio", "pathlib", "tempfile", "os", "io", "subprocess"}


def test_the_core_has_no_clock_no_files_and_no_sockets() -> None:
    files = [
        path for part in CORE for path in ([SOURCES / part] if part.endswith(".py") else (SOURCES / part).rglob("*.py"))
    ]
    assert len(files) > 10
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            imported = {name.partition(".")[0] for name in names}
            assert not imported & FORBIDDEN, path
            if path.name != "checks.py":  # the published checks draw from a seed that is given
                assert "random" not in imported, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("open", "print", "input"), path


def test_every_module_imports_and_says_what_it_is_for() -> None:
    for module in pkgutil.walk_packages(quorate.__path__, "quorate."):
        assert importlib.import_module(module.name).__doc__, module.name


def test_files_stay_small() -> None:
    for path in SOURCES.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 330, path


def test_no_registry_host_is_recorded() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or "==" in line
        assert "//" not in line


def test_the_dashboard_asks_only_for_metrics_there_are() -> None:
    from quorate.runtime.metrics import _COUNTERS, _GAUGES

    known = {f"quorate_{name}_total" for name in _COUNTERS} | {f"quorate_{name}" for name in _GAUGES}
    known |= {"quorate_live", "quorate_share", "quorate_weight"}
    dashboard = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) == 9
    for expression in asked:
        assert set(re.findall(r"quorate_\w+", expression)) <= known
