"""Which part of an instance each learner sees."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from quorate.errors import MembersError

__all__ = ["View", "Views"]

#: The names of the features a learner sees, or a function that gives it its part.
View = Sequence[Any] | Callable[[Any], Any]


class Views:
    """What each learner sees of an instance; None where it sees nothing and must abstain.

    Parameters
    ----------
    names
        The learners.
    views
        For each learner that does not see all: the features it sees, or a function of the instance.
    streams
        Whether an instance is a mapping from learners to their own instances. A learner that is not in it has
        observed nothing.

    Examples
    --------
    >>> views = Views(["a", "b", "c"], {"a": ["t"], "b": lambda x: {"sum": x["t"] + x["p"]}})
    >>> views.of("a", {"t": 1, "p": 2}), views.of("b", {"t": 1, "p": 2}), views.of("c", {"t": 1})
    ({'t': 1}, {'sum': 3}, {'t': 1})
    >>> print(Views(["a", "b"], {}, streams=True).of("b", {"a": {"t": 1}}))
    None
    """

    def __init__(self, names: Iterable[str], views: Mapping[str, View] | None, streams: bool = False) -> None:
        self._views = dict(views or {})
        self._streams = streams
        known = list(names)
        for name in self._views:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the learners are {', '.join(known)}"
                raise MembersError(f"views names {name!r}, who is no learner; {hint}")
            if isinstance(self._views[name], str):
                raise MembersError(f"the view of {name!r} is {self._views[name]!r}; give a list of features")

    def of(self, name: str, x: Any) -> Any:
        """What one learner sees, never the caller's own object."""
        if self._streams:
            x = x.get(name)
            if x is None:
                return None
        view = self._views.get(name)
        if view is None:
            return copy(x)
        if callable(view):
            return view(x)
        return {feature: x[feature] for feature in view if feature in x} or None
