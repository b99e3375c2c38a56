"""Learners and models together in one process, with River's face."""

from quorate.ensemble.cascade import Cascade
from quorate.ensemble.ensemble import Ensemble
from quorate.ensemble.models import Classes, Model
from quorate.ensemble.views import View

__all__ = ["Cascade", "Classes", "Ensemble", "Model", "View"]
