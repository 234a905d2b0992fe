"""The draw of the committee's members as a run begins: all commit, all sign what all committed to, all reveal.

Three exchanges go through the aggregator, which cannot change them unnoticed: a party signs all that it says, for this
session. Then each party tells the aggregator that it accepts the members. A party reveals its word only once every
other one has signed the same list of commitments and the list is on its own disk. So all honest parties draw the same
members, no party chooses its word after another's, and a run that breaks off and begins again draws nothing new
(docs/spec/committee.md, The draw).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hekat.errors import ProtocolError, StateError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.messages import DrawMessage, DrawsMessage
from hekat.protocol.secure_sum.masked.opening.committee import member_count_of
from hekat.protocol.secure_sum.masked.opening.member_draw import (
    DIGEST_BYTES,
    commitment_of,
    draw_members,
    list_digest_of,
    members_digest_of,
)
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.sum_plan import SumPlan

COMMITMENT, AGREEMENT, WORD, ACCEPTED = "commitment", "agreement", "word", "accepted"
OLDER_COMMITTEE = "the run keeps the committee of the release that began it: the first parties that the job names"
_PURPOSE = "hekat/lattice/members"
_STATE_CURE = "begin a new job, with another training.seed"


class PartyDraw:
    """A party's side.

    `resumed`: the run goes on from a checkpoint; `may_be_older`: perhaps from one of a release without a draw, and then
    the committee stays as it was.
    """

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        state: UploadState,
        plan: SumPlan,
        *,
        resumed: bool = False,
        may_be_older: bool = False,
        aggregator_timeout_s: float | None = None,
    ) -> None:
        self._channel, self._settings, self._state = channel, settings, state
        self._aggregator_timeout_s = aggregator_timeout_s
        self._plan, self._resumed, self._may_be_older = plan, resumed, may_be_older

    def run(self, accept: Callable[[tuple[str, ...]], None] = lambda members: None) -> tuple[str, ...]:
        """The members, kept on disk; `accept` raises where this site forms no committee with them.

        Raises ProtocolError, naming the party at fault where that can be told, and StateError where this party's
        record of an earlier draw is missing or damaged.
        """
        members = self._keep_first() if self._keeps_older() else self._draw()
        accept(members)
        self._say(ACCEPTED, members_digest_of(self._channel.job_digest, members))
        self._channel.ledger.note("setup", f"members of the committee: {', '.join(members)}", "public")
        return members

    def _keeps_older(self) -> bool:
        """Whether this party goes on with the committee of an older release. Raises StateError for a lost record."""
        if self._state.members.exists():
            return False
        if self._resumed and self._may_be_older:
            return True
        is_used = self._state.has_released(self._plan.groups)
        if self._resumed or is_used:
            raise StateError(
                f"{self._channel.party} has no record of the members that were drawn for this job",
                expected="the record beside its releases, as the run before left it",
                got="none, and sums of this job were opened already",
                cure=f"put its state folder back; else {_STATE_CURE}",
            )
        return False

    def _keep_first(self) -> tuple[str, ...]:
        said = self._exchange(COMMITMENT, b"")
        drawn = [party for party, commitment in said.items() if commitment]
        if drawn:
            raise _different_committees(drawn)
        self._channel.ledger.note("setup", OLDER_COMMITTEE, "public")
        return first_members(self._settings)

    def _draw(self) -> tuple[str, ...]:
        job, record, word = self._channel.job_digest, self._state.members, self._state.members.word()
        commitments = self._exchange(COMMITMENT, commitment_of(job, self._channel.party, word))
        _check_commitments(commitments, record.commitments())
        digest = list_digest_of(job, commitments)
        differing = [party for party, one in self._exchange(AGREEMENT, digest).items() if one != digest]
        if differing:
            raise ProtocolError(
                "the parties were not told the same commitments",
                expected="one list, signed by all",
                got=f"another list at {', '.join(differing)}",
                cure="ask the aggregator's operator: nothing was revealed",
            )
        # On disk before the word leaves: this party accepts no later list, chosen by somebody who saw the word.
        record.settle(commitments)
        words = self._exchange(WORD, word)
        members = members_of(self._settings, job, commitments, words)
        record.finish(members)
        return members

    def _exchange(self, part: str, value: bytes) -> dict[str, bytes]:
        """Every party's value, this one's `value` among them, each with its signature for this session."""
        channel = self._channel
        self._say(part, value)
        told = channel.receive(
            self._settings.aggregator, f"members/{part}/all", DrawsMessage, timeout_s=self._aggregator_timeout_s
        )
        if set(told.values) != set(self._settings.parties) or told.values[channel.party] != value:
            raise ProtocolError(
                f"the aggregator tells another {part} than this party, or not the common one",
                expected=f"one of each of {len(self._settings.parties)} parties",
                got="others",
                cure="ask the aggregator's operator",
            )
        statements = tuple(
            (party, told.signatures.get(party, b""), (channel.session_id, channel.job_digest, one))
            for party, one in told.values.items()
        )
        unsigned = channel.find_unsigned(f"{_PURPOSE}/{part}", statements)
        if unsigned is not None:
            raise _not_signed(f"the aggregator states a {part}", unsigned)
        return {party: told.values[party] for party in self._settings.parties}

    def _say(self, part: str, value: bytes) -> None:
        channel = self._channel
        signature = channel.sign(f"{_PURPOSE}/{part}", channel.session_id, channel.job_digest, value)
        channel.send(self._settings.aggregator, f"members/{part}", DrawMessage(value, signature))


def pass_on_draw(channel: RecordedChannel, settings: SumSettings) -> tuple[str, ...]:
    """The aggregator's side: it passes on what parties say, computes the members as they do, and hears that all accept.

    Raises ProtocolError, naming the party, where one reveals another word than it committed to or its signature does
    not hold. A party that says nothing, or whose site forms no committee with these members, ends the run.
    """
    members = _pass_on(channel, settings)
    digest = members_digest_of(channel.job_digest, members)
    differing = [party for party, said in _receive(channel, settings, ACCEPTED).items() if said.value != digest]
    if differing:
        raise ProtocolError(
            f"{', '.join(differing)} drew other members",
            expected=", ".join(members),
            got="others",
            cure="run the same release and job everywhere",
        )
    return members


def _pass_on(channel: RecordedChannel, settings: SumSettings) -> tuple[str, ...]:
    commitments = _collect(channel, settings, COMMITMENT)
    older = [party for party, one in commitments.items() if not one]
    if older:
        if len(older) < len(settings.parties):
            raise _different_committees([party for party in settings.parties if party not in older])
        return first_members(settings)
    _collect(channel, settings, AGREEMENT)
    return members_of(settings, channel.job_digest, commitments, _collect(channel, settings, WORD))


def members_of(
    settings: SumSettings, job_digest: bytes, commitments: Mapping[str, bytes], words: Mapping[str, bytes]
) -> tuple[str, ...]:
    """The members that the words give.

    Raises ProtocolError, naming the parties, where parties reveal other words than they committed to.
    """
    false = [party for party, word in words.items() if not _opens(commitments[party], job_digest, party, word)]
    if false:
        raise ProtocolError(
            f"{', '.join(false)} revealed another word than committed to",
            expected="the word of the commitment, chosen before anybody's was known",
            got="another one",
            cure=f"find out what runs there; a draw is never repeated: {_STATE_CURE}",
        )
    return draw_members(settings.parties, words, member_count_of(len(settings.parties)), job_digest)


def first_members(settings: SumSettings) -> tuple[str, ...]:
    """The committee of releases before members were drawn, for runs that such a release began."""
    return settings.parties[: member_count_of(len(settings.parties))]


def _opens(commitment: bytes, job_digest: bytes, party: str, word: bytes) -> bool:
    return len(word) == len(commitment) and commitment_of(job_digest, party, word) == commitment


def _collect(channel: RecordedChannel, settings: SumSettings, part: str) -> dict[str, bytes]:
    """What every party says, told to all."""
    said = _receive(channel, settings, part)
    values = {party: one.value for party, one in said.items()}
    message = DrawsMessage(values, {party: one.signature for party, one in said.items()})
    with channel.encoding_once(message):
        for party in settings.parties:
            channel.send(party, f"members/{part}/all", message)
    return values


def _receive(channel: RecordedChannel, settings: SumSettings, part: str) -> dict[str, DrawMessage]:
    said = {party: channel.receive(party, f"members/{part}", DrawMessage) for party in settings.parties}
    for party, one in said.items():
        signed = channel.session_id, channel.job_digest, one.value
        if not channel.verify(party, one.signature, f"{_PURPOSE}/{part}", *signed):
            raise _not_signed(f"there comes a {part}", party)
    return said


def _check_commitments(commitments: Mapping[str, bytes], kept: Mapping[str, bytes]) -> None:
    older = [party for party, one in commitments.items() if not one]
    if older:
        raise _different_committees([party for party in commitments if party not in older])
    malformed = [party for party, one in commitments.items() if len(one) != DIGEST_BYTES]
    if malformed:
        raise ProtocolError(
            f"{', '.join(malformed)} committed to no word",
            expected=f"a digest of {DIGEST_BYTES} bytes",
            got="something else",
            cure="run the same release everywhere",
        )
    changed = [party for party, one in kept.items() if commitments[party] != one]
    if changed:
        raise ProtocolError(
            f"{', '.join(changed)} committed to another word than in an earlier run of this job",
            expected="the same word in every run of a job: who sees the others' and then changes its own would choose",
            got="another commitment",
            cure=f"put back the state folder there; else {_STATE_CURE}",
        )


def _not_signed(what: str, party: str) -> ProtocolError:
    return ProtocolError(
        f"{what} that {party!r} did not sign",
        expected="each party's own, signed for this session",
        got="another",
        cure="ask the operator of whoever sent it",
    )


def _different_committees(drawn: list[str]) -> ProtocolError:
    return ProtocolError(
        "the parties do not go on with one committee",
        expected="members that were drawn at all parties, or a run of an older release at all",
        got=f"members drawn at {', '.join(drawn)} alone",
        cure=f"put back the state folders of the run before; else {_STATE_CURE}",
    )
