"""The portfolio's arithmetic, once: on lists as it stands, on arrays as `quorate.rules.portfolio_kernels` compiles it.

A run and a loop must agree to the last bit, so there is one source for both. It uses only + - * / and comparisons, in a
fixed order, and a table for the logistic function: the exponential of one library differs from that of the next.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "AWAKE_LEAST",
    "COPY_RATES",
    "COPY_SHARES",
    "LINEAR_STARTS",
    "MEMBERS",
    "N_COPIES",
    "N_LINEAR",
    "N_MEMBERS",
    "N_SCRATCH",
    "PRIOR",
    "PRIOR_LEARNERS",
    "PRIOR_TOTAL",
    "SHARE_LEAST",
    "TABLES",
    "TOP_RATE",
    "TOP_SHARE",
    "ask",
    "learn",
    "weigh",
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
    "FixedShare",
    "plain majority",
)
N_MEMBERS = len(MEMBERS)
N_SCRATCH = 31
#: What each starts with, and is given of what is shared; and all learners, and all their opposites, together. Over a
#: long stretch of one label nobody is told from a constant, and this alone decides who is believed when it ends.
PRIOR = (0.05, 0.05, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 0.5, 2.0)
PRIOR_LEARNERS = (2.0, 0.1)
PRIOR_TOTAL = math.fsum((*PRIOR, *PRIOR_LEARNERS))
#: The linear members: PWM, its average, and the three regressions.
N_LINEAR = 5
LINEAR_RATES = (0.0, 0.0, 0.1, 0.02, 0.004)  # the step of each regression
LINEAR_STARTS = (0.0, 0.0, 0.5, 0.1, 0.02)  # how far each believes a learner at first: five steps
MEMORY = 1 / 2048  # of the average: the part of it that a label makes new
WINNOW_MAX = 2.0**30
#: What FixedShare takes from a learner that was wrong, and what each gives to the others.
FIXED_RATE = 0.5
FIXED_SHARE = 0.25
#: Four copies of the shares, from quick to slow: what a wrong member loses, and how much is shared where all err.
N_COPIES = 4
COPY_RATES = (0.5, 0.2, 0.05, 0.0125)
COPY_SHARES = (0.025, 0.004, 0.00025, 0.000015625)  # a tenth of the rate squared
SHARE_LEAST = 2.0**-20  # shared even where nobody errs
#: Those awake are raised to this if they have less together, so that no share vanishes, whoever falls silent.
AWAKE_LEAST = 2.0**-40
#: The same for the four copies themselves.
TOP_RATE = 0.02
TOP_SHARE = 0.00004

# 1 / (1 + exp(x)) from -16 to 16 in steps of 1/32, rounded, so that every library's exponential gives the same.
_SIGMOID = tuple(round(2**40 / (1 + math.exp(place / 32 - 16))) / 2**40 for place in range(1025))
#: All of these in one row, as compiled code looks up a tuple slowly: they begin at 0, 12, 16, 20, 25 and 1050.
TABLES = [*PRIOR, *COPY_RATES, *COPY_SHARES, *LINEAR_RATES, *_SIGMOID, *PRIOR_LEARNERS]


def ask(votes: Any, memory: Any, linear: Any, winnow: Any, recent: Any, answers: Any, scratch: Any) -> None:
    """Ask every member.

    Parameters
    ----------
    votes, memory
        One a learner; the last label, 0 before any, and half of it while nobody knows how late labels are.
    linear, winnow, recent
        The weights of the linear members: five for the bias, five for each learner, five for the last label; of the two
        Winnows, two for each learner; of FixedShare, one for each learner, but none for weights that were fitted.
    answers
        What the members of `MEMBERS` say is written there: -1, +1, or 0 for one that sleeps.
    scratch
        Room for `N_SCRATCH` numbers; the first seven are the members' sums, the last three FixedShare's: its sum, the
        weights of those who voted, and how many these are.
    """
    n_learners, n_recent = len(votes), len(recent)
    at = 5 * n_learners + 5
    # Plain names, not lists, hold the sums: compiled, these stay in registers.
    m0, m1 = linear[0], linear[1]  # PWM and its average do not look at the last label
    heard = int(memory)  # half a label is none
    m2 = linear[2] + linear[at + 2] * heard
    m3 = linear[3] + linear[at + 3] * heard
    m4 = linear[4] + linear[at + 4] * heard
    up = down = quick = whole = 0.0
    lean = voting = 0
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
            if place < n_recent:
                voting += 1
                quick += recent[place] * vote
                whole += recent[place]
    scratch[0], scratch[1], scratch[2], scratch[3], scratch[4] = m0, m1, m2, m3, m4
    scratch[5], scratch[6] = up, down
    scratch[28], scratch[29], scratch[30] = quick, whole, voting
    answers[0] = 1
    answers[1] = -1
    answers[2] = (memory > 0) - (memory < 0)
    answers[3] = (m0 > 0) - (m0 < 0)
    answers[4] = (m1 > 0) - (m1 < 0)
    answers[5] = (m2 > 0) - (m2 < 0)
    answers[6] = (m3 > 0) - (m3 < 0)
    answers[7] = (m4 > 0) - (m4 < 0)
    answers[8] = 1 if up >= 0.5 * n_learners else -1
    answers[9] = -1 if down >= 0.5 * n_learners else 1
    answers[10] = ((quick > 0) - (quick < 0)) * (memory != 0)
    answers[11] = (lean > 0) - (lean < 0)


def weigh(votes: Any, answers: Any, shares: Any, top: Any, copies: Any, tables: Any, scratch: Any) -> int:
    """Weigh the answers in every copy; give the decision.

    Parameters
    ----------
    votes, answers
        What the learners and the other members say.
    shares, top
        Of each member four, one a copy: those of `MEMBERS`, then each learner and its opposite; those of the copies.
    copies
        What the copies decide is written there.
    tables
        `TABLES`.
    scratch
        Numbers 7 to 15: for each copy how far its shares lean to +1, and how much of them is awake; and of the prior.
    """
    n_learners = len(votes)
    pair = (tables[1050] + tables[1051]) / n_learners
    awake = c0 = c1 = c2 = c3 = t0 = t1 = t2 = t3 = 0.0
    for member in range(N_MEMBERS):
        answer = answers[member]
        if answer != 0:
            awake += tables[member]
            at = N_COPIES * member
            t0 += shares[at]
            t1 += shares[at + 1]
            t2 += shares[at + 2]
            t3 += shares[at + 3]
            c0 += shares[at] * answer
            c1 += shares[at + 1] * answer
            c2 += shares[at + 2] * answer
            c3 += shares[at + 3] * answer
    for place in range(n_learners):
        vote = votes[place]
        if vote != 0:
            awake += pair
            at = N_COPIES * (N_MEMBERS + 2 * place)
            t0 += shares[at] + shares[at + 4]
            t1 += shares[at + 1] + shares[at + 5]
            t2 += shares[at + 2] + shares[at + 6]
            t3 += shares[at + 3] + shares[at + 7]
            c0 += (shares[at] - shares[at + 4]) * vote
            c1 += (shares[at + 1] - shares[at + 5]) * vote
            c2 += (shares[at + 2] - shares[at + 6]) * vote
            c3 += (shares[at + 3] - shares[at + 7]) * vote
    scratch[7], scratch[8], scratch[9], scratch[10] = c0, c1, c2, c3
    scratch[11], scratch[12], scratch[13], scratch[14] = t0, t1, t2, t3
    scratch[15] = awake
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
    recent: Any,
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
        What members and copies said when the slot was decided.
    linear, winnow, recent, shares, top, last, tables
        As for `ask` and `weigh`; all but the last are changed. The label is written to `last`: half of it until one has
        come of a slot that was decided when another had come. What the last label is worth depends on how late it
        is, and before that nothing tells.
    scratch
        The sums that `ask` and `weigh` gave just now, of these votes, these answers, and the last label among them:
        half of it if `last` holds half a label.
    """
    n_learners = len(votes)
    m0, up, down = scratch[0], scratch[5], scratch[6]
    # Those awake keep together what they had together, or the least; those asleep are not touched.
    awake = 1.0 / scratch[15]
    for copy in range(N_COPIES):
        total = scratch[11 + copy]
        erring = 0.5 * (total - scratch[7 + copy] * label)
        given = tables[16 + copy] * (erring / total + SHARE_LEAST)
        kept = max(total, AWAKE_LEAST)
        scratch[16 + copy] = kept / (total - tables[12 + copy] * erring) * (1.0 - given)
        scratch[20 + copy] = scratch[16 + copy] - scratch[16 + copy] * tables[12 + copy]
        scratch[24 + copy] = given * kept * awake
    g0, g1, g2, g3 = scratch[24], scratch[25], scratch[26], scratch[27]
    # Looked up, as nobody can guess a branch on who is right: what a share is multiplied by is from 16 on for those who
    # are, from 20 on for those who are not.
    for member in range(N_MEMBERS):
        answer = answers[member]
        if answer != 0:
            at = N_COPIES * member
            row = 16 if answer == label else 20
            gift = tables[member]
            shares[at] = shares[at] * scratch[row] + g0 * gift
            shares[at + 1] = shares[at + 1] * scratch[row + 1] + g1 * gift
            shares[at + 2] = shares[at + 2] * scratch[row + 2] + g2 * gift
            shares[at + 3] = shares[at + 3] * scratch[row + 3] + g3 * gift
    gift = tables[1050] / n_learners
    lesser = tables[1051] / n_learners
    for place in range(n_learners):
        vote = votes[place]
        if vote != 0:
            at = N_COPIES * (N_MEMBERS + 2 * place)
            row = 16 if vote == label else 20
            shares[at] = shares[at] * scratch[row] + g0 * gift
            shares[at + 1] = shares[at + 1] * scratch[row + 1] + g1 * gift
            shares[at + 2] = shares[at + 2] * scratch[row + 2] + g2 * gift
            shares[at + 3] = shares[at + 3] * scratch[row + 3] + g3 * gift
            row = 36 - row  # its opposite
            shares[at + 4] = shares[at + 4] * scratch[row] + g0 * lesser
            shares[at + 5] = shares[at + 5] * scratch[row + 1] + g1 * lesser
            shares[at + 6] = shares[at + 6] * scratch[row + 2] + g2 * lesser
            shares[at + 7] = shares[at + 7] * scratch[row + 3] + g3 * lesser
    # Those who voted have 1 each on average again, and give to each other; who is absent keeps what it had.
    voting = scratch[30]
    given = FIXED_SHARE / (voting - 1.0) if voting > 1.0 else 0.0
    scale = (1.0 - FIXED_SHARE - given) * voting if voting > 1.0 else 1.0
    if voting > 0.0:
        scale = scale / (scratch[29] * (1.0 - 0.5 * FIXED_RATE) + scratch[28] * label * (0.5 * FIXED_RATE))
    flat, slope, given = scale * (1.0 - 0.5 * FIXED_RATE), scale * (0.5 * FIXED_RATE) * label, given * voting
    for place in range(len(recent)):
        vote, own = votes[place], recent[place]
        recent[place] = own * (flat + slope * vote) + given if vote != 0 else own
    total = 0.0
    for copy in range(N_COPIES):
        if copies[copy] != label:
            top[copy] = top[copy] * (1.0 - TOP_RATE)
        total += top[copy]
    kept = (1.0 - TOP_SHARE) / total
    for copy in range(N_COPIES):
        top[copy] = top[copy] * kept + TOP_SHARE / N_COPIES
    told = last[0] * last[0] == 1.0
    heard = answers[2] if told else 0
    scratch[0] = 0.0 if (1 if m0 >= 0 else -1) == label else float(label)
    for rank in range(2, 5):
        at_table = (scratch[rank] * label + 16.0) * 32.0
        if at_table <= 0.0:
            chance = tables[25]
        elif at_table >= 1024.0:
            chance = tables[1049]
        else:
            step = int(at_table)
            chance = tables[25 + step] + (tables[26 + step] - tables[25 + step]) * (at_table - step)
        scratch[rank] = tables[20 + rank] * chance * label
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
    linear[at + 2] += s2 * heard
    linear[at + 3] += s3 * heard
    linear[at + 4] += s4 * heard
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
    last[0] = 1.0 * label if told or answers[2] != 0 else 0.5 * label
