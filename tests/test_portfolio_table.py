"""The table of `make portfolio`: what is compared with what, and how it is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from quorate import PWM, Portfolio
from quorate.paper.portfolio import main, second_halves, without
from quorate.paper.portfolio_lines import DISORDERED, FEEDBACKS, Entry, Line, compared, fed, standings
from quorate.paper.portfolio_streams import Stream, sized_streams, synthetic_streams
from quorate.paper.river_streams import river_streams
from quorate.rules import AverageMajority
from quorate.streams import NEVER, load
from tests.portfolio_cases import drawn


def line_of(errors: dict[str, float], feedback: str = "at once", real: bool = False, name: str = "toy") -> Line:
    """Names as the table has them; in the second half everybody is wrong twice as often."""
    entries = [
        Entry(rule.removesuffix(", taught"), ", " in rule, rule.startswith("learner-"), error, 2 * error)
        for rule, error in errors.items()
    ]
    return Line(name, feedback, real, entries)


def test_the_table_compares_with_the_best_other() -> None:
    votes, labels = drawn(21, 2000, 4, wrong=0.3)
    line = compared(Stream("drawn", votes, labels), "10 late")
    best = line.best(line.portfolio)
    for rule in (PWM(4), AverageMajority(4)):
        assert best.error <= (rule.run(votes, labels, np.arange(2000) + 10) != labels).mean()
    assert {each.rule for each in line.entries if each.alone} == {f"learner-{place}" for place in range(1, 5)}


def test_the_table_judges_the_portfolio_that_is_fitted_on_a_block_beside_rules_that_have_learned_it() -> None:
    votes, labels = drawn(22, 900, 3)
    line = compared(Stream("drawn", votes, labels).after(300), "100 late")
    late = np.arange(600) + 100
    portfolio, pwm = Portfolio(3).fit(votes[:300], labels[:300]), PWM(3)
    pwm.run(votes[:300], labels[:300])
    assert line.portfolio == line.entry("Portfolio", taught=True)
    for entry, rule in {
        line.portfolio: portfolio,
        line.entry("PWM", taught=True): pwm,
        line.entry("Portfolio"): Portfolio(3),
    }.items():
        wrong = rule.run(votes[300:], labels[300:], late) != labels[300:]
        assert (entry.error, entry.half) == (wrong.mean(), wrong[300:].mean())
    assert compared(Stream("drawn", votes, labels), "at once").portfolio.name == "Portfolio"


def test_feedback_of_the_table_is_what_it_is_called() -> None:
    votes, labels = drawn(24, 5000, 4)
    heard = {name: fed(Stream("drawn", votes, labels), name) for name in FEEDBACKS}
    for name, late in (("10 late", 10), ("100 late", 100), ("1000 late", 1000)):
        assert (heard[name][0] == votes).all()
        assert np.asarray(heard[name][1]).tolist() == (np.arange(5000) + late).tolist()
    some = heard["1 in 10"][1]
    assert some is not None
    assert 0.08 < (some != NEVER).mean() < 0.12
    assert heard["at once"][1] is heard["half absent"][1] is None
    absent = heard["half absent"][0]
    assert 0.47 < (absent == 0).mean() < 0.53
    assert (absent[absent != 0] == votes[absent != 0]).all()


@pytest.mark.parametrize(
    ("feedback", "real", "best", "limit"),
    [
        ("at once", True, 0.02, 0.021),
        ("at once", True, 0.2, 0.206),
        ("at once", False, 0.02, 0.025),
        ("at once", False, 0.2, 0.22),
        ("100 late", True, 0.02, 0.023),
        ("1 in 10", False, 0.2, 0.21),
    ],
)
def test_the_table_asks_for_a_ratio_or_a_distance(feedback: str, real: bool, best: float, limit: float) -> None:
    line = line_of({"Portfolio": limit, "Portfolio, taught": 0.0, "PWM": best, "Winnow2": 0.5}, feedback, real)
    assert line.limit(line.entry("Portfolio")) == pytest.approx(limit)
    assert line.limit(line.entry("Winnow2")) == pytest.approx(limit)  # no portfolio raises the bar
    assert line.holds(line.entry("Winnow2")._replace(error=limit - 1e-9))
    assert not line.holds(line.entry("Winnow2")._replace(error=limit + 1e-9))


def test_the_table_says_whom_the_portfolio_is_above() -> None:
    errors = {"PWM": 0.3, "learner-1": 0.4, "learner-2": 0.1}
    remarks = [line_of({"Portfolio": error, **errors}).remark for error in (0.11, 0.12, 0.33, 0.34)]
    assert remarks == ["", "above a learner", "above a learner", "above"]


def test_every_rule_is_judged_against_the_best_other_of_each_line() -> None:
    lines = [
        line_of(
            {"Portfolio": 0.1, "Portfolio, taught": 0.08, "PWM": 0.0824, "PWM, taught": 0.09, "learner-1": 0.08},
            real=True,
            name="R1",
        ),
        line_of(
            {"Portfolio": 0.2, "Portfolio, taught": 0.001, "PWM": 0.004, "PWM, taught": 0.1, "learner-1": 0.1},
            "10 late",
        ),
    ]
    pwm, ours, taught, unfitted = standings(lines)
    assert (ours.rule, ours.n_within, ours.worst) == ("Portfolio, taught", 2, 1.0)  # errors below 0.5 % count as 0.5 %
    assert (pwm.rule, pwm.n_within, round(pwm.worst, 9), pwm.where) == ("PWM", 2, 1.03, "R1, at once")
    assert pwm.mean == pytest.approx(math.sqrt(1.03 * 0.05))  # neither the portfolio nor PWM taught is an other
    assert (unfitted.rule, unfitted.n_within, unfitted.worst) == ("Portfolio", 0, 40.0)
    assert (taught.rule, taught.n_within, taught.worst) == ("PWM, taught", 1, 1.125)
    assert standings([]) == []


def test_the_table_is_printed_with_how_every_rule_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    errors = {"Portfolio": 0.12, "Portfolio, taught": 0.11, "PWM": 0.2, "Winnow2": 0.1, "learner-1": 0.3}
    monkeypatch.setattr("quorate.paper.portfolio.compared", lambda stream, feedback: line_of(errors, feedback))
    monkeypatch.setattr("quorate.paper.portfolio.second_halves", lambda _: list(synthetic_streams(n_slots=5))[:1])
    main(["--second-half"])
    table, rest = capsys.readouterr().out.split("\n\n", 1)
    rows = table.splitlines()
    assert len(rows) == 1 + len(FEEDBACKS)
    assert " ".join(rows[1].split()) == "toy at once 11.00% 10.00% Winnow2 1.100 20.00% 22.00% 20.00% 12.00%"
    assert " ".join(rows[2].split()) == "toy 10 late 11.00% 10.00% Winnow2 1.100 20.00% 22.00% 20.00% 12.00% above"
    standing = rest.splitlines()
    assert standing[0].endswith("in so many of the 6 lines:")
    assert " ".join(standing[3].split()) == "Winnow2 6 0.500 0.50 toy, half absent"
    assert " ".join(standing[4].split()) == "Portfolio, taught 1 1.100 1.10 toy, half absent"
    assert "S1 with perfect" not in rest


@pytest.mark.parametrize(
    ("option", "draw", "place", "name"),
    [("--seeds", synthetic_streams, 5, "one good"), ("--river", river_streams, 2, "Agrawal, regressions")],
)
def test_the_table_may_be_of_streams_drawn_anew(
    option: str,
    draw: Any,
    place: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        f"quorate.paper.portfolio.{draw.__name__}", lambda seed: list(draw(seed, 400))[place : place + 1]
    )
    main([option, "901", "0", "--without-block"])
    printed = capsys.readouterr().out
    header, *rows = printed.splitlines()
    n = len(FEEDBACKS)
    at = header.index("labels")
    assert [row[:at].rstrip() for row in rows[: n + 1 : n]] == [f"{name} 901", f"{name} 0"]
    assert [row[at:].split()[2:] for row in rows[:n]] != [row[at:].split()[2:] for row in rows[n : 2 * n]]
    assert "taught" not in printed
    assert "S1 with perfect" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "no-such-folder"], "error: R1 "),
        (["--seeds", "-1"], "'-1' is no seed"),
        (["--seeds", "1", "--second-half"], "not allowed with"),
        (["--seeds", "1", "--river", "1"], "not allowed with"),
    ],
)
def test_the_table_says_in_one_line_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code in (1, 2)
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "called", "first", "n_slots"), [("R1", "R1 247,010", 307_010, 20_000), ("R2", "R2 later", 34_500, 10_500)]
)
def test_second_halves_have_no_row_of_the_first(
    name: str, called: str, first: int, n_slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.paper.portfolio.REAL_STREAMS", (name,))
    stream = next(second_halves())
    assert stream.name == called
    assert stream.votes.shape == (n_slots, 8)
    assert stream.tuning is not None
    rows = load(name).labels
    assert stream.labels.tolist() == rows[first : first + n_slots].tolist()
    before = len(stream.tuning[1])
    assert stream.tuning[1].tolist() == rows[first - before : first].tolist()


def test_what_is_left_out_has_no_share_for_ever() -> None:
    votes, labels = drawn(22, 500, 3)
    for group in ("learners", "regressions"):
        rule = without(group, Portfolio(3))
        rule.run(votes, labels)
        shares = rule.explain()
        gone = ["learner-1", "learner-3"] if group == "learners" else ["logistic 0.1", "logistic 0.004"]
        assert [shares[name] for name in gone] == [0.0, 0.0]
        assert shares["not learner-2"] > 0


def test_the_table_may_be_of_labels_in_disorder_of_beginnings_and_of_other_numbers_of_learners(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("quorate.paper.portfolio.sized_streams", lambda k: list(sized_streams(k, n_slots=400)))
    main(["--learners", "2", "17", "--disordered", "--first", "150"])
    table, rest = capsys.readouterr().out.split("\n\n", 1)
    header, *rows = table.splitlines()
    at = header.index("labels")
    names = [f"{kind}{k}" for k in (2, 17) for kind in ("one good of ", "mixed ", "jumps of ", "alike ")]
    assert [row[:at].rstrip() for row in rows[::4]] == names
    assert [row[at : at + 14].rstrip() for row in rows[:4]] == list(DISORDERED)
    for row in rows:
        error = float(row[at + 14 :].split()[0].rstrip("%"))
        assert abs(error * 1.5 - round(error * 1.5)) < 0.01  # of 150 slots
    assert "S1 with perfect" not in rest
    with pytest.raises(SystemExit):
        main(["--first", "0"])
    assert "'0' is no whole number from 1 on" in capsys.readouterr().err


def test_labels_in_disorder_and_by_the_hundred() -> None:
    stream = Stream("toy", np.ones((1000, 2), np.int8), np.ones(1000, np.int8))
    late = {feedback: np.asarray(fed(stream, feedback)[1]) for feedback in DISORDERED}
    for most in (20, 200, 2000):
        delays = late[f"0 to {most} late"] - np.arange(1000)
        assert 0 <= delays.min() < 0.1 * most
        assert 0.9 * most < delays.max() <= most
    assert late["by the 100"].tolist() == [slot // 100 * 100 + 99 for slot in range(1000)]
