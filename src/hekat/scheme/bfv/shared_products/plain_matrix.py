"""The plain matrix of a product, transformed once for all encrypted matrices that it meets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.parameters import shorten
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError
from hekat.scheme.bfv.elements import Elements
from hekat.scheme.bfv.shared_products.layout import MatrixLayout
from hekat.scheme.bfv.shared_products.places import cut_plain


@dataclass(frozen=True)
class PlainMatrix:
    """A secret matrix as transformed polynomials in X^stride, (row blocks, inner blocks, primes, N / stride).

    Each slot stands for as many neighbours as the stride says: `Ring`.
    """

    layout: MatrixLayout
    elements: Elements = field(repr=False)


def prepare_matrix(values: npt.NDArray[np.int64], layout: MatrixLayout, engine: Engine | None = None) -> PlainMatrix:
    """A plain matrix int64 (rows, inner), magnitudes within `layout.plain_bound`; `centre` makes it of shares.

    Raises InputError for another shape or type, BoundError for a larger integer, without it.
    """
    expected = (layout.shape.rows, layout.shape.inner)
    if values.dtype != np.int64 or values.shape != expected:
        raise InputError(
            "a plain matrix refused",
            expected=f"int64, shape {expected}",
            got=f"{values.dtype}, shape {values.shape}",
        )
    # The least int64 has no magnitude in its type.
    if int(values.max()) > layout.plain_bound or int(values.min()) < -layout.plain_bound:
        raise BoundError(
            "an integer of a plain matrix passes its bound",
            expected=f"magnitudes of at most {layout.plain_bound}",
            got="a larger one",
            cure="clip the numbers, or lay the product out for a larger bound",
        )
    engine = engine or get_engine()
    polynomials, stride = cut_plain(values, layout), layout.blocks.stride
    rings = [shorten(part, stride) for part in layout.parameters.parts]
    return PlainMatrix(layout, tuple(engine.ring_ntt_integers(ring, polynomials) for ring in rings))


def centre(numbers: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    """Numbers mod 2^bits, 1 to 62 bits, as the integers of [-2^(bits - 1), 2^(bits - 1)) that they are mod 2^bits."""
    shift = np.int64(64 - bits)
    return (numbers << np.uint64(shift)).view(np.int64) >> shift
