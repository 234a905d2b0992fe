"""The products of a training, and a party's half of them by the job's protection."""

from __future__ import annotations

from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_network.arithmetic.interface import Arithmetic, Product
from hekat.protocol.vertical_network.arithmetic.plain import PlainArithmetic
from hekat.protocol.vertical_network.fixed_point import (
    FEATURE_BITS,
    GRADIENT_RING_BITS,
    PRODUCT_BITS,
    SLOPE_BITS,
    bound_of,
)
from hekat.protocol.vertical_network.timing_labels import KEYS

_HALF = 1 << (PRODUCT_BITS - 1)


def make_arithmetic(protection: str, stopwatch: Stopwatch) -> Arithmetic:
    """A party's half under `protection`, with a key of its own where there are keys."""
    if protection == "none":
        return PlainArithmetic()
    # Imported here: a comparison in the clear needs no keys.
    from hekat.protocol.vertical_network.arithmetic.lattice import LatticeArithmetic

    with stopwatch.measure(KEYS):
        return LatticeArithmetic()


def kept_features(row_count: int, width: int, units: int, uses: int) -> Product:
    """(A_h V')^T = V'^T [A_h^T]: a batch's features, encrypted once a run, times the guest's addend."""
    return Product(PRODUCT_BITS, units, width, row_count, _HALF, is_opened=True, most_rows=units, uses=uses)


def fresh_weights(row_count: int, width: int, units: int, most_rows: int) -> Product:
    """A_h [V']: the guest's addend, encrypted anew, times features of some rows."""
    bound = bound_of(FEATURE_BITS)
    return Product(PRODUCT_BITS, row_count, width, units, bound, is_opened=True, most_rows=most_rows)


def gradient(row_count: int, width: int, units: int, most_width: int) -> Product:
    """A_h^T [D]: a batch's slopes, one ciphertext for all hosts, times its features."""
    bound = bound_of(FEATURE_BITS)
    return Product(GRADIENT_RING_BITS, width, row_count, units, bound, is_opened=False, most_rows=most_width)


def returned_gradient(row_count: int, width: int, units: int) -> Product:
    """(A_h^T D)^T = D^T [A_h]: a batch's features, encrypted by their owner, times its slopes."""
    bound = bound_of(SLOPE_BITS)
    return Product(GRADIENT_RING_BITS, units, row_count, width, bound, is_opened=False, most_rows=units)


def feature_slopes(row_count: int, width: int, units: int) -> Product:
    """D [U'^T]: a host's addend, encrypted anew, times a batch's slopes."""
    return Product(PRODUCT_BITS, row_count, units, width, bound_of(SLOPE_BITS), is_opened=True, most_rows=row_count)
