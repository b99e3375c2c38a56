"""`quorate bounds`: what recorded votes and labels guarantee."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from quorate.bounds import (
    Certificate,
    PaperQuantities,
    StaticRule,
    TrackingCertificate,
    best_static_rule,
    certify,
    paper_b1,
    paper_b2,
    paper_quantities,
    paper_theorem_1,
    paper_theorem_4,
    paper_theorem_6,
    paper_theorem_10,
)
from quorate.cli import tracked
from quorate.cli.output import Output, check_writable, print_json, progress_bar
from quorate.errors import LocalError, SourceError
from quorate.evaluate import Recorded, Recording, decide, read_recording
from quorate.rules import PWM, ExtendedPWM
from quorate.streams import NEVER

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["show", "verify"]


def show(
    file: Path,
    label: str,
    *,
    probability: float | None,
    confidence: float,
    time_limit_s: float,
    before: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the paper's bounds, the certificates, what really happened, and P^O."""
    if out is not None:
        check_writable(out.parent)
    with progress_bar() as bars:
        task = bars.add_task("reading", total=None)
        recorded = read_recording(file, label)
        recording = recorded.recording
        begun = tracked.begun(len(recording.names), before)
        bars.update(task, description="deciding")
        rules = {"PWM": PWM, "ExtendedPWM": ExtendedPWM} if (recording.votes == 0).any() else {"PWM": PWM}
        wrong = {name: _wrong(recording, make(len(recording.names))) for name, make in rules.items()}
        mistakes = {name: int(each.sum()) for name, each in wrong.items()}
        bars.update(task, description="certifying")
        certificates = {name: _certificates(recording, name, probability, confidence) for name in rules}
        mistakes["Portfolio"], portfolio = tracked.certified(recording, begun)
        bars.update(task, description=f"finding the best static rule (at most {time_limit_s:g} s)")
        static = _static(recording, time_limit_s)
    best: dict[str, Certificate | TrackingCertificate] = {name: made[-1] for name, made in certificates.items()}
    if isinstance(portfolio, TrackingCertificate):
        best["Portfolio"] = portfolio
    paper = _paper(recording, static, wrong, probability, confidence)
    if out is not None:
        out.write_text(json.dumps({name: each.document() for name, each in best.items()}) + "\n")
    document = {
        "source": str(file),
        "slots": len(recording.labels),
        "learners": recording.names,
        "labels": int((recording.labels != 0).sum()),
        "labels_came": int(((recording.arrivals != NEVER) & (recording.arrivals < len(recording.labels))).sum()),
        "repeats": recorded.repeats,
        "mistakes": mistakes,
        "paper": paper,
        "certificates": {
            name: [
                {
                    "mistakes_max": each.mistakes_max,
                    "error_max": each.error_max,
                    "argument": each.argument,
                    "confidence": each.confidence,
                }
                for each in made
            ]
            for name, made in certificates.items()
        }
        | {"Portfolio": [tracked.summary(portfolio, recording)] if isinstance(portfolio, TrackingCertificate) else []},
        "portfolio": {
            "before": None if before is None else str(before),
            "not_certified": portfolio if isinstance(portfolio, str) else None,
        },
        "best_static_rule": {
            "mistakes": static.mistakes,
            "error": static.error,
            "mistakes_min": static.mistakes_min,
            "is_exact": static.is_exact,
            "weights": static.weights,
        }
        if isinstance(static, StaticRule)
        else {"not_computed": static},
    }
    if as_json:
        print_json(document)
    else:
        _print(document, recorded, out)


