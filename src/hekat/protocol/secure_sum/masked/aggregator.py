"""The aggregator's side of protection `lattice`: it collects dealt shares and whole uploads, and adds the latter.

The aggregator holds no key. Members check all that it decides: they release only for a set U of at least u_min parties
of the step's sample where each party signed exactly what is stated, and for one such set a group. Numbers as in
docs/spec/committee.md. Memory: one accumulator, and the blocks of the one upload that is being received; of small
uploads of a further sum all (`announced_bytes`).
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearForm, ClearSum
from hekat.protocol.secure_sum.masked.blocks.receive_upload import RunningSum, UploadReader, add_announced
from hekat.protocol.secure_sum.masked.blocks.send_sum import SumSender
from hekat.protocol.secure_sum.masked.checked_sum import check_part
from hekat.protocol.secure_sum.masked.group.group_parties import GroupParties
from hekat.protocol.secure_sum.masked.group.group_secret import shares_secrets
from hekat.protocol.secure_sum.masked.group.sum_form import is_dealt_ahead
from hekat.protocol.secure_sum.masked.leg import AUTHORITY_STEP, MAX_UPLOADS, Leg, begin_step, further_step
from hekat.protocol.secure_sum.masked.message_checks import (
    check_dealt,
    check_further,
    check_released,
    check_statement,
    check_upload,
    read_answer,
)
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    CheckedMessage,
    DealersMessage,
    DealtMessage,
    IncludedMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    StatementMessage,
    SumBeginMessage,
    SumPartMessage,
    SumPartsMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opener_roles import OpenerRoles
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, upload_digest_of
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme
from hekat.protocol.secure_sum.masked.opening.party_opening import included_set_of
from hekat.protocol.secure_sum.masked.opening.share_check import CheckAnswer, challenge_digest_of, judge_dealers
from hekat.protocol.secure_sum.masked.opening.share_message import DigestList
from hekat.protocol.secure_sum.masked.opening.sum_check import row_count
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext, group_of
from hekat.protocol.secure_sum.masked.release_key import SEAL_BYTES
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.summation import Summation
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import SETS, Accumulator, LatticeParameters

_ANOTHER_UPLOAD = "uploads for another sum, of another size, or with another model, mask, bounds or counters than most"


@dataclass(frozen=True)
class _Dealing:
    """An upload whose shares are dealt, by whom, and checked where its members have answered."""

    leg: Leg
    set_name: str
    dealt: dict[str, DealtMessage]


class MaskedSummation(Summation):
    """Adds masked updates, upload by upload, and tells the members the parties of a sum."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        roster: Roster,
        stopwatch: Stopwatch,
        groups: GroupParties,
        number: int,
        *,
        members: Sequence[str] | None = None,
        step_timeout_s: float | None = None,
    ) -> None:
        """`number`: the least upload number that no party has used. `members`: as drawn, or None.

        `step_timeout_s`: the time of one upload.
        """
        self._channel, self._settings, self._roster, self._stopwatch = channel, settings, roster, stopwatch
        self._groups, self._number, self._step_timeout_s = groups, number, step_timeout_s
        # The aggregator has no key: it uses only the public part of the scheme.
        self._scheme = make_opening_scheme(settings, members=members)
        self._openers = OpenerRoles(channel, settings, roster, self._scheme)
        self._participation = participation_of(channel, settings)
        self._most_slots = 0
        self._ahead: _Dealing | None = None
        # What is open of the group at hand, by the name of its set: further sums of the group need no other secret.
        self._shares_secrets, self._group = shares_secrets(settings), ""
        self._opened: dict[str, Leg] = {}

    def bound_slots(self, most_slots: int) -> None:
        """Accept no upload of more slots from now on; before the first call, accept none."""
        self._most_slots = most_slots

    def parties_in(self, step: str) -> tuple[str, ...]:
        """The parties that upload in the step, dropped out or not."""
        return self._participation.parties_in(step)

    def begin(self, step: str) -> None:
        """Go on with none but the parties that the step's group is bound to, and those that do not upload in it."""
        self._groups.begin(step, self.parties_in(step))

    def finish(self) -> None:
        """Tell a key authority that no upload follows."""
        self._drop_ahead()
        self._openers.tell_authority(AUTHORITY_STEP, BeginMessage("", self._number, []))

    def serve(self, step: str, then: str = "") -> None:
        """One sum, in as many uploads as it takes; secrets of the step `then` are dealt and checked on the way.

        Raises ProtocolError where too few parties or members are left.
        """
        self._enter(step)
        if self._shares_secrets and group_of(then) == self._group and not is_dealt_ahead(step, then):
            then = ""  # it needs no secret of its own
        if self._opened and (self._ahead is None or self._ahead.leg.step != step):
            self._serve_announced((step,), then)
        else:
            self._serve_anew(step, then)

    def serve_one_of(self, steps: Sequence[str]) -> str:
        self._enter(steps[0])
        return self._serve_announced(steps) if self._opened else ""

    def _enter(self, step: str) -> None:
        self.begin(step)
        if self._group != group_of(step):
            self._group, self._opened = group_of(step), {}

    def _serve_anew(self, step: str, then: str) -> None:
        """A sum under fresh secrets."""
        unopened: tuple[str, ...] = ()
        for _ in range(MAX_UPLOADS):
            dealing = self._take_dealt(step)
            unopened = self._serve_upload(dealing, then)
            if not unopened:
                if self._shares_secrets:
                    self._opened[dealing.set_name] = dealing.leg
                return
            self._groups.check(step)
        raise ProtocolError(
            f"the sum of {step} does not open",
            expected=f"one of {MAX_UPLOADS} uploads to open at all parties",
            got=f"none did; the last not at {', '.join(unopened)}",
            cure=self._openers.whom_to_ask,
        )

    # --- shares ----------------------------------------------------------------------------------------

    def _take_dealt(self, step: str) -> _Dealing:
        """The step's next upload, dealt for and checked: ahead, or now, where another step was dealt for."""
        ahead = self._ahead
        if ahead is not None and ahead.leg.step == step:
            self._ahead = None
            return ahead
        self._drop_ahead()
        dealing = self._receive_dealt(self._begin_upload(step))
        # Only now: parties that have dealt have saved the round before, so that a next run can begin from it.
        self._check_enough(dealing.leg)
        self._state_dealers(dealing)
        self._check_shares(dealing)
        return dealing

    def _drop_ahead(self) -> None:
        """Parties see by the step that begins next that this one does not; an authority is told."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            self._openers.tell_authority(ahead.leg.name("included"), IncludedMessage(b"", "", {}, {}, {}, {}))

    def _begin_upload(self, step: str) -> Leg:
        leg = Leg(step, self._number, self._roster.parties)
        self._number += 1
        begin = BeginMessage(leg.step, leg.number, list(leg.participants))
        self._roster.send_to_all(begin_step(leg.step), begin)
        self._openers.tell_authority(AUTHORITY_STEP, begin)
        return leg

    def _receive_dealt(self, leg: Leg) -> _Dealing:
        dealt = self._roster.receive_alike(
            leg.name("dealt"),
            DealtMessage,
            lambda message: message.parameter_set,
            f"in {leg.step} it deals for another parameter set than most",
            partial(self._check_dealt, leg),
            among=self.parties_in(leg.step),
        )
        return _Dealing(leg, next((message.parameter_set for message in dealt.values()), ""), dealt)

    def _check_dealt(self, leg: Leg, party: str, message: DealtMessage) -> None:
        context = leg.dealing_context(self._channel.session_id, message.parameter_set)
        check_dealt(party, message, context, self._scheme, self._channel.verify)

    def _state_dealers(self, dealing: _Dealing) -> None:
        """Tell members whose shares they are to check."""
        digests = {party: message.share_digests for party, message in dealing.dealt.items()}
        signatures = {party: message.signature for party, message in dealing.dealt.items()}
        offsets = {party: message.offset for party, message in dealing.dealt.items()}
        dealers = DealersMessage(dealing.set_name, digests, signatures, offsets)
        with self._channel.encoding_once(dealers):
            for member in self._openers.reachable:
                self._openers.send(member, dealing.leg.name("dealers"), dealers)

    def _check_shares(self, dealing: _Dealing) -> None:
        """Leave out, by name, parties whose shares members cannot use or that lie on no polynomial."""
        if not self._scheme.members:
            return
        leg, dealt = dealing.leg, dealing.dealt
        context = leg.dealing_context(self._channel.session_id, dealing.set_name)
        answers: dict[int, CheckAnswer] = {}
        for member in self._openers.reachable:
            checked = self._openers.receive(member, leg.name("checked"), CheckedMessage)
            if checked is not None:
                answers[self._scheme.members.index(member) + 1] = read_answer(checked)
        self._drop_lone_accusers(leg, dealt, answers)
        with self._stopwatch.measure("aggregate"):
            lists = {party: DigestList(tuple(one.share_digests), one.signature) for party, one in dealt.items()}
            verdict = judge_dealers(tuple(dealt), answers, challenge_digest_of(context, lists), self._scheme.quorum)
        for point, reason in verdict.faulty_members.items():
            self._openers.give_up(self._scheme.members[point - 1], f"in the share check of {leg.step} it {reason}")
        for party, reason in verdict.refused.items():
            self._roster.expel(party, f"its shares in {leg.step} were refused: {reason}")

    def _drop_lone_accusers(self, leg: Leg, dealers: Collection[str], answers: dict[int, CheckAnswer]) -> None:
        """Give up members that refuse more dealers than the sum can do without, and that most members accept."""
        refusals = Tally(dealer for answer in answers.values() for dealer in answer.refused)
        accepted = {dealer for dealer in dealers if 2 * refusals[dealer] <= len(answers)}
        spare = len(self.parties_in(leg.step)) - self._participation.least_in(leg.step)
        for point, answer in list(answers.items()):
            if len(accepted & answer.refused.keys()) > spare:
                del answers[point]
                self._openers.give_up(self._scheme.members[point - 1], f"it refuses too many shares in {leg.step}")

    # --- further sums of a group ---------------------------------------------------------------------------

    def _serve_announced(self, steps: Sequence[str], then: str = "") -> str:
        """Serve the sum that the group's parties announce, one of `steps`; which one it is.

        They mask it under secrets that they have, or ask for fresh ones. A party that agrees on something else is named
        before anything is added: nobody states anything afterwards.
        """
        self._drop_ahead()
        parties = self.parties_in(steps[0])
        announced = self._roster.receive_alike(
            further_step(steps[0]),
            UploadMessage,
            _form_of_upload,
            f"in {self._group} it {_ANOTHER_UPLOAD}",
            lambda party, message: check_further(message, steps, self._opened, self._most_slots, len(parties)),
            among=parties,
        )
        self._groups.check(steps[0])
        some = next(iter(announced.values()))
        first = self._opened.get(some.parameter_set)
        if first is None:
            self._serve_anew(some.step, then)
        else:
            self._serve_further(replace(first, step=some.step), announced)
        return some.step

    def _serve_further(self, leg: Leg, announced: dict[str, UploadMessage]) -> None:
        """Add what parties announced, and send them the sum."""
        some = next(iter(announced.values()))
        total = self._begin_sum(some)
        add_announced(self._roster, self._stopwatch, leg, total, announced, self._step_timeout_s)
        self._groups.check(leg.step)
        SumSender(self._roster, self._stopwatch, leg, total).send()

    # --- uploads ---------------------------------------------------------------------------------------

    def _serve_upload(self, dealing: _Dealing, then: str) -> tuple[str, ...]:
        """The parties that say that the sum does not open; none, once it stands."""
        leg = dealing.leg
        context, total, statements = self._add_uploads(dealing, self._receive_announced(dealing))
        parameters, sender = total.parameters, SumSender(self._roster, self._stopwatch, leg, total)
        self._openers.check_enough(leg.step, self._openers.reachable)
        self._groups.bind(leg.step, statements)
        stated = self._state(dealing, context, statements, then)
        commitment = self._commit(leg, sender) if self._settings.check_sum else b""
        included = included_set_of(context, stated, commitment)
        next_leg = self._begin_upload(then) if then else None
        released = self._receive_released(leg, parameters, included)
        parts = self._receive_parts(leg, parameters, included) if self._settings.check_sum else None
        ahead = None if next_leg is None else self._receive_dealt(next_leg)
        self._roster.send_to_all(leg.name("sum"), released)
        if parts is not None:
            self._send_parts(leg, parts)
            sender.send_whole()
        else:
            sender.send()
        if ahead is not None:
            self._state_dealers(ahead)
        opened = self._receive_opened(leg)
        if ahead is not None:
            self._check_shares(ahead)
            self._ahead = ahead
        return self._settle(leg, opened)

    def _receive_announced(self, dealing: _Dealing) -> dict[str, UploadMessage]:
        """What each dealer is about to upload, before any of it is read; those that agree on something else are out."""
        leg = dealing.leg
        return self._roster.receive_alike(
            leg.name("upload"),
            UploadMessage,
            _form_of_upload,
            f"in {leg.step} it {_ANOTHER_UPLOAD}",
            lambda party, message: check_upload(message, leg.step, dealing.set_name, self._most_slots),
            among=dealing.dealt,
        )

    def _add_uploads(
        self, dealing: _Dealing, announced: dict[str, UploadMessage]
    ) -> tuple[UploadContext, RunningSum, dict[str, StatementMessage]]:
        """The sum of the uploads of the parties that announced theirs, and what they signed."""
        leg = dealing.leg
        self._check_enough(leg)
        self._groups.check(leg.step)
        some = next(iter(announced.values()))
        context = UploadContext(self._channel.session_id, leg.number, leg.step, dealing.set_name, some.agreement)
        total = self._begin_sum(some)
        statements: dict[str, StatementMessage] = {}
        for party in self._roster.left_of(announced):
            earlier = [statement.upload_digest for statement in statements.values()]
            shares = dealing.dealt[party].share_digests
            statement = self._add_upload(leg, context, party, shares, total, earlier)
            if statement is not None:
                statements[party] = statement
        # Before any member releases: the parties that a group was released for cannot be changed afterwards.
        self._check_enough(leg)
        self._groups.check(leg.step)
        return context, total, statements

    def _begin_sum(self, announced: UploadMessage) -> RunningSum:
        """The sum of no upload yet."""
        parameters = SETS[announced.parameter_set]
        clear = ClearSum(announced.clear_count, ClearForm(self._settings.codec.value_bits))
        slot_count = announced.lane_count
        return RunningSum(parameters, slot_count, Accumulator(parameters, slot_count), clear)

    def _state(
        self, dealing: _Dealing, context: UploadContext, statements: dict[str, StatementMessage], then: str
    ) -> IncludedMessage:
        """Tell everybody whose uploads are in the sum."""
        stated = IncludedMessage(
            agreement=context.agreement,
            next_step=then,
            upload_digests={party: statement.upload_digest for party, statement in statements.items()},
            share_digests={party: dealing.dealt[party].share_digests for party in statements},
            salts={party: statement.salt for party, statement in statements.items()},
            signatures={party: statement.signature for party, statement in statements.items()},
        )
        self._roster.send_to_all(dealing.leg.name("included"), stated)
        self._openers.tell_authority(dealing.leg.name("included"), stated)
        return stated

    def _commit(self, leg: Leg, sender: SumSender) -> bytes:
        """Commit to the sum, to every opener, before any member releases."""
        committed = sender.commit()
        self._roster.send_to_all(leg.name("committed"), committed)
        self._openers.tell_authority(leg.name("committed"), committed)
        return committed.commitment

    def _receive_parts(
        self, leg: Leg, parameters: LatticeParameters, included: IncludedSet
    ) -> dict[str, SumPartMessage]:
        """Every party of U has to tell its part of the check."""
        check = check_part(included, row_count(parameters.form, len(included.parties)), self._channel.verify)
        parts = self._roster.receive_from_all(leg.name("part"), SumPartMessage, check, among=included.parties)
        self._groups.check(leg.step)
        return parts

    def _send_parts(self, leg: Leg, parts: dict[str, SumPartMessage]) -> None:
        """Every party's part of the check, ahead of the whole sum."""
        products = {party: part.products for party, part in parts.items()}
        signatures = {party: part.signature for party, part in parts.items()}
        self._roster.send_to_all(leg.name("parts"), SumPartsMessage(products, signatures))

    def _add_upload(
        self,
        leg: Leg,
        context: UploadContext,
        party: str,
        share_digests: Sequence[bytes],
        total: RunningSum,
        earlier: Collection[bytes],
    ) -> StatementMessage | None:
        """Add one party's upload once it is whole and signed; None where the party drops out."""
        upload = UploadReader(self._roster, leg, self._step_timeout_s).receive(party, total)
        if upload is None:
            return None

        def add(statement: StatementMessage) -> None:
            with self._stopwatch.measure("aggregate"):
                check_statement(
                    party,
                    statement,
                    context,
                    upload_digest_of(upload.digests),
                    share_digests,
                    earlier,
                    self._channel.verify,
                    salted=not self._scheme.members,
                )
                total.add(upload)

        return self._roster.receive(party, leg.name("statement"), StatementMessage, add)

    def _check_enough(self, leg: Leg) -> None:
        self._roster.check_enough(leg.step, self._participation.least_in(leg.step), self.parties_in(leg.step))

    # --- the sum ---------------------------------------------------------------------------------------

    def _receive_released(self, leg: Leg, parameters: LatticeParameters, included: IncludedSet) -> SumBeginMessage:
        """What members have released; raises ProtocolError where they are too few for the sum to open."""
        size = self._scheme.release_bytes(parameters.form.ring.degree) + SEAL_BYTES
        check = check_released(included, size, self._channel.verify)
        released: dict[str, ReleasedMessage] = {}
        for member in self._openers.reachable:
            message = self._openers.receive(member, leg.name("released"), ReleasedMessage, partial(check, member))
            if message is not None:
                released[member] = message
        self._openers.check_enough(leg.step, released)
        releases = {member: message.release for member, message in released.items()}
        return SumBeginMessage(releases, {member: message.signature for member, message in released.items()})

    def _receive_opened(self, leg: Leg) -> dict[str, OpenedMessage]:
        """Whether releases fitted together, by party."""
        opened = self._roster.receive_from_all(leg.name("opened"), OpenedMessage)
        for party, message in opened.items():
            wrong = [member for member in self._scheme.members if member in message.wrong_members]
            if wrong:
                what = f"{party} found a release that does not fit, of {', '.join(wrong)}"
                self._channel.ledger.note(leg.name("opened"), what, "public")
        return opened

    def _settle(self, leg: Leg, opened: dict[str, OpenedMessage]) -> tuple[str, ...]:
        """Tell all parties whether the sum stands; return the parties at which it did not open, where none opened it.

        All were sent the same releases: a party at which they do not open what they open at most others harms itself
        alone. Raises ProtocolError where half of them or fewer opened it: those have gone on, and nobody masks anew.
        """
        unopened = tuple(party for party in self._roster.left_of(opened) if not opened[party].opened)
        opened_at = [party for party in self._roster.left_of(opened) if opened[party].opened]
        if len(opened_at) > len(unopened):
            for party in unopened:
                self._roster.expel(party, f"the releases of {leg.step} that open at most parties do not open there")
            unopened = ()
        self._roster.send_to_all(leg.name("outcome"), OutcomeMessage(stands=not unopened))
        if unopened and opened_at:
            raise ProtocolError(
                f"the sum of {leg.step} opens at some parties only",
                expected="releases that fit together at every party: all were sent the same ones",
                got=f"none that did at {', '.join(unopened)}",
                cure="some of them say what is not so: find out what runs there, and resume from the last checkpoint",
            )
        return unopened


def _form_of_upload(message: UploadMessage) -> tuple[str, str, int, int, bytes]:
    return message.step, message.parameter_set, message.lane_count, message.clear_count, message.agreement
