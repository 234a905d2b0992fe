"""Canaries in the levels of an update: the strongest that there are, and no training needed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError


@dataclass(frozen=True, eq=False)
class LevelCanaries:
    """Made-up units of a party's update, each of one coordinate; `toss` makes them.

    A canary's term is `size` levels in a coordinate of its own and 0 elsewhere, so its norm is `size`: at the clip in
    levels it is the unit that noise hides least. Coins and terms stay with whoever plants them until the sum is scored.

    Attributes:
        coordinates: int64 (m,), of the update.
        included: bool (m,): which canaries are in.
        size: Levels of each.
    """

    coordinates: npt.NDArray[np.int64]
    included: npt.NDArray[np.bool_]
    size: int

    @classmethod
    def toss(cls, canary_count: int, size: int, *, first: int = 0) -> LevelCanaries:
        """Canaries in the coordinates from `first` on, in by fair coins of the operating system's.

        Args:
            canary_count: m, at least 1.
            size: Levels of each, at least 1: the clip in levels.
            first: The first coordinate, at least 0.

        Raises:
            InputError: One of them is less.

        Examples:
            >>> import numpy as np
            >>> from hekat.privacy.audit import LevelCanaries, audit_scores
            >>> canaries = LevelCanaries.toss(1000, 50)
            >>> opened = canaries.planted_in(np.zeros(1200, np.int64))
            >>> audit_scores(canaries.scores(opened), canaries.included, delta=1e-7).epsilon > 3
            True
        """
        for what, value, least in (("canaries", canary_count, 1), ("size", size, 1), ("first coordinate", first, 0)):
            if value < least:
                raise InputError(f"{what} of an audit refused", expected=f"{least} or more", got=str(value))
        coins = np.unpackbits(np.frombuffer(os.urandom(-(-canary_count // 8)), np.uint8))[:canary_count]
        return cls(np.arange(first, first + canary_count, dtype=np.int64), coins.astype(np.bool_), size)

    def planted_in(self, levels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """A party's levels, one-dimensional, with the terms of the canaries that are in; before noise is added.

        They are int64, since levels that fit a narrower type may not do so with a canary.

        Raises:
            InputError: The levels are no integers of one dimension, or have too few coordinates.
        """
        self._check(levels, "levels of an update")
        planted = levels.astype(np.int64)
        planted[self.coordinates] += np.where(self.included, self.size, 0)
        return planted

    def scores(self, opened: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """What the opened sum says about each canary: its coordinate.

        Other parties' values add to it: an audit lets them send zeros.

        Raises:
            InputError: As `planted_in`.
        """
        self._check(opened, "an opened sum")
        return opened[self.coordinates].astype(np.float64)

    def _check(self, values: npt.NDArray[Any], what: str) -> None:
        is_vector = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"
        if not is_vector or values.size <= int(self.coordinates[-1]):
            shown = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
            expected = f"integers, one-dimensional, {int(self.coordinates[-1]) + 1} and more"
            raise InputError(f"{what} refused", expected=expected, got=shown)
