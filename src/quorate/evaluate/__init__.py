"""Measurement: decisions as they were issued, beside what needs no learning at all."""

from quorate.evaluate.measures import rolling_mean
from quorate.evaluate.recording import Recording, arriving, decide

__all__ = ["Recording", "arriving", "decide", "rolling_mean"]
