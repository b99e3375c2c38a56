"""The sans-IO learner: events in, events out."""

from quorate.learner.counters import Counters
from quorate.learner.fold import Watcher
from quorate.learner.inputs import checked_slot
from quorate.learner.learner import Learner
from quorate.learner.life import LIFE, Input, State

__all__ = ["LIFE", "Counters", "Input", "Learner", "State", "Watcher", "checked_slot"]
