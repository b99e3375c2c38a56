"""`quorate schemes`: every rule and scheme, and the paper's six marks."""

from __future__ import annotations

from rich.table import Table

from quorate.cli.output import Output, print_json
from quorate.schemes.marks import MEANINGS, entries

__all__ = ["show"]


def show(*, as_json: bool) -> None:
    """Print the table of marks."""
    listed = entries()
    if as_json:
        rows = [
            {
                "name": entry.name,
                "kind": entry.kind,
                "source": entry.source,
                "paper": dict(zip(MEANINGS, entry.paper, strict=True)),
                "ours": dict(zip(MEANINGS, entry.ours, strict=True)),
            }
            for entry in listed
        ]
        print_json({"marks": MEANINGS, "schemes": rows})
        return
    table = Table("", "", "source", *MEANINGS)
    for entry in listed:
        table.add_row(entry.name, entry.kind, entry.source, *entry.cells)
    console = Output()
    console.print(table)
    console.print("X the paper's mark; + only ours", highlight=False)
    for mark, meaning in MEANINGS.items():
        console.print(f"{mark} {meaning}", highlight=False)
