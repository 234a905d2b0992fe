"""The bytes of one sum under protection `lattice`, message by message; no party drops out, and it opens at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from hekat.protocol.secure_sum.cost.packing import Packing, packing_in_chunks
from hekat.protocol.secure_sum.cost.recorded_sums import SumShape
from hekat.protocol.secure_sum.cost.sent_message import Sent, message_bytes
from hekat.protocol.secure_sum.masked.leg import AUTHORITY_STEP, Leg, begin_step
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    CheckedMessage,
    DealersMessage,
    DealtMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    ShareMessage,
    StatementMessage,
    SumBeginMessage,
    SumBlockMessage,
    SumCommitmentMessage,
    SumPartMessage,
    SumPartsMessage,
    UploadMessage,
    WholeSumBlockMessage,
)
from hekat.protocol.secure_sum.masked.opening.opening_scheme import Dealt, OpeningScheme
from hekat.protocol.secure_sum.masked.opening.opening_schemes import (
    make_opening_scheme,
    members_for_sizes,
    parameters_of_sum,
)
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS
from hekat.protocol.secure_sum.masked.opening.sum_check import row_count, whole_bits, whole_bytes
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext, group_of
from hekat.protocol.secure_sum.masked.release_key import SEAL_BYTES
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS, SlotStream
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.scheme.lattice import LatticeParameters, block_values

_DIGEST, _SIGNATURE = bytes(32), bytes(64)


def stream_of(settings: SumSettings, shape: SumShape) -> SlotStream:
    """The sum's slots; bounds of 1 stand for the round's."""
    return SlotStream(
        shape.like,
        dict.fromkeys(shape.shapes, 1.0),
        shape.counters,
        value_bits=shape.value_bits,
        weight_max=settings.weight_max,
        rounding=settings.codec.rounding,
    )


def masked_packing(settings: SumSettings, shape: SumShape, uploader_count: int) -> Packing:
    """How the sum's slots fill chunks."""
    form = parameters_of(settings, shape, uploader_count).form
    return packing_in_chunks(form, stream_of(settings, shape).slot_count)


def parameters_of(settings: SumSettings, shape: SumShape, uploader_count: int) -> LatticeParameters:
    """The sum's parameter set."""
    return parameters_of_sum(settings, shape.value_bits, uploader_count, stream_of(settings, shape).slot_count)


def dealt_by(scheme: OpeningScheme, dealer: str, parameters: LatticeParameters) -> Dealt:
    """What a party deals of a secret that is never used."""
    return scheme.deal(UploadContext(bytes(32), 0, "cost", parameters.name), dealer, parameters, scheme.draw_keys())


def masked_messages(
    settings: SumSettings, shape: SumShape, uploaders: Sequence[str], upload_number: int
) -> Iterator[Sent]:
    """Every message of one sum."""
    parameters = parameters_of(settings, shape, len(uploaders))
    scheme = make_opening_scheme(
        settings, bytes(32) if settings.opening == "shared" else b"", members_for_sizes(settings)
    )
    leg = Leg(shape.step, upload_number, settings.parties)
    slot_count = stream_of(settings, shape).slot_count
    dealt = dealt_by(scheme, uploaders[0], parameters)
    yield from _begin(settings, leg)
    yield from _shares(settings, scheme, leg, parameters, uploaders, dealt)
    yield from _uploads(settings, leg, parameters, uploaders, slot_count, dealt)
    # A histogram of exponents comes just before its round's sum.
    then = group_of(shape.step) if shape.step.endswith("/exponents") else ""
    yield from _release(settings, scheme, leg, parameters, uploaders, dealt, then)
    if settings.check_sum:
        yield from _parts(settings, leg, parameters, uploaders)
    yield from _sum(settings, scheme, leg, parameters, slot_count, len(uploaders))


def _begin(settings: SumSettings, leg: Leg) -> Iterator[Sent]:
    begin = message_bytes(BeginMessage(leg.step, leg.number, list(leg.participants)))
    for party in settings.parties:
        yield Sent(settings.aggregator, party, begin_step(leg.step), begin)
    if settings.authority is not None:
        yield Sent(settings.aggregator, settings.authority, AUTHORITY_STEP, begin)


def _shares(
    settings: SumSettings,
    scheme: OpeningScheme,
    leg: Leg,
    parameters: LatticeParameters,
    uploaders: Sequence[str],
    dealt: Dealt,
) -> Iterator[Sent]:
    hub, digests = settings.aggregator, list(dealt.digests)
    told = message_bytes(DealtMessage(parameters.name, digests, _SIGNATURE, dealt.offset))
    for party in uploaders:
        if settings.authority is not None:
            share = message_bytes(ShareMessage(dealt.messages[settings.authority]))
            yield Sent(party, settings.authority, leg.name("share"), share)
        yield Sent(party, hub, leg.name("dealt"), told)
    lists, signatures = dict.fromkeys(uploaders, digests), dict.fromkeys(uploaders, _SIGNATURE)
    offsets = dict.fromkeys(uploaders, dealt.offset)
    dealers = message_bytes(DealersMessage(parameters.name, lists, signatures, offsets))
    values = dict.fromkeys(uploaders, np.zeros(CHECKS, dtype=np.uint64))
    checked = message_bytes(CheckedMessage(_DIGEST, {}, values))
    for member in scheme.members:
        yield Sent(hub, member, leg.name("dealers"), dealers)
        yield Sent(member, hub, leg.name("checked"), checked)


