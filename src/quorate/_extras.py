"""Optional libraries, loaded on use, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from quorate.errors import MissingExtraError

#: The extra that brings each optional library.
EXTRA_OF = {
    "numba": "fast",
    "llvmlite": "fast",
    "river": "river",
    "sklearn": "sklearn",
    "scipy": "sklearn",
    "joblib": "sklearn",
    "threadpoolctl": "sklearn",
    "matplotlib": "plot",
    "pyarrow": "files",
    "typer": "cli",
    "rich": "cli",
    "nats": "nats",
    "nkeys": "nats",
    "prometheus_client": "metrics",
}


def load(module: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra to install.

    Parameters
    ----------
    module
        The module's import path.
    purpose
        What needs it, as the beginning of the error's sentence.

    Examples
    --------
    >>> load("json", "Reading a snapshot").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise MissingExtraError(
            f"{purpose} needs {library}, which is not installed; "
            f"install it with: pip install 'quorate[{EXTRA_OF[library]}]'"
        ) from None
