"""How boosted trees are trained: every setting, each checked when it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, NoReturn, get_args

from hekat.errors import InputError

Rounding = Literal["stochastic", "nearest"]
ROUNDINGS: tuple[str, ...] = get_args(Rounding)
MOST_BINS = 255
MOST_DEPTH = 16
MOST_GRADIENT_BITS = 32
MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class TreeTraining:
    """How boosted trees are trained, in the names of scikit-learn's HistGradientBoosting where it has the setting.

    `max_iter` iterations add one tree each, or one for each of three classes or more, of at most `max_depth` splits
    from root to leaf and `max_leaf_nodes` leaves (None: no limit), times `learning_rate`. A leaf keeps
    `min_samples_leaf` rows and a sum of second derivatives of `min_child_weight` at least, a split gains more than
    `min_gain`; `l2_regularization` is added to the sum of second derivatives. Where parties join small bins, a child
    above the last level keeps a 32nd of its parent's rows too (`growth.LEAST_CHILD_PART`).

    `max_bins` bins hold a column's values; missing values have one more. Gradients are rounded to `gradient_bits`
    bits before they are summed for the search of splits, by `rounding`: up or down by chance so that the mean stays,
    or to the nearest level. Leaves take no part in that.

    `subsample` is the part of the rows, `max_features` the part of the columns that an iteration uses, both drawn from
    `seed`. With `early_stopping`, `validation_fraction` of the rows train nothing, and training ends once
    `n_iter_no_change` iterations in a row are not better on these rows by `tol` than the one before them.

    Raises InputError for a value out of its range.
    """

    max_iter: int = 100
    learning_rate: float = 0.1
    max_depth: int = 6
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0
    min_gain: float = 0.0
    min_child_weight: float = 1e-3
    max_bins: int = 64
    gradient_bits: int = 4
    rounding: Rounding = "stochastic"
    subsample: float = 1.0
    max_features: float = 1.0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-7
    seed: int = 1

    def __post_init__(self) -> None:
        _check_whole("max_iter", self.max_iter, 1, 100_000)
        _check_part("learning_rate", self.learning_rate)
        _check_whole("max_depth", self.max_depth, 1, MOST_DEPTH)
        if self.max_leaf_nodes is not None:
            _check_whole("max_leaf_nodes", self.max_leaf_nodes, 2, 2**MOST_DEPTH)
        _check_whole("min_samples_leaf", self.min_samples_leaf, 1, 2**31 - 1)
        for name in ("l2_regularization", "min_gain", "min_child_weight", "tol"):
            _check_not_negative(name, getattr(self, name))
        _check_whole("max_bins", self.max_bins, 2, MOST_BINS)
        _check_whole("gradient_bits", self.gradient_bits, 2, MOST_GRADIENT_BITS)
        if self.rounding not in ROUNDINGS:
            refuse_training("rounding", " or ".join(map(repr, ROUNDINGS)), repr(self.rounding))
        _check_part("subsample", self.subsample)
        _check_part("max_features", self.max_features)
        if not isinstance(self.early_stopping, bool):
            refuse_training("early_stopping", "true or false", repr(self.early_stopping))
        _check_part("validation_fraction", self.validation_fraction, is_one_allowed=False)
        _check_whole("n_iter_no_change", self.n_iter_no_change, 1, 100_000)
        _check_whole("seed", self.seed, 0, MAX_SEED)


def refuse_training(name: str, expected: str, got: object) -> NoReturn:
    """Raise InputError for the setting `name` of training."""
    raise InputError(
        f"setting training.{name} refused", expected=expected, got=str(got), cure=f"change training.{name}"
    )


def check_bin_limit(max_bins: int) -> None:
    """Raise InputError for a number of bins out of its range."""
    _check_whole("max_bins", max_bins, 2, MOST_BINS)


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        refuse_training(name, f"a whole number from {least} to {most}", repr(value))


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _check_not_negative(name: str, value: float) -> None:
    if not _is_finite(value) or value < 0:
        refuse_training(name, "a number of 0 or more", repr(value))


def _check_part(name: str, value: float, *, is_one_allowed: bool = True) -> None:
    if not _is_finite(value) or not 0 < value <= 1 or (value == 1 and not is_one_allowed):
        refuse_training(name, f"a number above 0 and {'at most' if is_one_allowed else 'below'} 1", repr(value))
