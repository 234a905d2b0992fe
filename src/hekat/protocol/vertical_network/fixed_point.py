"""The scales of a split network's integers, and how real numbers come to them: rounded, cut to their range, counted.

Features stand at 2^-16, weights of hosts at 2^-64 in shares mod 2^128 and at 2^-20 where they are used, slopes at
2^-24; each below 8 in magnitude. Outputs of the interactive layer (2^-36) and slopes of features (2^-44) are sums of
products of these, exact mod 2^60: with at most 256 terms they stay below 2^58.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import BoundError, InputError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Residues = npt.NDArray[np.uint64]
"""Numbers mod 2^PRODUCT_BITS."""

WHOLE_BITS: Final = 3
FEATURE_BITS, WEIGHT_BITS, SLOPE_BITS = 16, 20, 24
SHARE_BITS: Final = 64
USED_SHIFT: Final = SHARE_BITS - WEIGHT_BITS
PRODUCT_BITS: Final = 60
GRADIENT_RING_BITS: Final = 128
GRADIENT_BITS: Final = FEATURE_BITS + SLOPE_BITS
OUTPUT_BITS: Final = FEATURE_BITS + WEIGHT_BITS
FEATURE_SLOPE_BITS: Final = SLOPE_BITS + WEIGHT_BITS
WARNED_SHARE, MOST_SHARE = 0.001, 0.05
_MASK: Final = np.uint64((1 << PRODUCT_BITS) - 1)
_UNUSED_BITS: Final = 64 - PRODUCT_BITS


def bound_of(fraction_bits: int) -> int:
    """The largest magnitude of an integer at 2^-fraction_bits."""
    return (1 << (WHOLE_BITS + fraction_bits)) - 1


def reduce(values: npt.NDArray[np.int64] | Residues) -> Residues:
    """Integers mod 2^PRODUCT_BITS; those that wrapped mod 2^64 too."""
    return np.asarray(values.astype(np.uint64) & _MASK)


def add(*addends: Residues) -> Residues:
    """The sum mod 2^PRODUCT_BITS."""
    total = addends[0]
    for other in addends[1:]:
        total = total + other
    return np.asarray(total & _MASK)


def subtract(a: Residues, b: Residues) -> Residues:
    """a - b mod 2^PRODUCT_BITS."""
    return np.asarray((a - b) & _MASK)


def multiply(a: IntArray | Residues, b: IntArray | Residues) -> Residues:
    """The matrix product a @ b mod 2^PRODUCT_BITS."""
    return np.asarray((a.astype(np.uint64) @ b.astype(np.uint64)) & _MASK)


def signed(values: Residues) -> IntArray:
    """Numbers mod 2^PRODUCT_BITS as the integers nearest 0."""
    return np.asarray((values << np.uint64(_UNUSED_BITS)).view(np.int64) >> np.int64(_UNUSED_BITS))


def to_floats(what: str, values: Residues, fraction_bits: int, terms: int, cure: str) -> FloatArray:
    """Numbers mod 2^PRODUCT_BITS at a scale of 2^-fraction_bits as float64: each a sum of `terms` products.

    Raises BoundError, which calls them `what`, where one is larger than factors below 8 give. Nobody sees weights of
    hosts leave their range, so sums that opened are where it shows. Weights that grow step by step are met here before
    a sum wraps; one step at a rate far above the rule can pass both bounds at once.
    """
    numbers = signed(values)
    beyond = int(np.count_nonzero(np.abs(numbers) > terms << (fraction_bits + 2 * WHOLE_BITS)))
    if beyond:
        raise BoundError(
            f"{what} lie beyond their range",
            expected=f"magnitudes up to {terms << (2 * WHOLE_BITS):,}, as of {terms} products of numbers below "
            f"{1 << WHOLE_BITS}",
            got=f"{beyond:,} of {numbers.size:,} beyond",
            cure=cure,
        )
    return np.ldexp(numbers.astype(np.float64), -fraction_bits)


def check_all_finite(what: str, values: FloatArray, cure: str) -> None:
    """Raise InputError where `values`, which errors call `what`, hold NaN or infinity."""
    others = int(np.count_nonzero(~np.isfinite(values)))
    if others:
        raise InputError(
            f"{what} hold NaN or infinity",
            expected="finite numbers",
            got=f"{others:,} others of {values.size:,}",
            cure=cure,
        )


class Rounding:
    """Rounds one kind of a party's numbers and counts the ones that it had to cut to their range.

    `what` names them in errors, `cure` says what brings them into their range; `warn` is called once, with a line for
    the user, where more than WARNED_SHARE of an epoch's numbers were cut.
    """

    def __init__(self, what: str, fraction_bits: int, cure: str, warn: Callable[[str], None]) -> None:
        self._what, self._bits, self._cure, self._warn = what, fraction_bits, cure, warn
        self._seen = self._cut = 0
        self._warned = False

    def round(self, values: FloatArray) -> IntArray:
        """The nearest integers to values 2^fraction_bits, cut to `bound_of`.

        Raises InputError for NaN or infinity, BoundError where more than MOST_SHARE of them have to be cut.
        """
        check_all_finite(self._what, values, self._cure)
        bound = bound_of(self._bits)
        scaled = np.rint(np.ldexp(values, self._bits))
        cut = int(np.count_nonzero(np.abs(scaled) > bound))
        self._seen, self._cut = self._seen + values.size, self._cut + cut
        if cut > MOST_SHARE * values.size:
            raise BoundError(
                f"{self._what} lie beyond their range",
                expected=f"magnitudes below {1 << WHOLE_BITS} in all but {MOST_SHARE:.0%} of a batch",
                got=f"{cut:,} of {values.size:,} beyond",
                cure=self._cure,
            )
        return np.clip(scaled, -bound, bound).astype(np.int64)

    def end_epoch(self) -> float:
        """The share of the numbers since the last call that were cut."""
        share = self._cut / max(1, self._seen)
        if share > WARNED_SHARE and not self._warned:
            self._warned = True
            self._warn(f"{share:.1%} of {self._what} lay beyond {1 << WHOLE_BITS} and were cut to it: {self._cure}")
        self._seen = self._cut = 0
        return share
