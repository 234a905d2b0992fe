"""The k largest of the values of many tensors, without a copy of them: exact, ties by position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.privacy.mask import Mask

_PIECE = 1 << 18
_DIGIT_BITS = 16
_DIGITS = 1 << _DIGIT_BITS

AnyNumbers = npt.NDArray[np.number[Any]]
FloatArray = npt.NDArray[np.float64]


def choose_top(tensors: Mapping[str, AnyNumbers], count: int, exponents: Mapping[str, int] | None = None) -> Mask:
    """The mask of the `count` largest values.

    Args:
        tensors: non-negative numbers: floats, or integers below 2^53.
        count: how many values to choose, from 0 to all.
        exponents: by tensor e, where its values are value * 2^e; 0 for all without them.

    Returns:
        The first `count` values in the order: larger first, then by the place in the mask's order. Comparisons are
        exact: a float64 holds every integer below 2^53 times a power of two.

    Raises:
        InputError: a value that is negative, NaN, infinite, or beyond the range in which float64 is exact.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy.top_values import choose_top
        >>> chosen = choose_top({"a": np.array([1, 5]), "b": np.array([3, 4])}, 2, {"a": 0, "b": 1})
        >>> chosen.chosen("a").tolist(), chosen.chosen("b").tolist()
        ([False, False], [True, True])
    """
    scaled = _ScaledValues(tensors, exponents or {})
    if not 0 <= count <= scaled.size:
        raise InputError("more values chosen than there are", expected=f"0 to {scaled.size:,}", got=f"{count:,}")
    threshold, ties = scaled.find_threshold(count) if count else (np.inf, 0)
    chosen = {}
    for name in scaled.names:
        flags = np.empty(tensors[name].size, dtype=np.bool_)
        for start, values in scaled.pieces_of(name):
            here = values > threshold
            equal = np.flatnonzero(values == threshold)[:ties]
            here[equal] = True
            ties -= len(equal)
            flags[start : start + len(here)] = here
        chosen[name] = flags
    return Mask.from_arrays(chosen)


def overlap_of(first: Mask, second: Mask) -> float:
    """The part of the values that `second` chooses which `first` chooses too."""
    both = int(np.bitwise_count(first.packed_bits & second.packed_bits).sum())
    return both / max(1, second.chosen_count)


class _ScaledValues:
    """Values times powers of two, as exact float64 in pieces, tensors in the mask's order."""

    def __init__(self, tensors: Mapping[str, AnyNumbers], exponents: Mapping[str, int]) -> None:
        self.names = sorted(tensors)
        self.size = sum(one.size for one in tensors.values())
        self._tensors, self._exponents = tensors, exponents

    def pieces_of(self, name: str) -> Iterator[tuple[int, FloatArray]]:
        flat = self._tensors[name].reshape(-1)
        exponent = self._exponents.get(name, 0)
        for start in range(0, flat.size, _PIECE):
            piece = flat[start : start + _PIECE]
            with np.errstate(over="ignore", under="ignore"):
                values = np.ldexp(piece.astype(np.float64), exponent)
            if not self._are_exact(piece, values):
                raise InputError(
                    f"values of {name} cannot be put in order",
                    expected="finite numbers from 0, integers below 2^53, of the size that float64 holds exactly",
                    got="others",
                )
            yield start, values

    def find_threshold(self, count: int) -> tuple[float, int]:
        """The `count`-th largest value t, and how many values equal to t are among the `count` largest.

        Non-negative floats are in the order of their bits: the digits of t are found one after another, from the
        number of values with each digit.
        """
        prefix, left = 0, count
        for shift in range(64 - _DIGIT_BITS, -1, -_DIGIT_BITS):
            counts = np.zeros(_DIGITS, dtype=np.int64)
            for name in self.names:
                for _, values in self.pieces_of(name):
                    bits = values.view(np.uint64) >> np.uint64(shift)
                    if shift < 64 - _DIGIT_BITS:
                        bits = bits[bits >> np.uint64(_DIGIT_BITS) == np.uint64(prefix)]
                    counts += np.bincount((bits & np.uint64(_DIGITS - 1)).astype(np.int64), minlength=_DIGITS)
            from_top = np.cumsum(counts[::-1])
            place = int(np.searchsorted(from_top, left))
            digit = _DIGITS - 1 - place
            left -= int(from_top[place] - counts[digit])
            prefix = prefix << _DIGIT_BITS | digit
        return float(np.uint64(prefix).view(np.float64)), left

    @staticmethod
    def _are_exact(piece: AnyNumbers, values: FloatArray) -> bool:
        if not piece.size:
            return True
        is_whole = piece.dtype.kind in "iu"
        small = values[values > 0]
        return (
            bool(np.isfinite(values).all())
            and not np.signbit(values).any()
            and (not is_whole or int(piece.max()) < 1 << 53)
            and (not is_whole or not small.size or float(small.min()) >= float(np.finfo(np.float64).tiny))
        )
