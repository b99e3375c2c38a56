"""What the paper says of its table of results, judged."""

from __future__ import annotations

import math
from typing import Any

from quorate.paper.published import NO_BIAS, PUBLISHED, Published
from quorate.paper.verdicts import Claim, Verdict, claim, near, percent

__all__ = ["table_claims"]

STREAMS = ("R1", "R2", "R3", "R4")
DRIFTING = STREAMS[:3]
#: The paper's gains of PWM over WM.
GAINS = {"R1": 0.34, "R2": 0.38, "R3": 0.71}


def table_claims(table: dict[str, Any]) -> list[Claim]:
    """Judge every number of the table, and what the text says of it, on the data sets that were run."""
    numbers = [
        judged
        for row in (*PUBLISHED, NO_BIAS)
        for place, name in enumerate(STREAMS)
        if (judged := _number(row, name, row.percent[place], table)) is not None
    ]
    claims: list[Claim] = []
    there = [name for name in DRIFTING if name in table]
    if there and all("DDD" in table[name]["rows"] for name in there):
        claims += [_online_beats_chunks(table, there), _pwm_is_best(table, there), _second(table, there)]
    claims += [_gain(table, name) for name in there]
    if there:
        claims.append(_update_rule(table, there))
    if "R4" in table and "DDD" in table["R4"]["rows"]:
        claims.append(_without_drift(table))
    return claims + numbers


def _error(table: dict[str, Any], stream: str, name: str) -> float:
    error: float = table[stream]["rows"][name]["error"]
    return error


def _number(row: Published, stream: str, paper: float, table: dict[str, Any]) -> Claim | None:
    if stream not in table or row.name not in table[stream]["rows"] or math.isnan(paper):
        return None
    found = table[stream]["rows"][row.name]
    swept = [100 * error for error in table[stream]["sweep"].get(row.name, [])]
    ours = 100 * found["error"]
    low, high = found["interval"]
    text = f"{row.title} on {stream}"
    shown = percent(found["error"], found["interval"])
    paper_shown = f"{paper:g} %"
    if near(ours, paper, absolute=0.1):
        return Claim("table", text, paper_shown, shown, Verdict.YES, "within a fifth of the paper's value")
    if low <= paper / 100 <= high:
        return Claim("table", text, paper_shown, shown, Verdict.YES, "the paper's value is within our interval")
    span = (
        f"over {len(swept)} rows to begin at ours go from {min(swept):.2f} to {max(swept):.2f} %"
        if len(swept) > 1
        else ""
    )
    if any(near(each, paper, absolute=0.1) for each in swept):
        reason = f"the paper does not say where it begins, and elsewhere in the file it is so: {span}"
        return Claim("table", text, paper_shown, shown, Verdict.OTHER, reason)
    way = "lower" if ours < paper else "higher"
    why = (
        "members, windows and preprocessing of a scheme that retrains are not given"
        if row.name not in table[stream]["sweep"]
        else "the paper does not give its preprocessing, nor which rows it takes"
    )
    reason = f"ours is {way} by {abs(ours - paper):.2f} points{f', and {span}' if span else ''}; {why}"
    return Claim("table", text, paper_shown, shown, Verdict.NO, reason)


def _online_beats_chunks(table: dict[str, Any], streams: list[str]) -> Claim:
    details, holds = [], True
    for stream in streams:
        online = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.kind == "online"}
        rest = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.kind != "online"}
        worst, best = max(online, key=lambda each: online[each]), min(rest, key=lambda each: rest[each])
        holds = holds and online[worst] < rest[best]
        details.append(f"{stream}: {worst} {percent(online[worst])}, {best} {percent(rest[best])}")
    return claim(
        "table",
        "With drift, schemes that learn from every row (DDD, WM, Blum, TrackExp, PWM) are better than static ones "
        "and those that learn from chunks",
        "all of them, on R1, R2 and R3",
        "the worst of the first, the best of the others: " + "; ".join(details),
        holds,
        "the worst of the first kind is better than the best of the others on every one",
        "somewhere the worst that learns from every row is worse than the best of the others",
    )


