"""Streams: the paper's synthetic and real ones, a user's own files, and imperfect feedback."""

from quorate.streams.event_detection import EventDetection
from quorate.streams.feedback import NEVER, Constant, Feedback, Geometric, Realized, Uniform, delay_from_text
from quorate.streams.folder import data_folder
from quorate.streams.gaussian import Gaussian
from quorate.streams.hyperplane import RotatingHyperplane
from quorate.streams.real import REAL_STREAMS, RealStream, load
from quorate.streams.synthetic import Arrays, Observation, SyntheticStream
from quorate.streams.tables import TableReader

__all__ = [
    "NEVER",
    "REAL_STREAMS",
    "Arrays",
    "Constant",
    "EventDetection",
    "Feedback",
    "Gaussian",
    "Geometric",
    "Observation",
    "RealStream",
    "Realized",
    "RotatingHyperplane",
    "SyntheticStream",
    "TableReader",
    "Uniform",
    "data_folder",
    "delay_from_text",
    "load",
]
