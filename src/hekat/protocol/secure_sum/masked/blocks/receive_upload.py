"""How the aggregator reads the blocks of one party's upload, and adds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearSum, SentLevels, clear_block_sizes
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.message_checks import check_block
from hekat.protocol.secure_sum.masked.messages import ClearBlockMessage, MaskedBlockMessage, UploadMessage
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.timeouts import Deadline
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import Accumulator, LatticeParameters

T = TypeVar("T")


@dataclass(frozen=True)
class ReceivedUpload:
    """One upload, whole: its masked blocks, what it leaves in the clear, and the digests of all its messages."""

    masked: list[bytes]
    clear: list[SentLevels]
    digests: list[bytes]


@dataclass(frozen=True)
class RunningSum:
    """The sum of the uploads so far, masked and in the clear: an upload is in both or in none."""

    parameters: LatticeParameters
    slot_count: int
    masked: Accumulator
    clear: ClearSum

    @property
    def addend_count(self) -> int:
        """Uploads that are in it."""
        return self.masked.addend_count

    def add(self, upload: ReceivedUpload) -> None:
        """Add an upload. Raises InputError, and nothing is added, for blocks that cannot be."""
        self.masked.add(upload.masked)
        self.clear.add(upload.clear)


class UploadReader:
    """Reads a party's blocks, which follow one another, within the time of one upload."""

    def __init__(self, roster: Roster, leg: Leg, timeout_s: float | None) -> None:
        self._roster, self._leg, self._timeout_s = roster, leg, timeout_s

    def receive(self, party: str, total: RunningSum, announced: bytes = b"") -> ReceivedUpload | None:
        """One party's blocks; None where the party drops out. `announced`: the masked block that is here already.

        All parties send theirs at once. What the aggregator has not read yet waits for room, at the sender in the end;
        a step's time for the rest of an upload begins as it reads the first of it.
        """
        deadline = Deadline(self._timeout_s)
        upload = ReceivedUpload([announced] if announced else [], [], [])
        block_slots, form = block_slots_of(total.parameters), total.parameters.form
        for start in () if announced else range(0, total.slot_count, block_slots):
            check = check_block(form.written_bytes(min(block_slots, total.slot_count - start)))
            block = self._receive(party, "block", MaskedBlockMessage, check, deadline, upload)
            if block is None:
                return None
            upload.masked.append(block.written)
        clear_form = total.clear.form
        for count in clear_block_sizes(total.clear.value_count):

            def keep(message: ClearBlockMessage, count: int = count) -> None:
                upload.clear.append(clear_form.read_levels(message.levels, count))

            if self._receive(party, "clear-block", ClearBlockMessage, keep, deadline, upload) is None:
                return None
        return upload

    def _receive(
        self,
        party: str,
        part: str,
        message_type: type[T],
        check: Callable[[T], None],
        deadline: Deadline,
        upload: ReceivedUpload,
    ) -> T | None:
        received = self._roster.receive_digested(party, self._leg.name(part), message_type, check, deadline.left_s)
        if received is None:
            return None
        upload.digests.append(received[1])
        return received[0]


def add_announced(
    roster: Roster,
    stopwatch: Stopwatch,
    leg: Leg,
    total: RunningSum,
    announced: dict[str, UploadMessage],
    timeout_s: float | None,
) -> None:
    """Add the uploads of a further sum, party by party; one whose blocks cannot be added is given up."""
    reader = UploadReader(roster, leg, timeout_s)
    for party, message in announced.items():
        upload = reader.receive(party, total, message.block)
        if upload is None:
            continue
        try:
            with stopwatch.measure("aggregate"):
                total.add(upload)
        except InputError as error:
            roster.expel(party, f"in {leg.step}: {error}")
