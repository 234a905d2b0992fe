"""What a role computes private products with: a plain matrix of one party times a matrix that another party holds.

The holder sends its matrix (`hold`); the other party multiplies and keeps a share of the product (`answer`), and the
holder opens its own share (`open`). Both shares add up to plain @ held mod 2^bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]
"""Numbers mod 2^60 (rows, columns), or mod 2^128 as limbs (rows, columns, 2)."""


@dataclass(frozen=True)
class Product:
    """Public facts of a product: a plain matrix (rows, inner) of integers within `plain_bound`, and a held matrix
    (inner, columns) of numbers mod 2^bits.

    The held matrix is laid out for up to `most_rows` rows and for `uses` products. `is_opened`: somebody gets the sum
    of both shares.
    """

    bits: int
    rows: int
    inner: int
    columns: int
    plain_bound: int
    is_opened: bool
    most_rows: int
    uses: int = 1


class Arithmetic(Protocol):
    """One party's half."""

    @property
    def public_key(self) -> bytes:
        """What other parties need of this one."""
        ...

    def meet(self, peer: str, public_key: bytes) -> None:
        """Take another party's public key. Raises KeyRefusedError for one that cannot be its own."""
        ...

    def hold(self, values: npt.NDArray[Any], product: Product) -> bytes:
        """The own matrix, int64 or `Numbers` (inner, columns), as the other party takes it."""
        ...

    def read_held(self, peer: str, data: bytes, product: Product) -> Any:
        """A matrix that the peer holds. Raises WireError for another key's, another shape's, or other bytes."""
        ...

    def prepare(self, values: npt.NDArray[Any], product: Product) -> Any:
        """The own plain matrix, int64 or numbers mod 2^60 (rows, inner), once for all products with it."""
        ...

    def answer(self, held: Any, plain: Any, product: Product) -> tuple[bytes, Numbers]:
        """The answer for the holder, and the own share of the product."""
        ...

    def open(self, peer: str, data: bytes, product: Product) -> Numbers:
        """The holder's share of a product with the peer. Raises WireError for what is no such answer."""
        ...
