"""Gradients as few whole levels, so that sums of them are exact whoever adds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from hekat.errors import DivergedError, InputError
from hekat.model.parameters import FloatArray
from hekat.model.trees.settings import MOST_GRADIENT_BITS

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GradientLevels:
    """First and second derivatives of the loss as whole numbers, shape (trees, rows), int64.

    |gradients| <= 2^(bits-1) and 0 <= hessians <= 2^bits; a level stands for its tree's scale, shape (trees,). Where
    the second derivative is the same for all rows, `has_constant_hessian` is true, hessians are 1 and stand for it.
    """

    bits: int
    gradients: IntArray = field(repr=False)
    hessians: IntArray = field(repr=False)
    gradient_scales: FloatArray = field(repr=False)
    hessian_scales: FloatArray = field(repr=False)
    has_constant_hessian: bool = False

    @property
    def tree_count(self) -> int:
        return int(self.gradients.shape[0])

    def spread(self, rows: IntArray, row_count: int) -> GradientLevels:
        """The same with the levels at places `rows` of `row_count`, 0 elsewhere."""
        gradients, hessians = (np.zeros((self.tree_count, row_count), np.int64) for _ in range(2))
        gradients[:, rows], hessians[:, rows] = self.gradients, self.hessians
        return replace(self, gradients=gradients, hessians=hessians)


def round_gradients(
    gradients: FloatArray,
    hessians: FloatArray,
    bits: int,
    generator: np.random.PCG64 | None,
    *,
    has_constant_hessian: bool = False,
    largest: tuple[FloatArray, FloatArray] | None = None,
) -> GradientLevels:
    """Levels of derivatives of shape (trees, rows): up or down by chance with `generator`, to the nearest without.

    The largest level stands for the largest absolute value of each tree, or for `largest`, two arrays of shape
    (trees,), which no value may exceed. Raises InputError for values beyond, DivergedError for values that are not
    finite.
    """
    if not 2 <= bits <= MOST_GRADIENT_BITS:
        raise InputError("bits of gradients refused", expected=f"2 to {MOST_GRADIENT_BITS}", got=str(bits))
    if not (np.isfinite(gradients).all() and np.isfinite(hessians).all()):
        raise DivergedError(
            "gradients are not finite", cure="lower training.learning_rate, or scale the target to smaller numbers"
        )
    if largest is None:
        largest = (np.abs(gradients).max(axis=1, initial=0.0), hessians.max(axis=1, initial=0.0))
    elif (np.abs(gradients) > largest[0][:, None]).any() or (hessians > largest[1][:, None]).any():
        raise InputError("gradients lie beyond their stated bound", expected="none beyond it", got="at least one")
    gradient_scales = _scales(largest[0], 2 ** (bits - 1))
    rounded = _round(gradients / gradient_scales[:, None], generator)
    if has_constant_hessian:
        return GradientLevels(
            bits, rounded, np.ones(hessians.shape, np.int64), gradient_scales, largest[1].copy(), True
        )
    hessian_scales = _scales(largest[1], 2**bits)
    return GradientLevels(
        bits, rounded, _round(hessians / hessian_scales[:, None], generator), gradient_scales, hessian_scales
    )


def _scales(largest: FloatArray, levels: int) -> FloatArray:
    """What one level stands for; 1 where all values are 0."""
    return np.where(largest > 0, largest / levels, 1.0)


def _round(levels: FloatArray, generator: np.random.PCG64 | None) -> IntArray:
    if generator is None:
        return np.rint(levels).astype(np.int64)
    # A whole number stays where it is, so the largest level is never passed.
    whole = np.floor(levels)
    chances = (generator.random_raw(levels.size) >> np.uint64(11)).reshape(levels.shape) * 2.0**-53
    return (whole + (chances < levels - whole)).astype(np.int64)
