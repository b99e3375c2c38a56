"""How the portfolio stands against every other rule: ``make portfolio``, or ``python -m quorate.paper.portfolio``.

Members, rates and shares were chosen on synthetic streams and on the first half of each real test block; the second
half is shown apart. What `fit` does was found on all of R1 to R4, and then compared with other ways on streams that had
no part in that (`python -m quorate.paper.fittings`). `docs/portfolio.md` tells more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from quorate.paper.layout import real_votes, rows_needed
from quorate.paper.panels import perfect_errors
from quorate.paper.portfolio_lines import FEEDBACKS, Line, arrivals_of, compared, standings
from quorate.paper.portfolio_streams import Stream, synthetic_streams
from quorate.rules import PWM, Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.streams import REAL_STREAMS, RotatingHyperplane, load

__all__ = ["ablation", "main", "real_streams", "second_halves", "without"]

#: At how many rows of the second half of a file the layout begins, if it leaves a choice.
N_STARTS = 5
#: The groups that are left out in turn.
GROUPS = {
    "constants": ("always +1", "always -1"),
    "last label": ("last label",),
    "PWM": ("PWM",),
    "averaged PWM": ("averaged PWM",),
    "regressions": ("logistic 0.1", "logistic 0.02", "logistic 0.004"),
    "Winnow2": ("Winnow2 for +1", "Winnow2 for -1"),
    "plain majority": ("plain majority",),
}


def real_streams(data: str | None = None) -> Iterator[Stream]:
    """The votes of the paper's local models on the four real data sets."""
    for name in REAL_STREAMS:
        found = real_votes(name, data)
        yield Stream(name, found.votes, found.labels, (found.tuning_votes, found.tuning_labels))


