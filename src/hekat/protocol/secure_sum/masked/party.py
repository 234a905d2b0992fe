"""A party's side of protection `lattice`: mask the update chunk by chunk, have the sum opened, decode it.

One sum, as the party sees it (docs/spec/committee.md numbers the same steps):

    1. the aggregator begins an upload: its number, its participants
    2. make a fresh secret, deal it to the members that open sums; a member checks what it was dealt
    3. mask the update block by block -> aggregator; sign what was sent
       (a party outside of the round's sample leaves 2 and 3 out, but for the member's check)
    4. the aggregator states whose updates are included; a member releases its sum of shares for that set, to parties
    5. open the sum of the secrets, unmask the sum block by block, decode
       if the releases do not fit together, the party does not look at the sum; if they do and it does not open, the
       run ends
    6. the sum stands, or the update is masked anew under another number
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from hekat.channel.canonical import encode_fields, encode_number
from hekat.codec import clip
from hekat.errors import BoundError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.aggregation import Aggregate, SumRequest, scale_by_weight
from hekat.protocol.secure_sum.cost.packing import Packing, packing_in_chunks
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.checked_sum import SumChecking, WholeSum
from hekat.protocol.secure_sum.masked.leg import MAX_UPLOADS, Leg, begin_step, check_participants
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    SumBeginMessage,
    SumBlockMessage,
    TurnMessage,
    WholeSumBlockMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, upload_digest_of
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS, SlotStream, block_count_of, levels_sent
from hekat.protocol.secure_sum.masked.upload_state import take_upload_number
from hekat.protocol.secure_sum.participation import NOT_SAMPLED
from hekat.protocol.secure_sum.party_side import PartySide
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import Tensors, arrays_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import (
    Decryptor,
    Encryptor,
    LatticeParameters,
    SecretSum,
    block_values,
    choose_parameters,
    public_key,
)
from hekat.state import Counter as DurableCounter

T = TypeVar("T")

_AGREEMENT_LABEL = b"hekat/lattice/agreement/2"


class MaskedAggregation(PartySide):
    """Sums of masked updates that only the sum of this upload's secrets opens."""

    clips = True

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        opening: PartyOpening,
        uploads: DurableCounter,
        stopwatch: Stopwatch,
        *,
        digest_key: bytes,
        model_digest: bytes = b"",
        aggregator_timeout_s: float | None = None,
        exactness_check: ExactnessCheck | None = None,
        on_packing: Callable[[Packing], None] = lambda packing: None,
        before: Callable[[str, str], None] = lambda step, part: None,
    ) -> None:
        """`uploads` gives each upload number once in this party's life; `digest_key` is all parties' alone.

        `model_digest`: of the model that a resumed run goes on from. `aggregator_timeout_s`: how long to wait for the
        aggregator, which itself may wait for each of the parties. `before(step, part)` is called ahead of each part of
        an upload ("deal", "upload", "sign", or "sit-out" in place of these; "release", "open"): a rehearsed drop-out
        raises there.
        """
        super().__init__(channel, settings, aggregator_timeout_s)
        self._opening, self._uploads, self._stopwatch = opening, uploads, stopwatch
        self._exactness_check, self._on_packing, self._before = exactness_check, on_packing, before
        self._digest_key, self._model_digest = digest_key, model_digest
        self._checking = SumChecking(channel, settings, stopwatch, aggregator_timeout_s) if settings.check_sum else None

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        settings, step = self._settings, request.step
        bits = request.value_bits or settings.codec.value_bits
        parameters = choose_parameters(bits, len(self._participation.parties_in(step)))
        stream = SlotStream(
            request.tensors,
            request.bounds,
            request.counters,
            value_bits=bits,
            weight_max=settings.weight_max,
            rounding=settings.codec.rounding,
        )
        if request.tensors:
            self._on_packing(packing_in_chunks(parameters.form, stream.slot_count))
        takes_part = self.takes_part(step)
        if self._exactness_check is not None and request.tensors and takes_part:
            self._deposit(self._exactness_check, request)
        agreement = self._agree(request, bits)
        stands = False
        for _ in range(MAX_UPLOADS):
            leg = self._begin(step, agreement)
            if takes_part:
                self._mask(leg, parameters, stream, request)
            else:
                self._sit_out(leg)
            stated = self._receive(leg.name("included"), IncludedMessage)
            commitment = b"" if self._checking is None else self._checking.receive_commitment(leg)
            included = self._opening.check_included(leg, parameters, stated, commitment)
            self._before(leg.step, "release")
            self._opening.release(leg, included)
            if self._checking is not None:
                self._checking.tell(leg, parameters, included)
            aggregate, failure = self._open(leg, parameters, stream, included, stated)
            stands = self._receive(leg.name("outcome"), OutcomeMessage).stands
            if stands:
                break
        if aggregate is None or not stands:
            raise failure or ProtocolError(
                f"the sum of {step} does not open",
                expected=f"one of {MAX_UPLOADS} uploads to stand at all parties",
                got="none that did, or one that stands without opening here",
                cure="the ledgers say whose releases did not fit: find out what runs there",
            )
        if self._exactness_check is not None and request.tensors:
            allowed = stream.mean_error_bounds(aggregate.party_count, aggregate.weight_sum)
            self._exactness_check.check(step, aggregate.mean, allowed, included.parties)
        return replace(aggregate, parties=tuple(included.parties))

    def as_sent(self, request: SumRequest) -> Tensors:
        codec, share = self._settings.codec, request.weight / self._settings.weight_max
        tensors, bounds = arrays_of(request.tensors), request.bounds
        if codec.rounding == "stochastic":
            return {name: clip(values * share, bounds[name])[0] / share for name, values in tensors.items()}
        return levels_sent(tensors, bounds, share, codec.value_bits)

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        self._model_digest = model_digest
        super().finish_round(step, model_digest, finished)

    def _agree(self, request: SumRequest, bits: int) -> bytes:
        """A keyed digest of all that the parties must agree on: every upload is signed with it.

        Otherwise an aggregator that told parties different bounds, or sums, could single one update out. The digest
        covers the members: no sum opens with updates of parties that know different members.
        """
        members = [member.encode() for member in self._opening.members]
        sizes = [encode_number(size) for size in (bits, len(members), len(request.bounds), len(request.counters))]
        digest = hmac.new(self._digest_key, digestmod=hashlib.sha256)
        digest.update(encode_fields(_AGREEMENT_LABEL, request.step.encode(), self._model_digest, *sizes, *members))
        # One by one, since standardising wide tables has more counters than one encoding has fields.
        for name, bound in sorted(request.bounds.items()):
            digest.update(encode_fields(name.encode(), bound.hex().encode()))
        for counter in request.counters:
            digest.update(encode_fields(counter.name.encode(), str(counter.maximum).encode()))
        return digest.digest()

    def _begin(self, step: str, agreement: bytes) -> Leg:
        begin = self._receive(begin_step(step), BeginMessage)
        if begin.step != step:
            raise ProtocolError(
                "the aggregator began another sum",
                expected=step,
                got="another step",
                cure="run the same release and job at the aggregator",
            )
        leg = Leg(step, begin.number, tuple(begin.participants), agreement)
        check_participants(leg, self._settings)
        # On disk before the first secret is made for it: no restart takes the number again.
        take_upload_number(self._uploads, leg.number)
        return leg

    def _mask(self, leg: Leg, parameters: LatticeParameters, stream: SlotStream, request: SumRequest) -> None:
        block_slots = block_values(parameters, BLOCK_SLOTS)
        with self._masking(leg, parameters, stream, block_slots) as encryptor:
            if self._checking is not None:
                self._checking.begin()
            digests: list[bytes] = []
            blocks = stream.blocks(request.tensors, request.weight, block_slots)
            left = stream.slot_count
            while left:
                with self._stopwatch.measure("encode"):
                    block = next(blocks)
                left -= block.size
                with self._stopwatch.measure("encrypt"):
                    written = encryptor.encrypt(block, last=not left)
                if self._checking is not None:
                    self._checking.keep(written, block.size)
                digests.append(self._send(leg.name("block"), MaskedBlockMessage(written)))
        self._before(leg.step, "sign")
        self._send(leg.name("statement"), self._opening.sign(leg, parameters, upload_digest_of(digests)))

    @contextmanager
    def _masking(
        self, leg: Leg, parameters: LatticeParameters, stream: SlotStream, block_slots: int
    ) -> Iterator[Encryptor]:
        """An encryptor under a fresh secret that is dealt; both are wiped, however the upload ends."""
        self._before(leg.step, "deal")
        secret = self._opening.deal(leg, parameters, stream.slot_count)
        try:
            self._opening.check_dealt(leg)
            self._before(leg.step, "upload")
            turn = self._receive(leg.name("turn"), TurnMessage)
            block_count = block_count_of(stream.slot_count, block_slots)
            if turn.block_count != block_count:
                raise ProtocolError(
                    f"the aggregator awaits another upload in {leg.step}",
                    expected=f"{block_count} blocks",
                    got=f"{turn.block_count}",
                    cure="run the same release and job at the aggregator",
                )
            encryptor = Encryptor(parameters, secret, self._public_key(leg, parameters))
        finally:
            secret.wipe()  # its shares are dealt, and the encryptor has its transform
        try:
            yield encryptor
        finally:
            encryptor.wipe()

    def _sit_out(self, leg: Leg) -> None:
        self._before(leg.step, "sit-out")
        self._channel.ledger.note(leg.name("sit-out"), NOT_SAMPLED, "public")
        self._opening.sit_out(leg)

    def _open(
        self,
        leg: Leg,
        parameters: LatticeParameters,
        stream: SlotStream,
        included: IncludedSet,
        stated: IncludedMessage,
    ) -> tuple[Aggregate | None, BoundError | ProtocolError | None]:
        """The aggregate; or None, and why the releases give no sum of secrets: then the sum is left unread.

        Raises AlteredSumError where they do and the sum does not open, already at the first time: whether it opens may
        depend on the updates. The party tells the aggregator of releases that do not fit; of an altered sum the
        aggregator learns by the end of the run alone.
        """
        self._before(leg.step, "open")
        released = self._receive(leg.name("sum"), SumBeginMessage).released
        secret_sum: SecretSum | None = None
        wrong: list[str] = []
        failure: BoundError | ProtocolError | None = None
        try:
            secret_sum, wrong = self._opening.open(leg, parameters, included, stated, released)
        except (BoundError, ProtocolError) as error:
            failure = error
        whole = None if self._checking is None else self._checking.receive_whole(leg, parameters, included)
        try:
            aggregate = self._unmask(leg, parameters, stream, secret_sum, whole)
        except BoundError as error:
            altered = self._opening.refuse_sum(leg, error)
            self._channel.ledger.note(leg.name("sum"), altered.what, "public")
            raise altered from error
        if wrong:
            self._channel.ledger.note(leg.name("sum"), f"a release that does not fit, of {', '.join(wrong)}", "public")
        if failure is not None:
            self._channel.ledger.note(leg.name("sum"), str(failure), "public")
        self._send(leg.name("opened"), OpenedMessage(opened=aggregate is not None, wrong_members=wrong))
        return aggregate, failure

    def _unmask(
        self,
        leg: Leg,
        parameters: LatticeParameters,
        stream: SlotStream,
        secret_sum: SecretSum | None,
        whole: WholeSum | None = None,
    ) -> Aggregate | None:
        """The aggregate from the sum's blocks; without the secrets' sum they are received and dropped.

        Raises BoundError where a block does not open, or the `whole` sum is not the uploads' sum, once all blocks are
        here: the time at which this party leaves does not tell which block it was.
        """
        decryptor = None if secret_sum is None else Decryptor(parameters, secret_sum, self._public_key(leg, parameters))
        reader = None if secret_sum is None else stream.reader(secret_sum.addend_count)
        failure: BoundError | None = None
        block_slots = block_values(parameters, BLOCK_SLOTS)
        for start in range(0, stream.slot_count, block_slots):
            count = min(block_slots, stream.slot_count - start)
            if whole is None:
                written = self._receive(leg.name("sum-block"), SumBlockMessage).written
            else:
                written = whole.round_block(self._receive(leg.name("whole-block"), WholeSumBlockMessage), count)
            if decryptor is None or reader is None or failure is not None:
                continue
            try:
                with self._stopwatch.measure("decrypt"):
                    sums = decryptor.decrypt(written, count, start // parameters.form.values_per_chunk)
                with self._stopwatch.measure("decode"):
                    reader.read(sums)
            except BoundError as error:
                failure = error
        if whole is not None and decryptor is not None:
            whole.check()
        if failure is not None:
            raise failure
        return None if reader is None else reader.finish()

    def _deposit(self, exactness_check: ExactnessCheck, request: SumRequest) -> None:
        """Streams are left out: the check compares values that this machine holds as arrays anyway."""
        tensors, weight, bounds = arrays_of(request.tensors), request.weight, request.bounds
        scaled = scale_by_weight(tensors, weight, self._settings.weight_max)
        back = self._settings.weight_max / weight
        clipped = {name: clip(values, bounds[name])[0] * back for name, values in scaled.items()}
        exactness_check.deposit(request.step, self._channel.party, tensors, clipped, weight)

    def _public_key(self, leg: Leg, parameters: LatticeParameters) -> bytes:
        return public_key(self._channel.session_id, leg.number, parameters)

    def _send(self, step: str, message: object) -> bytes:
        return self._channel.send(self._settings.aggregator, step, message)

    def _receive(self, step: str, message_type: type[T]) -> T:
        return self._channel.receive(self._settings.aggregator, step, message_type, timeout_s=self._timeout_s)
