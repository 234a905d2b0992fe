"""Whether the block of an upload goes with the announcement of the upload, in a further sum of a group."""

from __future__ import annotations

from hekat.protocol.secure_sum.masked.leg import further_step
from hekat.protocol.secure_sum.masked.messages import UploadMessage
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.scheme.lattice import LatticeParameters

# The aggregator holds the announcements of all parties before it adds anything.
MOST_BYTES = 16 << 20


def announced_bytes(parameters: LatticeParameters, slot_count: int, uploader_count: int) -> int:
    """Bytes of the block in each announcement; 0 where blocks follow it: uploads of several, or large ones of many.

    All parties and the aggregator know it from public sizes.
    """
    size = parameters.form.written_bytes(slot_count)
    is_one_block = slot_count <= block_slots_of(parameters)
    return size if is_one_block and size * uploader_count <= MOST_BYTES else 0


def counted_step(step: str, message: object) -> str:
    """The step with which a party counts the bytes of a further sum's announcement: of its own sum, while `step` is one
    of the whole group. "" for any other message."""
    if isinstance(message, UploadMessage) and step == further_step(message.step):
        return f"{message.step}/further/upload"
    return ""
