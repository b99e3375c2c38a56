"""From a row of a source to an instance: its slot, what the model sees, its label and when that is due."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from quorate.errors import SourceError
from quorate.events import SLOT_MAX
from quorate.node import Instance
from quorate.runtime.schema import LabelsTable, SourceTable
from quorate.streams import Constant, Geometric, Uniform, delay_from_text
from quorate.streams.columns import text_of

__all__ = ["Shape"]


class Shape:
    """How rows become instances.

    Parameters
    ----------
    name
        The learner that observes.
    source
        What it observes.
    labels
        Where labels come from, if it gives them.

    Examples
    --------
    >>> shape = Shape("paris", SourceTable(slot="id"), LabelsTable(column="rain", positive="yes", delay=3))
    >>> shape.instance({"id": 7, "t": 20.5, "rain": "no"}, 0)
    Instance(slot=7, x={'t': 20.5}, label=-1, due=10)
    """

    def __init__(self, name: str, source: SourceTable, labels: LabelsTable | None = None) -> None:
        self.name, self.source = name, source
        self.label_key = labels.column if labels is not None else None
        self.hidden: str | None = None  # a key that the model does not see
        self._labels = labels
        self._seed = labels.seed if labels is not None else 0
        self._positive = None if labels is None or labels.positive is None else text_of(labels.positive)
        self._delay: Constant | Uniform | Geometric = Constant(0)
        if labels is not None:
            self._delay = delay_from_text(str(labels.delay))
        self._observe_prob = 1.0 if source.observe_prob is None else source.observe_prob

    def instance(self, row: Mapping[str, Any], number: int) -> Instance | None:
        """Make an instance of a row; None where there is nothing to see and nothing to tell.

        Parameters
        ----------
        row
            The row; a missing value is a feature that is not there.
        number
            Its slot, where no key tells.
        """
        slot = number if self.source.slot is None else self._slot(row)
        label, due = self._label(row, slot)
        x: dict[str, Any] | None = None
        if self._observes(slot):
            if self.source.columns is None:
                hide = {self.source.slot, self.label_key, self.hidden}
                x = {key: value for key, value in row.items() if value is not None and key not in hide}
            else:
                x = {key: row[key] for key in self.source.columns if row.get(key) is not None}
        return None if x is None and not label else Instance(slot, x, label, due)

    def labelled(self, slot: int, x: Any, label: int) -> Instance | None:
        """Make an instance of what a function gave."""
        given, due = self._given(slot, label)
        seen = self._observes(slot)
        return None if not seen and not given else Instance(slot, x if seen else None, given, due)

    def _observes(self, slot: int) -> bool:
        return self._observe_prob == 1.0 or self._drawn("observe", slot) < self._observe_prob

    def _slot(self, row: Mapping[str, Any]) -> int:
        value = row.get(self.source.slot or "")
        if (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= SLOT_MAX:
            raise SourceError(
                f"an instance of {self.name!r} has {value!r} for its slot (`source.slot` is {self.source.slot!r}); "
                "slots are whole numbers from 0"
            )
        return value

    def _label(self, row: Mapping[str, Any], slot: int) -> tuple[int, int]:
        if self.label_key is None:
            return 0, 0
        value = row.get(self.label_key)
        if value is None:
            return 0, 0
        if self._positive is not None:
            return self._given(slot, 1 if text_of(value) == self._positive else -1)
        if text_of(value) in ("1", "+1", "True", "true"):
            return self._given(slot, 1)
        if text_of(value) in ("-1", "False", "false"):
            return self._given(slot, -1)
        raise SourceError(
            f"the label of slot {slot} is {value!r}; say which class is +1 (`labels.positive`), or give -1 and +1"
        )

    def _given(self, slot: int, label: int) -> tuple[int, int]:
        """The label, unless it never comes, and when it is due."""
        import numpy as np

        if self._labels is None or not label:
            return 0, 0
        if self._labels.prob < 1.0 and self._drawn("label", slot) >= self._labels.prob:
            return 0, 0
        if isinstance(self._delay, Constant):
            return label, slot + self._delay.slots
        return label, slot + int(self._delay.draw(np.array([self._drawn("delay", slot)]), slot)[0])

    def _drawn(self, what: str, slot: int) -> float:
        """A number from 0 to 1 that is the same whenever it is asked for: a source begins anew after a crash."""
        digest = blake2b(f"{self._seed}:{what}:{self.name}:{slot}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") / 2**64
