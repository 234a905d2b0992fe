"""The aggregator's side of protection `lattice`: who dealt, whose upload is whole, and the sum of those.

The aggregator holds no key. It decides nothing that members do not check: they release only for a set U whose every
party signed exactly what is stated, of at least `least_included` parties, and for one such set a step. Numbers as in
docs/spec/committee.md. Memory: one accumulator, and the blocks of the one upload that is being received.
"""

from __future__ import annotations

import hashlib
from collections import Counter as Tally
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.lane_stream import BLOCK_LANES
from hekat.protocol.horizontal.lattice_messages import (
    BeginMessage,
    CheckedMessage,
    DealersMessage,
    DealtMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    StatementMessage,
    SumBeginMessage,
    SumBlockMessage,
)
from hekat.protocol.horizontal.leg import AUTHORITY_STEP, Leg, begin_step
from hekat.protocol.horizontal.opening.committee import least_included
from hekat.protocol.horizontal.opening.included import UPLOAD_PURPOSE, upload_fields
from hekat.protocol.horizontal.opening.share_check import CheckAnswer, challenge_digest_of, judge_dealers
from hekat.protocol.horizontal.opening.share_message import DEALING_PURPOSE, DigestList, dealing_fields
from hekat.protocol.horizontal.opening.upload_context import UploadContext
from hekat.protocol.horizontal.opening.ways import make_way
from hekat.protocol.horizontal.roster import Roster
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.stopwatch import Stopwatch
from hekat.scheme.lattice import SETS, Accumulator, LatticeParameters, block_values

# A sum that does not open although nobody is lost is tried again so often, with everything fresh.
MAX_UPLOADS = 3
MAX_LANES = 1 << 40

T = TypeVar("T")


