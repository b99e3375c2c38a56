"""What the paper reports: its table of results, row by row."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["NO_BIAS", "PUBLISHED", "Published"]


class Published(NamedTuple):
    """A row of the paper's table."""

    abbreviation: str
    name: str
    """What it is called here."""
    kind: str
    """``static``, ``chunk`` (learns from a chunk of rows), or ``online`` (learns from every row)."""
    percent: tuple[float, float, float, float]
    """How often it is wrong on R1 to R4."""

    @property
    def title(self) -> str:
        """Its name in the paper, and ours."""
        return self.name if self.name.split()[0] == self.abbreviation else f"{self.abbreviation} ({self.name})"


PUBLISHED = (
    Published("AM", "AverageMajority", "static", (3.07, 41.8, 29.5, 34.1)),
    Published("Ada", "AdaBoostWeights", "static", (5.25, 41.1, 57.5, 19.7)),
    Published("OnAda", "FanBoosting", "chunk", (2.25, 41.9, 39.3, 19.8)),
    Published("Wang", "WangEnsemble", "chunk", (1.73, 40.5, 32.7, 19.8)),
    Published("DDD", "DDD", "online", (0.72, 39.7, 24.6, 20.0)),
    Published("WM", "WeightedMajority", "online", (0.29, 22.9, 14.1, 67.4)),
    Published("Blum", "BlumMajority", "online", (1.64, 37.3, 22.6, 68.1)),
    Published("TrackExp", "FixedShare", "online", (0.52, 23.1, 14.8, 22.0)),
    Published("PWM", "PWM", "online", (0.19, 14.3, 4.1, 31.5)),
)

#: PWM without the bias weight, on R1 to R3.
NO_BIAS = Published("PWM", "PWM without bias", "online", (0.23, 14.4, 4.1, float("nan")))
