"""Noise that defences add to gradient rows before the host sees them: it slows attacks, and bounds nothing."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
NoiseKind = Literal["max-norm", "isotropic", "difference"]


class GradientNoise:
    """One defence. `once`: a row has one normal number for all epochs, instead of a fresh one each time.

    max-norm: row g becomes g (1 + s u), s^2 = |largest|^2 / |g|^2 - 1, u normal.
    isotropic: normal noise of `scale` times the largest row's norm, in all directions alike.
    difference: `scale` times u along the difference of both classes' mean rows, plus isotropic noise where asked for.
    Source of the first: Li et al. (ICLR 2022), section 4; the last is the direction that its Marvell finds.
    """

    def __init__(self, kind: NoiseKind, row_count: int, seed: int, *, scale: float = 1.0, isotropic: float = 0.0,
                 once: bool = False) -> None:  # fmt: skip
        self._kind, self._scale, self._isotropic = kind, scale, isotropic
        self._rng = np.random.default_rng(seed)
        self._kept = self._rng.normal(size=row_count) if once else None

    def add(self, slopes: FloatArray, is_positive: npt.NDArray[np.bool_], rows: IntArray) -> FloatArray:
        """The rows (rows, m) that the host sees."""
        u = self._rng.normal(size=len(rows)) if self._kept is None else self._kept[rows]
        norms = np.linalg.norm(slopes, axis=1)
        largest = float(norms.max())
        if self._kind == "max-norm":
            spread = np.sqrt(np.maximum(largest**2 / np.maximum(norms, 1e-300) ** 2 - 1, 0))
            return np.asarray(slopes * (1 + spread * u)[:, np.newaxis])
        if self._kind == "isotropic":
            return slopes + self._draw_isotropic(slopes.shape, self._scale * largest)
        between = slopes[is_positive].mean(axis=0) - slopes[~is_positive].mean(axis=0)
        noisy = slopes + self._scale * np.outer(u, between)
        return noisy + self._draw_isotropic(slopes.shape, self._isotropic * largest) if self._isotropic else noisy

    def _draw_isotropic(self, shape: tuple[int, ...], norm: float) -> FloatArray:
        return self._rng.normal(size=shape) * norm / np.sqrt(shape[1])
