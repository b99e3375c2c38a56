"""The registry tells what a case was, on the subject of `labels.subject`: python registry.py CASE -1|1.

It shows its own key (REGISTRY_KEY, else broker/credentials/registry.nk), which lets it give labels and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tomllib
from pathlib import Path

from quorate.log.connection import connect


async def tell(case: int, value: int) -> None:
    """Publish one outcome; what the broker refuses ends the program."""
    here = Path(__file__).parent
    file = tomllib.loads((here / "hospitals.toml").read_text())
    key = Path(os.environ.get("REGISTRY_KEY", here / "broker" / "credentials" / "registry.nk"))
    told: list[str] = []
    connection = await connect(file["broker"]["servers"], "registry", told.append, credentials=key)
    await connection.publish(file["labels"]["subject"], json.dumps({"slot": case, "value": value}).encode())
    await connection.flush()
    await connection.close()
    if refused := [each for each in told if "violation" in each.lower()]:
        raise SystemExit(f"the broker refuses it: {refused[0]}")


if __name__ == "__main__":
    asyncio.run(tell(int(sys.argv[1]), int(sys.argv[2])))
