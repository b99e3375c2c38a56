"""What the members of a portfolio are called."""

from __future__ import annotations

from collections.abc import Sequence

from quorate.rules import portfolio_steps as steps

__all__ = ["member_names"]

#: The voter that `Portfolio.fit` adds.
FITTED = "fitted weights"


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
