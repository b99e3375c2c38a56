"""What the paper says of its table of results, judged."""

from __future__ import annotations

import math
from typing import Any

from quorate.paper.published import NO_BIAS, PUBLISHED, Published
from quorate.paper.verdicts import Claim, Verdict, claim, near, percent

__all__ = ["STREAMS", "table_claims"]

STREAMS = ("R1", "R2", "R3", "R4")
DRIFTING = STREAMS[:3]
#: The paper's gains of PWM over WM.
GAINS = {"R1": 0.34, "R2": 0.38, "R3": 0.71}


def table_claims(table: dict[str, Any]) -> list[Claim]:
    """Judge every number of the table, and what the text says of it.

    A claim about several data sets is judged only where all of them, and all schemes it is about, were run.
    """
    numbers = [
        judged
        for row in (*PUBLISHED, NO_BIAS)
        for place, name in enumerate(STREAMS)
        if (judged := _number(row, name, row.percent[place], table)) is not None
    ]
    claims: list[Claim] = []
    if all(name in table for name in DRIFTING):
        if all("DDD" in table[name]["rows"] for name in DRIFTING):
            claims += [_online_beats_chunks(table), _pwm_is_best(table), _second(table)]
        claims += [_update_rule(table), _bias_helps(table)]
    claims += [_gain(table, name) for name in DRIFTING if name in table]
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
    ours = 100 * found["error"]
    text, paper_shown = f"{row.title} on {stream}", f"{paper:g} %"
    shown = percent(found["error"], found["interval"])
    if near(ours, paper):
        return Claim("table", text, paper_shown, shown, Verdict.YES, "within a tenth of the paper's value")
    swept = [100 * error for error in table[stream]["sweep"].get(row.name, [])]
    close = [(start, each) for start, each in zip(table[stream]["starts"], swept, strict=False) if near(each, paper)]
    if close:
        start, each = close[0]
        reason = f"the paper does not say where it begins; at row {start:,} of the file ours is {each:.2f} %"
        return Claim("table", text, paper_shown, shown, Verdict.OTHER, reason)
    span = ""
    if len(swept) > 1:
        span = f", and over {len(swept)} rows to begin at it goes from {min(swept):.2f} to {max(swept):.2f} %"
    way = "lower" if ours < paper else "higher"
    why = (
        "the paper does not give its preprocessing, nor which rows it takes"
        if row.name in table[stream]["sweep"]
        else "the members and the preprocessing of a scheme that retrains are not given"
    )
    reason = f"ours is {way} by {abs(ours - paper):.2f} points{span}; {why}"
    return Claim("table", text, paper_shown, shown, Verdict.NO, reason)


def _online_beats_chunks(table: dict[str, Any]) -> Claim:
    details, holds = [], True
    for stream in DRIFTING:
        online = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.kind == "online"}
        rest = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.kind != "online"}
        worst, best = max(online, key=lambda each: online[each]), min(rest, key=lambda each: rest[each])
        holds = holds and online[worst] < rest[best]
        details.append(f"{stream}: {worst} {percent(online[worst])}, {best} {percent(rest[best])}")
    return claim(
        "table",
        "With drift, schemes that learn from every row (DDD, WM, Blum, TrackExp, PWM) are better than static ones and "
        "those that learn from chunks",
        "all of them, on R1, R2 and R3",
        "the worst of the first, the best of the others: " + "; ".join(details),
        holds,
        "the worst of the first kind is better than the best of the others on every one",
        "on at least one the worst that learns from every row is no better than the best of the others",
    )


def _pwm_is_best(table: dict[str, Any]) -> Claim:
    details, holds, previous = [], True, 0
    for stream in DRIFTING:
        others = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.name != "PWM"}
        best, pwm = min(others, key=lambda each: others[each]), _error(table, stream, "PWM")
        before = _error(table, stream, "PreviousLabel")
        holds = holds and pwm < others[best]
        previous += before <= pwm
        shown = f"PWM {percent(pwm)}, the best other, {best}, {percent(others[best])}"
        details.append(f"{stream}: {shown}; previous label {percent(before)}")
    told = f"repeating the previous label, which the paper does not show, is as good or better on {previous} of 3"
    return claim(
        "table",
        "PWM is the best of the nine on R1, R2 and R3",
        "PWM",
        "; ".join(details),
        holds,
        f"it is; but {told}",
        f"on at least one another of the nine is as good or better; and {told}",
    )


