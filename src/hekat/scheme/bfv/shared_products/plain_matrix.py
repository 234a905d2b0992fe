"""The plain matrix of a product, transformed once for all encrypted matrices that it meets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.engine.interface import Engine
from hekat.engine.ring.interface import RingArray
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError
from hekat.scheme.bfv.elements import SMALL_LIMIT, Elements, residues_of_integers, residues_of_small
from hekat.scheme.bfv.shared_products.layout import MatrixLayout
from hekat.scheme.bfv.shared_products.places import cut_plain
from hekat.scheme.bfv.shared_products.residues import POLYNOMIALS_AT_ONCE, Residues, unpack


@dataclass(frozen=True)
class PlainMatrix:
    """A secret matrix as transformed polynomials (row blocks, inner blocks, primes, N): 256 KiB for each block."""

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
    residues = _residues(values, layout, engine)
    return PlainMatrix(
        layout,
        tuple(
            _transform(part, cut_plain(x, layout), layout, engine)
            for part, x in zip(layout.parameters.parts, residues, strict=True)
        ),
    )


def _residues(values: npt.NDArray[np.int64], layout: MatrixLayout, engine: Engine) -> Residues:
    """The integers' residues in C order: side by side first, since few coefficients of a polynomial hold one."""
    parameters, degree = layout.parameters, layout.parameters.degree
    packed = np.zeros((-(-values.size // degree), degree), np.int64)
    packed.reshape(-1)[: values.size] = values.reshape(-1)
    if layout.plain_bound < SMALL_LIMIT:
        return unpack(residues_of_small(parameters, packed), values.size)
    return unpack(residues_of_integers(parameters, packed, engine), values.size)


def _transform(part: Ring, cut: RingArray, layout: MatrixLayout, engine: Engine) -> RingArray:
    """Transformed polynomials of one part: `cut` (polynomials, primes, b n) has their first coefficients."""
    transformed = np.empty((len(cut), *part.element_shape), np.uint64)
    some = np.zeros((POLYNOMIALS_AT_ONCE, *part.element_shape), np.uint64)
    for start in range(0, len(cut), POLYNOMIALS_AT_ONCE):
        here = cut[start : start + POLYNOMIALS_AT_ONCE]
        some[: len(here), :, : here.shape[2]] = here
        transformed[start : start + len(here)] = engine.ring_ntt(part, some[: len(here)])
    counts = layout.blocks.row_count(layout.shape), layout.blocks.inner_count(layout.shape)
    return transformed.reshape(*counts, *part.element_shape)


def centre(numbers: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    """Numbers mod 2^bits, 1 to 62 bits, as the integers of [-2^(bits - 1), 2^(bits - 1)) that they are mod 2^bits."""
    shift = np.int64(64 - bits)
    return (numbers << np.uint64(shift)).view(np.int64) >> shift
