"""Both sides of a sum that parties check against the uploads (`check_sum`): messages, signatures, comparison.

1. the aggregator commits to the whole sum, ahead of any release -> parties, members
2. each party of U signs inner products of its upload with what follows from the statement of U and the commitment
3. the aggregator sends all of these to every party, and the whole sum; a party rounds it itself, and opens it
4. a party accepts the sum if it fits the commitment and its inner products are the sums of the uploads' products
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import numpy as np

from hekat.engine.ring.interface import RingArray
from hekat.errors import BoundError, InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearForm
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import (
    SumCommitmentMessage,
    SumPartMessage,
    SumPartsMessage,
    WholeSumBlockMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.masked.opening.sum_check import (
    InnerProducts,
    Products,
    commitment_of,
    products_agree,
    read_whole,
    row_count,
    whole_bits,
    write_whole,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import DIGEST_BYTES, Verify
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import Accumulator, LatticeParameters
from hekat.scheme.lattice.evaluate import read_contribution, write_rounded

CHECKS_SUMS = "every sum is checked against the uploads that its parties signed; an aggregator alone cannot alter one"
_PURPOSE = "hekat/lattice/sum-part/1"


def part_fields(included: IncludedSet, products: Products) -> tuple[bytes, ...]:
    """What a party of U signs: session, number, statement with its commitment, and its inner products."""
    return *included.context.upload_fields, included.digest, products.astype("<u8").tobytes()


def check_part(included: IncludedSet, rows: int, verify: Verify) -> Callable[[str, SumPartMessage], None]:
    """Refuses a part of another form, or without the party's signature over it for this statement."""

    def check(party: str, message: SumPartMessage) -> None:
        products = message.products
        if products.shape != (rows,) or not verify(
            party, message.signature, _PURPOSE, *part_fields(included, products)
        ):
            raise InputError("it did not sign inner products of this sum", expected=f"{rows} of them", got="others")

    return check


def whole_blocks(
    accumulator: Accumulator, parameters: LatticeParameters, addend_count: int, block_slots: int
) -> Iterator[bytes]:
    """The whole sum, block by block, in the form for commitment and sending."""
    bits = whole_bits(parameters.form, addend_count)
    return (write_whole(fields, bits) for fields in accumulator.blocks(block_slots))


def commit_to(
    accumulator: Accumulator,
    parameters: LatticeParameters,
    addend_count: int,
    block_slots: int,
    clear: Iterable[bytes] = (),
) -> SumCommitmentMessage:
    """The commitment to it, and to the sum's blocks in the `clear` after it."""
    blocks = chain(whole_blocks(accumulator, parameters, addend_count, block_slots), clear)
    return SumCommitmentMessage(commitment_of(hashlib.sha256(block).digest() for block in blocks))