def _second(table: dict[str, Any]) -> Claim:
    second = {}
    for stream in DRIFTING:
        errors = {row.abbreviation: _error(table, stream, row.name) for row in PUBLISHED if row.name != "PWM"}
        best = min(errors, key=lambda each: errors[each])
        second[stream] = (best, 1 - _error(table, stream, "PWM") / errors[best] if errors[best] else 0.0)
    return claim(
        "table",
        "The second best is WM, and PWM's gain over it 34 % to 71 %",
        "WM on R1, R2 and R3",
        "; ".join(f"{stream}: {name}, a gain of {gain:.0%}" for stream, (name, gain) in second.items()),
        {name for name, _ in second.values()} == {"WM"} and all(0.3 <= gain <= 0.75 for _, gain in second.values()),
        "it is on every one, with gains of that size",
        "on at least one another scheme is the best but PWM, or the gain is another",
    )


def _gain(table: dict[str, Any], stream: str) -> Claim:
    published = {row.name: row.percent[STREAMS.index(stream)] for row in PUBLISHED}
    sweep = table[stream]["sweep"]
    pwm, other = _error(table, stream, "PWM"), _error(table, stream, "WeightedMajority")
    gain = 1 - pwm / other if other else 0.0
    gains = [1 - a / b for a, b in zip(sweep["PWM"], sweep["WeightedMajority"], strict=True) if b]
    spread = f"; over {len(gains)} rows to begin at {min(gains):.0%} to {max(gains):.0%}" if len(gains) > 1 else ""
    text, paper, ours = f"The gain of PWM over WM on {stream}", f"{GAINS[stream]:.0%}", f"{gain:.0%}{spread}"
    if near(gain, GAINS[stream], 0.15):
        return Claim("table", text, paper, ours, Verdict.YES, "within 15 % of the paper's")
    for start, one, two in zip(table[stream]["starts"], sweep["PWM"], sweep["WeightedMajority"], strict=True):
        if near(100 * one, published["PWM"], 0.2) and near(100 * two, published["WeightedMajority"], 0.2):
            reason = f"where the layout begins at row {start:,} both errors are within a fifth of the paper's"
            return Claim("table", text, paper, ours, Verdict.OTHER, reason)
    theirs = f"{published['PWM']:g} and {published['WeightedMajority']:g} %"
    reason = f"PWM and WM err in {percent(pwm)} and {percent(other)} here, in {theirs} there"
    return Claim("table", text, paper, ours, Verdict.NO, reason)


def _update_rule(table: dict[str, Any]) -> Claim:
    details, holds = [], True
    for stream in DRIFTING:
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


def _bias_helps(table: dict[str, Any]) -> Claim:
    pairs = [(_error(table, name, "PWM"), _error(table, name, "PWM without bias")) for name in DRIFTING]
    shown = zip(DRIFTING, pairs, strict=True)
    return claim(
        "table",
        "The bias weight can slightly help",
        "0.19, 14.3, 4.1 with it, 0.23, 14.4, 4.1 % without",
        "; ".join(f"{name}: {percent(one)} with it, {percent(two)} without" for name, (one, two) in shown),
        all(one <= two for one, two in pairs) and any(one < two for one, two in pairs),
        "it helps on at least one and harms on none",
        "it helps on some and harms on others" if any(one < two for one, two in pairs) else "it helps on none",
    )


def _without_drift(table: dict[str, Any]) -> Claim:
    errors = {row.abbreviation: _error(table, "R4", row.name) for row in PUBLISHED}
    best = [errors[name] for name in ("Ada", "OnAda", "Wang")]
    rest = {name: error for name, error in errors.items() if name not in ("Ada", "OnAda", "Wang")}
    first = min(rest, key=lambda each: rest[each])
    majority = _error(table, "R4", "MajorityClass")
    ahead = majority - min(best)
    way = "less" if ahead > 0 else "more"
    than = f"the best of them errs in {100 * abs(ahead):.2f} points {way} than the majority class"
    return claim(
        "table",
        "Without drift (R4) Ada, OnAda and Wang are better than the others",
        "19.7 to 19.8 % against 20.0 % and more",
        f"{', '.join(map(percent, best))} against {first} {percent(rest[first])}; majority class {percent(majority)}",
        max(best) < min(rest.values()),
        f"they are; {than}",
        f"not all three are; {than}",
    )
