"""Learners and models together in one process, with River's face."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Self

from river import base, linear_model, optim

from quorate.ensemble.models import Classes, Model, wrap
from quorate.ensemble.views import View, Views
from quorate.errors import LabelError, LocalError, MembersError, ModelError
from quorate.events import Decision, Label, Vote
from quorate.learner import Learner, checked_slot
from quorate.rules import ExplainingRule, Rule, made_rule
from quorate.rules.shares import share_behind

__all__ = ["Ensemble"]


class Ensemble(base.Classifier):
    """Several models that vote, and a rule that weighs the votes.

    Labels may come at once (`learn_one`), or late, out of order or never: then `decide_one` gives a slot's decision
    and `label_one` its label whenever it comes. An ensemble may be a model of another.

    Parameters
    ----------
    models
        The local models by the names of their learners, or a list of them. A River classifier, a scikit-learn
        classifier, or a function that answers -1 or +1, a bool, or None to abstain. They are trained in place.
    rule
        How votes are weighed: a rule for as many learners, its class or its name. Default: `Portfolio`.
    views
        What each learner sees, where it does not see all: the names of its features, or a function of the instance.
        A learner none of whose features are there abstains.
    streams
        Whether the learners observe different streams. Then an instance is a mapping from learners to their
        own instances, and a learner that is not in it abstains.
    fixed
        The learners whose models are never trained, or True for all. Functions and scikit-learn models without
        `partial_fit` are fixed by nature.
    classes
        The negative and the positive class.
    horizon
        How many later slots may be decided before a slot whose label has not come is given up.

    Examples
    --------
    Three sites; two see different features and learn online, the third is a function that is often wrong:

    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from quorate import Ensemble
    >>> def online():
    ...     return preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model = Ensemble(
    ...     {"page": online(), "address": online(), "guess": lambda x: x["ip_in_url"] == 0},
    ...     views={"page": ["request_from_other_domain", "anchor_from_other_domain", "empty_server_form_handler"],
    ...            "address": ["https", "long_url", "age_of_domain", "ip_in_url", "is_popular"]},
    ... )
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 81.36%
    >>> shares = model.explain()
    >>> max(shares, key=shares.get)
    'logistic 0.02'

    Late labels, out of order, and another rule:

    >>> from quorate import ExtendedPWM
    >>> late = Ensemble([lambda x: x["t"] > 0, lambda x: x["t"] > 9], rule=ExtendedPWM)
    >>> [late.decide_one({"t": t}).value for t in (1, 5, 20)]
    [1, 1, 1]
    >>> late.label_one(2, False), late.label_one(0, False)
    (True, True)
    >>> late.weights
    {'bias': -1, '0': -1, '1': -1}
    """

    def __init__(
        self,
        models: Mapping[str, Any] | Sequence[Any],
        rule: Rule | Callable[[int], Rule] | str | None = None,
        views: Mapping[str, View] | None = None,
        streams: bool = False,
        fixed: Collection[str] | bool = False,
        classes: Classes = (False, True),
        horizon: int = 1000,
    ) -> None:
        self.models = models
        self.rule = rule
        self.views = views
        self.streams = streams
        self.fixed = fixed
        self.classes = classes
        self.horizon = horizon

        named = models if isinstance(models, Mapping) else {str(place): model for place, model in enumerate(models)}
        if len(classes) != 2 or classes[0] == classes[1]:
            raise LocalError(f"classes is {classes!r}; give two, the negative first (for more use quorate.Cascade)")
        if not named:
            raise MembersError("models is empty; an ensemble has at least 1 learner")
        self._members: dict[str, Model] = {name: wrap(name, model, classes) for name, model in named.items()}
        self._learner = Learner("ensemble", list(self._members), made_rule(rule, len(self._members)), horizon)
        self._views = Views(self._members, views, streams)
        if isinstance(fixed, str) or (not isinstance(fixed, bool) and not set(fixed) <= set(named)):
            raise MembersError(f"fixed is {fixed!r}; give names of learners, of {', '.join(named)}")
        self._trained = [
            name
            for name, model in self._members.items()
            if model.learns and not (fixed if isinstance(fixed, bool) else name in fixed)
        ]
        self._next_slot = 0
        self._kept: OrderedDict[int, dict[str, Any]] = OrderedDict()  # what trained models need for a slot's label

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {
            "models": {
                "a": linear_model.LogisticRegression(),
                "b": linear_model.LogisticRegression(optimizer=optim.SGD(0.1)),
            }
        }

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Give a fresh ensemble with the same parameters; fixed models keep what they know."""
        params = dict(new_params or {})
        if self.fixed == ():  # River takes any tuple for a class and its parameters
            params.setdefault("fixed", False)
        if "models" not in params and not include_attributes:
            fresh = [
                member.estimator.clone()
                if name in self._trained and hasattr(member.estimator, "clone")
                else copy.deepcopy(member.estimator)
                for name, member in self._members.items()
            ]
            is_named = isinstance(self.models, Mapping)
            params["models"] = dict(zip(self._members, fresh, strict=True)) if is_named else fresh
        return super().clone(params, include_attributes)

    @property
    def learner(self) -> Learner:
        """The learner inside: its rule, its counters, its pending slots."""
        return self._learner

    @property
    def weights(self) -> dict[str, float]:
        """The rule's weight of each learner, and of the bias."""
        return dict(zip(["bias", *self._learner.members], self._learner.rule.weights, strict=True))

    def explain(self) -> dict[str, float]:
        """What the rule trusts, as parts of 1, if it is one that says so, as a portfolio does."""
        rule = self._learner.rule
        if not isinstance(rule, ExplainingRule):
            raise LocalError(f"{type(rule).__name__} does not explain what it trusts; its weights are in `weights`")
        return rule.explain(self._learner.members)

    def vote_one(self, x: Any) -> dict[str, int]:
        """Ask every model: -1, +1, or 0 where a learner abstains."""
        return {
            name: 0 if (seen := self._views.of(name, x)) is None else member.vote(seen)
            for name, member in self._members.items()
        }

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """Predict the class of an instance. Changes nothing."""
        return self.classes[self._learner.rule.predict(tuple(self.vote_one(x).values())) > 0]

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """Give the share of the weight that stands behind each class: a degree of agreement, not calibrated."""
        votes = tuple(self.vote_one(x).values())
        share = share_behind(self._learner.rule, votes)
        return {self.classes[0]: 1 - share, self.classes[1]: share}

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from an instance and its label: first the rule from the votes, then the models.

        The slot is decided here, with the models and weights of now. For labels that come late, also those of River's
        `delay=`, that is not what was predicted: call `decide_one` when the instance comes and `label_one` when its
        label does, or let `quorate.evaluate.prequential` do it.
        """
        self._label_of(y)  # refuses what is neither class before anything is decided
        self.label_one(self.decide_one(x).slot, y)

    def decide_one(self, x: Any, slot: int | None = None) -> Decision:
        """Decide on an instance whose label comes later, or never.

        Parameters
        ----------
        x
            The instance.
        slot
            Its number, greater than all before; by default the next.

        Returns
        -------
        Decision
            Its `slot` is what `label_one` wants; its `value` is -1 or +1, for the classes in their order.
        """
        slot = self._learner.checked_next(self._next_slot if slot is None else slot)
        votes: dict[str, int] = {}
        kept: dict[str, Any] = {}
        for name, member in self._members.items():
            if (seen := self._views.of(name, x)) is None:
                continue
            if name in self._trained:
                votes[name], kept[name] = member.decide(seen)
            else:
                votes[name] = member.vote(seen)
        for name, vote in votes.items():
            if vote:
                self._learner.receive(Vote(slot, name, vote))
        decision = self._learner.close(slot)
        self._next_slot = slot + 1
        if kept:
            self._kept[slot] = kept
        if len(self._kept) > self.horizon + 1:  # no label of the oldest can count any more
            self._kept.popitem(last=False)
        return decision

    def label_one(self, slot: int, y: Any, local_labels: Mapping[str, Any] | None = None) -> bool:
        """Give the label of a slot, whenever it comes; True when it counted.

        Parameters
        ----------
        slot
            The slot, as its decision has it.
        y
            The label: the rule learns it.
        local_labels
            What the models of some learners learn instead, where they watch for something of their own.

        Raises
        ------
        ModelError
            Some models could not learn it; the rule and the others have. The label is spent.
        """
        label = self._label_of(y)
        slot = checked_slot(slot)
        counted = self._learner.receive(Label(slot, label))
        failed: dict[str, Exception] = {}
        for name, kept in self._kept.pop(slot, {}).items() if counted else ():
            try:
                self._members[name].learn(kept, (local_labels or {}).get(name, y))
            except Exception as error:
                failed[name] = error
        if failed:
            reasons = "; ".join(f"{name!r}: {type(error).__name__}: {error}" for name, error in failed.items())
            raise ModelError(f"slot {slot} is labelled, but models could not learn it: {reasons}") from next(
                iter(failed.values())
            )
        return counted

    def _label_of(self, y: Hashable) -> int:
        if y == self.classes[1]:
            return 1
        if y == self.classes[0]:
            return -1
        raise LabelError(f"label {y!r} is neither of the classes {self.classes!r}; give classes=(negative, positive)")
