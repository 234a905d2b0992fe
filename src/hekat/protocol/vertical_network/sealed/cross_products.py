"""What both parties compute products of each other's numbers with: what one sends, and how the other answers.

The holder sends its numbers (`hold_...`), the other party multiplies and keeps a share (`answer_...`), and the holder
opens its own share of the answer (`open_...`). Both shares add up to the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.share_array import ShareArray
from hekat.protocol.vertical_network.fixed_point import IntArray

Payload = tuple[bytes, ...]


@dataclass(frozen=True)
class MatrixFacts:
    """A plain matrix (rows, inner) of features times shares mod 2^128 (inner, columns).

    The shares are held for `uses` products, of at most `most_rows` rows each; None: of `rows`.
    """

    rows: int
    inner: int
    columns: int
    most_rows: int | None = None
    uses: int = 1


@dataclass(frozen=True)
class SlotFacts:
    """Sums of `terms` products of vectors of `count` numbers mod t, entry by entry.

    `folded`: blocks are added up as well. A vector of at most one block stands beside every block of the other.
    """

    count: int
    terms: int = 1
    folded: bool = False


@dataclass(frozen=True)
class SlotFactors:
    """One term of a sum: own numbers mod t (primes, count), and what `read_slots` made of the holder's."""

    plain: ModularShares = field(repr=False)
    held: Any = field(repr=False)


class CrossProducts(Protocol):
    """One party's half. All readers raise WireError for another key's numbers, another shape's, or other bytes."""

    @property
    def public_key(self) -> bytes:
        """What the other party needs of this one."""
        ...

    def meet(self, peer: str, public_key: bytes) -> None:
        """Take the public key of `peer`, the other party. Raises KeyRefusedError for one that cannot be its own."""
        ...

    def hold_matrix(self, shares: ShareArray, facts: MatrixFacts) -> Payload:
        """Own shares (inner, columns, 2)."""
        ...

    def read_matrix(self, held: Payload, facts: MatrixFacts) -> Any:
        """The other party's shares, once for all products with them."""
        ...

    def answer_matrix(self, plain: IntArray, held: Any, facts: MatrixFacts) -> tuple[Payload, ShareArray]:
        """The answer for the holder, under a mask of its own, and the own share of the product, (rows, columns, 2).

        `held` is what `read_matrix` made of the holder's shares."""
        ...

    def open_matrix(self, answer: Payload, facts: MatrixFacts) -> ShareArray:
        """The holder's share."""
        ...

    def hold_slots(self, shares: ModularShares) -> Payload:
        """Own numbers mod t, (primes, count)."""
        ...

    def read_slots(self, held: Payload, count: int) -> Any:
        """The other party's numbers, once for all products with them."""
        ...

    def answer_slots(self, factors: Sequence[SlotFactors], facts: SlotFacts) -> tuple[Payload, ModularShares]:
        """The answer for the holder, and the own share of the sums: (primes, count), or one block where folded."""
        ...

    def open_slots(self, answer: Payload, facts: SlotFacts) -> ModularShares:
        """The holder's share."""
        ...
