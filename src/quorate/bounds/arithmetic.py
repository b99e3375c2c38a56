"""The largest number of updates that the perceptron argument allows, in integers: nothing is rounded inward."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["updates_max"]


def updates_max(
    vector: Sequence[int],
    hinge: int,
    scale: int,
    radius_squared: int,
    start: Sequence[int] = (),
    start_squared: int = 0,
) -> int:
    r"""The most updates there can be, from the comparison vector v = `vector` / `scale`.

    Each update adds at least :math:`1 - h` to :math:`v \cdot w`, h the hinge loss of v in that slot, and at most
    R² to :math:`|w|^2`. So after U updates from weights :math:`w_0`

    .. math:: U - H + v \cdot w_0 \le |v| \sqrt{|w_0|^2 + R^2 U},

    and the largest integer U that satisfies this is returned. With :math:`w_0 = 0` it is the floor of
    :math:`((R|v| + \sqrt{R^2|v|^2 + 4H})/2)^2`.

    Parameters
    ----------
    vector
        The comparison vector times `scale`, bias first.
    hinge
        The sum of hinge losses :math:`\max(0, 1 - y v \cdot s)`, times `scale`.
    scale
        A positive integer.
    radius_squared
        R², at least the squared length of every vote vector, the bias included.
    start
        The weights at the beginning, bias first. Default: all 0.
    start_squared
        Their squared length, with those of learners that left since.

    Examples
    --------
    The best of 8 learners is wrong 50 times (this is B2 of the paper), or never:

    >>> updates_max([0, 1] + [0] * 7, hinge=2 * 50, scale=1, radius_squared=9)
    134
    >>> updates_max([0, 1] + [0] * 7, hinge=0, scale=1, radius_squared=9)
    9
    """
    # With everything times `scale` q: (q U - G)^2 <= V (S + R^2 U), a quadratic in U; its larger root, floored.
    length = sum(each * each for each in vector)
    offset = hinge - sum(one * other for one, other in zip(vector, start, strict=False))
    growth = length * radius_squared
    middle = 2 * scale * offset + growth
    inside = growth * growth + 4 * growth * scale * offset + 4 * scale * scale * length * start_squared
    if inside < 0:
        return 0  # only possible where no slot can be an update at all
    return max(0, (middle + math.isqrt(inside)) // (2 * scale * scale))
