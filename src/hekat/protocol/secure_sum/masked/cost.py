"""The bytes of one sum under protection `lattice`, message by message; no party drops out, and it opens at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from hekat.protocol.secure_sum.cost.packing import Packing, packing_in_chunks
from hekat.protocol.secure_sum.cost.recorded_sums import SumShape
from hekat.protocol.secure_sum.cost.sent_message import Sent, message_bytes
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearForm, clear_block_sizes
from hekat.protocol.secure_sum.masked.group.announced_block import announced_bytes
from hekat.protocol.secure_sum.masked.group.group_secret import shares_secrets
from hekat.protocol.secure_sum.masked.group.sum_form import SumForm, choose_form, is_dealt_ahead
from hekat.protocol.secure_sum.masked.leg import AUTHORITY_STEP, Leg, begin_step, further_step
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    CheckedMessage,
    ClearBlockMessage,
    ClearSumBlockMessage,
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
from hekat.protocol.secure_sum.masked.slot_stream import SlotStream, block_slots_of
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.scheme.lattice import SETS, LatticeParameters

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


def slots_of(settings: SumSettings, shape: SumShape) -> int:
    """Slots that a party masks."""
    return stream_of(settings, shape).slot_count - shape.clear_count


def masked_packing(settings: SumSettings, shape: SumShape, uploader_count: int) -> Packing:
    """How the sum's slots fill chunks."""
    form = parameters_of(settings, shape, uploader_count).form
    return packing_in_chunks(form, slots_of(settings, shape))


def parameters_of(settings: SumSettings, shape: SumShape, uploader_count: int) -> LatticeParameters:
    """The sum's parameter set."""
    return parameters_of_sum(settings, shape.value_bits, uploader_count, slots_of(settings, shape))


def dealt_by(scheme: OpeningScheme, dealer: str, parameters: LatticeParameters) -> Dealt:
    """What a party deals of a secret that is never used."""
    return scheme.deal(UploadContext(bytes(32), 0, "cost", parameters.name), dealer, parameters, scheme.draw_keys())


class SecretsSoFar:
    """What the sums of a run leave to the ones after them: numbers that are taken, and secrets of the group at hand."""

    def __init__(self, settings: SumSettings, next_number: int = 0) -> None:
        self._settings, self._next_number = settings, next_number
        self._last, self._is_further = "", False
        self._held: dict[str, int] = {}

    def skip(self, uploads: int) -> None:
        """So many sums of groups of their own go by."""
        self._next_number += uploads

    def take(self, shape: SumShape, uploader_count: int) -> tuple[int, tuple[LatticeParameters, ...]]:
        """The upload number of the run's next sum, and the sets whose secrets its group has."""
        step, last, self._last = shape.step, self._last, shape.step
        was_further, self._is_further = self._is_further, False
        held: tuple[LatticeParameters, ...] = ()
        if shares_secrets(self._settings):
            if group_of(step) != group_of(last):
                self._held = {}
            if was_further or not is_dealt_ahead(last, step):
                held = tuple(SETS[name] for name in self._held)
            name = form_of(self._settings, shape, uploader_count, held).parameters.name
            if SETS[name] in held:
                self._is_further = True
                return self._held[name], held
            self._held[name] = self._next_number
        self._next_number += 1
        return self._next_number - 1, held


def form_of(
    settings: SumSettings, shape: SumShape, uploader_count: int, held: Sequence[LatticeParameters] = ()
) -> SumForm:
    """The sum's set and bits."""

    def slots_with(bits: int) -> int:
        return slots_of(settings, replace(shape, value_bits=bits))

    return choose_form(settings, shape.value_bits, uploader_count, slots_with, held, recodes=shape.recodes)


@dataclass(frozen=True)
class _Size:
    """Slots that a party masks, values that it sends in the clear, and the bits of a value."""

    slot_count: int
    clear_count: int
    value_bits: int


