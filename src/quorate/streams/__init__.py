"""Streams: the paper's synthetic ones, and imperfect feedback."""

from quorate.streams.feedback import NEVER, Constant, Feedback, Geometric, Realized, Uniform
from quorate.streams.folder import data_folder
from quorate.streams.hyperplane import RotatingHyperplane
from quorate.streams.synthetic import Arrays, Observation, SyntheticStream

__all__ = [
    "NEVER",
    "Arrays",
    "Constant",
    "Feedback",
    "Geometric",
    "Observation",
    "Realized",
    "RotatingHyperplane",
    "SyntheticStream",
    "Uniform",
    "data_folder",
]
