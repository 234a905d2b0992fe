"""A party's side of protection `lattice`: mask the update chunk by chunk, have the sum opened, decode it.

One sum, as the party sees it (docs/spec/committee.md numbers the same steps):

    1. the aggregator begins an upload: its number, its participants
    2. make a fresh secret, deal it to the members that open sums; a member checks what it was dealt
    3. mask the update block by block -> aggregator, after it what a mask leaves in the clear; sign what was sent
       (a party outside of the round's sample leaves 2 and 3 out, but for the member's check)
    4. the aggregator states whose updates are included; a member releases its sum of shares for that set, sealed to
       all parties; the aggregator passes it on
    5. open the sum of the secrets, unmask the sum block by block, decode
       if the releases do not fit together, the party does not look at the sum; if they do and it does not open, the
       run ends
    6. the sum stands, or the update is masked anew under another number

Where the statement of 4 names the step after this one, 1 and 2 of that step come between 4 and 6 (`_Ahead`). A further
sum of a group under a committee is 3 without the signature, and 5 with the sum of the secrets that is known: the first
sum's secret masks it too (`_sum_further`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from hekat.codec import clip
from hekat.errors import BoundError, PartyStoppedError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.aggregation import Aggregate, SumRequest
from hekat.protocol.secure_sum.agreement.upload_agreement import HeldSoFar, agreement_of
from hekat.protocol.secure_sum.cost.packing import Packing, packing_in_chunks
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.blocks.receive_sum import SumBlocks
from hekat.protocol.secure_sum.masked.blocks.send_upload import UploadBlocks
from hekat.protocol.secure_sum.masked.blocks.sum_streams import SumStreams, streams_of_request
from hekat.protocol.secure_sum.masked.checked_sum import SumChecking, WholeSum
from hekat.protocol.secure_sum.masked.group.announced_block import announced_bytes, counted_step
from hekat.protocol.secure_sum.masked.group.group_secret import OpenedGroup, OpenedSum, key_of_upload, shares_secrets
from hekat.protocol.secure_sum.masked.group.sum_form import choose_form
from hekat.protocol.secure_sum.masked.leg import MAX_UPLOADS, Leg, begin_step, check_participants, further_step
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    ClearBlockMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    SumBeginMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, upload_digest_of
from hekat.protocol.secure_sum.masked.opening.opening_schemes import parameters_of_sum
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.secure_sum.masked.opening.upload_context import group_of
from hekat.protocol.secure_sum.masked.outcome import check_fallen, check_stands
from hekat.protocol.secure_sum.masked.slot_stream import levels_sent
from hekat.protocol.secure_sum.masked.upload_state import take_upload_number
from hekat.protocol.secure_sum.participation import NOT_SAMPLED
from hekat.protocol.secure_sum.party_side import PartySide
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.streamed_tensor import Tensors, arrays_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import Decryptor, Encryptor, LatticeParameters, SecretSum
from hekat.state import Counter as DurableCounter

T = TypeVar("T")


@dataclass(frozen=True)
class _Ahead:
    """The upload whose secret is dealt and checked, and not used: one secret for one upload, of this step or none."""

    leg: Leg
    parameters: LatticeParameters


class MaskedAggregation(PartySide):
    """Sums of masked updates that only the sum of their secrets opens."""

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
        self._digest_key, self._held = digest_key, HeldSoFar(model_digest)
        self._checking = SumChecking(channel, settings, stopwatch, aggregator_timeout_s) if settings.check_sum else None
        self._ahead: _Ahead | None = None
        self._group = OpenedGroup() if shares_secrets(settings) else None

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        try:
            return self._sum(request)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Wipe all secrets, a member's shares, and the keys of shares: no upload follows."""
        self._ahead = None
        if self._group is not None:
            self._group.close()
        self._opening.close()

    def compare_final(self, digest: bytes) -> tuple[str, ...]:
        self.settle()
        self.close()
        return super().compare_final(digest)

    def _sum(self, request: SumRequest) -> Aggregate:
        step = request.step
        self._enter_group(step)
        stream, parameters, bits = self._form_of(request)
        if request.tensors:
            self._on_packing(packing_in_chunks(parameters.form, stream.slot_count))
        if self._exactness_check is not None and request.tensors and self.takes_part(step):
            self._exactness_check.deposit_request(request, self._channel.party, self._settings.weight_max)
        fingerprint, members = self._opening.key_fingerprint, self._opening.members
        agreement = agreement_of(self._digest_key, self._held.digest, fingerprint, members, request, bits)
        opened = self._find_opened(step, parameters)
        if opened is None:
            aggregate, included = self._sum_anew(agreement, parameters, stream, request)
        else:
            aggregate, included = self._sum_further(opened.leg_of(step, agreement), opened, stream, request)
        if self._exactness_check is not None and request.tensors:
            allowed = stream.whole.mean_error_bounds(aggregate.party_count, aggregate.weight_sum)
            self._exactness_check.check(step, aggregate.mean, allowed, included.parties)
        return replace(aggregate, parties=tuple(included.parties))

    def _sum_anew(
        self, agreement: bytes, parameters: LatticeParameters, stream: SumStreams, request: SumRequest
    ) -> tuple[Aggregate, IncludedSet]:
        """A sum under fresh secrets, which is opened with releases of their shares."""
        step = request.step
        in_group = self._group is not None and bool(self._group.parameters)
        if in_group and self.takes_part(step) and not self._is_ahead(step, parameters):
            self._send(further_step(step), _announce(step, parameters, stream, agreement))
        for _ in range(MAX_UPLOADS):
            leg = replace(self._take_dealt(step, parameters), agreement=agreement)
            self._upload(leg, parameters, stream, request)
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
                return aggregate, included
        raise failure or ProtocolError(
            f"the sum of {step} does not open",
            expected=f"one of {MAX_UPLOADS} uploads to open here",
            got="none that did",
            cure="the ledgers say whose releases did not fit: find out what runs there",
        )

    def _sum_further(
        self, leg: Leg, opened: OpenedSum, stream: SumStreams, request: SumRequest
    ) -> tuple[Aggregate, IncludedSet]:
        """A further sum of a group, under the secrets of one that is open: nothing is dealt, checked or released.

        Every party has what opens it: nothing but the sum of what exactly the parties of that one masked for this step
        and agreement. So U is not stated, and nobody is told whether it opened: a sum that does not ends the run.
        """
        self._ahead = None  # another step came than the one that was dealt for
        self._opening.drop()
        if not self.takes_part(leg.step):
            self._sit_out(leg)
        self._upload(leg, opened.parameters, stream, request, opened)
        self._before(leg.step, "open")
        with self._ending_where_altered(leg):
            aggregate = self._unmask(leg, opened.parameters, stream, opened.secret_sum)
        assert aggregate is not None  # with the sum of the secrets there is one
        return aggregate, opened.included

    def _upload(
        self,
        leg: Leg,
        parameters: LatticeParameters,
        stream: SumStreams,
        request: SumRequest,
        opened: OpenedSum | None = None,
    ) -> None:
        """Upload, where this party takes part; then hear what the aggregator owes of the sums before."""
        try:
            if opened is not None and self.takes_part(leg.step):
                self._mask_further(leg, opened, stream, request)
            elif self.takes_part(leg.step):
                self._mask(leg, parameters, stream, request)
        except PartyStoppedError:
            # What the aggregator said before it ended says more: that parties call for different things, say.
            self.settle()
            raise
        self.settle()

    def _mask_anew(self, leg: Leg) -> None:
        """Hear that nobody opened the sum that did not open here."""
        self._opening.abandon(leg)
        check_fallen(leg.step, self._receive(leg.name("outcome"), OutcomeMessage))

    def _await_others(self, leg: Leg) -> None:
        """Hear that the sum opened at all parties."""
        check_stands(leg.step, self._receive(leg.name("outcome"), OutcomeMessage))

    def as_sent(self, request: SumRequest) -> Tensors:
        codec, share = self._settings.codec, request.weight / self._settings.weight_max
        tensors, bounds = arrays_of(request.tensors), request.bounds
        if codec.rounding == "stochastic":
            return {name: clip(values * share, bounds[name])[0] / share for name, values in tensors.items()}
        return levels_sent(tensors, bounds, share, codec.value_bits)

    def agree_on(self, digest: bytes) -> None:
        self._held.add(digest)

    def say_next(self, step: str, digest: bytes, is_last: bool) -> None:
        self._held.add(digest)
        if self._group is None:
            super().say_next(step, digest, is_last)

    def finish_round(self, step: str, model_digest: bytes, finished: bool) -> None:
        self._held.add(model_digest)
        super().finish_round(step, model_digest, finished)

    def end_group(self) -> None:
        self._enter_group("")

    def _enter_group(self, step: str) -> None:
        """Wipe the secrets of the group before, where the step is of another one."""
        if self._group is not None and self._group.enter(group_of(step)):
            self._opening.end_group()

    def _is_ahead(self, step: str, parameters: LatticeParameters) -> bool:
        return self._ahead is not None and (self._ahead.leg.step, self._ahead.parameters) == (step, parameters)

    def _find_opened(self, step: str, parameters: LatticeParameters) -> OpenedSum | None:
        """The sum of the group whose secrets mask this one as well; None where fresh ones do."""
        if self._group is None or self._is_ahead(step, parameters):
            return None
        return self._group.find(parameters)

    def _take_dealt(self, step: str, parameters: LatticeParameters) -> Leg:
        """The step's next upload, its secret dealt: ahead, or now, where another step or set was dealt for."""
        is_ahead, ahead, self._ahead = self._is_ahead(step, parameters), self._ahead, None
        if ahead is not None and is_ahead:
            return ahead.leg
        self.settle()
        self._opening.drop()
        leg = self._begin(step)
        self._deal(leg, parameters)
        self._opening.check_dealt(leg)
        return leg

    def _form_of(self, request: SumRequest) -> tuple[SumStreams, LatticeParameters, int]:
        """The sum's slots, its set, and the bits of a value.

        Where a secret is dealt ahead for the sum, its set is taken: a set holds any number of slots.
        """
        settings, bits = self._settings, request.value_bits or self._settings.codec.value_bits
        stream_of = partial(streams_of_request, settings, request)
        if self._ahead is not None and self._ahead.leg.step == request.step and bits == settings.codec.value_bits:
            return stream_of(bits), self._ahead.parameters, bits
        form = choose_form(
            settings,
            bits,
            len(self._participation.parties_in(request.step)),
            lambda value_bits: stream_of(value_bits).slot_count,
            () if self._group is None else self._group.parameters,
            recodes=request.recodes,
        )
        return stream_of(form.bits), form.parameters, form.bits

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
            self._sit_out(leg)

    def _sit_out(self, leg: Leg) -> None:
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

    def _mask(self, leg: Leg, parameters: LatticeParameters, stream: SumStreams, request: SumRequest) -> None:
        assert leg.agreement is not None  # a party has one
        blocks = UploadBlocks(stream, request, self._stopwatch, self._checking)
        with self._masking(leg, parameters) as encryptor:
            self._send(leg.name("upload"), _announce(leg.step, parameters, stream, leg.agreement))
            if self._checking is not None:
                self._checking.begin()
            digests = [self._send_block(leg, block) for block in blocks.masked(encryptor, parameters)]
        digests += [self._send_clear(leg, block) for block in blocks.clear()]
        self._before(leg.step, "sign")
        self._send(leg.name("statement"), self._opening.sign(leg, parameters, upload_digest_of(digests)))

    def _mask_further(self, leg: Leg, opened: OpenedSum, stream: SumStreams, request: SumRequest) -> None:
        assert leg.agreement is not None  # a party has one
        parameters, uploader_count = opened.parameters, len(self._participation.parties_in(leg.step))
        blocks = UploadBlocks(stream, request, self._stopwatch, self._checking)
        with self._masking(leg, parameters, opened) as encryptor:
            masked = blocks.masked(encryptor, parameters)
            is_one = announced_bytes(parameters, stream.slot_count, uploader_count) > 0
            block = next(masked).written if is_one else b""
            self._before(leg.step, "sign")  # a rehearsed drop-out in the middle of an upload; nothing is signed
            self._send(further_step(leg.step), _announce(leg.step, parameters, stream, leg.agreement, block))
            for message in masked:
                self._send_block(leg, message)
        for clear in blocks.clear():
            self._send_clear(leg, clear)

    @contextmanager
    def _masking(self, leg: Leg, parameters: LatticeParameters, opened: OpenedSum | None = None) -> Iterator[Encryptor]:
        """An encryptor under the secret that was dealt, or the group's; what this upload has of it is wiped."""
        secret = self._opening.take_secret(leg, opened)
        try:
            self._before(leg.step, "upload")
            encryptor = Encryptor(parameters, secret, key_of_upload(self._channel.session_id, leg, parameters))
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
        stream: SumStreams,
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
        with self._ending_where_altered(leg):
            aggregate = self._unmask(leg, parameters, stream, secret_sum, whole)
        if self._group is not None and secret_sum is not None and aggregate is not None:
            self._group.hold(OpenedSum(leg, parameters, included, secret_sum))
        if wrong:
            self._channel.ledger.note(leg.name("sum"), f"a release that does not fit, of {', '.join(wrong)}", "public")
        if failure is not None:
            self._channel.ledger.note(leg.name("sum"), str(failure), "public")
        self._send(leg.name("opened"), OpenedMessage(aggregate is not None, wrong))
        return aggregate, failure

    @contextmanager
    def _ending_where_altered(self, leg: Leg) -> Iterator[None]:
        """Raises AlteredSumError, which ends the run, where the sum does not open: it is noted first."""
        try:
            yield
        except BoundError as error:
            altered = self._opening.refuse_sum(leg, error)
            self._channel.ledger.note(leg.name("sum"), altered.what, "public")
            raise altered from error

    def _unmask(
        self,
        leg: Leg,
        parameters: LatticeParameters,
        stream: SumStreams,
        secret_sum: SecretSum | None,
        whole: WholeSum | None = None,
    ) -> Aggregate | None:
        """The aggregate from the sum's blocks; without the secrets' sum they are received and dropped.

        Raises BoundError where a block does not open, or the `whole` sum is not the uploads' sum, once all blocks are
        here: the time at which this party leaves does not tell which block it was.
        """
        blocks = SumBlocks(self._receive_digested, leg, parameters, stream, self._stopwatch, whole)
        if secret_sum is None:
            blocks.drop()
            return None
        decryptor = Decryptor(parameters, secret_sum, key_of_upload(self._channel.session_id, leg, parameters))
        aggregate = blocks.read(decryptor, secret_sum.addend_count)
        self._held.add(*blocks.digests)
        return aggregate

    def _send_block(self, leg: Leg, block: MaskedBlockMessage) -> bytes:
        """The block's digest. Where there is no room, the aggregator is reading the uploads of others before."""
        return self._channel.send(self._settings.aggregator, leg.name("block"), block, self._timeout_s)

    def _send_clear(self, leg: Leg, block: ClearBlockMessage) -> bytes:
        """As `_send_block`, of values that the aggregator sees."""
        return self._channel.send(self._settings.aggregator, leg.name("clear-block"), block, self._timeout_s)

    def _send(self, step: str, message: object) -> bytes:
        with self._channel.counting_as(counted_step(step, message)):
            return self._channel.send(self._settings.aggregator, step, message)

    def _receive(self, step: str, message_type: type[T]) -> T:
        return self._receive_digested(step, message_type)[0]

    def _receive_digested(self, step: str, message_type: type[T]) -> tuple[T, bytes]:
        return self._channel.receive_digested(self._settings.aggregator, step, message_type, self._timeout_s)


def _announce(
    step: str, parameters: LatticeParameters, stream: SumStreams, agreement: bytes, block: bytes = b""
) -> UploadMessage:
    return UploadMessage(step, parameters.name, stream.slot_count, agreement, block, stream.clear_count)