class LatticeSummation:
    """Adds masked updates, upload by upload, and tells the members whose they are."""

    def __init__(
        self, channel: RecordedChannel, settings: HorizontalSettings, roster: Roster, stopwatch: Stopwatch, number: int
    ) -> None:
        """`number`: the least upload number that no party has used."""
        self._channel, self._settings, self._roster, self._stopwatch = channel, settings, roster, stopwatch
        self._number = number
        # Without a key the aggregator has all of the way that is public.
        self._way = make_way(settings)
        self._least = least_included(len(settings.parties), allow_two_parties=settings.allow_two_parties)

    def finish(self) -> None:
        """Tell a key authority that no upload follows."""
        if self._settings.authority is not None:
            self._channel.send(self._settings.authority, AUTHORITY_STEP, BeginMessage("", self._number, []))

    def serve(self, step: str) -> None:
        """One sum, in as many uploads as it takes. Raises ProtocolError where too few parties or members are left."""
        for _ in range(MAX_UPLOADS):
            self._roster.check_enough(step, self._least)
            leg = Leg(step, self._number, self._roster.parties)
            self._number += 1
            if self._serve_upload(leg):
                return
            if self._roster.parties != leg.participants:
                raise ProtocolError(
                    f"the sum of {step} did not open, and a party is lost since",
                    expected="the same parties, since no update is ever sent in two different sums",
                    got=f"lost: {', '.join(sorted(set(leg.participants) - set(self._roster.parties)))}",
                    cure="resume from the last checkpoint: a new session begins",
                )
        raise ProtocolError(
            f"the sum of {step} does not open",
            expected=f"one of {MAX_UPLOADS} uploads to open",
            got="releases that do not fit together each time",
            cure="the ledgers say whose releases did not fit: find out what runs there",
        )

    def _serve_upload(self, leg: Leg) -> bool:
        begin = BeginMessage(leg.step, leg.number, list(leg.participants))
        self._roster.send_to_all(begin_step(leg.step), begin)
        if self._settings.authority is not None:
            self._channel.send(self._settings.authority, AUTHORITY_STEP, begin)
        dealt = self._receive_dealt(leg)
        self._check_shares(leg, dealt)
        return self._add_and_open(leg, dealt)

    # --- shares ----------------------------------------------------------------------------------------

    def _receive_dealt(self, leg: Leg) -> dict[str, DealtMessage]:
        dealt = self._roster.receive_from_all(leg.name("dealt"), DealtMessage, partial(self._check_dealt, leg))
        forms = Tally((message.parameter_set, message.lane_count) for message in dealt.values())
        usual = forms.most_common(1)[0][0] if forms else ("", 0)
        for party, message in dealt.items():
            if (message.parameter_set, message.lane_count) != usual:
                self._roster.expel(party, f"in {leg.step} it deals for an upload of another size or parameter set")
        return {party: message for party, message in dealt.items() if party in self._roster.parties}

    def _check_dealt(self, leg: Leg, party: str, message: DealtMessage) -> None:
        if message.parameter_set not in SETS or not 1 <= message.lane_count <= MAX_LANES:
            raise InputError("an unknown parameter set or size", expected="one of this release's", got="another")
        digest_count = max(1, len(self._way.members))
        if len(message.share_digests) != digest_count:
            raise InputError(
                "another number of digests", expected=f"{digest_count}", got=f"{len(message.share_digests)}"
            )
        context = UploadContext(self._channel.session_id, leg.number, leg.step, message.parameter_set)
        fields = dealing_fields(context, message.share_digests)
        if not self._channel.verify(party, message.signature, DEALING_PURPOSE, *fields):
            raise InputError(
                "a signature that does not hold", expected="one over the digests of its shares", got="another"
            )

    def _check_shares(self, leg: Leg, dealt: dict[str, DealtMessage]) -> None:
        """Leave out, by name, parties whose shares members cannot use or that lie on no polynomial."""
        if not self._way.members or not dealt:
            return
        parameter_set = next(iter(dealt.values())).parameter_set
        digests = {party: message.share_digests for party, message in dealt.items()}
        signatures = {party: message.signature for party, message in dealt.items()}
        dealers = DealersMessage(parameter_set, digests, signatures)
        context = UploadContext(self._channel.session_id, leg.number, leg.step, parameter_set)
        for member in self._reachable_members():
            self._send_to_member(member, leg.name("dealers"), dealers)
        answers: dict[int, CheckAnswer] = {}
        for member in self._reachable_members():
            checked = self._receive_from_member(member, leg.name("checked"), CheckedMessage)
            if checked is None:
                continue
            if len(checked.refused) > len(self._settings.parties) - self._least:
                self._give_up_member(member, f"it refuses too many shares in {leg.step}")
            else:
                answers[self._way.members.index(member) + 1] = read_answer(checked)
        with self._stopwatch.measure("aggregate"):
            lists = {party: DigestList(tuple(digests[party]), signatures[party]) for party in dealt}
            verdict = judge_dealers(tuple(dealt), answers, challenge_digest_of(context, lists), self._way.quorum)
        for point, reason in verdict.faulty_members.items():
            self._give_up_member(self._way.members[point - 1], f"in the share check of {leg.step} it {reason}")
        for party, reason in verdict.refused.items():
            self._roster.expel(party, f"its shares in {leg.step} were refused: {reason}")

    # --- uploads ---------------------------------------------------------------------------------------

    def _add_and_open(self, leg: Leg, dealt: dict[str, DealtMessage]) -> bool:
        some = next(iter(dealt.values()))
        parameters = SETS[some.parameter_set]
        accumulator = Accumulator(parameters, some.lane_count)
        statements: dict[str, StatementMessage] = {}
        for party in self._roster.parties:
            statement = self._add_upload(leg, party, dealt[party], parameters, accumulator)
            if statement is not None:
                statements[party] = statement
        if len(statements) < self._least:
            self._roster.check_enough(leg.step, len(self._settings.parties))
        included = IncludedMessage(
            upload_digests={party: statement.upload_digest for party, statement in statements.items()},
            share_digests={party: dealt[party].share_digests for party in statements},
            salts={party: statement.salt for party, statement in statements.items()},
            signatures={party: statement.signature for party, statement in statements.items()},
        )
        self._roster.send_to_all(leg.name("included"), included)
        if self._settings.authority is not None:
            self._channel.send(self._settings.authority, leg.name("included"), included)
        released = self._receive_released(leg)
        self._send_sum(leg, parameters, accumulator, released)
        return self._settle(leg)

    def _add_upload(
        self, leg: Leg, party: str, dealt: DealtMessage, parameters: LatticeParameters, accumulator: Accumulator
    ) -> StatementMessage | None:
        """Add one party's upload once it is whole and signed; None where the party is lost over it."""
        expected = parameters.form.written_bytes(dealt.lane_count)
        blocks: list[bytes] = []
        got = 0
        while got < expected:
            block = self._roster.receive(party, leg.name("block"), MaskedBlockMessage, check_block(expected - got))
            if block is None:
                return None
            blocks.append(block.written)
            got += len(block.written)
        statement = self._roster.receive(party, leg.name("statement"), StatementMessage)
        if statement is None:
            return None
        with self._stopwatch.measure("aggregate"):
            digest = hashlib.sha256()
            for written in blocks:
                digest.update(written)
            problem = ""
            if digest.digest() != statement.upload_digest:
                problem = "its statement is not of what it sent"
            elif not self._is_signed(leg, party, dealt, statement):
                problem = "its signature does not hold"
            else:
                try:
                    accumulator.add(blocks)
                except InputError as error:
                    problem = str(error)
        if problem:
            self._roster.expel(party, f"in the upload of {leg.step}: {problem}")
            return None
        return statement

    def _is_signed(self, leg: Leg, party: str, dealt: DealtMessage, statement: StatementMessage) -> bool:
        context = UploadContext(self._channel.session_id, leg.number, leg.step, dealt.parameter_set)
        fields = upload_fields(context, statement.upload_digest, dealt.share_digests)
        return self._channel.verify(party, statement.signature, UPLOAD_PURPOSE, *fields)

    # --- the sum ---------------------------------------------------------------------------------------

    def _receive_released(self, leg: Leg) -> list[str]:
        """Members that have released; raises ProtocolError where they are too few for the sum to open."""
        released = []
        for member in self._reachable_members():
            if self._receive_from_member(member, leg.name("released"), ReleasedMessage) is not None:
                released.append(member)
        if len(released) < self._way.quorum:
            raise ProtocolError(
                f"too few members are left to open the sum of {leg.step}",
                expected=f"{self._way.quorum} of {', '.join(self._way.members)}",
                got=", ".join(released) or "none",
                cure="resume from the last checkpoint once they are back: a new session begins",
            )
        return released

    def _send_sum(self, leg: Leg, parameters: LatticeParameters, accumulator: Accumulator, released: list[str]) -> None:
        self._roster.send_to_all(leg.name("sum"), SumBeginMessage(released))
        blocks = accumulator.write(block_values(parameters, BLOCK_LANES))
        while True:
            with self._stopwatch.measure("aggregate"):
                written = next(blocks, None)
            if written is None:
                return
            self._roster.send_to_all(leg.name("sum-block"), SumBlockMessage(written))

    def _settle(self, leg: Leg) -> bool:
        opened = self._roster.receive_from_all(leg.name("opened"), OpenedMessage)
        stands = bool(opened) and all(message.opened for message in opened.values())
        self._roster.send_to_all(leg.name("outcome"), OutcomeMessage(stands))
        return stands

    # --- members ---------------------------------------------------------------------------------------

    def _reachable_members(self) -> tuple[str, ...]:
        lost = self._roster.lost
        return tuple(member for member in self._way.members if member not in lost)

    def _give_up_member(self, member: str, reason: str) -> None:
        if member == self._settings.authority:
            raise ProtocolError(f"the key authority {member} cannot open", got=reason, cure="ask its operator")
        self._roster.expel(member, reason)

    def _send_to_member(self, member: str, step: str, message: object) -> None:
        if member == self._settings.authority:
            self._channel.send(member, step, message)
        else:
            self._roster.send(member, step, message)

    def _receive_from_member(self, member: str, step: str, message_type: type[T]) -> T | None:
        if member == self._settings.authority:
            return self._channel.receive(member, step, message_type)
        return self._roster.receive(member, step, message_type)


def read_answer(checked: CheckedMessage) -> CheckAnswer:
    """A member's answer as the share check takes it; values that are no 16-bit words become an empty array."""
    values = {
        dealer: answer.astype(np.uint16) if answer.size and answer.max() < 1 << 16 else np.zeros(0, np.uint16)
        for dealer, answer in checked.values.items()
    }
    return CheckAnswer(checked.challenge_digest, dict(checked.refused), values)


def check_block(most_bytes: int) -> Callable[[MaskedBlockMessage], None]:
    """Refuses a block that is empty or goes beyond the bytes that are still to come."""

    def check(message: MaskedBlockMessage) -> None:
        if not 1 <= len(message.written) <= most_bytes:
            raise InputError(
                "a block of another size", expected=f"1 to {most_bytes} bytes", got=f"{len(message.written)} bytes"
            )

    return check
