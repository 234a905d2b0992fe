"""A party's side of protection `lattice`: mask the update chunk by chunk, have the sum opened, decode it.

One sum, as the party sees it (docs/spec/committee.md numbers the same steps):

    1. the aggregator begins an upload: its number, its participants
    2. make a fresh secret, deal it to the members that open sums; a member checks what it was dealt
    3. mask the update block by block -> aggregator; sign what was sent
       (a party outside of the round's sample leaves 2 and 3 out, but for the member's check)
    4. the aggregator states whose updates are included; a member releases its sum of shares for that set, sealed to
       all parties; the aggregator passes it on
    5. open the sum of the secrets, unmask the sum block by block, decode
       if the releases do not fit together, the party does not look at the sum; if they do and it does not open, the
       run ends
    6. the sum stands, or the update is masked anew under another number

Where the statement of 4 names the step after this one, 1 and 2 of that step come between 4 and 6 (`_Ahead`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from hekat.channel.canonical import encode_fields, encode_number
from hekat.codec import clip
from hekat.errors import BoundError, PartyStoppedError, ProtocolError
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
    UploadMessage,
    WholeSumBlockMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, upload_digest_of
from hekat.protocol.secure_sum.masked.opening.opening_schemes import parameters_of_sum
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS, SlotStream, levels_sent
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
    public_key,
)
from hekat.state import Counter as DurableCounter

T = TypeVar("T")

_AGREEMENT_LABEL = b"hekat/lattice/agreement/3"
_AGREED_LABEL = b"hekat/lattice/agreed/1"


@dataclass(frozen=True)
class _Ahead:
    """The upload whose secret is dealt and checked, and not used: one secret for one upload, of this step or none."""

    leg: Leg
    parameters: LatticeParameters


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
        self._ahead: _Ahead | None = None

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        try:
            return self._sum(request)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Wipe a secret, a member's shares, and the keys of shares: no upload follows."""
        self._ahead = None
        self._opening.close()

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        self.settle()
        self.close()
        return super().compare_final(digest)

    def _sum(self, request: SumRequest) -> Aggregate:
        settings, step = self._settings, request.step
        bits = request.value_bits or settings.codec.value_bits
        stream = SlotStream(
            request.tensors,
            request.bounds,
            request.counters,
            value_bits=bits,
            weight_max=settings.weight_max,
            rounding=settings.codec.rounding,
        )
        parameters = self._parameters_of(step, bits, stream.slot_count)
        if request.tensors:
            self._on_packing(packing_in_chunks(parameters.form, stream.slot_count))
        takes_part = self.takes_part(step)
        if self._exactness_check is not None and request.tensors and takes_part:
            self._deposit(self._exactness_check, request)
        agreement = self._agree(request, bits)
        for _ in range(MAX_UPLOADS):
            leg = replace(self._take_dealt(step, parameters), agreement=agreement)
            try:
                if takes_part:
                    self._mask(leg, parameters, stream, request)
            except PartyStoppedError:
                # What the aggregator said before it ended says more: that parties call for different things, say.
                self.settle()
                raise
            self.settle()
            stated = self._receive(leg.name("included"), IncludedMessage)
            commitment = b"" if self._checking is None else self._checking.receive_commitment(leg)
            included = self._opening.check_included(leg, parameters, stated, commitment)
            self._before(leg.step, "release")
            self._opening.release(leg, included)
            if self._checking is not None:
                self._checking.tell(leg, parameters, included)
            if stated.next_step:
                self._deal_ahead(stated.next_step, request.values_ahead or stream.slot_count)
            aggregate, failure = self._open(leg, parameters, stream, included, stated)
            if self._ahead is not None:
                self._opening.check_dealt(self._ahead.leg)
            if aggregate is None:
                self._mask_anew(leg)
            else:
                # Not awaited: this party goes on, and hears with the next sum that all the others have opened this one.
                self.defer(partial(self._await_others, leg))
                break
        if aggregate is None:
            raise failure or ProtocolError(
                f"the sum of {step} does not open",
                expected=f"one of {MAX_UPLOADS} uploads to open here",
                got="none that did",
                cure="the ledgers say whose releases did not fit: find out what runs there",
            )
        if self._exactness_check is not None and request.tensors:
            allowed = stream.mean_error_bounds(aggregate.party_count, aggregate.weight_sum)
            self._exactness_check.check(step, aggregate.mean, allowed, included.parties)
        return replace(aggregate, parties=tuple(included.parties))

    def _mask_anew(self, leg: Leg) -> None:
        """Hear that nobody opened the sum that did not open here. Raises ProtocolError where it is said to stand."""
        if self._receive(leg.name("outcome"), OutcomeMessage).stands:
            raise ProtocolError(
                f"the sum of {leg.step} does not open",
                expected="a sum that stands once it opens at all parties",
                got="one that is said to stand without opening here",
                cure="the ledgers say whose releases did not fit: find out what runs there",
            )

    def _await_others(self, leg: Leg) -> None:
        """Hear that the sum opened at all parties. Raises ProtocolError if it did not."""
        if not self._receive(leg.name("outcome"), OutcomeMessage).stands:
            raise ProtocolError(
                f"the sum of {leg.step} opens here, and not at all parties",
                expected="releases that fit together at every party",
                got="another party says that they do not",
                cure="ask the aggregator's operator, who passes on the releases, and resume from the last checkpoint",
            )

    def as_sent(self, request: SumRequest) -> Tensors:
        codec, share = self._settings.codec, request.weight / self._settings.weight_max
        tensors, bounds = arrays_of(request.tensors), request.bounds
        if codec.rounding == "stochastic":
            return {name: clip(values * share, bounds[name])[0] / share for name, values in tensors.items()}
        return levels_sent(tensors, bounds, share, codec.value_bits)

    def agree_on(self, digest: bytes) -> None:
        fields = encode_fields(_AGREED_LABEL, self._model_digest, digest)
        self._model_digest = hashlib.sha256(fields).digest()

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        self._model_digest = model_digest
        super().finish_round(step, model_digest, finished)

    def _agree(self, request: SumRequest, bits: int) -> bytes:
        """A keyed digest of all that the parties must agree on: every upload is signed with it.

        Otherwise an aggregator that told parties different bounds, or sums, could single one update out. The digest
        covers the members and the key of releases: no sum opens with updates of parties that know others.
        """
        members = [member.encode() for member in self._opening.members]
        sizes = [encode_number(size) for size in (bits, len(members), len(request.bounds), len(request.counters))]
        digest = hmac.new(self._digest_key, digestmod=hashlib.sha256)
        fields = (request.step.encode(), self._model_digest, self._opening.key_fingerprint, *sizes, *members)
        digest.update(encode_fields(_AGREEMENT_LABEL, *fields))
        # One by one, since standardising wide tables has more counters than one encoding has fields.
        for name, bound in sorted(request.bounds.items()):
            digest.update(encode_fields(name.encode(), bound.hex().encode()))
        for counter in request.counters:
            digest.update(encode_fields(counter.name.encode(), str(counter.maximum).encode()))
        return digest.digest()

    def _take_dealt(self, step: str, parameters: LatticeParameters) -> Leg:
        """The step's next upload, its secret dealt: ahead, or now, where another step or set was dealt for."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and (ahead.leg.step, ahead.parameters) == (step, parameters):
            return ahead.leg
        self.settle()
        self._opening.drop()
        leg = self._begin(step)
        self._deal(leg, parameters)
        self._opening.check_dealt(leg)
        return leg

    def _parameters_of(self, step: str, bits: int, slot_count: int) -> LatticeParameters:
        """The step's set: of the secret that is dealt ahead for it, if any, since a set holds any number of slots."""
        if self._ahead is not None and self._ahead.leg.step == step and bits == self._settings.codec.value_bits:
            return self._ahead.parameters
        return parameters_of_sum(self._settings, bits, len(self._participation.parties_in(step)), slot_count)

    def _deal_ahead(self, step: str, slot_count: int) -> None:
        """Deal the secret of the step after this one, whose update is not made yet; it has about `slot_count` slots."""
        bits, uploader_count = self._settings.codec.value_bits, len(self._participation.parties_in(step))
        ahead = _Ahead(self._begin(step), parameters_of_sum(self._settings, bits, uploader_count, slot_count))
        self._deal(ahead.leg, ahead.parameters)
        self._ahead = ahead

    def _deal(self, leg: Leg, parameters: LatticeParameters) -> None:
        if self.takes_part(leg.step):
            self._before(leg.step, "deal")
            self._opening.deal(leg, parameters)
        else:
            self._before(leg.step, "sit-out")
            self._channel.ledger.note(leg.name("sit-out"), NOT_SAMPLED, "public")

    def _begin(self, step: str) -> Leg:
        begin = self._receive(begin_step(step), BeginMessage)
        if begin.step != step:
            raise ProtocolError(
                "the aggregator began another sum",
                expected=step,
                got="another step",
                cure="run the same release and job at the aggregator",
            )
        leg = Leg(step, begin.number, tuple(begin.participants))
        check_participants(leg, self._settings)
        # On disk before the first secret is made for it: no restart takes the number again.
        take_upload_number(self._uploads, leg.number)
        return leg

    def _mask(self, leg: Leg, parameters: LatticeParameters, stream: SlotStream, request: SumRequest) -> None:
        block_slots = block_values(parameters, BLOCK_SLOTS)
        assert leg.agreement is not None  # a party has one
        with self._masking(leg, parameters) as encryptor:
            self._send(leg.name("upload"), UploadMessage(parameters.name, stream.slot_count, leg.agreement))
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
                digests.append(self._send_block(leg, MaskedBlockMessage(written)))
        self._before(leg.step, "sign")
        self._send(leg.name("statement"), self._opening.sign(leg, parameters, upload_digest_of(digests)))

    @contextmanager
    def _masking(self, leg: Leg, parameters: LatticeParameters) -> Iterator[Encryptor]:
        """An encryptor under the secret that was dealt; both are wiped, however the upload ends."""
        secret = self._opening.take_secret()
        try:
            self._before(leg.step, "upload")
            encryptor = Encryptor(parameters, secret, self._public_key(leg, parameters))
        finally:
            secret.wipe()  # its shares are dealt, and the encryptor has its transform
        try:
            yield encryptor
        finally:
            encryptor.wipe()

    def _open(
        self,
        leg: Leg,
        parameters: LatticeParameters,
        stream: SlotStream,
        included: IncludedSet,
        stated: IncludedMessage,
    ) -> tuple[Aggregate | None, BoundError | ProtocolError | None]:
        """The aggregate; or None, and why the releases give no sum of secrets: then the sum is left unread.

        Raises ProtocolError for a release that its member did not sign, and AlteredSumError where releases fit and the
        sum does not open, already at the first time: whether it opens may depend on the updates. The party tells the
        aggregator of releases that do not fit; of an altered sum the aggregator learns by the end of the run alone.
        """
        self._before(leg.step, "open")
        begin = self._receive(leg.name("sum"), SumBeginMessage)
        self._opening.check_releases(leg, included, begin)
        secret_sum: SecretSum | None = None
        wrong: list[str] = []
        failure: BoundError | ProtocolError | None = None
        try:
            secret_sum, wrong = self._opening.open(leg, parameters, included, stated, begin.releases)
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
        self._send(leg.name("opened"), OpenedMessage(aggregate is not None, wrong))
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

    def _send_block(self, leg: Leg, block: MaskedBlockMessage) -> bytes:
        """The block's digest. Where there is no room, the aggregator is reading the uploads of others before."""
        return self._channel.send(self._settings.aggregator, leg.name("block"), block, self._timeout_s)

    def _send(self, step: str, message: object) -> bytes:
        return self._channel.send(self._settings.aggregator, step, message)

    def _receive(self, step: str, message_type: type[T]) -> T:
        return self._channel.receive(self._settings.aggregator, step, message_type, timeout_s=self._timeout_s)
