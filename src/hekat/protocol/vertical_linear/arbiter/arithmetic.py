"""The arithmetic of a step at guest and hosts: one interface for Paillier, BFV and no protection; equal results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from hekat.engine.limbs import LimbArray
from hekat.errors import ProtocolError
from hekat.protocol.vertical_linear.fixed_point import IntArray

Held = TypeVar("Held")

IntegerArray = npt.NDArray[Any]
"""int64, or Python integers of at most 127 bits in an array of objects."""


@dataclass(frozen=True)
class Masked:
    """Products on their way to the arbiter, as bytes, and the masks that only their owner knows."""

    data: bytes
    masks: LimbArray = field(repr=False)


class Arithmetic(Protocol[Held]):
    """The operations of a step; `Held` is the form in which this arithmetic holds numbers."""

    protection: str

    def hold(self, rows: IntArray) -> Held:
        """Hold integers (rows, K), freshly encrypted where there is encryption."""
        ...

    def hold_sum(self, value: int) -> Held:
        """Hold one integer, shape (1,), in the form of a product."""
        ...

    def add(self, addends: Sequence[Held]) -> Held:
        """Add one number or more, all of one shape."""
        ...

    def multiply(self, matrix: Any, rows: Held) -> Held:
        """The products matrix (m, rows) @ rows (rows, K), shape (m, K)."""
        ...

    def take(self, products: Held, indices: Any) -> Held:
        """The products at flat `indices`, in the shape of `indices`."""
        ...

    def write(self, values: Held) -> bytes:
        """Bytes for another party that does not hold the key."""
        ...

    def read_rows(self, data: bytes, shape: tuple[int, int], sender: str) -> Held:
        """Read rows that `write` wrote. Raises WireError, and ProtocolError for another shape than (rows, K)."""
        ...

    def read_sum(self, data: bytes, sender: str) -> Held:
        """Read what `hold_sum` made; raises as `read_rows` does."""
        ...

    def mask(self, products: Held) -> Masked:
        """Mask products, so that the arbiter may open them without learning anything."""
        ...

    def unmask(self, opened: LimbArray, masked: Masked, sender: str, cut_bits: int = 0) -> IntegerArray:
        """The integers that were masked, shape (count,).

        Where the arbiter does not tell the lowest `cut_bits`, the results are the integers over 2^cut_bits, off by less
        than one. Raises ProtocolError for another count.
        """
        ...


def check_shape(got: tuple[int, ...], expected: tuple[int, ...], sender: str) -> None:
    """Raise ProtocolError for numbers that do not come in the shape that the job gives them."""
    if got != expected:
        raise ProtocolError(
            f"{sender} sent numbers of another shape",
            expected=str(expected),
            got=str(got),
            cure="all parties must run the same job and release, on the same rows",
        )
