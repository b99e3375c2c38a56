"""Learners and models together in one process, with River's face; River is loaded when that face is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quorate.ensemble.models import Classes, Model
from quorate.ensemble.views import View

if TYPE_CHECKING:
    from quorate.ensemble.cascade import Cascade
    from quorate.ensemble.ensemble import Ensemble

__all__ = ["Cascade", "Classes", "Ensemble", "Model", "View"]


def __getattr__(name: str) -> Any:
    if name not in ("Cascade", "Ensemble"):
        raise AttributeError(f"module 'quorate.ensemble' has no attribute {name!r}")
    import importlib

    from quorate._extras import load

    load("river", f"quorate.{name}")
    return getattr(importlib.import_module(f"quorate.ensemble.{name.lower()}"), name)
