"""What the members of a portfolio are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quorate.errors import LocalError
from quorate.rules import portfolio_steps as steps

__all__ = ["is_member", "learner_names", "member_names"]

#: The voter that `Portfolio.fit` adds.
FITTED = "fitted weights"

_LEARNER = re.compile(r"(?:not )?learner-([1-9][0-9]{0,17})")


def learner_names(names: Sequence[str] | None, n_learners: int) -> list[str]:
    """Check what learners are called, or name those that nobody has named.

    >>> learner_names(None, 2)
    ['learner-1', 'learner-2']
    """
    if names is None:
        return [f"learner-{place}" for place in range(1, n_learners + 1)]
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise LocalError(f"names are {names!r}; give a list of them, one a learner")
    called = list(names)
    if not all(isinstance(name, str) for name in called):
        raise LocalError(f"names are {called!r}; each must be a text")
    if len(called) != n_learners:
        raise LocalError(f"{len(called)} names were given for {n_learners} learners")
    if len(set(called)) < len(called):
        raise LocalError(f"names are {', '.join(called)}; two learners have the same")
    return called


def is_member(name: str, n_learners: int) -> bool:
    """Whether a portfolio of so many learners that nobody has named may have a member of this name.

    >>> is_member("PWM", 2), is_member("not learner-2", 2), is_member("learner-3", 2)
    (True, True, False)
    """
    found = _LEARNER.fullmatch(name)
    return int(found[1]) <= n_learners if found else name in (*steps.MEMBERS, FITTED, f"not {FITTED}")


def member_names(learners: Sequence[str], *, fitted: bool) -> list[str]:
    """Name all members, in the order of their shares, no two alike; the learners' names are all different.

    Examples
    --------
    >>> member_names(["ann", "PWM"], fitted=False)[-4:]
    ['ann', 'not ann', 'learner PWM', 'not learner PWM']
    """
    taken = {*steps.MEMBERS, FITTED, f"not {FITTED}"}
    names = list(steps.MEMBERS)
    for learner in learners:
        name = learner
        while not taken.isdisjoint((name, f"not {name}")):
            name = f"learner {name}"
        taken.update((name, f"not {name}"))
        names += [name, f"not {name}"]
    return [*names, FITTED, f"not {FITTED}"] if fitted else names
