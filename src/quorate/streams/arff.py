"""The header of an ARFF file; what follows it is read as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from quorate.errors import SourceError
from quorate.streams.columns import Kind

__all__ = ["read_header"]

_ATTRIBUTE = re.compile(r"@attribute\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+))\s+(.+)", re.IGNORECASE)

#: No header is longer than this.
HEADER_LINES_MAX = 1_000_000


def read_header(lines: Iterator[str], path: Path) -> tuple[dict[str, Kind], int]:
    r"""Read up to and with ``@data``; give the attributes' kinds and how many lines that took.

    >>> text = "% weather\n@relation w\n@attribute t numeric\n@attribute 'the sky' {blue, grey}\n@data\n20,blue"
    >>> read_header(iter(text.split("\n")), Path("w.arff"))
    ({'t': 'number', 'the sky': 'category'}, 5)
    """
    kinds: dict[str, Kind] = {}
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        lowered = stripped.lower()
        if lowered == "@data":
            if not kinds:
                raise SourceError(f"{path}, line {number}: @data comes before any @attribute")
            return kinds, number
        if not stripped or stripped.startswith("%") or lowered.startswith("@relation"):
            continue
        found = _ATTRIBUTE.fullmatch(stripped)
        if found is None or number > HEADER_LINES_MAX:
            raise SourceError(f"{path}, line {number}: not a line of an ARFF header: {stripped[:60]!r}")
        name = next(group for group in found.groups()[:3] if group is not None)
        if name in kinds:
            raise SourceError(f"{path}, line {number}: the attribute {name!r} stands twice")
        kinds[name] = "number" if found[4].strip().lower() in ("numeric", "real", "integer") else "category"
    raise SourceError(f"{path} is no ARFF file: it has no @data line")
