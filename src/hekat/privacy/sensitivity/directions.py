"""Along which directions in the space of labels a row is looked at: its own label, a random one, or each in turn."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")
Mode = Literal["label", "random", "exact"]
MODES: tuple[Mode, ...] = ("label", "random", "exact")


class Directions:
    """The directions v of each row: a row's share of a map is the norm, over its directions, of d^2 l / (dy dw) v."""

    def __init__(self, mode: Mode, seed: int) -> None:
        """Raises InputError for an unknown mode, or a seed that is not a whole number from 0."""
        if mode not in MODES:
            close = difflib.get_close_matches(str(mode), MODES, n=1, cutoff=0.4)
            raise InputError(
                "there is no such kind of sensitivity map",
                expected=f"one of {', '.join(MODES)}",
                got=repr(mode),
                cure=f"did you mean {close[0]!r}?" if close else "choose one of these",
            )
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(
                "a seed refused", expected="a whole number from 0", got=repr(seed), cure="correct the seed"
            )
        self.mode = mode
        self._draws = np.random.default_rng([int(seed), 1])

    def of_rows(self, own: FloatArray) -> Iterator[FloatArray]:
        """Each direction of some rows, shape (rows, width); along `own` the derivative is the row's gradient.

        A label of one number has one direction, which nothing needs to be drawn for.
        """
        if self.mode == "label":
            yield own
        elif own.shape[1] == 1:
            yield np.ones(own.shape)
        elif self.mode == "random":
            yield self._draws.standard_normal(own.shape)
        else:
            for number in range(own.shape[1]):
                one = np.zeros(own.shape)
                one[:, number] = 1.0
                yield one


def mark_last(items: Iterator[T]) -> Iterator[tuple[T, bool]]:
    """Each item, and whether it is the last."""
    ahead = next(items)
    for following in items:
        yield ahead, False
        ahead = following
    yield ahead, True
