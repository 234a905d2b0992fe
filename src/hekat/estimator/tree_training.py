"""How trees are trained, from an estimator's parameters."""

from __future__ import annotations

from dataclasses import fields

from hekat.model.trees import TreeTraining


def tree_training(estimator: object, seed: int) -> TreeTraining:
    """The settings of training that the estimator has as parameters of the same names, and `seed`.

    A setting that is no parameter of the estimator stands at its default. Raises InputError for a value out of its
    range.
    """
    names = [field.name for field in fields(TreeTraining) if field.name != "seed" and hasattr(estimator, field.name)]
    return TreeTraining(**{name: getattr(estimator, name) for name in names}, seed=seed)