def masked_messages(
    settings: SumSettings,
    shape: SumShape,
    uploaders: Sequence[str],
    upload_number: int,
    held: Sequence[LatticeParameters] = (),
) -> Iterator[Sent]:
    """Every message of one sum; `held`: sets whose secrets its group has."""
    form = form_of(settings, shape, len(uploaders), held)
    parameters = form.parameters
    scheme = make_opening_scheme(
        settings, bytes(32) if settings.opening == "shared" else b"", members_for_sizes(settings)
    )
    leg = Leg(shape.step, upload_number, settings.parties)
    size = _Size(slots_of(settings, replace(shape, value_bits=form.bits)), shape.clear_count, form.bits)
    dealt = dealt_by(scheme, uploaders[0], parameters)
    if parameters in held:
        yield from _further_uploads(settings, leg, parameters, uploaders, size)
        yield from _clear_blocks(settings, leg, uploaders, size)
        yield from _sum(settings, leg, parameters, size, len(uploaders))
        yield from _clear_sum(settings, leg, size, len(uploaders))
        return
    if held:
        yield from _announcements(settings, leg, parameters, uploaders, size, further_step(leg.step))
    yield from _begin(settings, leg)
    yield from _shares(settings, scheme, leg, parameters, uploaders, dealt)
    yield from _announcements(settings, leg, parameters, uploaders, size, leg.name("upload"))
    yield from _uploads(settings, leg, parameters, uploaders, size, dealt)
    yield from _clear_blocks(settings, leg, uploaders, size)
    # A histogram of exponents comes just before its round's sum.
    then = shape.step.rpartition("/")[0]
    then = then if is_dealt_ahead(shape.step, then) else ""
    yield from _included(settings, leg, uploaders, dealt, then)
    yield from _release(settings, scheme, leg, parameters)
    if settings.check_sum:
        yield from _parts(settings, leg, parameters, uploaders)
    yield from _releases(settings, scheme, leg, parameters)
    yield from _sum(settings, leg, parameters, size, len(uploaders))
    yield from _clear_sum(settings, leg, size, len(uploaders))
    yield from _outcome(settings, leg)


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


def _announcements(
    settings: SumSettings,
    leg: Leg,
    parameters: LatticeParameters,
    uploaders: Sequence[str],
    size: _Size,
    step: str,
    block_bytes: int = 0,
) -> Iterator[Sent]:
    announced = message_bytes(
        UploadMessage(leg.step, parameters.name, size.slot_count, _DIGEST, b"", size.clear_count), block_bytes
    )
    for party in uploaders:
        yield Sent(party, settings.aggregator, step, announced)


def _further_uploads(
    settings: SumSettings, leg: Leg, parameters: LatticeParameters, uploaders: Sequence[str], size: _Size
) -> Iterator[Sent]:
    """Uploads under the secrets that a group has."""
    announced = announced_bytes(parameters, size.slot_count, len(uploaders))
    step = further_step(leg.step)
    yield from _announcements(settings, leg, parameters, uploaders, size, step, announced)
    if not announced:
        yield from _block_messages(settings, leg, parameters, uploaders, size)


def _block_messages(
    settings: SumSettings, leg: Leg, parameters: LatticeParameters, uploaders: Sequence[str], size: _Size
) -> Iterator[Sent]:
    form = parameters.form
    for party in uploaders:
        for count in _blocks(size.slot_count, block_slots_of(parameters)):
            written = _block_bytes(MaskedBlockMessage, form.written_bytes(count))
            yield Sent(party, settings.aggregator, leg.name("block"), written)


def _uploads(
    settings: SumSettings,
    leg: Leg,
    parameters: LatticeParameters,
    uploaders: Sequence[str],
    size: _Size,
    dealt: Dealt,
) -> Iterator[Sent]:
    statement = message_bytes(StatementMessage(_DIGEST, dealt.salt, _SIGNATURE))
    yield from _block_messages(settings, leg, parameters, uploaders, size)
    for party in uploaders:
        yield Sent(party, settings.aggregator, leg.name("statement"), statement)


