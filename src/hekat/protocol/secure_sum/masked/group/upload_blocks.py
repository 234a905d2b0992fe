"""How the aggregator reads the blocks of one party's upload."""

from __future__ import annotations

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.message_checks import check_block
from hekat.protocol.secure_sum.masked.messages import MaskedBlockMessage, UploadMessage
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.timeouts import Deadline
from hekat.scheme.lattice import Accumulator, LatticeParameters


def receive_blocks(
    roster: Roster, leg: Leg, parameters: LatticeParameters, party: str, lane_count: int, timeout_s: float | None
) -> tuple[list[bytes], list[bytes]] | None:
    """One party's blocks, and the digests of their messages; None where the party drops out.

    All parties send theirs at once. What the aggregator has not read yet waits for room, at the sender in the end; a
    step's time for the rest of an upload begins as it reads the first of it.
    """
    block_slots = block_slots_of(parameters)
    deadline = Deadline(timeout_s)
    blocks: list[bytes] = []
    digests: list[bytes] = []
    for start in range(0, lane_count, block_slots):
        check = check_block(parameters.form.written_bytes(min(block_slots, lane_count - start)))
        received = roster.receive_digested(party, leg.name("block"), MaskedBlockMessage, check, deadline.left_s)
        if received is None:
            return None
        block, digest = received
        blocks.append(block.written)
        digests.append(digest)
    return blocks, digests


def read_announced(
    roster: Roster,
    leg: Leg,
    parameters: LatticeParameters,
    party: str,
    message: UploadMessage,
    timeout_s: float | None,
) -> list[bytes]:
    """The blocks of a further sum's upload: the announced one, or those that follow; none where the party drops out."""
    if message.block:
        return [message.block]
    received = receive_blocks(roster, leg, parameters, party, message.lane_count, timeout_s)
    return [] if received is None else received[0]


def add_upload(roster: Roster, leg: Leg, party: str, blocks: list[bytes], accumulator: Accumulator) -> None:
    """Add the blocks of one upload, if there are any; a party whose blocks cannot be added is given up."""
    if not blocks:
        return
    try:
        accumulator.add(blocks)
    except InputError as error:
        roster.expel(party, f"in {leg.step}: {error}")
