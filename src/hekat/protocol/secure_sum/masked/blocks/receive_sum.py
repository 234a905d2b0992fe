"""How a party reads the blocks of one sum: the masked ones, then what a mask left in the clear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from hekat.errors import BoundError
from hekat.protocol.secure_sum.aggregation import Aggregate
from hekat.protocol.secure_sum.masked.blocks.clear_levels import clear_block_sizes
from hekat.protocol.secure_sum.masked.blocks.sum_streams import SumStreams
from hekat.protocol.secure_sum.masked.checked_sum import WholeSum
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import ClearSumBlockMessage, SumBlockMessage, WholeSumBlockMessage
from hekat.protocol.secure_sum.masked.slot_stream import SumReader, block_slots_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import Decryptor, LatticeParameters

T = TypeVar("T")


class Receive(Protocol):
    """Takes the aggregator's next message in a step, and its digest."""

    def __call__(self, step: str, message_type: type[T]) -> tuple[T, bytes]: ...


class SumBlocks:
    """One sum as its blocks come; `whole` where sums are checked.

    Every block is received, also those after one that does not open: the time at which this party leaves does not tell
    which block it was.
    """

    def __init__(
        self,
        receive: Receive,
        leg: Leg,
        parameters: LatticeParameters,
        streams: SumStreams,
        stopwatch: Stopwatch,
        whole: WholeSum | None,
    ) -> None:
        self._receive, self._leg, self._parameters = receive, leg, parameters
        self._streams, self._stopwatch, self._whole = streams, stopwatch, whole
        self.digests: list[bytes] = []
        """Of the blocks' messages."""

    def drop(self) -> None:
        """Receive all blocks, and read none."""
        for _ in self._masked_blocks():
            pass
        for _ in self._clear_blocks():
            pass

    def read(self, decryptor: Decryptor, addend_count: int) -> Aggregate:
        """The aggregate of so many contributions.

        Raises BoundError where a block does not open or holds no sum, or where the whole sum is not the uploads' sum.
        """
        reader = self._streams.masked.reader(addend_count)
        failure = self._read_masked(decryptor, reader)
        failure = self._read_clear(addend_count, None if failure is not None else reader) or failure
        if self._whole is not None:
            self._whole.check()
        if failure is not None:
            raise failure
        return self._streams.finish(reader)

    def _read_masked(self, decryptor: Decryptor, reader: SumReader) -> BoundError | None:
        failure: BoundError | None = None
        per_chunk = self._parameters.form.values_per_chunk
        for start, count, written in self._masked_blocks():
            if failure is not None:
                continue
            try:
                with self._stopwatch.measure("decrypt"):
                    sums = decryptor.decrypt(written, count, start // per_chunk)
                with self._stopwatch.measure("decode"):
                    reader.read(sums)
            except BoundError as error:
                failure = error
        return failure

    def _read_clear(self, addend_count: int, masked: SumReader | None) -> BoundError | None:
        """`masked` has read the masked blocks; None where they do not open."""
        clear, form = self._streams.clear, self._streams.clear_form
        reader = None if masked is None or clear is None else clear.reader(addend_count, masked.weight_sum)
        failure: BoundError | None = None
        for count, written in self._clear_blocks():
            if failure is not None:
                continue
            try:
                with self._stopwatch.measure("decode"):
                    fields = form.read_fields(written, count, addend_count)
                    if self._whole is not None:
                        self._whole.add_clear(written, fields)
                    if reader is not None:
                        reader.read(form.sums_of(fields, addend_count))
            except BoundError as error:
                failure = error
        return failure

    def _masked_blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """(first slot, slots, bytes) of each."""
        block_slots, slot_count = block_slots_of(self._parameters), self._streams.slot_count
        for start in range(0, slot_count, block_slots):
            count = min(block_slots, slot_count - start)
            if self._whole is None:
                block, digest = self._receive(self._leg.name("sum-block"), SumBlockMessage)
                written = block.written
            else:
                whole_block, digest = self._receive(self._leg.name("whole-block"), WholeSumBlockMessage)
                written = self._whole.round_block(whole_block, count)
            self.digests.append(digest)
            yield start, count, written

    def _clear_blocks(self) -> Iterator[tuple[int, bytes]]:
        """(values, bytes) of each."""
        for count in clear_block_sizes(self._streams.clear_count):
            block, digest = self._receive(self._leg.name("clear-sum-block"), ClearSumBlockMessage)
            self.digests.append(digest)
            yield count, block.sums
