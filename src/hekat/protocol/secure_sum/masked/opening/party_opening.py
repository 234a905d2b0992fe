"""A party's side of opening sums: it deals its secret, signs its upload, checks the included set, opens the sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from hekat.errors import AlteredSumError, PartyLostError, ProtocolError, SealError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.altered_sum import altered_sum_error
from hekat.protocol.secure_sum.masked.group.group_secret import GroupSecret, OpenedSum, shares_secrets
from hekat.protocol.secure_sum.masked.leg import SHARE_KEYS_STEP, Leg
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    IncludedMessage,
    ShareKeysMessage,
    ShareMessage,
    StatementMessage,
    SumBeginMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import (
    UPLOAD_PURPOSE,
    IncludedSet,
    IncludedUpload,
    check_included,
    state_included,
    upload_fields,
)
from hekat.protocol.secure_sum.masked.opening.member import Member
from hekat.protocol.secure_sum.masked.opening.opening_scheme import Dealt, OpeningScheme
from hekat.protocol.secure_sum.masked.opening.share_message import DEALING_PURPOSE, dealing_fields
from hekat.protocol.secure_sum.masked.opening.shared import salt_digest
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.release_key import RELEASE_PURPOSE, ReleaseKey, release_statements
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import LatticeParameters, SecretKey, SecretSum


class PartyOpening:
    """One upload after another; the next one replaces what is kept of the last. One secret may wait unused.

    Where one secret masks all sums of a group, this party's secrets of the group at hand stay, by upload number.
    """

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        scheme: OpeningScheme,
        state: UploadState,
        stopwatch: Stopwatch,
        *,
        release_key: ReleaseKey | None = None,
        aggregator_timeout_s: float | None = None,
    ) -> None:
        """`release_key`: this party's own; None where nobody releases anything."""
        self._channel, self._settings, self._scheme, self._stopwatch = channel, settings, scheme, stopwatch
        self._aggregator_timeout_s, self._state = aggregator_timeout_s, state
        self._release_key = release_key
        self._member: Member | None = None
        if channel.party in scheme.members:
            assert release_key is not None  # members release under it
            self._member = Member(
                channel, settings, scheme, release_key, state, stopwatch, aggregator_timeout_s=aggregator_timeout_s
            )
        self._participation = participation_of(channel, settings)
        self._keys, self._told_keys = scheme.draw_keys(), False
        self._dealt: Dealt | None = None
        self._used: Dealt | None = None
        self._keeps_secrets = shares_secrets(settings)
        self._secrets: dict[int, GroupSecret] = {}

    @property
    def members(self) -> tuple[str, ...]:
        """The openers of sums, in the order of their points."""
        return self._scheme.members

    @property
    def key_fingerprint(self) -> bytes:
        """A digest of the key of releases, which all parties hold; empty where there is none."""
        return b"" if self._release_key is None else self._release_key.fingerprint

    def _tell_keys(self) -> None:
        """Give each member of a committee its keys of this party's shares, once, before anything is dealt."""
        if self._keys is None or self._told_keys:
            return
        self._told_keys = True
        for point, member in enumerate(self._scheme.members, start=1):
            if member != self._channel.party:
                keys = self._keys.held_by(point, len(self._scheme.members), self._scheme.quorum)
                self._send_to_member(member, SHARE_KEYS_STEP, ShareKeysMessage(keys))

    def deal(self, leg: Leg, parameters: LatticeParameters) -> None:
        """Make a fresh secret, deal it to the members, and send the aggregator the signed digests and the offset.

        One that was dealt before it, and has masked nothing, is wiped.
        """
        self.drop()
        context = leg.dealing_context(self._channel.session_id, parameters.name)
        self._tell_keys()
        with self._stopwatch.measure("deal"):
            dealt = self._dealt = self._scheme.deal(context, self._channel.party, parameters, self._keys)
        if self._keys is None:
            for member, message in dealt.messages.items():
                self._send_to_member(member, leg.name("share"), ShareMessage(message))
        signature = self._channel.sign(DEALING_PURPOSE, *dealing_fields(context, dealt.digests, dealt.offset))
        answer = DealtMessage(parameters.name, list(dealt.digests), signature, dealt.offset)
        self._channel.send(self._settings.aggregator, leg.name("dealt"), answer)

    def check_dealt(self, leg: Leg) -> None:
        """A member checks what it was dealt; this party drops the shares of its own secret, if it dealt one."""
        dealt = self._dealt
        if self._member is not None:
            self._member.check_dealt(leg, None if dealt is None else dealt.messages[self._channel.party])
        if dealt is not None:
            self._dealt = replace(dealt, messages={})

    def take_secret(self, leg: Leg, opened: OpenedSum | None = None) -> SecretKey:
        """The secret that was dealt last, for one upload: it cannot be taken again. Wipe it.

        With `opened`, a sum of the group that is open: that sum's secret, for one upload of this step.
        """
        if opened is not None:
            return self._secrets[opened.leg.number].take(leg.step)
        dealt, self._dealt = self._dealt, None
        if dealt is None or dealt.secret is None:
            raise ProtocolError("an upload without a secret", expected="one that was dealt for it", got="none left")
        self._used = replace(dealt, secret=None, messages={})
        if not self._keeps_secrets:
            return dealt.secret
        kept = self._secrets[leg.number] = GroupSecret(dealt.secret)
        return kept.take(leg.step)

    def abandon(self, leg: Leg) -> None:
        """Wipe the secret of an upload whose sum nobody opens."""
        secret = self._secrets.pop(leg.number, None)
        if secret is not None:
            secret.wipe()

    def end_group(self) -> None:
        """Wipe the secrets of the group at hand: another group follows, or none."""
        while self._secrets:
            self._secrets.popitem()[1].wipe()

    def drop(self) -> None:
        """Wipe the secret and the shares that were dealt for an upload that will not be."""
        dealt, self._dealt = self._dealt, None
        if dealt is not None and dealt.secret is not None:
            dealt.secret.wipe()
        if self._member is not None:
            self._member.drop()

    def close(self) -> None:
        """As `drop`, and wipe the group's secrets and the keys of the session: no upload follows at all."""
        self.drop()
        self.end_group()
        if self._keys is not None:
            self._keys.wipe()
        if self._release_key is not None:
            self._release_key.wipe()
        if self._member is not None:
            self._member.close()

    def sign(self, leg: Leg, parameters: LatticeParameters, upload_digest: bytes) -> StatementMessage:
        """This party's signature over `upload_digest`, the SHA-256 of its upload; it notes its job on disk first.

        Once the upload is signed, others can open it, and the further sums of its group, without another message to
        this party.
        """
        dealt, context = self._own(), self._context(leg, parameters)
        self._state.note_upload()
        signature = self._channel.sign(UPLOAD_PURPOSE, *upload_fields(context, upload_digest, dealt.digests))
        return StatementMessage(upload_digest, dealt.salt, signature)

    def check_included(
        self, leg: Leg, parameters: LatticeParameters, stated: IncludedMessage, commitment: bytes = b""
    ) -> IncludedSet:
        """The included set, checked. Raises ProtocolError for statements that parties did not sign."""
        context = self._agreed_context(leg, parameters, stated)
        included = included_set_of(context, stated, commitment)
        kept = None if self._member is None else self._member.share_digests(leg)
        parties, least = self._participation.parties_in(leg.step), self._participation.least_in(leg.step)
        with self._stopwatch.measure("open"):
            check_included(included, context, parties, least, self._channel.find_unsigned, kept)
        is_left_out = self._channel.party in parties and self._channel.party not in included.parties
        if not set(included.parties) <= set(leg.participants) or is_left_out:
            raise ProtocolError(
                "the aggregator leaves this party out of a sum that it takes part in",
                expected="a set of this upload's parties, this one among them if it uploads",
                got="another set",
                cure="ask the aggregator's operator; resume from the last checkpoint",
            )
        if not self._scheme.members:
            for party in included.parties:
                _check_salt(context, party, stated)
        return included

    def release(self, leg: Leg, included: IncludedSet) -> None:
        """A member releases its sum of shares for that set; every other party notes it before anything is opened.

        Raises ProtocolError where this role released for other parties in this group before.
        """
        if self._release_key is not None:
            self._release_key.begin(included)
        if self._member is not None:
            self._member.release(leg, included)
        elif not self._scheme.members:
            self._state.allow(self._participation.parties_in(leg.step), included)
        else:
            self._state.note_stated(self._participation.parties_in(leg.step), included)

    def check_releases(self, leg: Leg, included: IncludedSet, begin: SumBeginMessage) -> None:
        """Raise ProtocolError unless each release is of a member, which signed it for this upload and set."""
        stranger = next((name for name in begin.releases if name not in self._scheme.members), None)
        if stranger is None:
            statements = release_statements(included, begin.releases, begin.signatures)
            stranger = self._channel.find_unsigned(RELEASE_PURPOSE, statements)
        if stranger is not None:
            raise ProtocolError(
                f"the aggregator passes on a release of {leg.step} that {stranger!r:.40} did not sign",
                expected="releases that members signed for the stated set",
                got="another",
                cure="ask the aggregator's operator; resume from the last checkpoint",
            )

    def open(
        self,
        leg: Leg,
        parameters: LatticeParameters,
        included: IncludedSet,
        stated: IncludedMessage,
        sealed: Mapping[str, bytes],
    ) -> tuple[SecretSum, list[str]]:
        """The sum of the secrets of the included parties, and members whose release does not fit the others'.

        `sealed`: the members' checked releases. Raises ProtocolError or BoundError where they do not open; the key of
        this upload is gone afterwards.
        """
        releases: dict[str, bytes] = {}
        other: list[str] = []
        for member, release in sealed.items():
            assert self._release_key is not None  # where there are members, there is one
            try:
                releases[member] = self._release_key.open(member, release)
            except SealError:
                other.append(member)
        self._forget_key()
        if len(releases) < self._scheme.quorum:
            raise ProtocolError(
                f"too few releases to open the sum of {leg.step}",
                expected=f"{self._scheme.quorum} for the stated set",
                got=f"{len(releases)}" + (f"; none that opens, of {', '.join(other)}" if other else ""),
                cure="abandon this upload number",
            )
        salts = {party: stated.salts.get(party, b"") for party in included.parties}
        with self._stopwatch.measure("open"):
            secret_sum, wrong = self._scheme.open(self._context(leg, parameters), parameters, releases, salts)
        return secret_sum, sorted([*other, *wrong])

    def _forget_key(self) -> None:
        if self._release_key is not None:
            self._release_key.forget()

    def refuse_sum(self, leg: Leg, why: Exception) -> AlteredSumError:
        """The error that ends the run where the sum does not open with the secrets' sum; it is noted on disk first."""
        self._state.note_altered(leg.step)
        return altered_sum_error(leg.step, self._settings, why, self._state.altered.path)

    def _context(self, leg: Leg, parameters: LatticeParameters) -> UploadContext:
        assert leg.agreement is not None  # a party has one
        return UploadContext(self._channel.session_id, leg.number, leg.step, parameters.name, leg.agreement)

    def _agreed_context(self, leg: Leg, parameters: LatticeParameters, stated: IncludedMessage) -> UploadContext:
        """This party's context. Raises ProtocolError where the parties in the set agree on something else."""
        context = self._context(leg, parameters)
        if stated.agreement != context.agreement:
            raise ProtocolError(
                f"the parties do not hold the same before {leg.step}",
                expected="one model, and the same clipping bounds and counters, at all parties",
                got="others here than at most parties",
                cure="run the same release and job everywhere, and resume from the last checkpoint",
            )
        return context

    def _own(self) -> Dealt:
        assert self._used is not None  # the upload comes first
        return self._used

    def _send_to_member(self, member: str, step: str, message: object) -> None:
        try:
            self._channel.send(member, step, message)
        except PartyLostError:
            return  # the aggregator learns of it by itself; enough members may be left


