"""The portfolio's arithmetic, once: on lists as it stands, on arrays as `quorate.rules.portfolio_kernels` compiles it.

A run and a loop must agree to the last bit, so there is one source for both. It uses only + - * / and comparisons, in a
fixed order, and a table for the logistic function: the exponential of one library differs from that of the next.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "COPY_RATES",
    "COPY_SHARES",
    "LINEAR_RATES",
    "MEMBERS",
    "N_COPIES",
    "N_LINEAR",
    "N_MEMBERS",
    "PRIOR",
    "PRIOR_TOTAL",
    "SHARE_LEAST",
    "TABLES",
    "TOP_RATE",
    "TOP_SHARE",
    "learn",
    "look",
]

#: The members that are not a learner or its opposite, in the order of their shares.
MEMBERS = (
    "always +1",
    "always -1",
    "last label",
    "PWM",
    "averaged PWM",
    "logistic 0.1",
    "logistic 0.02",
    "logistic 0.004",
    "Winnow2 for +1",
    "Winnow2 for -1",
    "plain majority",
)
N_MEMBERS = len(MEMBERS)
#: What each starts with, and is given of what is shared; a learner gets 0.6 / K, its opposite 0.4 / K.
PRIOR = (0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0)
PRIOR_TOTAL = 12.0
#: The linear members: PWM, its average, and the three regressions.
N_LINEAR = 5
LINEAR_RATES = (0.0, 0.0, 0.1, 0.02, 0.004)  # the step of each regression
MEMORY = 1 / 2048  # of the average: the part of it that a label makes new
WINNOW_MAX = 2.0**30
#: Four copies of the shares, from quick to slow: what a wrong member loses, and how much is shared where all err.
N_COPIES = 4
COPY_RATES = (0.5, 0.2, 0.05, 0.0125)
COPY_SHARES = (0.025, 0.004, 0.00025, 0.000015625)  # a tenth of the rate squared
SHARE_LEAST = 2.0**-20  # shared even where nobody errs, so that no share ever vanishes
#: The same for the four copies themselves.
TOP_RATE = 0.02
TOP_SHARE = 0.00004

_SIGMOID_STEPS = 32
_SIGMOID_END = 16
# 1 / (1 + exp(x)) from -16 to 16 in steps of 1/32, rounded, so that every library's exponential gives the same.
_SIGMOID = tuple(
    round(2**40 / (1 + math.exp(place / _SIGMOID_STEPS - _SIGMOID_END))) / 2**40
    for place in range(2 * _SIGMOID_END * _SIGMOID_STEPS + 1)
)
#: All of these in one row, as compiled code looks up a tuple slowly: they begin at 0, 11, 15, 19 and 24.
TABLES = [*PRIOR, *COPY_RATES, *COPY_SHARES, *LINEAR_RATES, *_SIGMOID]


def look(
    votes: Any, linear: Any, winnow: Any, shares: Any, top: Any, last: Any, answers: Any, copies: Any, scratch: Any
) -> int:
    """Ask every member, then every copy; give the decision.

    Parameters
    ----------
    votes
        One a learner.
    linear
        The weights of the linear members: five for the bias, five for each learner, five for the last label.
    winnow
        The weights of the two Winnows: two for each learner.
    shares
        Of each member four, one a copy; the eleven of `MEMBERS`, then each learner and its opposite.
    top
        The shares of the copies.
    last
        The last label, 0 before any.
    answers, copies
        What the members and the copies say is written there: -1, +1, or 0 for a member that sleeps.
    scratch
        Twelve numbers that are written over.
    """
    n_learners = len(votes)
    memory = last[0]
    at = 5 * n_learners + 5
    # Plain names, not lists, hold the sums: compiled, these stay in registers.
    m0 = linear[0] + linear[at] * memory
    m1 = linear[1] + linear[at + 1] * memory
    m2 = linear[2] + linear[at + 2] * memory
    m3 = linear[3] + linear[at + 3] * memory
    m4 = linear[4] + linear[at + 4] * memory
    up = down = 0.0
    lean = 0
    for place in range(n_learners):
        vote = votes[place]
        if vote != 0:
            lean += vote
            up += winnow[2 * place] * (0.5 + 0.5 * vote)  # no branch: nobody can guess how they vote
            down += winnow[2 * place + 1] * (0.5 - 0.5 * vote)
            at = 5 * place + 5
            m0 += linear[at] * vote
            m1 += linear[at + 1] * vote
            m2 += linear[at + 2] * vote
            m3 += linear[at + 3] * vote
            m4 += linear[at + 4] * vote
    answers[0] = 1
    answers[1] = -1
    answers[2] = 1 if memory > 0 else -1 if memory < 0 else 0
    answers[3] = 1 if m0 > 0 else -1 if m0 < 0 else 0
    answers[4] = 1 if m1 > 0 else -1 if m1 < 0 else 0
    answers[5] = 1 if m2 > 0 else -1 if m2 < 0 else 0
    answers[6] = 1 if m3 > 0 else -1 if m3 < 0 else 0
    answers[7] = 1 if m4 > 0 else -1 if m4 < 0 else 0
    answers[8] = 1 if up >= 0.5 * n_learners else -1
    answers[9] = -1 if down >= 0.5 * n_learners else 1
    answers[10] = 1 if lean > 0 else -1 if lean < 0 else 0
    c0 = c1 = c2 = c3 = 0.0
    for member in range(11):
        answer = answers[member]
        at = 4 * member
        c0 += shares[at] * answer
        c1 += shares[at + 1] * answer
        c2 += shares[at + 2] * answer
        c3 += shares[at + 3] * answer
    for place in range(n_learners):
        vote = votes[place]
        at = 44 + 8 * place
        c0 += (shares[at] - shares[at + 4]) * vote
        c1 += (shares[at + 1] - shares[at + 5]) * vote
        c2 += (shares[at + 2] - shares[at + 6]) * vote
        c3 += (shares[at + 3] - shares[at + 7]) * vote
    copies[0] = 1 if c0 >= 0 else -1
    copies[1] = 1 if c1 >= 0 else -1
    copies[2] = 1 if c2 >= 0 else -1
    copies[3] = 1 if c3 >= 0 else -1
    margin = top[0] * copies[0] + top[1] * copies[1] + top[2] * copies[2] + top[3] * copies[3]
    return 1 if margin >= 0 else -1


def learn(
    votes: Any,
    label: Any,
    answers: Any,
    copies: Any,
    linear: Any,
    winnow: Any,
    shares: Any,
    top: Any,
    last: Any,
    tables: Any,
    scratch: Any,
) -> None:
    """Learn a label: first who is trusted, from what was answered then, and then each member.

    Parameters
    ----------
    votes, label
        Of the slot.
    answers, copies
        What `look` wrote when the slot was decided.
    linear, winnow, shares, top, last, scratch
        As for `look`; all are changed.
    tables
        `TABLES`.
    """
    n_learners = len(votes)
    each = 1.0 / n_learners
    awake = 0.0
    t0 = t1 = t2 = t3 = 0.0  # all that are awake
    w0 = w1 = w2 = w3 = 0.0  # those of them that are wrong
    for member in range(11):
        answer = answers[member]
        if answer != 0:
            awake += tables[member]
            at = 4 * member
            erred = 0.5 - 0.5 * (answer * label)
            t0 += shares[at]
            t1 += shares[at + 1]
            t2 += shares[at + 2]
            t3 += shares[at + 3]
            w0 += shares[at] * erred
            w1 += shares[at + 1] * erred
            w2 += shares[at + 2] * erred
            w3 += shares[at + 3] * erred
    for place in range(n_learners):
        vote = votes[place]
        if vote != 0:
            awake += each
            at = 44 + 8 * place
            t0 += shares[at] + shares[at + 4]
            t1 += shares[at + 1] + shares[at + 5]
            t2 += shares[at + 2] + shares[at + 6]
            t3 += shares[at + 3] + shares[at + 7]
            erred = 0.5 - 0.5 * (vote * label)
            right = 1.0 - erred
            w0 += shares[at] * erred + shares[at + 4] * right
            w1 += shares[at + 1] * erred + shares[at + 5] * right
            w2 += shares[at + 2] * erred + shares[at + 6] * right
            w3 += shares[at + 3] * erred + shares[at + 7] * right
    scratch[0], scratch[1], scratch[2], scratch[3] = t0, t1, t2, t3
    scratch[4], scratch[5], scratch[6], scratch[7] = w0, w1, w2, w3
    # Those awake keep together what they had together; those asleep are not touched.
    awake = 1.0 / awake
    for copy in range(4):
        total = scratch[copy]
        erring = scratch[4 + copy]
        given = tables[15 + copy] * (erring / total + SHARE_LEAST)
        scratch[copy] = total / (total - tables[11 + copy] * erring) * (1.0 - given)
        scratch[4 + copy] = scratch[copy] * tables[11 + copy]
        scratch[8 + copy] = given * total * awake
    k0, k1, k2, k3 = scratch[0], scratch[1], scratch[2], scratch[3]  # what one that is right is multiplied by
    d0, d1, d2, d3 = scratch[4], scratch[5], scratch[6], scratch[7]  # so much less if it is wrong
    g0, g1, g2, g3 = scratch[8], scratch[9], scratch[10], scratch[11]
    for member in range(11):
        answer = answers[member]
        if answer != 0:
            at = 4 * member
            erred = 0.5 - 0.5 * (answer * label)
            gift = tables[member]
            shares[at] = shares[at] * (k0 - d0 * erred) + g0 * gift
            shares[at + 1] = shares[at + 1] * (k1 - d1 * erred) + g1 * gift
            shares[at + 2] = shares[at + 2] * (k2 - d2 * erred) + g2 * gift
            shares[at + 3] = shares[at + 3] * (k3 - d3 * erred) + g3 * gift
    gift = 0.6 * each
    lesser = 0.4 * each
    for place in range(n_learners):
        vote = votes[place]
        if vote != 0:
            at = 44 + 8 * place
            erred = 0.5 - 0.5 * (vote * label)
            right = 1.0 - erred
            shares[at] = shares[at] * (k0 - d0 * erred) + g0 * gift
            shares[at + 1] = shares[at + 1] * (k1 - d1 * erred) + g1 * gift
            shares[at + 2] = shares[at + 2] * (k2 - d2 * erred) + g2 * gift
            shares[at + 3] = shares[at + 3] * (k3 - d3 * erred) + g3 * gift
            shares[at + 4] = shares[at + 4] * (k0 - d0 * right) + g0 * lesser
            shares[at + 5] = shares[at + 5] * (k1 - d1 * right) + g1 * lesser
            shares[at + 6] = shares[at + 6] * (k2 - d2 * right) + g2 * lesser
            shares[at + 7] = shares[at + 7] * (k3 - d3 * right) + g3 * lesser
    total = 0.0
    for copy in range(4):
        if copies[copy] != label:
            top[copy] = top[copy] * (1.0 - TOP_RATE)
        total += top[copy]
    kept = (1.0 - TOP_SHARE) / total
    for copy in range(4):
        top[copy] = top[copy] * kept + 0.25 * TOP_SHARE
    # The members: where each stands now, with the last label as it was when the slot was decided.
    memory = answers[2]
    at = 5 * n_learners + 5
    m0 = linear[0] + linear[at] * memory
    m2 = linear[2] + linear[at + 2] * memory
    m3 = linear[3] + linear[at + 3] * memory
    m4 = linear[4] + linear[at + 4] * memory
    up = down = 0.0
    for place in range(n_learners):
        vote = votes[place]
        if vote != 0:
            up += winnow[2 * place] * (0.5 + 0.5 * vote)  # no branch: nobody can guess how they vote
            down += winnow[2 * place + 1] * (0.5 - 0.5 * vote)
            at = 5 * place + 5
            m0 += linear[at] * vote
            m2 += linear[at + 2] * vote
            m3 += linear[at + 3] * vote
            m4 += linear[at + 4] * vote
    scratch[0] = 0.0 if (1 if m0 >= 0 else -1) == label else 1.0 * label
    scratch[2], scratch[3], scratch[4] = m2, m3, m4
    for rank in range(2, 5):
        at_table = (scratch[rank] * label + 16.0) * 32.0
        if at_table <= 0.0:
            chance = tables[24]
        elif at_table >= 1024.0:
            chance = tables[1048]
        else:
            step = int(at_table)
            chance = tables[24 + step] + (tables[25 + step] - tables[24 + step]) * (at_table - step)
        scratch[rank] = tables[19 + rank] * chance * label
    s0, s2, s3, s4 = scratch[0], scratch[2], scratch[3], scratch[4]
    linear[0] += s0
    linear[1] += (linear[0] - linear[1]) * MEMORY
    linear[2] += s2
    linear[3] += s3
    linear[4] += s4
    for place in range(n_learners):
        vote = votes[place]
        at = 5 * place + 5
        own = linear[at] + s0 * vote
        linear[at] = own
        linear[at + 1] += (own - linear[at + 1]) * MEMORY
        linear[at + 2] += s2 * vote
        linear[at + 3] += s3 * vote
        linear[at + 4] += s4 * vote
    at = 5 * n_learners + 5  # of the last label, which is no learner of PWM's
    linear[at + 2] += s2 * memory
    linear[at + 3] += s3 * memory
    linear[at + 4] += s4 * memory
    if (1 if up >= 0.5 * n_learners else -1) != label:
        factor = 2.0 if label > 0 else 0.5
        for place in range(n_learners):
            if votes[place] > 0:
                winnow[2 * place] = min(max(winnow[2 * place] * factor, 1.0 / WINNOW_MAX), WINNOW_MAX)
    if (-1 if down >= 0.5 * n_learners else 1) != label:
        factor = 2.0 if label < 0 else 0.5
        for place in range(n_learners):
            if votes[place] < 0:
                winnow[2 * place + 1] = min(max(winnow[2 * place + 1] * factor, 1.0 / WINNOW_MAX), WINNOW_MAX)
    last[0] = label
