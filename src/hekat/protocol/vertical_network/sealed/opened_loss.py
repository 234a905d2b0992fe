"""The one number of an epoch that opens: the mean square of residuals, at the guest, cut to what a run may tell.

All losses of a run together tell at most a bit for each row (`hekat.protocol.vertical_linear.loss_bits`). The shares
of the sum are truncated before the host sends its own, so the guest gets no finer digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hekat.engine.limbs import ints_from_limbs
from hekat.errors import DivergedError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits
from hekat.protocol.vertical_network.sealed.messages import SealedLossMessage
from hekat.protocol.vertical_network.sealed.run_odds import RESIDUAL_WHOLE_BITS
from hekat.protocol.vertical_network.sealed.scales import RESIDUAL_BITS, SLOT_RING


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


def told_loss(row_count: int, of_rows: int, losses: int) -> ToldLoss:
    """How a loss of `row_count` rows is told in a run of so many losses over `of_rows` rows."""
    return ToldLoss(row_count, told_loss_bits(of_rows, losses))


def send_loss(
    channel: RecordedChannel, guest: str, step: str, share: ModularShares, told: ToldLoss, cut: ModularTruncation
) -> None:
    """The host's half."""
    channel.send(guest, step, SealedLossMessage(cut.truncate(share[:, np.newaxis], told.cut_bits)[:, 0]))


def open_loss(
    channel: RecordedChannel, host: str, step: str, share: ModularShares, told: ToldLoss, cut: ModularTruncation
) -> float:
    """The guest's half: the mean loss 2 mean d^2 + ln 2 - 1/2.

    Raises ProtocolError for what is no share, DivergedError for a number that is no loss: nobody sees units, so a
    training whose numbers leave their range shows here alone.
    """
    own = cut.truncate(share[:, np.newaxis], told.cut_bits)
    other = channel.receive(host, step, SealedLossMessage).share
    primes = np.array(SLOT_RING.primes, np.uint64)
    if other.shape != primes.shape or other.dtype != np.uint64 or (other >= primes).any():
        raise ProtocolError(
            f"{host} sent no share of the loss",
            expected=f"{len(primes)} numbers below their primes",
            got=f"shape {other.shape}, or larger numbers",
            cure="all parties must run the same job and release",
        )
    (total,) = ints_from_limbs(SLOT_RING.to_limbs(SLOT_RING.add(own, other[:, np.newaxis])))
    if total > SLOT_RING.modulus // 2:
        total -= SLOT_RING.modulus
    mean_square = total * told.unit
    if not -told.unit <= mean_square <= 4.0**RESIDUAL_WHOLE_BITS:
        raise DivergedError(
            "training diverges: the loss of an epoch is beyond what shares can hold",
            expected=f"a mean square of residuals of at most {4**RESIDUAL_WHOLE_BITS:,}",
            got="another number",
            cure="lower training.shared_rate or training.limit_spreads, or standardise the columns; for a warm start "
            "give both parties parts of the same model",
        )
    return 2 * max(0.0, mean_square) + math.log(2) - 0.5