def second_halves(data: str | None = None) -> Iterator[Stream]:
    """The same where the whole layout lies in the second half of a file, of which nothing was chosen on.

    The layout takes all rows of R2 and R4: of these it is the second half of the test block, and the first is the block
    before it.
    """
    for name in REAL_STREAMS:
        stream = load(name, data)
        last, half = len(stream.labels) - rows_needed(stream), len(stream.labels) // 2
        if last < half:
            found = real_votes(stream)
            yield Stream(f"{name} later", found.votes, found.labels).after(len(found.labels) // 2)
            continue
        for start in np.linspace(half, last, N_STARTS).astype(int).tolist():
            found = real_votes(stream, start=start)
            block = found.tuning_votes, found.tuning_labels
            yield Stream(f"{name} {start:,}", found.votes, found.labels, block)


def without(group: str) -> Callable[[int], Portfolio]:
    """A portfolio that does without some of its members.

    >>> without("PWM")(2).explain()["PWM"]
    0.0
    """

    def make(n_learners: int) -> Portfolio:
        rule, n_copies = Portfolio(n_learners), steps.N_COPIES
        names, shares, tables = GROUPS.get(group, ()), rule._state["shares"], list(steps.TABLES)
        for place, member in enumerate(steps.MEMBERS):
            if member in names:
                tables[place] = 0.0
                shares[n_copies * place : n_copies * (place + 1)] = [0.0] * n_copies
        for side, all_of_them in enumerate(("learners", "opposites")):
            if group == all_of_them:
                tables[side - 2] = 0.0
                for at in range(n_copies * (steps.N_MEMBERS + side), len(shares), 2 * n_copies):
                    shares[at : at + n_copies] = [0.0] * n_copies
        rule._tables = tables
        return rule

    return make


def ablation(
    streams: Sequence[Stream], feedbacks: Sequence[str]
) -> Iterator[tuple[str, float, float, tuple[str, str]]]:
    """Leave each group of members out in turn; compare with the whole portfolio.

    Yields
    ------
    group, mean, worst, where
        Of the ratios of its error to that of the whole, the mean and the largest, and the stream and feedback of that;
        errors below 1 % count as 1 %.
    """
    whole: dict[tuple[str, str], float] = {}
    for group in ("nothing", "learners", "opposites", *GROUPS):
        ratios = {}
        for stream in streams:
            for feedback in feedbacks:
                rule = without(group)(stream.votes.shape[1])
                decisions = rule.run(stream.votes, stream.labels, arrivals_of(stream, feedback))
                error = max(0.01, float((decisions != stream.labels).mean()))
                ratios[stream.name, feedback] = error / whole.setdefault((stream.name, feedback), error)
        worst = max(ratios, key=lambda line: ratios[line])
        yield group, float(np.mean(list(ratios.values()))), ratios[worst], worst


def s1_perfect(n_simulations: int = 200) -> tuple[float, float]:
    """The error of the portfolio and of PWM on S1, 1,000 slots, sixteen learners that know their own part."""
    stream = RotatingHyperplane(n_learners=16)
    errors = [perfect_errors(stream, simulation, 1000, Portfolio, PWM) for simulation in range(n_simulations)]
    _, portfolio, pwm = np.mean(errors, axis=0).tolist()
    return portfolio, pwm


def print_table(streams: Sequence[Stream]) -> None:
    """Print a line for each stream and feedback, as soon as it is known, and then how every rule stands."""
    lines = []
    print(_row("stream", "labels", "portfolio", "best", "other", "ratio", "PWM", "second half", "best", "unfitted"))
    for stream in streams:
        for feedback in FEEDBACKS:
            lines.append(compared(stream, feedback))
            print(_shown(lines[-1]), flush=True)
    print(
        f"\nEach against the best other, within what is asked of the portfolio in so many of the {len(lines)} lines:\n"
    )
    print(f"{'':<24} {'within':>7} {'mean ratio':>11} {'worst':>8}  where")
    for each in standings(lines):
        print(f"{each.rule:<24} {each.n_within:7} {each.mean:11.3f} {each.worst:8.2f}  {each.where}")


def _shown(line: Line) -> str:
    name = line.portfolio
    best = line.best(name)
    return _row(
        line.stream,
        line.feedback,
        f"{line.errors[name]:.2%}",
        f"{line.errors[best]:.2%}",
        best,
        f"{line.errors[name] / line.errors[best]:.3f}" if line.errors[best] else "",
        f"{line.errors['PWM']:.2%}",
        f"{line.halves[name]:.2%}",
        f"{line.best_half(name):.2%}",
        f"{line.errors['Portfolio']:.2%}",
        line.remark,
    )


def _row(
    stream: str,
    labels: str,
    ours: str,
    best: str,
    other: str,
    ratio: str,
    pwm: str,
    half: str,
    best_half: str,
    unfitted: str,
    remark: str = "",
) -> str:
    errors = f"{ours:>9} {best:>8} {other:<24} {ratio:>7} {pwm:>8} {half:>11} {best_half:>7} {unfitted:>8}"
    return f"{stream:<16} {labels:<10} {errors}  {remark}".rstrip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of ratios."""
    parser = argparse.ArgumentParser(
        prog="python -m quorate.paper.portfolio",
        description=__doc__,
        epilog="Examples: `python -m quorate.paper.portfolio --second-half`, on rows of the files that nothing was "
        "chosen on; `python -m quorate.paper.portfolio --seeds 901 902 903`, on synthetic streams drawn anew.",
    )
    parser.add_argument("--data", help="the folder with the real data sets")
    parser.add_argument("--ablation", action="store_true", help="leave each group of members out in turn")
    parser.add_argument("--without-block", action="store_true", help="let no rule know the block before the stream")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--second-half", action="store_true", help="of the files only, beginning at rows of their second halves"
    )
    which.add_argument(
        "--seeds", type=int, nargs="+", metavar="SEED", help="of the synthetic streams only, drawn with these seeds"
    )
    options = parser.parse_args(arguments)
    streams = list(_chosen(options))
    if options.without_block:
        streams = [stream._replace(tuning=None) for stream in streams]
    if options.ablation:
        print("left out          mean   worst")
        for group, mean, worst, (stream_name, feedback) in ablation(streams, list(FEEDBACKS)):
            print(f"{group:<15} {mean:6.4f}  {worst:6.4f}  {stream_name}, {feedback}", flush=True)
        return
    print_table(streams)
    if not options.second_half and not options.seeds:
        portfolio, pwm = s1_perfect()
        print(f"\nS1 with perfect local classifiers, K = 16, after 1,000 slots: {portfolio:.4f}; PWM {pwm:.4f}")


def _chosen(options: argparse.Namespace) -> Iterator[Stream]:
    if options.second_half:
        yield from second_halves(options.data)
        return
    if not options.seeds:
        yield from real_streams(options.data)
        yield from synthetic_streams()
        return
    for seed in options.seeds:
        for stream in synthetic_streams(seed):
            yield stream._replace(name=f"{stream.name} {seed}")


if __name__ == "__main__":
    main()