class SumChecking:
    """A party's side, for one upload after another. It keeps its upload until it has told its part of the check."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        stopwatch: Stopwatch,
        aggregator_timeout_s: float | None,
    ) -> None:
        self._channel, self._aggregator = channel, settings.aggregator
        self._stopwatch, self._aggregator_timeout_s = stopwatch, aggregator_timeout_s
        self._upload: list[tuple[bytes, int, ClearForm | None]] = []

    def begin(self) -> None:
        """Drop an upload that failed."""
        self._upload = []

    def keep(self, written: bytes, value_count: int) -> None:
        """The next block of this party's upload."""
        self._upload.append((written, value_count, None))

    def keep_clear(self, form: ClearForm, written: bytes, value_count: int) -> None:
        """The next block of what it leaves in the clear, after all others."""
        self._upload.append((written, value_count, form))

    def receive_commitment(self, leg: Leg) -> bytes:
        """As the function of that name, at this party."""
        return receive_commitment(self._channel, self._aggregator, leg, self._aggregator_timeout_s)

    def tell(self, leg: Leg, parameters: LatticeParameters, included: IncludedSet) -> None:
        """Tell the inner products of this party's upload, where it is in U, and drop the upload."""
        upload, self._upload = self._upload, []
        if self._channel.party not in included.parties:
            return
        with self._stopwatch.measure("check"):
            made = InnerProducts(included.digest, row_count(parameters.form, len(included.parties)))
            for written, value_count, form in upload:
                made.add(
                    read_contribution(parameters, written, value_count)
                    if form is None
                    else form.fields_of(form.read_levels(written, value_count))
                )
            products = made.values
        signature = self._channel.sign(_PURPOSE, *part_fields(included, products))
        self._channel.send(self._aggregator, leg.name("part"), SumPartMessage(products, signature))

    def receive_whole(self, leg: Leg, parameters: LatticeParameters, included: IncludedSet) -> WholeSum:
        """The parts of all parties of U, and then the whole sum. Raises ProtocolError for what one did not sign."""
        step = leg.name("parts")
        message = self._channel.receive(self._aggregator, step, SumPartsMessage, timeout_s=self._aggregator_timeout_s)
        check = check_part(included, row_count(parameters.form, len(included.parties)), self._channel.verify)
        nothing = np.zeros(0, np.uint64)
        for party in included.parties:
            try:
                check(
                    party,
                    SumPartMessage(message.products.get(party, nothing), message.signatures.get(party, b"")),
                )
            except InputError as error:
                raise ProtocolError(
                    f"the aggregator states inner products that {party!r} did not sign",
                    expected=f"numbers of every upload of {leg.step}, signed for this sum",
                    got="others",
                    cure="ask the aggregator's operator; resume from the last checkpoint",
                ) from error
        parts = {party: message.products[party] for party in included.parties}
        return WholeSum(parameters, included, parts, self._stopwatch)


class WholeSum:
    """The whole sum as it comes, block by block."""

    def __init__(
        self,
        parameters: LatticeParameters,
        included: IncludedSet,
        parts: Mapping[str, Products],
        stopwatch: Stopwatch,
    ) -> None:
        self._parameters, self._included, self._parts, self._stopwatch = parameters, included, parts, stopwatch
        addend_count = len(included.parties)
        self._bits = whole_bits(parameters.form, addend_count)
        self._products = InnerProducts(included.digest, row_count(parameters.form, addend_count))
        self._digests: list[bytes] = []

    def round_block(self, block: WholeSumBlockMessage, value_count: int) -> bytes:
        """The block as it is sent where sums are not checked. Raises ProtocolError for another size."""
        with self._stopwatch.measure("check"):
            self._digests.append(hashlib.sha256(block.written).digest())
            fields = read_whole(block.written, self._parameters.form.field_count(value_count), self._bits)
            self._products.add(fields)
            return write_rounded(self._parameters, fields, value_count)

    def add_clear(self, written: bytes, fields: RingArray) -> None:
        """The next block of sums in the clear, after all others.

        They are of fewer bits than masked fields, so that the rows of the latter show them as well.
        """
        with self._stopwatch.measure("check"):
            self._digests.append(hashlib.sha256(written).digest())
            self._products.add(fields)

    def check(self) -> None:
        """Raise BoundError unless all blocks are those that were committed to, and the sum of the uploads of U."""
        committed = commitment_of(self._digests) == self._included.commitment
        if not committed or not products_agree(self._products.values, self._parts):
            raise BoundError(
                "a sum is not the sum of the uploads",
                expected="the sum that was committed to" if not committed else "the inner products of the uploads",
                got="another",
            )


def receive_commitment(
    channel: RecordedChannel, aggregator: str, leg: Leg, aggregator_timeout_s: float | None
) -> bytes:
    """The commitment to the whole sum. Raises ProtocolError unless it is a digest."""
    message = channel.receive(aggregator, leg.name("committed"), SumCommitmentMessage, timeout_s=aggregator_timeout_s)
    if len(message.commitment) != DIGEST_BYTES:
        raise ProtocolError(
            "the aggregator does not commit to a sum",
            expected=f"{DIGEST_BYTES} bytes",
            got=f"{len(message.commitment)}",
            cure="run the same release and job at the aggregator",
        )
    return message.commitment
