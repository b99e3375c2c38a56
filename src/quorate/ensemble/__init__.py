"""Learners and models together in one process, with River's face."""

from quorate._extras import load

load("river", "quorate.Ensemble")

from quorate.ensemble.cascade import Cascade  # noqa: E402  # after the error that names the extra
from quorate.ensemble.ensemble import Ensemble  # noqa: E402
from quorate.ensemble.models import Classes, Model  # noqa: E402
from quorate.ensemble.views import View  # noqa: E402

__all__ = ["Cascade", "Classes", "Ensemble", "Model", "View"]