def _uploads(
    settings: SumSettings,
    leg: Leg,
    parameters: LatticeParameters,
    uploaders: Sequence[str],
    slot_count: int,
    dealt: Dealt,
) -> Iterator[Sent]:
    hub, form = settings.aggregator, parameters.form
    block_slots = block_values(parameters, BLOCK_SLOTS)
    announced = message_bytes(UploadMessage(parameters.name, slot_count, _DIGEST))
    statement = message_bytes(StatementMessage(_DIGEST, dealt.salt, _SIGNATURE))
    for party in uploaders:
        yield Sent(party, hub, leg.name("upload"), announced)
        for count in _blocks(slot_count, block_slots):
            yield Sent(party, hub, leg.name("block"), _block_bytes(MaskedBlockMessage, form.written_bytes(count)))
        yield Sent(party, hub, leg.name("statement"), statement)


def _release(
    settings: SumSettings,
    scheme: OpeningScheme,
    leg: Leg,
    parameters: LatticeParameters,
    uploaders: Sequence[str],
    dealt: Dealt,
    then: str,
) -> Iterator[Sent]:
    hub = settings.aggregator
    included = message_bytes(
        IncludedMessage(
            agreement=_DIGEST,
            next_step=then,
            upload_digests=dict.fromkeys(uploaders, _DIGEST),
            share_digests={party: list(dealt.digests) for party in uploaders},
            salts=dict.fromkeys(uploaders, dealt.salt),
            signatures=dict.fromkeys(uploaders, _SIGNATURE),
        )
    )
    authority = () if settings.authority is None else (settings.authority,)
    for role in (*settings.parties, *authority):
        yield Sent(hub, role, leg.name("included"), included)
    if not scheme.members:
        return
    released = message_bytes(ReleasedMessage(_DIGEST, _sealed_release(scheme, parameters), _SIGNATURE))
    for member in scheme.members:
        yield Sent(member, hub, leg.name("released"), released)


def _parts(settings: SumSettings, leg: Leg, parameters: LatticeParameters, uploaders: Sequence[str]) -> Iterator[Sent]:
    """The messages that a checked sum needs besides the sum."""
    hub = settings.aggregator
    products = np.zeros(row_count(parameters.form, len(uploaders)), dtype=np.uint64)
    part = message_bytes(SumPartMessage(products, _SIGNATURE))
    parts = SumPartsMessage(dict.fromkeys(uploaders, products), dict.fromkeys(uploaders, _SIGNATURE))
    committed, told = message_bytes(SumCommitmentMessage(_DIGEST)), message_bytes(parts)
    authority = () if settings.authority is None else (settings.authority,)
    for role in (*settings.parties, *authority):
        yield Sent(hub, role, leg.name("committed"), committed)
    for party in uploaders:
        yield Sent(party, hub, leg.name("part"), part)
    for party in settings.parties:
        yield Sent(hub, party, leg.name("parts"), told)


def _sum(
    settings: SumSettings,
    scheme: OpeningScheme,
    leg: Leg,
    parameters: LatticeParameters,
    slot_count: int,
    addend_count: int,
) -> Iterator[Sent]:
    hub, form = settings.aggregator, parameters.form
    bits = whole_bits(form, addend_count)
    releases = dict.fromkeys(scheme.members, _sealed_release(scheme, parameters))
    begin = message_bytes(SumBeginMessage(releases, dict.fromkeys(scheme.members, _SIGNATURE)))
    opened = message_bytes(OpenedMessage(opened=True, wrong_members=[]))
    outcome = message_bytes(OutcomeMessage(stands=True))
    for party in settings.parties:
        yield Sent(hub, party, leg.name("sum"), begin)
        for count in _blocks(slot_count, block_values(parameters, BLOCK_SLOTS)):
            if settings.check_sum:
                size = whole_bytes(form.field_count(count), bits)
                yield Sent(hub, party, leg.name("whole-block"), _block_bytes(WholeSumBlockMessage, size))
                continue
            yield Sent(hub, party, leg.name("sum-block"), _block_bytes(SumBlockMessage, form.written_sum_bytes(count)))
        yield Sent(party, hub, leg.name("opened"), opened)
        yield Sent(hub, party, leg.name("outcome"), outcome)


def _sealed_release(scheme: OpeningScheme, parameters: LatticeParameters) -> bytes:
    return bytes(scheme.release_bytes(parameters.form.ring.degree) + SEAL_BYTES)


def _blocks(slot_count: int, block_slots: int) -> Iterator[int]:
    return (min(block_slots, slot_count - start) for start in range(0, slot_count, block_slots))


@cache
def _block_bytes(
    message_type: type[MaskedBlockMessage] | type[SumBlockMessage] | type[WholeSumBlockMessage], content_bytes: int
) -> int:
    return message_bytes(message_type(b""), content_bytes)