def included_set_of(context: UploadContext, stated: IncludedMessage, commitment: bytes = b"") -> IncludedSet:
    """The set as the aggregator states it, unchecked."""
    return _read_set(context, _Same(stated), commitment)


class _Same:
    """A message, equal to itself alone."""

    __slots__ = ("message",)

    def __init__(self, message: IncludedMessage) -> None:
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.message is self.message

    def __hash__(self) -> int:
        return id(self.message)


# The roles of one process are told one message (`read_once`), and each makes the same set of it.
@lru_cache(maxsize=4)
def _read_set(context: UploadContext, stated: _Same, commitment: bytes) -> IncludedSet:
    message = stated.message
    return state_included(
        context,
        [
            IncludedUpload(
                party, digest, tuple(message.share_digests.get(party, ())), message.signatures.get(party, b"")
            )
            for party, digest in message.upload_digests.items()
        ],
        commitment,
    )


def _check_salt(context: UploadContext, party: str, stated: IncludedMessage) -> None:
    if [salt_digest(context, party, stated.salts.get(party, b""))] != list(stated.share_digests.get(party, ())):
        raise ProtocolError(
            f"the aggregator states a salt that {party!r} did not sign",
            expected="the salt of its signed digest",
            got="another",
            cure="ask the aggregator's operator",
        )
