"""Measurement: decisions as they were issued, beside what needs no learning at all."""

from quorate.evaluate.compare import compare, compare_votes
from quorate.evaluate.local_models import LocalModel, model_from_text, train
from quorate.evaluate.measures import Measures, fading_mean, interval, measure, rolling_mean
from quorate.evaluate.prequential import prequential
from quorate.evaluate.recorded import Recorded, read_recording
from quorate.evaluate.recording import Recording, arriving, decide
from quorate.evaluate.result import Comparison, Row, versions
from quorate.evaluate.trust import shares_over_time

__all__ = [
    "Comparison",
    "LocalModel",
    "Measures",
    "Recorded",
    "Recording",
    "Row",
    "arriving",
    "compare",
    "compare_votes",
    "decide",
    "fading_mean",
    "interval",
    "measure",
    "model_from_text",
    "prequential",
    "read_recording",
    "rolling_mean",
    "shares_over_time",
    "train",
    "versions",
]
