"""Where the data sets are."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["data_folder"]


def data_folder(data: str | Path | None = None) -> Path | None:
    """Find the folder of the real data sets: what is given, else ``QUORATE_DATA``, else ``../shared/data``.

    Only the last may be absent without anybody having asked for it: then there is None.
    """
    given = data or os.environ.get("QUORATE_DATA")
    if given:
        return Path(given)
    beside = Path("..") / "shared" / "data"
    return beside if beside.is_dir() else None
