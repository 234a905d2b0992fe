"""The two parties that hold shares as one of them sees them: where columns stand, and what both compute with."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.protocol.shares.truncation import Truncation
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import CrossProducts
from hekat.protocol.vertical_linear.shared_weights.scales import Scales


@dataclass(frozen=True)
class Pair:
    """Weights are one array of shares (size, K, 2): the intercept, the guest's weights, the host's weights, and the
    weights of quiet parties, which hold no shares.

    With quiet parties `guest` means the first of the two holders, which is the guest unless the job names others.
    """

    is_guest: bool
    guest_columns: int
    host_columns: int
    target_count: int
    key_bits: int
    cross_products: CrossProducts
    truncation: Truncation
    scales: Scales
    stopwatch: Stopwatch
    quiet_columns: int = 0

    @property
    def size(self) -> int:
        """How many weights one target has, the intercept among them."""
        return 1 + self.guest_columns + self.host_columns + self.quiet_columns

    @property
    def guest_range(self) -> slice:
        return slice(1, 1 + self.guest_columns)

    @property
    def host_range(self) -> slice:
        return slice(1 + self.guest_columns, 1 + self.guest_columns + self.host_columns)

    @property
    def own_range(self) -> slice:
        return self.guest_range if self.is_guest else self.host_range

    @property
    def other_range(self) -> slice:
        return self.host_range if self.is_guest else self.guest_range
