"""The paper's six marks, for every rule and scheme: what the paper says of its source, and what ours can do.

``python -m quorate.schemes.marks`` prints the table as Markdown; `docs/schemes.md` holds it, and a test compares the
two.
"""

from __future__ import annotations

from typing import NamedTuple

from quorate.rules import RULES
from quorate.schemes import SCHEMES

__all__ = ["MEANINGS", "Entry", "Marks", "entries", "markdown"]

#: What each mark means here, where a test can see it.
MEANINGS = {
    "DIS": "distributed: it needs only votes, so each learner may observe its own stream",
    "DYN": "dynamic: it recovers after the concept has changed",
    "ONL": "online: it learns from labels as the stream goes on",
    "COM": "low complexity: it stores no instances",
    "IND": "independent of the local classifiers: any kind will do, also one that cannot learn online",
    "DEL": "delayed and missing labels, absent learners",
}


class Marks(NamedTuple):
    """The six marks."""

    dis: bool
    dyn: bool
    onl: bool
    com: bool
    ind: bool
    delay: bool

    @classmethod
    def of(cls, text: str) -> Marks:
        """Read marks from their names.

        >>> Marks.of("DYN ONL").dyn
        True
        """
        return cls(*(name in text.split() for name in MEANINGS))


class Entry(NamedTuple):
    """A rule or scheme, its source, and its marks."""

    name: str
    kind: str
    source: str
    paper: Marks
    ours: Marks

    @property
    def cells(self) -> list[str]:
        """The marks as a table shows them: X the paper's, + only ours."""
        pairs = zip(self.paper, self.ours, strict=True)
        return ["X" if said and can else "+" if can else "" for said, can in pairs]


_MULTIPLICATIVE = "DYN ONL COM IND"
_CHUNKS = "DYN ONL IND"
_EXPERTS = "DYN ONL COM"
_ALL = "DIS DYN ONL COM IND DEL"

# Name: the source, the paper's marks, ours. A rule of ours takes any votes, abstentions among them, and its learner
# keeps them until their labels come: so all rules have DIS and DEL here.
_TABLE = {
    "Portfolio": ("ours; Herbster, Warmuth 1998", "", _ALL),
    "PWM": ("the paper", _ALL, _ALL),
    "ExtendedPWM": ("the paper", _ALL, _ALL),
    "AverageMajority": ("Gao 2007", "", "DIS COM IND DEL"),
    "AdaBoostWeights": ("Freund, Schapire 1997", "COM IND", "DIS COM IND DEL"),
    "WeightedMajority": ("Littlestone, Warmuth 1994", _MULTIPLICATIVE, _ALL),
    "Winnow2": ("Littlestone 1988", _MULTIPLICATIVE, _ALL),
    "BlumMajority": ("Blum 1997", _MULTIPLICATIVE, _ALL),
    "FixedShare": ("Herbster, Warmuth 1998", _MULTIPLICATIVE, _ALL),
    "FanBoosting": ("Fan, Stolfo, Zhang 1999", _CHUNKS, _CHUNKS),
    "WangEnsemble": ("Wang, Fan, Yu, Han 2003", _CHUNKS, _CHUNKS),
    "SEA": ("Street, Kim 2001", _CHUNKS, _CHUNKS),
    "MultiPartitionEnsemble": ("Masud and others 2009", _CHUNKS, _CHUNKS),
    "EnsembleTracker": ("Avidan 2007", _CHUNKS, _CHUNKS),
    "AddExp": ("Kolter, Maloof 2005", _EXPERTS, _EXPERTS),
    "DWM": ("Kolter, Maloof 2007", _EXPERTS, _EXPERTS),
    "DDD": ("Minku, Yao 2012", _EXPERTS, _EXPERTS),
}


def entries() -> list[Entry]:
    """Every rule and scheme with its marks.

    >>> [entry.name for entry in entries() if not entry.paper.dyn]
    ['Portfolio', 'AverageMajority', 'AdaBoostWeights']
    """
    return [
        Entry(name, "rule" if name in RULES else "scheme", source, Marks.of(paper), Marks.of(ours))
        for name, (source, paper, ours) in _TABLE.items()
        if name in RULES or name in SCHEMES
    ]


def markdown() -> str:
    """The table as Markdown: an X where the paper and we agree, + where only ours can."""
    names = list(MEANINGS)
    lines = ["| name | kind | source | " + " | ".join(names) + " |", "| --- " * (3 + len(names)) + "|"]
    lines += [f"| `{each.name}` | {each.kind} | {each.source} | " + " | ".join(each.cells) + " |" for each in entries()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
