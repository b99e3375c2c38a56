"""Snapshots: a golden one, and the refusal of every damaged one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from quorate import PWM, AverageMajority, ExtendedPWM, Join, Label, Learner, Leave, Vote
from quorate.errors import SnapshotError

GOLDEN = Path(__file__).parent / "golden" / "learner-snapshot.json"


def learner() -> Learner:
    """A learner in the middle of everything: open, held, pending, labelled, expired, membership changed."""
    one = Learner("paris", ["paris", "tokyo", "lima", "oslo", "cairo"], ExtendedPWM(5), horizon=4, open_slots_max=8)
    for slot in range(1, 10):
        for place, name in enumerate(one.members):
            if slot in (1, 3) or (slot + place) % 3:
                one.receive(Vote(slot, name, 1 if (slot * place) % 2 else -1))
        if slot < 8:
            one.close(slot)
        if slot % 2:
            one.receive(Label(slot, -1))
        if slot == 4:
            one.receive(Join("quito", epoch=1))
        if slot == 6:
            one.receive(Leave("tokyo", epoch=2))
    one.receive(Vote(1, "lima", 1))
    return one


def test_the_snapshot_is_that_of_the_golden_file() -> None:
    golden = json.loads(GOLDEN.read_text())
    assert learner().snapshot() == golden
    assert Learner.restore(golden).snapshot() == golden


def test_a_restored_learner_goes_on_identically() -> None:
    one = learner()
    two = Learner.restore(json.loads(json.dumps(one.snapshot())))
    for slot in range(8, 30):
        for member in one.members:
            assert one.receive(Vote(slot, member, 1)) == two.receive(Vote(slot, member, 1))
        assert one.close(slot) == two.close(slot)
        assert one.receive(Label(slot - 2, -1)) == two.receive(Label(slot - 2, -1))
    assert one.snapshot() == two.snapshot()


def test_a_snapshot_is_a_copy() -> None:
    one = learner()
    before = one.snapshot()
    kept = copy.deepcopy(before)
    one.close(8)
    assert before == kept


def change(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    *parents, last = path.split(".")
    inner = changed
    for parent in parents:
        inner = inner[parent]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return changed


FIELDS = ["name", "members", "epoch", "former", "horizon", "open_slots_max", "last_closed", "slots", "counters", "rule"]


@pytest.mark.parametrize("field", [*FIELDS, "slots.numbers", "slots.marks", "slots.votes"])
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(SnapshotError, match=field.rpartition(".")[2]):
        Learner.restore(change(learner().snapshot(), field, ...))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", 2, "schema 2; this release reads schema 1: use the release that wrote it"),
        ("schema", ..., "no field 'schema'"),
        ("members", ["paris"], "the rule is for 5 learners, but 1 members"),
        ("members", ["paris"] * 5, "named twice"),
        ("horizon", -1, "horizon is -1"),
        ("horizon", 1, "more slots are closed than the horizon keeps"),
        ("open_slots_max", 1, "more slots are open than open_slots_max"),
        ("last_closed", 5, "contradicts it (field 'last_closed')"),
        ("slots.numbers", [1, 2], "there is not one mark a slot"),
        ("slots.numbers", [7, 6, 5, 4, 3, 8, 9], "slots do not grow"),
        ("slots.marks", "AAAA", "not one mark a slot"),
        ("slots.marks", "///////////8=", "slots.marks"),
        ("slots.votes", "", "not one row of votes a slot"),
        ("slots.votes", "//////////////////8=", "holds no votes"),
        ("slots.votes", "not base64!", "slots.votes"),
        ("rule.rule", "Nonsense", "no rule is named 'Nonsense'"),
        ("rule.rule", ..., "its rule has no field 'rule'"),
        ("rule.weights_asynchronous", [0], "'weights_asynchronous' has 1 weights"),
        ("rule.schema", 9, "rule snapshot has schema 9"),
        ("former", {"x": ["a"]}, "cannot be restored"),
        ("counters.late_votes", "many", "counters.late_votes"),
        ("counters.late_votes", ..., "late_votes is missing (field 'counters')"),
        ("epoch", -3, "-3 changes of membership"),
        ("last_closed", 2**70, "is no slot"),
        ("last_closed", -9, "is no slot"),
        ("former", {"7": ["x"]}, "an epoch is yet to come"),
        ("former", {"0": ["x", "x"]}, "named twice"),
    ],
)
def test_a_damaged_snapshot_is_refused_with_the_reason(path: str, value: Any, message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        Learner.restore(change(learner().snapshot(), path, value))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("document", [None, [], "{}", 7])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(SnapshotError):
        Learner.restore(document)


def test_a_learner_of_ones_own_is_restored_as_one() -> None:
    class Mine(Learner):
        """A learner with more to it."""

    assert isinstance(Mine.restore(learner().snapshot()), Mine)


def test_a_rule_of_ones_own() -> None:
    class Mine(AverageMajority):
        """A rule the package does not know."""

    one = Learner("a", ["a", "b"], Mine(2))
    with pytest.raises(SnapshotError, match="for a rule of your own, give its class"):
        Learner.restore(one.snapshot())
    assert isinstance(Learner.restore(one.snapshot(), rule=Mine).rule, Mine)
    with pytest.raises(SnapshotError, match="cannot be restored"):
        Learner.restore(one.snapshot(), rule=PWM)
