"""How large the sums of a job can be, and so how many rows fit into a ciphertext, by numbers that all parties know."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.data.features import MAX_COLUMNS
from hekat.errors import ProtocolError
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical_linear.arbiter.messages import StartMessage
from hekat.protocol.vertical_linear.fixed_point import FEATURE_LIMIT_BITS, VALUE_LIMIT_BITS
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.scheme.bfv import BfvParameters, ProductLayout, lay_out_products
from hekat.scheme.paillier import PublicKey
from hekat.scheme.paillier.row_packing import RowPacking, choose_row_packing

# A target's share of the mean over all rows has so many bits.
SHARE_BITS = 20
# The share of a row in the smallest batch may be twice the share in the largest batch, and scales are powers of two.
SHARE_LIMIT_BITS = SHARE_BITS + 2
# Scores stay below 2^14, or eight times the largest target: a training that passes both diverges.
SCORE_BITS = 14
TARGET_MARGIN_BITS = 3
MAX_BATCH_ROWS = 1 << 23
# A unit that is carried into a product, or borrowed from it, is less than half of the guard units.
GUARD_UNITS = 4
GUARD_BITS = GUARD_UNITS.bit_length() - 1


def slot_cut_bits(cut_bits: int) -> int:
    """How many bits of a slot stay untold where `cut_bits` of its number do: the guard bits lie below these."""
    return cut_bits + GUARD_BITS if cut_bits else 0


@dataclass(frozen=True)
class SumLayout:
    """Public sizes of the integers of a run. `columns` counts all parties' columns and the guest's ones; `targets` is
    K.

    Features at their scale are below 2^feature_bits in magnitude, a party's part of a residual below 2^part_bits. The
    shares of targets stand at a scale of 2^-share_bits; over an epoch their sum is below 2^share_sum_bits. The sum of
    an epoch's loss stands at 2^-loss_bits, and is told to 2^-told_loss_bits.
    """

    largest_batch: int
    batches: int
    columns: int
    targets: int
    parties: int
    feature_bits: int
    part_bits: int
    share_sum_bits: int
    share_bits: int
    loss_bits: int
    told_loss_bits: int

    @classmethod
    def of(cls, start: StartMessage, settings: VerticalLinearSettings) -> SumLayout:
        """Lay out the sums of a run by what the guest told of it. Raises ProtocolError for sizes that cannot be."""
        if not (
            start.row_count >= 1
            and 1 <= start.feature_bits <= FEATURE_LIMIT_BITS
            and 0 <= start.target_bits <= VALUE_LIMIT_BITS
            and len(start.column_counts) == len(settings.parties)
            and all(1 <= count <= MAX_COLUMNS for count in start.column_counts)
        ):
            raise ProtocolError(
                f"{settings.guest} begins with sizes that cannot be",
                expected=f"rows, columns of each of {len(settings.parties)} parties, and bits within their limits",
                got="others",
                cure="all parties must run the same job and release",
            )
        value_bits = settings.fixed_point.value_bits
        batches = batch_count(start.row_count, settings.training.batch_rows)
        largest_batch = -(-start.row_count // batches)
        # A row's share of the epoch's mean is 1 / (batches rows K), times its target.
        share_sum_bits = SHARE_BITS + (largest_batch * batches * settings.column_count - 1).bit_length()
        return cls(
            largest_batch=largest_batch,
            batches=batches,
            columns=sum(start.column_counts) + 1,
            targets=settings.column_count,
            parties=len(settings.parties),
            feature_bits=max(start.feature_bits, settings.fixed_point.feature_bits + 1),
            part_bits=value_bits + max(SCORE_BITS, start.target_bits + TARGET_MARGIN_BITS),
            share_sum_bits=share_sum_bits,
            share_bits=share_sum_bits - start.target_bits,
            loss_bits=share_sum_bits - start.target_bits + value_bits,
            told_loss_bits=told_loss_bits(start.row_count, settings.training.epochs),
        )

    @property
    def product_bound(self) -> int:
        """The bound of every gradient, of an epoch's loss, and of every part of their sums."""
        residual = self.parties << self.part_bits
        # Half of the loss's bound is for the parties' own parts.
        return max(self._feature_sum, 2 * self._share_sum) * residual

    @property
    def loss_cut_bits(self) -> int:
        """How many bits of an epoch's loss the arbiter tells nobody."""
        return max(0, self.loss_bits - self.told_loss_bits)

    @property
    def loss_part_bound(self) -> int:
        """The bound of a party's part of the loss, so that the sum of all parts stays within `product_bound`."""
        return self.product_bound // (2 * (self.parties + 1))

    def packing(self, key: PublicKey) -> RowPacking:
        """The packing of rows under a Paillier key. Raises BoundError where not even one row fits."""
        return choose_row_packing(key, GUARD_UNITS * self.product_bound, self.largest_batch, self.columns)

    def products(self, parameters: BfvParameters) -> ProductLayout:
        """How rows and products lie in BFV ciphertexts. Raises BoundError where they do not fit."""
        return lay_out_products(
            parameters,
            self.product_bound,
            factor_bound=1 << max(self.feature_bits, SHARE_LIMIT_BITS),
            row_count=self.largest_batch,
            row_addends=self.parties,
            # The loss adds up one product of each class and batch.
            products=self.batches * self.targets,
        )

    @property
    def _feature_sum(self) -> int:
        """The largest sum of a column's magnitudes in a batch."""
        return self.largest_batch << self.feature_bits

    @property
    def _share_sum(self) -> int:
        """The largest sum of magnitudes of all shares of targets in an epoch, each share rounded."""
        return (1 << self.share_sum_bits) + self.largest_batch * self.batches * self.targets
