"""The bytes of one round under each protection, message by message, known from the settings before a run.

Every message is made here with contents of the right length and measured by the code that writes it, so that a changed
message changes the figure. Protection `lattice` is counted for a round in which no party drops out and every
sum opens at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hekat.channel.sealed_size import sealed_bytes
from hekat.codec import Layout, make_layout
from hekat.codec.counters import plain_counters
from hekat.protocol.secure_sum.agreement.messages import ClipMessage, RangeMessage, RoundAgreedMessage, RoundEndMessage
from hekat.protocol.secure_sum.cost.packing import Packing, packing_in_layout
from hekat.protocol.secure_sum.cost.recorded_sums import SumShape
from hekat.protocol.secure_sum.cost.sent_message import Sent, message_bytes
from hekat.protocol.secure_sum.masked.cost import masked_messages, masked_packing
from hekat.protocol.secure_sum.paillier.messages import SumMessage, UpdateMessage
from hekat.protocol.secure_sum.plain.messages import PlainMeanMessage, PlainUpdateMessage
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.update_codec import UpdateCodec
from hekat.scheme.lattice import LatticeParameters
from hekat.scheme.paillier.keys.parameters import plaintext_bits_of
from hekat.wire.body import pack_body, packed_bytes_length
from hekat.wire.paillier import written_ciphertexts_bytes

_DIGEST = bytes(32)


@dataclass(frozen=True)
class RoleBytes:
    """Sealed bytes and messages of one role; `waits`: the number of steps in which it waits for a message."""

    sent_bytes: int = 0
    received_bytes: int = 0
    sent_count: int = 0
    received_count: int = 0
    waits: int = 0


def messages_of_sum(
    settings: SumSettings,
    shape: SumShape,
    uploaders: Sequence[str],
    upload_number: int,
    held: Sequence[LatticeParameters] = (),
) -> Iterator[Sent]:
    """Every message of one sum, with `uploaders` the parties that train.

    Under `lattice` by its `upload_number`, and sets whose secrets are `held` for it (`SecretsSoFar.take` tells both).
    """
    hub = settings.aggregator
    if shape.is_fitted:
        yield from _fitting_messages(settings, shape, uploaders)
    if settings.protection == "lattice":
        yield from masked_messages(settings, shape, uploaders, upload_number, held)
        return
    if settings.protection == "paillier":
        up, down = _paillier_bytes(settings, shape, len(uploaders))
    else:
        up, down = _plain_bytes(settings, shape, len(uploaders))
    for party in uploaders:
        yield Sent(party, hub, f"{shape.step}/update", up)
    for party in settings.parties:
        yield Sent(hub, party, f"{shape.step}/sum", down)


def messages_of_round_end(settings: SumSettings, step: str) -> Iterator[Sent]:
    """The comparison of models and the agreement to go on."""
    end = message_bytes(RoundEndMessage(model_digest=_DIGEST, finished=False))
    agreed = message_bytes(RoundAgreedMessage(party_count=len(settings.parties)))
    for party in settings.parties:
        yield Sent(party, settings.aggregator, f"{step}/end", end)
        yield Sent(settings.aggregator, party, f"{step}/agreed", agreed)


def bytes_by_role(
    messages: Iterable[Sent], roles: Sequence[str], *, run_id: str, protocol: str
) -> dict[str, RoleBytes]:
    """What each role sends and receives, sealed; names of run and protocol stand in every seal."""
    sent, received = {role: [0, 0] for role in roles}, {role: [0, 0] for role in roles}
    steps: dict[str, set[str]] = {role: set() for role in roles}
    for one in messages:
        size = sealed_bytes(
            one.payload_bytes,
            run_id=run_id,
            protocol=protocol,
            step=one.step,
            sender=one.sender,
            receiver=one.receiver,
        )
        for total in (sent[one.sender], received[one.receiver]):
            total[0] += size
            total[1] += 1
        steps[one.receiver].add(one.step)
    return {
        role: RoleBytes(sent[role][0], received[role][0], sent[role][1], received[role][1], len(steps[role]))
        for role in roles
    }


def packing_of(settings: SumSettings, shape: SumShape, uploader_count: int) -> Packing | None:
    """How the sum fills its ciphertexts (FLBooster, ICDE 2023, Eqs. 11 and 12); None where nothing is packed."""
    if settings.protection == "lattice":
        return masked_packing(settings, shape, uploader_count)
    if settings.protection == "none":
        return None
    layout = layout_of(settings, shape.value_bits, uploader_count)
    slot_count = slots_of(settings, shape, layout)
    return packing_in_layout(layout, slot_count, settings.key_bits)


def layout_of(settings: SumSettings, value_bits: int, uploader_count: int) -> Layout:
    """The slots of protection `paillier`."""
    return make_layout(
        settings.codec.layout,
        value_bits=value_bits,
        max_addends=uploader_count,
        plaintext_bits=plaintext_bits_of(settings.key_bits),
    )


def slots_of(settings: SumSettings, shape: SumShape, layout: Layout) -> int:
    """Slots of one contribution under protection `paillier`."""
    return UpdateCodec(layout, settings.codec.rounding, settings.weight_max).slot_count(shape.like, shape.counters)


def _fitting_messages(settings: SumSettings, shape: SumShape, uploaders: Sequence[str]) -> Iterator[Sent]:
    count = len(shape.shapes)
    zeros = np.zeros(count)
    ranges = message_bytes(RangeMessage(minimum=zeros, maximum=zeros, sizes=np.zeros(count, dtype=np.int64)))
    for party in uploaders:
        yield Sent(party, settings.aggregator, f"{shape.step}/range", ranges)
    for party in settings.parties:
        yield Sent(settings.aggregator, party, f"{shape.step}/clip", message_bytes(ClipMessage(alpha=zeros)))


def _paillier_bytes(settings: SumSettings, shape: SumShape, uploader_count: int) -> tuple[int, int]:
    layout = layout_of(settings, shape.value_bits, uploader_count)
    count = layout.plaintext_count(slots_of(settings, shape, layout))
    written = written_ciphertexts_bytes(settings.key_bits, count)
    return (
        message_bytes(UpdateMessage(ciphertexts=b""), written),
        message_bytes(SumMessage(ciphertexts=b"", addend_count=uploader_count), written),
    )


def _plain_bytes(settings: SumSettings, shape: SumShape, uploader_count: int) -> tuple[int, int]:
    """Weights are counted at their bound: a smaller number can be up to 8 bytes shorter."""
    nothing, counters = np.zeros(0), plain_counters([0] * len(shape.counters))
    weight = settings.weight_max
    count = shape.value_count
    # The array says its length beside its values.
    grown = packed_bytes_length(8 * count) - packed_bytes_length(0) + len(pack_body(count)) - len(pack_body(0))
    return (
        message_bytes(PlainUpdateMessage(values=nothing, weight=weight, counters=counters, block_count=0)) + grown,
        message_bytes(PlainMeanMessage(values=nothing, weight_sum=weight * uploader_count, counters=counters)) + grown,
    )
