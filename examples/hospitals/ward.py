"""The cases of one hospital: a file that the ward's own system appends to, a JSON line a case, followed as it grows.

    {"case": 17, "age": 71, "lactate": 4.2}

``case`` is the number all hospitals know the case by, and grows from line to line; the rest is what the model sees, and
never leaves the site. The file is WARD_CASES, ``{name}`` in it standing for the learner; ``cases-{name}.jsonl`` in the
current folder without. It must be there, if empty, when the node is started, and must never shrink.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from quorate.errors import SourceError

#: How often is looked whether there is more.
LOOK_S = 0.1


async def cases(name: str, after: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Give the cases after a number, and go on for ever: after a crash, none is missed and none is given twice.

    Parameters
    ----------
    name
        The learner.
    after
        The last case it needs no more; -1 for all.

    Raises
    ------
    SourceError
        The file is not there or has shrunk, or a line is no case.
    """
    path = Path(os.environ.get("WARD_CASES", "cases-{name}.jsonl").replace("{name}", name))
    if not path.exists():
        raise SourceError(
            f"{path.absolute()} is not there; let the ward's system make it, or say where it is (WARD_CASES)"
        )
    with path.open("rb") as file:
        while True:
            place = file.tell()
            line = file.readline()
            if not line.endswith(b"\n"):  # the end, or a line that is being written
                if os.fstat(file.fileno()).st_size < place:
                    raise SourceError(f"{path} has shrunk below byte {place}; let the ward's system only append to it")
                file.seek(place)
                await asyncio.sleep(LOOK_S)
                continue
            try:
                seen = json.loads(line)
                case = int(seen.pop("case"))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise SourceError(f"{path}, byte {place}: {line[:60]!r} is no case with a number: {error}") from None
            if case > after:
                after = case
                yield case, seen
            else:
                await asyncio.sleep(0)  # a long file that was seen before must not hold up the node
