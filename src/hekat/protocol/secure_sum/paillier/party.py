"""A party's side of protection `paillier`: encode, encrypt under the shared key, open the sum, decode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hekat.codec import Layout, compression_ratio, make_layout, plaintext_space_use
from hekat.errors import WireCorruptError
from hekat.ledger import RecordedChannel
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.secure_sum.aggregation import Aggregate, Counter, Tensors
from hekat.protocol.secure_sum.agree_on_bounds import agree_on_bounds
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.final_model import compare_final_models
from hekat.protocol.secure_sum.paillier.messages import SumMessage, UpdateMessage
from hekat.protocol.secure_sum.participation import NOT_SAMPLED, participation_of
from hekat.protocol.secure_sum.round_end import finish_round
from hekat.protocol.secure_sum.streamed_tensor import ScaledTensors
from hekat.protocol.secure_sum.update_codec import UpdateCodec
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import Ciphertexts, PrivateKey, decrypt, encrypt
from hekat.wire import from_bytes, to_bytes


class PaillierAggregation:
    """Sums under one Paillier key that all parties hold and the aggregator does not."""

    clips = True

    def __init__(
        self,
        channel: RecordedChannel,
        settings: HorizontalSettings,
        key: PrivateKey,
        stopwatch: Stopwatch,
        exactness_check: ExactnessCheck | None = None,
        on_packing: Callable[[Packing], None] = lambda packing: None,
    ) -> None:
        self._channel, self._settings, self._key, self._stopwatch = channel, settings, key, stopwatch
        self._exactness_check, self._on_packing = exactness_check, on_packing
        self._participation = participation_of(channel, settings)
        self._codecs: dict[tuple[int, int], UpdateCodec] = {}

    def takes_part(self, step: str) -> bool:
        return self._channel.party in self._participation.parties_in(step)

    def sum_counters(self, step: str, counters: Sequence[Counter], *, value_bits: int | None = None) -> dict[str, int]:
        return self.weighted_mean(step, {}, {}, 1, counters, value_bits=value_bits).counters

    def weighted_mean(
        self,
        step: str,
        tensors: Tensors,
        bounds: Mapping[str, float],
        weight: int,
        counters: Sequence[Counter] = (),
        *,
        value_bits: int | None = None,
    ) -> Aggregate:
        parties = self._participation.parties_in(step)
        codec = self._codec_for(value_bits or self._settings.codec.value_bits, len(parties))
        lane_count = codec.lane_count(tensors, counters)
        if tensors:
            self._describe_packing(codec.layout, lane_count)
        if self.takes_part(step):
            self._upload(step, codec, tensors, bounds, weight, counters)
        else:
            self._channel.ledger.note(step, NOT_SAMPLED, "public")
        total = self._receive_sum(step, codec.layout, lane_count, len(parties))
        with self._stopwatch.measure("decode"):
            aggregate = codec.decode(total, tensors, bounds, counters, len(parties))
        if self._exactness_check is not None and tensors:
            allowed = codec.mean_error_bounds(tensors, bounds, len(parties), aggregate.weight_sum)
            self._exactness_check.check(step, aggregate.mean, allowed, parties)
        return replace(aggregate, parties=tuple(parties))

    def as_sent(self, step: str, tensors: Tensors, bounds: Mapping[str, float], weight: int) -> Tensors:
        party_count = len(self._participation.parties_in(step))
        return self._codec_for(self._settings.codec.value_bits, party_count).as_sent(tensors, bounds, weight)

    def _upload(
        self,
        step: str,
        codec: UpdateCodec,
        tensors: Tensors,
        bounds: Mapping[str, float],
        weight: int,
        counters: Sequence[Counter],
    ) -> None:
        with self._stopwatch.measure("encode"):
            clipped = codec.clip_scaled(tensors, bounds, weight)
            plain = codec.encode(clipped, bounds, weight, counters)
        if self._exactness_check is not None and tensors:
            unscaled = {name: values * (self._settings.weight_max / weight) for name, values in clipped.items()}
            self._exactness_check.deposit(step, self._channel.party, tensors, unscaled, weight)
        with self._stopwatch.measure("encrypt"):
            update = UpdateMessage(ciphertexts=to_bytes(encrypt(self._key, plain)))
        self._channel.send(self._settings.aggregator, f"{step}/update", update)

    def _receive_sum(self, step: str, layout: Layout, lane_count: int, addend_count: int) -> PackedPlaintext:
        count = layout.plaintext_count(lane_count)
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

    def agree_on_bounds(self, step: str, scaled: ScaledTensors) -> dict[str, float]:
        takes_part = self.takes_part(step)
        return agree_on_bounds(self._channel, self._settings.aggregator, step, scaled, takes_part=takes_part)

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        finish_round(self._channel, self._settings.aggregator, step, model_digest, finished)

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        return compare_final_models(self._channel, self._settings, digest)

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
            advance = settings.codec.clipping == "daciq" and settings.codec.layout == "two_sign_bits"
            self._codecs[kind] = UpdateCodec(
                layout,
                settings.codec.rounding,
                settings.weight_max,
                range_factor=addend_count if advance else 1,
            )
        return self._codecs[kind]

    def _describe_packing(self, layout: Layout, lane_count: int) -> None:
        packing = Packing(
            lane_count=lane_count,
            lane_bits=layout.slot_bits,
            lanes_per_ciphertext=layout.slots,
            ciphertext_count=layout.plaintext_count(lane_count),
            compression_ratio=compression_ratio(lane_count, layout),
            plaintext_space_use=plaintext_space_use(lane_count, self._key.public.bits, layout),
        )
        self._on_packing(packing)