def _included(settings: SumSettings, leg: Leg, uploaders: Sequence[str], dealt: Dealt, then: str) -> Iterator[Sent]:
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
        yield Sent(settings.aggregator, role, leg.name("included"), included)


def _release(settings: SumSettings, scheme: OpeningScheme, leg: Leg, parameters: LatticeParameters) -> Iterator[Sent]:
    if not scheme.members:
        return
    released = message_bytes(ReleasedMessage(_DIGEST, _sealed_release(scheme, parameters), _SIGNATURE))
    for member in scheme.members:
        yield Sent(member, settings.aggregator, leg.name("released"), released)


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


def _releases(settings: SumSettings, scheme: OpeningScheme, leg: Leg, parameters: LatticeParameters) -> Iterator[Sent]:
    """What members released, as all parties are told."""
    releases = dict.fromkeys(scheme.members, _sealed_release(scheme, parameters))
    begin = message_bytes(SumBeginMessage(releases, dict.fromkeys(scheme.members, _SIGNATURE)))
    for party in settings.parties:
        yield Sent(settings.aggregator, party, leg.name("sum"), begin)


def _sum(
    settings: SumSettings, leg: Leg, parameters: LatticeParameters, size: _Size, addend_count: int
) -> Iterator[Sent]:
    hub, form = settings.aggregator, parameters.form
    bits = whole_bits(form, addend_count)
    for party in settings.parties:
        for count in _blocks(size.slot_count, block_slots_of(parameters)):
            if settings.check_sum:
                written = whole_bytes(form.field_count(count), bits)
                yield Sent(hub, party, leg.name("whole-block"), _block_bytes(WholeSumBlockMessage, written))
                continue
            yield Sent(hub, party, leg.name("sum-block"), _block_bytes(SumBlockMessage, form.written_sum_bytes(count)))


def _clear_blocks(settings: SumSettings, leg: Leg, uploaders: Sequence[str], size: _Size) -> Iterator[Sent]:
    """What a mask leaves in the clear of an upload."""
    level_bytes = ClearForm(size.value_bits).level_bytes
    for party in uploaders:
        for count in clear_block_sizes(size.clear_count):
            written = _block_bytes(ClearBlockMessage, level_bytes * count)
            yield Sent(party, settings.aggregator, leg.name("clear-block"), written)


def _clear_sum(settings: SumSettings, leg: Leg, size: _Size, addend_count: int) -> Iterator[Sent]:
    """The sums of it."""
    form = ClearForm(size.value_bits)
    for party in settings.parties:
        for count in clear_block_sizes(size.clear_count):
            written = _block_bytes(ClearSumBlockMessage, form.sum_bytes(count, addend_count))
            yield Sent(settings.aggregator, party, leg.name("clear-sum-block"), written)


def _outcome(settings: SumSettings, leg: Leg) -> Iterator[Sent]:
    opened = message_bytes(OpenedMessage(opened=True, wrong_members=[]))
    outcome = message_bytes(OutcomeMessage(stands=True))
    for party in settings.parties:
        yield Sent(party, settings.aggregator, leg.name("opened"), opened)
        yield Sent(settings.aggregator, party, leg.name("outcome"), outcome)


def _sealed_release(scheme: OpeningScheme, parameters: LatticeParameters) -> bytes:
    return bytes(scheme.release_bytes(parameters.form.ring.degree) + SEAL_BYTES)


def _blocks(slot_count: int, block_slots: int) -> Iterator[int]:
    return (min(block_slots, slot_count - start) for start in range(0, slot_count, block_slots))


@cache
def _block_bytes(
    message_type: type[MaskedBlockMessage]
    | type[ClearBlockMessage]
    | type[SumBlockMessage]
    | type[WholeSumBlockMessage]
    | type[ClearSumBlockMessage],
    content_bytes: int,
) -> int:
    return message_bytes(message_type(b""), content_bytes)
