"""A party's blocks of one upload as they are sent: the masked ones, then what a mask leaves in the clear."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.protocol.secure_sum.aggregation import SumRequest
from hekat.protocol.secure_sum.masked.blocks.clear_levels import clear_block_values
from hekat.protocol.secure_sum.masked.blocks.sum_streams import SumStreams
from hekat.protocol.secure_sum.masked.checked_sum import SumChecking
from hekat.protocol.secure_sum.masked.messages import ClearBlockMessage, MaskedBlockMessage
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import Encryptor, LatticeParameters


class UploadBlocks:
    """The blocks of this party's upload of one sum; `checking` keeps them where sums are checked."""

    def __init__(
        self, streams: SumStreams, request: SumRequest, stopwatch: Stopwatch, checking: SumChecking | None
    ) -> None:
        self._streams, self._request = streams, request
        self._stopwatch, self._checking = stopwatch, checking

    def masked(self, encryptor: Encryptor, parameters: LatticeParameters) -> Iterator[MaskedBlockMessage]:
        """Weight, counters and masked values."""
        blocks = self._streams.blocks(self._request, block_slots_of(parameters))
        left = self._streams.slot_count
        while left:
            with self._stopwatch.measure("encode"):
                block = next(blocks)
            left -= block.size
            with self._stopwatch.measure("encrypt"):
                written = encryptor.encrypt(block, last=not left)
            if self._checking is not None:
                self._checking.keep(written, block.size)
            yield MaskedBlockMessage(written)

    def clear(self) -> Iterator[ClearBlockMessage]:
        """The levels of all other values, if there are any."""
        form = self._streams.clear_form
        blocks = self._streams.clear_blocks(self._request, clear_block_values())
        left = self._streams.clear_count
        while left:
            with self._stopwatch.measure("encode"):
                block = next(blocks)
                written = form.write_levels(block)
            left -= block.size
            if self._checking is not None:
                self._checking.keep_clear(form, written, block.size)
            yield ClearBlockMessage(written)
