"""The one number of an epoch that opens: the mean square of residuals, at the guest, cut to what a run may tell.

All losses of the same rows together tell at most a bit for each of them (`hekat.protocol.vertical_linear.loss_bits`).
The shares of the sum are truncated before the host sends its own, so the guest gets no finer digits; and the host
sends it mod 2^opened_bits, so a guest that adds to its shares what makes the sum larger gets no more digits above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hekat.errors import DivergedError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits
from hekat.protocol.vertical_network.sealed.messages import SealedLossMessage
from hekat.protocol.vertical_network.sealed.scales import RESIDUAL_BITS

MOST_SQUARE_BITS: Final = 8
"""A mean square of residuals above two to the power of that is no loss: a residual of labels alone is 1/2."""
_HEADROOM_BITS: Final = 7
"""A diverged training gives any number mod 2^opened_bits: one of 2^7 passes for a loss, and the next epoch's hardly."""


@dataclass(frozen=True)
class ToldLoss:
    """How finely the mean square of `row_count` rows is told: in units of a power of two of the sum, 2^-`bits` of the
    mean or up to twice as much."""

    row_count: int
    bits: int

    @property
    def cut_bits(self) -> int:
        """What the sum at 2^-28 is truncated by."""
        return 2 * RESIDUAL_BITS - self.bits + (self.row_count - 1).bit_length()

    @property
    def unit(self) -> float:
        """One unit of the cut sum, of the mean."""
        return math.ldexp(1.0, self.cut_bits - 2 * RESIDUAL_BITS) / self.row_count

    @property
    def most(self) -> int:
        """The largest cut sum that is a loss."""
        return (self.row_count << (2 * RESIDUAL_BITS + MOST_SQUARE_BITS)) >> self.cut_bits

    @property
    def opened_bits(self) -> int:
        """How many bits of the cut sum leave: all that a guest learns which lies in its shares."""
        return self.most.bit_length() + _HEADROOM_BITS


def told_loss(row_count: int, epochs: int) -> ToldLoss:
    """How each loss of the same `row_count` rows is told in a run of so many epochs."""
    return ToldLoss(row_count, told_loss_bits(row_count, epochs))


def send_loss(
    channel: RecordedChannel, guest: str, step: str, share: ModularShares, told: ToldLoss, cut: ModularTruncation
) -> None:
    """The host's half."""
    channel.send(guest, step, SealedLossMessage(_cut(share, told, cut)))


def open_loss(
    channel: RecordedChannel, host: str, step: str, share: ModularShares, told: ToldLoss, cut: ModularTruncation
) -> float:
    """The guest's half: the mean loss 2 mean d^2 + ln 2 - 1/2.

    Raises ProtocolError for what is no share, DivergedError for a number that is no loss: nobody sees units, so a
    training whose numbers leave their range shows here alone.
    """
    own = _cut(share, told, cut)
    other = channel.receive(host, step, SealedLossMessage).share
    if other.shape != own.shape or other.dtype != np.uint64 or int(other[0]) >> told.opened_bits:
        raise ProtocolError(
            f"{host} sent no share of the loss",
            expected=f"one number below 2^{told.opened_bits}",
            got=f"shape {other.shape}, or a larger number",
            cure="all parties must run the same job and release",
        )
    # Shares of a sum of squares, which is not negative, are cut to no sum below 0 (`ModularTruncation`).
    total = (int(own[0]) + int(other[0])) % (1 << told.opened_bits)
    if total > told.most:
        raise DivergedError(
            "training diverges: the loss of an epoch is no loss",
            expected=f"a mean square of residuals of at most {1 << MOST_SQUARE_BITS:,}",
            got="another number",
            cure="lower training.shared_rate or training.limit_spreads, or standardise the columns; for a warm start "
            "give both parties parts of the same model",
        )
    return 2 * total * told.unit + math.log(2) - 0.5


def _cut(share: ModularShares, told: ToldLoss, cut: ModularTruncation) -> npt.NDArray[np.uint64]:
    """One party's share of the cut sum, mod 2^opened_bits, (1,)."""
    floors = cut.into_limbs(share[:, np.newaxis], told.cut_bits)[..., 0]
    return np.asarray(floors & np.uint64((1 << told.opened_bits) - 1))
