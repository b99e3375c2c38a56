"""Guarantees: the paper's bounds as it states them, and certificates that hold for every sequence."""

from quorate.bounds.certificate import Certificate, Part
from quorate.bounds.certify import certify
from quorate.bounds.counterexamples import decision_list, late_labels
from quorate.bounds.missing import all_mistakes_max
from quorate.bounds.monitor import BestLearner, Monitor
from quorate.bounds.paper import (
    PaperQuantities,
    paper_b1,
    paper_b2,
    paper_lambda,
    paper_quantities,
    paper_theorem_1,
    paper_theorem_4,
    paper_theorem_6,
    paper_theorem_10,
)
from quorate.bounds.static_rule import StaticRule, best_static_rule
from quorate.bounds.stretch import Stretch
from quorate.bounds.tracking import TrackingCertificate, certify_portfolio

__all__ = [
    "BestLearner",
    "Certificate",
    "Monitor",
    "PaperQuantities",
    "Part",
    "StaticRule",
    "Stretch",
    "TrackingCertificate",
    "all_mistakes_max",
    "best_static_rule",
    "certify",
    "certify_portfolio",
    "decision_list",
    "late_labels",
    "paper_b1",
    "paper_b2",
    "paper_lambda",
    "paper_quantities",
    "paper_theorem_1",
    "paper_theorem_4",
    "paper_theorem_6",
    "paper_theorem_10",
]
