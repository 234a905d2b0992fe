"""A party's side of protection `paillier`: encode, encrypt under the shared key, open the sum, decode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hekat.codec import Layout, make_layout
from hekat.errors import WireCorruptError
from hekat.ledger import RecordedChannel
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.secure_sum.aggregation import Aggregate, SumRequest, refuse_mask
from hekat.protocol.secure_sum.cost.packing import Packing, packing_in_layout
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.paillier.messages import SumMessage, UpdateMessage
from hekat.protocol.secure_sum.participation import NOT_SAMPLED
from hekat.protocol.secure_sum.party_side import PartySide
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import Tensors, gather, hand_out
from hekat.protocol.secure_sum.update_codec import UpdateCodec, range_factor_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import Ciphertexts, PrivateKey, decrypt, encrypt
from hekat.wire import from_bytes, to_bytes


class PaillierAggregation(PartySide):
    """Sums under one Paillier key that all parties hold and the aggregator does not."""

    clips = True

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        key: PrivateKey,
        stopwatch: Stopwatch,
        exactness_check: ExactnessCheck | None = None,
        on_packing: Callable[[Packing], None] = lambda packing: None,
    ) -> None:
        super().__init__(channel, settings)
        self._key, self._stopwatch = key, stopwatch
        self._exactness_check, self._on_packing = exactness_check, on_packing
        self._codecs: dict[tuple[int, int], UpdateCodec] = {}

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        refuse_mask(request, self._settings.protection)
        self.settle()
        step = request.step
        parties = self._participation.parties_in(step)
        codec = self._codec_for(request.value_bits or self._settings.codec.value_bits, len(parties))
        tensors = gather(request.tensors)
        slot_count = codec.slot_count(tensors, request.counters)
        if tensors:
            self._on_packing(packing_in_layout(codec.layout, slot_count, self._key.public.bits))
        if self.takes_part(step):
            self._upload(codec, request, tensors)
        else:
            self._channel.ledger.note(step, NOT_SAMPLED, "public")
        total = self._receive_sum(step, codec.layout, slot_count, len(parties))
        with self._stopwatch.measure("decode"):
            aggregate = codec.decode(total, tensors, request.bounds, request.counters, len(parties))
        if self._exactness_check is not None and tensors:
            allowed = codec.mean_error_bounds(tensors, request.bounds, len(parties), aggregate.weight_sum)
            self._exactness_check.check(step, aggregate.mean, allowed, parties)
        return replace(aggregate, mean=hand_out(aggregate.mean, request.tensors), parties=tuple(parties))

    def as_sent(self, request: SumRequest) -> Tensors:
        party_count = len(self._participation.parties_in(request.step))
        codec = self._codec_for(self._settings.codec.value_bits, party_count)
        return codec.as_sent(gather(request.tensors), request.bounds, request.weight)

    def _upload(self, codec: UpdateCodec, request: SumRequest, tensors: Tensors) -> None:
        step, weight = request.step, request.weight
        with self._stopwatch.measure("encode"):
            clipped = codec.clip_scaled(tensors, request.bounds, weight)
            plain = codec.encode(clipped, request.bounds, weight, request.counters)
        if self._exactness_check is not None and tensors:
            unscaled = {name: values * (self._settings.weight_max / weight) for name, values in clipped.items()}
            self._exactness_check.deposit(step, self._channel.party, tensors, unscaled, weight)
        with self._stopwatch.measure("encrypt"):
            update = UpdateMessage(ciphertexts=to_bytes(encrypt(self._key, plain)))
        self._channel.send(self._settings.aggregator, f"{step}/update", update)

    def _receive_sum(self, step: str, layout: Layout, slot_count: int, addend_count: int) -> PackedPlaintext:
        count = layout.plaintext_count(slot_count)
        answer = self._channel.receive(self._settings.aggregator, f"{step}/sum", SumMessage)
        with self._stopwatch.measure("decrypt"):
            ciphertexts = from_bytes(answer.ciphertexts, Ciphertexts, public_key=self._key.public)
            if ciphertexts.shape != (count,) or answer.addend_count != addend_count:
                raise WireCorruptError(
                    f"the aggregator's answer to {step} is not the sum that was asked for",
                    expected=f"{count} ciphertexts of {addend_count} parties",
                    got=f"shape {ciphertexts.shape} of {answer.addend_count}",
                    cure="find out who altered it: the aggregator's ledger holds its digest",
                )
            return decrypt(self._key, ciphertexts, bound=layout.sum_bound)

    def _codec_for(self, value_bits: int, addend_count: int) -> UpdateCodec:
        kind = value_bits, addend_count
        if kind not in self._codecs:
            settings = self._settings
            layout = make_layout(
                settings.codec.layout,
                value_bits=value_bits,
                max_addends=addend_count,
                plaintext_bits=self._key.public.plaintext_space.bits,
            )
            self._codecs[kind] = UpdateCodec(
                layout,
                settings.codec.rounding,
                settings.weight_max,
                range_factor=range_factor_of(settings.codec, addend_count),
            )
        return self._codecs[kind]
