"""What a portfolio should take from a block before the stream: each way that was tried, against taking nothing.

On synthetic streams with seeds of their own, on streams with long stretches of one label, and on the first halves of R1
to R4; the second halves have no part in it. And, apart from these, on streams that are not what their block was.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence

from quorate.errors import QuorateError
from quorate.paper.portfolio import real_streams
from quorate.paper.portfolio_lines import FEEDBACKS, LEAST, fed
from quorate.paper.portfolio_streams import Stream, changed_streams, stretched_streams, synthetic_streams
from quorate.rules import Portfolio
from quorate.rules import portfolio_steps as steps

__all__ = ["WAYS", "gains", "main"]

#: Seeds that no other streams are drawn with.
SYNTHETIC_SEEDS, STRETCHED_SEEDS, CHANGED_SEEDS = (501, 502, 503), (601, 602), (701, 702)


def members(stream: Stream) -> Portfolio:
    """What the members have learned; whom to trust stays open."""
    return _taught(stream, ("linear", "winnow"), 0)


def shares(stream: Stream) -> Portfolio:
    """Which learners to trust; the other members begin anew."""
    return _taught(stream, (), len(stream.votes[0]))


def members_and_shares(stream: Stream) -> Portfolio:
    """Both."""
    return _taught(stream, ("linear", "winnow"), len(stream.votes[0]))


def voter(stream: Stream) -> Portfolio:
    """The weights that AdaBoost finds, as one more voter; the members begin anew."""
    rule = fitted(stream)
    new = Portfolio(rule.n_voters)._state
    rule._state |= {name: new[name] for name in ("linear", "winnow")}
    return rule


def fitted(stream: Stream) -> Portfolio:
    """What `Portfolio.fit` does: that voter, and what the members have learned."""
    assert stream.tuning is not None
    return Portfolio(stream.votes.shape[1]).fit(*stream.tuning)


def _taught(stream: Stream, names: Sequence[str], n_trusted: int) -> Portfolio:
    assert stream.tuning is not None
    rule, taught = Portfolio(stream.votes.shape[1]), Portfolio(stream.votes.shape[1])
    taught.run(*stream.tuning)
    rule._state |= {name: taught._state[name] for name in names}
    if n_trusted:
        at = steps.N_COPIES * steps.N_MEMBERS
        rule._state["shares"][at:] = taught._state["shares"][at:]
    return rule


#: What is taken from the block.
WAYS: dict[str, Callable[[Stream], Portfolio]] = {
    "members": members,
    "shares": shares,
    "members, shares": members_and_shares,
    "voter": voter,
    "members, voter (fit)": fitted,
}


def gains(streams: Sequence[Stream], feedback: str) -> dict[str, float]:
    """The geometric mean over streams of the error, as a part of that of a portfolio that takes nothing.

    >>> gains(list(stretched_streams(1, n_slots=500)), "100 late")["members, voter (fit)"] < 0.9
    True
    """
    logarithms = dict.fromkeys(WAYS, 0.0)
    for stream in streams:
        nothing = _error(Portfolio(stream.votes.shape[1]), stream, feedback)
        for name, way in WAYS.items():
            logarithms[name] += math.log(_error(way(stream), stream, feedback) / nothing)
    return {name: math.exp(logarithm / len(streams)) for name, logarithm in logarithms.items()}


def _error(rule: Portfolio, stream: Stream, feedback: str) -> float:
    votes, arrivals = fed(stream, feedback)
    return max(LEAST, float((rule.run(votes, stream.labels, arrivals) != stream.labels).mean()))


def first_halves(data: str | None = None) -> Iterator[Stream]:
    """R1 to R4, without their second halves."""
    for stream in real_streams(data):
        yield stream.until(len(stream.labels) // 2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m quorate.paper.fittings", description=__doc__)
    parser.add_argument("--data", help="the folder with the real data sets")
    options = parser.parse_args(arguments)
    try:
        halves = list(first_halves(options.data))
    except QuorateError as error:
        parser.exit(1, f"error: {error}\n")
    groups = {
        "synthetic": [stream for seed in SYNTHETIC_SEEDS for stream in synthetic_streams(seed)],
        "stretches": [stream for seed in STRETCHED_SEEDS for stream in stretched_streams(seed)],
        "first halves": halves,
    }
    print("streams       labels     " + "".join(f"{name:>22}" for name in WAYS))
    lines = []
    for group, streams in groups.items():
        for feedback in FEEDBACKS:
            lines.append(list(gains(streams, feedback).values()))
            print(f"{group:<13} {feedback:<11}" + "".join(f"{gain:22.3f}" for gain in lines[-1]), flush=True)
    means = [math.prod(each) ** (1 / len(lines)) for each in zip(*lines, strict=True)]
    print("geometric mean           " + "".join(f"{mean:22.3f}" for mean in means))
    changed = [stream for seed in CHANGED_SEEDS for stream in changed_streams(seed)]
    for feedback in FEEDBACKS:
        print(
            f"{'changed':<13} {feedback:<11}" + "".join(f"{gain:22.3f}" for gain in gains(changed, feedback).values())
        )


if __name__ == "__main__":
    main()