def verify(file: Path, label: str, certificates: Path, *, before: Path | None, as_json: bool) -> None:
    """Check certificates that were written before against votes and labels.

    That of a portfolio is about one that begins as ``before`` has it.
    """
    recording = read_recording(file, label).recording
    try:
        documents = json.loads(certificates.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"{certificates} holds no certificates: {error}") from None
    if not isinstance(documents, dict) or not documents:
        raise SourceError(f"{certificates} holds no certificates")
    begun = tracked.begun(len(recording.names), before)
    verified: dict[str, dict[str, Any]] = {}
    for name, document in documents.items():
        if name == "Portfolio":
            tracking = tracked.check(document, recording, begun, before)
            verified[name] = {"mistakes_max": tracking.mistakes_max, "slots": tracking.n_slots, "confidence": 1.0}
            if not as_json:
                _say_verified(name, "", tracking)
            continue
        certificate = Certificate.from_document(document)
        certificate.verify(recording.votes, recording.labels, recording.arrivals)
        sure = (
            ""
            if certificate.confidence == 1
            else f" with {certificate.confidence:.0%} confidence, if each label comes with a probability of at least "
            f"{certificate.observation_probability:g},"
        )
        verified[name] = {
            "mistakes_max": certificate.mistakes_max,
            "slots": certificate.n_slots,
            "confidence": certificate.confidence,
            "label_prob": certificate.observation_probability,
        }
        if not as_json:
            _say_verified(name, sure, certificate)
    if as_json:
        print_json(verified)


def _say_verified(name: str, sure: str, certificate: Certificate | TrackingCertificate) -> None:
    Output().print(
        f"{name}:{sure} at most {certificate.mistakes_max} mistakes in {certificate.n_slots} slots: it "
        "follows, and is about these votes and labels",
        highlight=False,
    )


def _wrong(recording: Recording, rule: Any) -> NDArray[np.bool_]:
    """In which slots, of those with a label, a rule's decision is wrong."""
    known = recording.labels != 0
    wrong: NDArray[np.bool_] = (decide(recording.as_told(), rule) != recording.labels) & known
    return wrong


def _certificates(recording: Recording, rule: Any, probability: float | None, confidence: float) -> list[Certificate]:
    """From the plain vectors alone, and the smallest."""
    return [
        certify(
            recording.votes,
            recording.labels,
            arrivals=recording.arrivals,
            rule=rule,
            observation_probability=probability,
            confidence=confidence,
            search=search,
        )
        for search in (False, True)
    ]


def _static(recording: Recording, time_limit_s: float) -> StaticRule | str:
    known = recording.labels != 0
    try:
        return best_static_rule(recording.votes[known], recording.labels[known], time_limit_s=time_limit_s)
    except LocalError as reason:
        return str(reason)


def _paper(
    recording: Recording,
    static: StaticRule | str,
    wrong: dict[str, NDArray[np.bool_]],
    probability: float | None,
    confidence: float,
) -> list[dict[str, Any]]:
    """The paper's bounds as it states them, in mistakes, and whether they were exceeded, where that can be told."""
    known = recording.labels != 0
    arrivals, n_slots = recording.arrivals, len(recording.labels)
    measured: PaperQuantities = paper_quantities(recording.votes[known], recording.labels[known])
    shape = (measured.n_learners, measured.n_slots)
    came = arrivals != NEVER
    delay = int((arrivals - np.arange(n_slots))[came].max(initial=0))
    ideal = bool(came.all()) and not delay and not measured.alpha
    second = paper_b2(*shape, measured.p_star, measured.v_star)
    bounds: list[tuple[str, float | None, str]] = [("B2 (Lemma 2)", second, "PWM")]
    if isinstance(static, StaticRule):
        whole = paper_theorem_1(*shape, static.error, measured.p_star, measured.v_star)
        first = "B1 (Lemma 1)" if static.is_exact else "B1 (Lemma 1), with a P^O that is not proven"
        bounds = [(first, paper_b1(*shape, static.error), "PWM"), *bounds, ("B (Theorem 1)", whole, "PWM")]
    else:
        whole = min(second, 1.0)  # without P^O there is no B1
    plain = len(bounds)
    if delay:
        late = paper_theorem_4(whole, [delay] * measured.n_learners, n_slots)
        bounds.append(("Theorem 4, late labels", late, "PWM"))
    if not came.all():
        seen = probability if probability is not None else float(came.mean())
        observed = int(wrong["PWM"][came].sum())
        missing = paper_theorem_6(whole, seen, 1 - confidence, observed) if seen else None
        bounds.append((f"Theorem 6, missing labels (mu = {seen:.3g})", missing, "PWM"))
    if measured.alpha:
        bounds.append(("Theorem 10, absent learners", paper_theorem_10(whole, measured.alpha), "ExtendedPWM"))
    rows = []
    for number, (name, bound, rule) in enumerate(bounds):
        judged = bound is not None and known.all() and (ideal or number >= plain)
        most = None if bound is None else bound * (measured.n_slots if number < plain else n_slots)
        rows.append(
            {
                "bound": name,
                "mistakes_max": most,
                "error_max": bound,
                "about": "ideal slots" if number < plain else name.partition(", ")[2],
                "exceeded": int(wrong[rule].sum()) > most if judged and most is not None else None,
            }
        )
    return rows


