"""How the aggregator sends a sum to all parties, block by block, and commits to it where sums are checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hekat.protocol.secure_sum.masked.blocks.receive_upload import RunningSum
from hekat.protocol.secure_sum.masked.checked_sum import commit_to, whole_blocks
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import (
    ClearSumBlockMessage,
    SumBlockMessage,
    SumCommitmentMessage,
    WholeSumBlockMessage,
)
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.stopwatch import Stopwatch


class SumSender:
    """Sends one sum."""

    def __init__(self, roster: Roster, stopwatch: Stopwatch, leg: Leg, total: RunningSum) -> None:
        self._roster, self._stopwatch, self._leg, self._total = roster, stopwatch, leg, total

    def commit(self) -> SumCommitmentMessage:
        """The commitment to the whole sum, with no bits dropped, and to what is in the clear."""
        total = self._total
        with self._stopwatch.measure("aggregate"):
            return commit_to(
                total.masked,
                total.parameters,
                total.addend_count,
                block_slots_of(total.parameters),
                total.clear.write(),
            )

    def send(self) -> None:
        """The sum as parties open it."""
        block_slots = block_slots_of(self._total.parameters)
        self._send_all("sum-block", (SumBlockMessage(written) for written in self._total.masked.write(block_slots)))
        self._send_clear()

    def send_whole(self) -> None:
        """The sum with no bits dropped, as parties check it."""
        total = self._total
        blocks = whole_blocks(total.masked, total.parameters, total.addend_count, block_slots_of(total.parameters))
        self._send_all("whole-block", (WholeSumBlockMessage(written) for written in blocks))
        self._send_clear()

    def _send_clear(self) -> None:
        self._send_all("clear-sum-block", (ClearSumBlockMessage(written) for written in self._total.clear.write()))

    def _send_all(self, part: str, messages: Iterator[Any]) -> None:
        while True:
            with self._stopwatch.measure("aggregate"):
                message = next(messages, None)
            if message is None:
                return
            self._roster.send_to_all(self._leg.name(part), message)
