"""More than two classes: a cascade of binary ensembles, as in the paper's first footnote."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from river import base

from quorate.ensemble.ensemble import Ensemble
from quorate.errors import LocalError
from quorate.rules.shares import cascade_shares

__all__ = ["Cascade"]


class Cascade(base.Classifier):
    """Asks for one class after another: "this one, or a later one?", with an ensemble for each question.

    The classes are in the order they were first seen. Stage i decides between class i and all later ones, and learns
    only from instances of these. A class that was never seen before adds a stage.

    Parameters
    ----------
    ensemble
        The ensemble of each stage: one that is cloned, or a function that makes one for the class it singles out
        (where members are fixed, each stage needs its own). Its classes must be (False, True), the default.
    classes_max
        How many classes there may be.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes, tree
    >>> from quorate import Cascade, Ensemble
    >>> model = Cascade(Ensemble({"bayes": naive_bayes.GaussianNB(), "tree": tree.HoeffdingTreeClassifier()}))
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    Accuracy: 79.90%
    >>> model.classes[:3]
    ['path', 'foliage', 'sky']
    """

    def __init__(self, ensemble: Ensemble | Callable[[Hashable], Ensemble], classes_max: int = 1000) -> None:
        self.ensemble = ensemble
        self.classes_max = classes_max
        self._stages: dict[Hashable, Ensemble] = {}
        if isinstance(ensemble, Ensemble) and ensemble.classes != (False, True):
            raise LocalError(
                f"the ensemble's classes are {ensemble.classes!r}; a cascade asks yes or no: (False, True)"
            )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for params in Ensemble._unit_test_params():
            yield {"ensemble": Ensemble(**params)}

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Hashable]:
        """The classes seen, in the order of the cascade."""
        return list(self._stages)

    @property
    def stages(self) -> Mapping[Hashable, Ensemble]:
        """The ensemble that singles out each class. The last one has nothing left to tell apart."""
        return dict(self._stages)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from an instance and its label, in every stage up to that of the label."""
        if y not in self._stages:
            if len(self._stages) >= self.classes_max:
                raise LocalError(
                    f"label {y!r} is class number {len(self._stages) + 1}; classes_max is {self.classes_max}"
                )
            made = {y: self._stage(y)}
        else:
            made = {}
        for label, stage in {**self._stages, **made}.items():
            stage.learn_one(x, label == y)
            if label == y:
                break
        self._stages.update(made)

    def _stage(self, label: Hashable) -> Ensemble:
        return self.ensemble.clone() if isinstance(self.ensemble, Ensemble) else self.ensemble(label)

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """Predict the class of an instance; None before any was seen."""
        *asked, last = self._stages or [None]
        return next((label for label in asked if self._stages[label].predict_one(x)), last)

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """Give the share behind each class, multiplied down the cascade: not calibrated."""
        if not self._stages:
            return {}
        asked = list(self._stages.values())[:-1]
        shares = cascade_shares([stage.predict_proba_one(x)[True] for stage in asked])
        return dict(zip(self._stages, shares, strict=True))
