"""The paper's bounds exactly as it states them, named as the paper's; some of them fail, and each says which."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from quorate.errors import LocalError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "PaperQuantities",
    "paper_b1",
    "paper_b2",
    "paper_lambda",
    "paper_quantities",
    "paper_theorem_1",
    "paper_theorem_4",
    "paper_theorem_6",
    "paper_theorem_10",
]


class PaperQuantities(msgspec.Struct, frozen=True):
    """What the paper's bounds are made of, measured on votes and labels (its Section IV).

    Parameters
    ----------
    n_slots, n_learners
        N and K.
    errors
        P_i, the part of the slots in which learner i is wrong; an abstention is, as in the paper's formula.
    p_star
        P*, the smallest of them.
    v_star
        v*, how many learners have it.
    alpha
        The part of the slots in which some learner abstains.
    """

    n_slots: int
    n_learners: int
    errors: list[float]
    p_star: float
    v_star: int
    alpha: float


def paper_quantities(votes: ArrayLike, labels: ArrayLike) -> PaperQuantities:
    """Measure P_i, P*, v* and alpha on votes and labels.

    Examples
    --------
    >>> paper_quantities([[1, 1], [-1, 1], [0, 1], [1, 1]], [1, -1, 1, 1])
    PaperQuantities(n_slots=4, n_learners=2, errors=[0.25, 0.25], p_star=0.25, v_star=2, alpha=0.25)
    """
    from quorate.bounds.inputs import checked

    matrix, truth = checked(votes, labels)
    wrong = (matrix != truth[:, None]).sum(axis=0)
    n_slots, n_learners = matrix.shape
    return PaperQuantities(
        n_slots,
        n_learners,
        [float(count) / n_slots for count in wrong],
        float(wrong.min()) / n_slots,
        int((wrong == wrong.min()).sum()),
        float((matrix == 0).any(axis=1).mean()),
    )


def paper_b1(n_learners: int, n_slots: int, p_o: float) -> float:
    r"""B1 of Lemma 1, :math:`2 K P^O + K (K + 1) / N`, which does not hold.

    Its proof takes :math:`1/\sqrt K` for the smallest margin of a split of the hypercube by a plane; threshold
    functions can have exponentially small ones. Here one rule is always right (P^O = 0), and yet:

    Parameters
    ----------
    n_learners, n_slots
        K and N.
    p_o
        P^O, the error of the best static rule.

    Examples
    --------
    >>> from quorate.bounds import decision_list
    >>> from quorate.rules import PWM
    >>> votes, labels = decision_list(n_learners=8)
    >>> mistakes = int((PWM(8).run(votes, labels) != labels).sum())
    >>> mistakes, round(paper_b1(8, len(labels), p_o=0.0) * len(labels))
    (1345, 72)
    """
    _check(n_learners, n_slots, p_o=p_o)
    return 2 * n_learners * p_o + n_learners * (n_learners + 1) / n_slots


def paper_b2(n_learners: int, n_slots: int, p_star: float, v_star: int = 1) -> float:
    r"""B2 of Lemma 2, from the best learner: :math:`f(P^*, v^*)`. It holds for weights that start at 0.

    .. math:: f(x, y) = 2x + \frac{K+1}{2Ny} + \sqrt{\left(\frac{K+1}{2Ny}\right)^2 + \frac{2(K+1)x}{Ny}}

    Parameters
    ----------
    n_learners, n_slots
        K and N.
    p_star, v_star
        P* and v*, the error of the best learner, and how many have it.

    Examples
    --------
    >>> round(paper_b2(n_learners=8, n_slots=1000, p_star=0.05), 4)
    0.1348
    """
    _check(n_learners, n_slots, p_star=p_star)
    if not 1 <= v_star <= n_learners:
        raise LocalError(f"v_star is {v_star}; of {n_learners} learners between 1 and {n_learners} are the best")
    half = (n_learners + 1) / (2 * n_slots * v_star)
    return 2 * p_star + half + math.sqrt(half**2 + 4 * half * p_star)


def paper_theorem_1(n_learners: int, n_slots: int, p_o: float, p_star: float, v_star: int = 1) -> float:
    """B of Theorem 1: the smallest of B1, B2 and 1. **It does not hold**, because B1 does not.

    Parameters
    ----------
    n_learners, n_slots
        K and N.
    p_o, p_star, v_star
        As for B1 and B2.

    Examples
    --------
    >>> round(paper_theorem_1(n_learners=8, n_slots=1000, p_o=0.0, p_star=0.2), 3)
    0.072
    """
    return min(paper_b1(n_learners, n_slots, p_o), paper_b2(n_learners, n_slots, p_star, v_star), 1.0)


def paper_theorem_4(theorem_1: float, delays_max: Iterable[int], n_slots: int) -> float:
    r"""The bound of Theorem 4 for late labels, :math:`B + \sum_i \bar d_i / (N K)`, which does not hold.

    It counts mistakes as they would be made anew when the label comes, not as they were issued. One learner that is
    always right, another that always says -1, labels 50 slots late:

    Parameters
    ----------
    theorem_1
        B.
    delays_max
        The longest delay of each learner, in slots.
    n_slots
        N.

    Examples
    --------
    >>> from quorate.bounds import late_labels
    >>> from quorate.evaluate import Recording, decide
    >>> from quorate.rules import PWM
    >>> votes, labels, arrivals = late_labels(delay=50)
    >>> issued = decide(Recording(["a", "b"], votes, labels, arrivals), PWM(2))
    >>> claimed = paper_theorem_4(paper_theorem_1(2, 102, p_o=0.0, p_star=0.0), delays_max=[50, 50], n_slots=102)
    >>> int((issued != labels).sum()), round(claimed * 102)
    (102, 53)
    """
    delays = [int(delay) for delay in delays_max]
    _check(1, n_slots)
    if not delays or min(delays) < 0:
        raise LocalError(f"delays_max is {delays}; give one a learner, none below 0")
    return theorem_1 + sum(delays) / (n_slots * len(delays))


def paper_lambda(epsilon: float, n_errors: int) -> float:
    r"""The paper's :math:`\lambda(y, z) = \sqrt{\ln(1/y) / (2z)}`.

    >>> round(paper_lambda(0.05, 1000), 4)
    0.0387
    """
    if not 0 < epsilon < 1:
        raise LocalError(f"epsilon is {epsilon}; it must be between 0 and 1")
    return math.sqrt(math.log(1 / epsilon) / (2 * n_errors)) if n_errors > 0 else math.inf


def paper_theorem_6(theorem_1: float, mu: float, epsilon: float, observed_errors: int) -> float | None:
    r"""The bound of Theorem 6 for missing labels, :math:`B / (\mu - \lambda(\epsilon, N_e))`, with its condition.

    **It does not hold**: it inherits B1, and it treats the observed mistakes as a binomial draw from a fixed number
    of mistakes, while later mistakes depend on what was observed. Where every label of the sequence below comes
    (which is more likely than not), it is exceeded.

    Parameters
    ----------
    theorem_1
        B.
    mu
        How likely a label is observed.
    epsilon
        One minus the confidence.
    observed_errors
        N_e, the mistakes that were observed. The paper's condition has an undefined symbol there; this is our reading.

    Returns
    -------
    float or None
        None where the condition, lambda below mu, is not met: the theorem says nothing then.

    Examples
    --------
    >>> from quorate.bounds import decision_list
    >>> _, labels = decision_list(n_learners=8)
    >>> n = len(labels)  # PWM is wrong in each of these slots
    >>> bound = paper_theorem_6(paper_theorem_1(8, n, 0.0, 0.5), mu=0.9999, epsilon=0.05, observed_errors=n)
    >>> n, round(bound * n, 1), round(0.9999**n, 2)
    (1345, 74.5, 0.87)
    """
    if not 0 < mu <= 1:
        raise LocalError(f"mu is {mu}; it must be above 0 and at most 1")
    below = mu - paper_lambda(epsilon, observed_errors)
    return theorem_1 / below if below > 0 else None


def paper_theorem_10(theorem_1: float, alpha: float) -> float:
    """The bound of Theorem 10 for absent learners: B + alpha. **It does not hold**, because B does not.

    Parameters
    ----------
    theorem_1
        B.
    alpha
        The part of the slots in which somebody abstains.

    Examples
    --------
    >>> paper_theorem_10(0.25, alpha=0.5)
    0.75
    """
    if not 0 <= alpha <= 1:
        raise LocalError(f"alpha is {alpha}; it must be between 0 and 1")
    return theorem_1 + alpha


def _check(n_learners: int, n_slots: int, **parts: float) -> None:
    if n_learners < 1 or n_slots < 1:
        raise LocalError(f"n_learners is {n_learners} and n_slots {n_slots}; both must be at least 1")
    for name, part in parts.items():
        if not 0 <= part <= 1:
            raise LocalError(f"{name} is {part}; it must be between 0 and 1")