def _pwm_is_best(table: dict[str, Any], streams: list[str]) -> Claim:
    details, holds = [], True
    for stream in streams:
        errors = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED}
        best = min(errors, key=lambda each: errors[each])
        holds = holds and best == "PWM"
        before = percent(_error(table, stream, "PreviousLabel"))
        details.append(
            f"{stream}: {best} {percent(errors[best])}, PWM {percent(errors['PWM'])}, previous label {before}"
        )
    return claim(
        "table",
        "PWM is the best of the nine on R1, R2 and R3",
        "PWM",
        "; ".join(details),
        holds,
        "it is; but labels come in runs there, and the paper does not show how well repeating the previous one does",
        "another of the nine is better on at least one",
    )


def _second(table: dict[str, Any], streams: list[str]) -> Claim:
    second = {}
    for stream in streams:
        errors = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.name != "PWM"}
        second[stream] = min(errors, key=lambda each: errors[each])
    return claim(
        "table",
        "The second best is WM",
        "WM on R1, R2 and R3",
        "; ".join(f"{stream}: {name}" for stream, name in second.items()),
        set(second.values()) == {"WM"},
        "it is on every one",
        "another scheme is closer to PWM, or better, on at least one",
    )


def _gain(table: dict[str, Any], stream: str) -> Claim:
    pwm, other = _error(table, stream, "PWM"), _error(table, stream, "WeightedMajority")
    gain = 1 - pwm / other
    sweep = table[stream]["sweep"]
    gains = [1 - a / b for a, b in zip(sweep["PWM"], sweep["WeightedMajority"], strict=True) if b]
    spread = f"; over {len(gains)} starts {min(gains):.0%} to {max(gains):.0%}" if len(gains) > 1 else ""
    text = f"The gain of PWM over WM on {stream}"
    ours = f"{gain:.0%}{spread}"
    if near(gain, GAINS[stream], 0.25):
        return Claim("table", text, f"{GAINS[stream]:.0%}", ours, Verdict.YES, "within a quarter of the paper's")
    if any(near(each, GAINS[stream], 0.25) for each in gains):
        reason = "where the layout begins at other rows it is so"
        return Claim("table", text, f"{GAINS[stream]:.0%}", ours, Verdict.OTHER, reason)
    published = {row.name: row.percent[STREAMS.index(stream)] for row in PUBLISHED}
    theirs = f"{published['PWM']:g} and {published['WeightedMajority']:g} %"
    reason = f"PWM and WM err in {percent(pwm)} and {percent(other)} here, in {theirs} there"
    return Claim("table", text, f"{GAINS[stream]:.0%}", ours, Verdict.NO, reason)


def _update_rule(table: dict[str, Any], streams: list[str]) -> Claim:
    details, holds = [], True
    for stream in streams:
        plain, other = _error(table, stream, "PWM without bias"), _error(table, stream, "WeightedMajority")
        holds = holds and plain < other
        details.append(f"{stream}: without bias {percent(plain)}, WM {percent(other)}")
    return claim(
        "table",
        "Without the bias weight PWM is still better than WM: the update rule is what counts",
        "0.23, 14.4, 4.1 against 0.29, 22.9, 14.1 %",
        "; ".join(details),
        holds,
        "it is, on every one",
        "on at least one WM is as good or better",
    )


def _without_drift(table: dict[str, Any]) -> Claim:
    errors = {row.abbreviation: _error(table, "R4", row.name) for row in PUBLISHED}
    best = [errors[name] for name in ("Ada", "OnAda", "Wang")]
    rest = {name: error for name, error in errors.items() if name not in ("Ada", "OnAda", "Wang")}
    first = min(rest, key=lambda each: rest[each])
    majority = percent(_error(table, "R4", "MajorityClass"))
    return claim(
        "table",
        "Without drift (R4) Ada, OnAda and Wang are better than the others",
        "19.7 to 19.8 % against 20.0 % and more",
        f"{', '.join(percent(each) for each in best)} against {first} {percent(rest[first])}; majority class "
        f"{majority}",
        max(best) < min(rest.values()),
        "they are; none is better than always answering 'good' by more than a little",
        "not all three are; and none is much better than always answering 'good'",
    )