def _print(document: dict[str, Any], recorded: Recorded, out: Path | None) -> None:
    console = Output()
    slots, labels = document["slots"], document["labels"]
    console.print(
        f"{document['source']}: {len(document['learners'])} learners, {slots} slots; {labels} labels are known, "
        f"{document['labels_came']} came in time"
        + (f"; the first of {recorded.repeats} repeats" if recorded.repeats > 1 else ""),
        highlight=False,
    )
    table = Table("", "mistakes", "of the slots", "")
    for column in table.columns[1:3]:
        column.justify = "right"
    for rule, count in document["mistakes"].items():
        how = ", unfitted" if rule == "Portfolio" and document["portfolio"]["before"] is None else ""
        table.add_row(f"{rule}{how}, what it did", f"{count}", f"{count / labels:.2%}", "", style="bold")
    for rule, issued in recorded.decisions.items():
        known = recorded.recording.labels != 0
        wrong = int((issued != recorded.recording.labels)[known].sum())
        other = rule == "Portfolio" and wrong != document["mistakes"][rule]
        if other or (rule not in document["mistakes"] and rule in ("PWM", "ExtendedPWM")):
            note = "it began otherwise: --before" if other else ""
            table.add_row(f"{rule}, as recorded", f"{wrong}", f"{wrong / labels:.2%}", note)
    table.add_section()
    for rule, made in document["certificates"].items():
        for each in made if made[0] != made[-1] else made[-1:]:
            sure = "holds for certain" if each["confidence"] == 1 else f"holds with {each['confidence']:.0%} confidence"
            table.add_row(
                f"{rule}, certificate: {each['argument']}",
                f"≤ {each['mistakes_max']}",
                f"≤ {each['error_max']:.2%}",
                sure,
            )
    if document["portfolio"]["not_certified"]:
        table.add_row("Portfolio, certificate", "-", "-", document["portfolio"]["not_certified"])
    table.add_section()
    static = document["best_static_rule"]
    if "not_computed" in static:
        table.add_row("P^O, the best static rule", "-", "-", static["not_computed"])
    else:
        proof = "proven" if static["is_exact"] else f"not proven: at least {static['mistakes_min']}"
        table.add_row("P^O, the best static rule", f"{static['mistakes']}", f"{static['error']:.2%}", proof)
    table.add_section()
    for each in document["paper"]:
        if each["mistakes_max"] is None:
            table.add_row(f"paper: {each['bound']}", "-", "-", "its condition is not met", style="dim")
            continue
        notes = {True: "exceeded", False: "not exceeded, though it need not hold", None: "cannot be told"}
        note = notes[each["exceeded"]]
        if each["bound"].startswith("B2") and each["exceeded"] is False:
            note = "holds"
        elif each["exceeded"] is None and each["about"] == "ideal slots":
            note = "is not about late or missing labels, nor absent learners"
        shown = (f"≤ {each['mistakes_max']:.0f}", f"≤ {each['error_max']:.2%}")
        table.add_row(f"paper: {each['bound']}", *shown, note, style="dim")
    console.print(table)
    if out is not None:
        console.print(f"Written to {out}: the certificates; --verify checks them", highlight=False)
