"""Whether BFV has room for a job's sums and messages, by numbers that all parties know before anything leaves."""

from __future__ import annotations

from hekat.errors import BoundError
from hekat.protocol.vertical_linear.arbiter.messages import StartMessage
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.scheme.bfv import PRODUCTS
from hekat.wire.frame import MAX_FRAME_BYTES

# The bytes of a message beside its polynomials: places, masked coefficients, its own frame.
SPARED_BYTES = 1 << 24


def check_bfv_capacity(start: StartMessage, settings: VerticalLinearSettings) -> None:
    """Raise BoundError where sums do not fit into ciphertexts, or a batch's rows or a party's gradient into a
    message."""
    sums = SumLayout.of(start, settings)
    layout = sums.products(PRODUCTS)
    largest = PRODUCTS.ciphertext_bytes * layout.groups(sums.largest_batch)
    for party, columns in zip(settings.parties, start.column_counts, strict=True):
        # The intercept's ones are a column of the guest; the shares of targets stay with the guest.
        column_count = columns + (party == settings.guest)
        polynomials = -(-column_count // layout.columns)
        largest = max(largest, PRODUCTS.polynomial_bytes * polynomials)
    if largest * sums.targets > MAX_FRAME_BYTES - SPARED_BYTES:
        raise BoundError(
            "a batch under protection 'lattice' passes one message",
            expected=f"at most {MAX_FRAME_BYTES - SPARED_BYTES} bytes",
            got=f"{largest * sums.targets} bytes",
            cure="set smaller training.batch_rows, train fewer columns or classes, or use protection.kind = 'paillier'",
        )
