"""Sums of a group after its first one: what an aggregator, alone or with a party that knows S, makes of them.

Standardising has four sums, the first and the third of one set, the second and the fourth of another: S of the first
two is known before the others are uploaded.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from hekat.errors import AlteredSumError, BoundError, PartyStoppedError, ProtocolError, StateError
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.aggregator import MaskedSummation
from hekat.protocol.secure_sum.masked.group.group_secret import OpenedGroup, key_of_upload
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    ReleasedMessage,
    StatementMessage,
    SumBeginMessage,
    SumBlockMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.scheme.lattice import Accumulator, add, decrypt, public_key

PARTIES = "abcde"
VICTIM = "c"
SCALE, MEAN, DEVIATION, VARIANCE = (f"standardise/{name}" for name in ("scale", "mean", "deviation", "variance"))
ALTERED = "is not the sum of the uploads it is stated to be"


@pytest.fixture
def settings(masked_settings):
    made = masked_settings(5)
    return replace(made, training=replace(made.training, standardise=True))


def nothing(to, step, message):
    return None


def test_a_further_sum_is_an_upload_and_an_answer(play, settings) -> None:
    rehearsal, watch, error = play(nothing, settings=settings)
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [5]
    kinds = {
        step: [type(message).__name__ for sender, name, message in watch.received if sender == "b" and step in name]
        for step in (SCALE, MEAN, DEVIATION, VARIANCE)
    }
    upload = ["UploadMessage", "MaskedBlockMessage", "StatementMessage"]
    anew = ["DealtMessage", "CheckedMessage", *upload, "ReleasedMessage", "OpenedMessage"]
    assert kinds == {SCALE: anew, MEAN: ["UploadMessage", *anew], DEVIATION: upload, VARIANCE: upload}


# --- parties that agree on different things ---------------------------------------------------------------------------


def differ_from(monkeypatch, first: str) -> None:
    """The victim holds another sum than the others from the step `first` on, as if it had been told another one."""
    summed = MaskedAggregation._sum

    def sum_after_another_one(self, request):
        if self._channel.party == VICTIM and request.step == first:
            self._held.digest = b"of another sum"
        return summed(self, request)

    monkeypatch.setattr(MaskedAggregation, "_sum", sum_after_another_one)


def test_a_party_that_differs_in_the_middle_of_a_group_ends_the_run_by_name(play, settings, monkeypatch) -> None:
    differ_from(monkeypatch, DEVIATION)
    rehearsal, watch, error = play(nothing, settings=settings)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    assert "lost: c" in str(error)
    assert rehearsal.lost_names == [VICTIM]
    assert "with another model, bounds or counters than most" in rehearsal.reasons
    assert watch.senders_of(StatementMessage, "round-1") == []


class Hiding:
    """An aggregator that takes every agreement for that of `a`, reads all uploads, and states what it is asked to."""

    def __init__(self, monkeypatch, *, tell_victim: bool) -> None:
        monkeypatch.setattr(masked_aggregator, "check_statement", lambda *others, **options: None)
        self.announced: dict[tuple[str, str], UploadMessage] = {}
        self._tell_victim = tell_victim

    def take(self, sender, step, message):
        if not isinstance(message, UploadMessage):
            return None
        group = step.rsplit("/", 1)[0] if "upload-" not in step else step.split("/upload-")[0]
        self.announced[group, sender] = message
        return replace(message, agreement=self.announced[group, "a"].agreement)

    def change(self, to, step, message):
        if isinstance(message, IncludedMessage) and to == VICTIM and self._tell_victim:
            return replace(message, agreement=self.announced[step.split("/upload-")[0], VICTIM].agreement)
        return None


@pytest.mark.parametrize("tell_victim", [True, False])
@pytest.mark.parametrize("rule", ["with the rule", "without it"])
def test_with_a_party_that_knows_s_uploads_of_different_agreements_open_nothing(
    rule, tell_victim, play, settings, monkeypatch
) -> None:
    """No member is asked any more. The parties end the run, but too late: the uploads are there, and S is known.

    Public polynomials that follow from number and step alone let the sum open all the same.
    """
    known = {}
    hold = OpenedGroup.hold

    def hold_and_tell(group, opened):
        known[opened.parameters.name] = opened
        hold(group, opened)

    monkeypatch.setattr(OpenedGroup, "hold", hold_and_tell)
    key_of = key_of_upload
    if rule == "without it":

        def key_of(session, leg, parameters):
            return public_key(session, leg.number, parameters, leg.step.encode())

        monkeypatch.setattr(masked_party, "key_of_upload", key_of)
    differ_from(monkeypatch, DEVIATION)
    hiding = Hiding(monkeypatch, tell_victim=tell_victim)
    rehearsal, watch, error = play(hiding.change, take=hiding.take, settings=settings, exactness_check=False)
    assert error is not None
    assert rehearsal.records == []

    uploads = {
        sender: message.written
        for sender, step, message in watch.received
        if isinstance(message, MaskedBlockMessage) and step.startswith(DEVIATION)
    }
    assert sorted(uploads) == list(PARTIES)
    agreements = [hiding.announced[DEVIATION, party].agreement for party in ("a", VICTIM)]
    assert agreements[0] != agreements[1]
    some = hiding.announced[DEVIATION, "a"]
    opened = known[some.parameter_set]
    total = add(opened.parameters, some.lane_count, list(uploads.values()))
    for agreement in agreements:
        own = Leg(DEVIATION, opened.leg.number, opened.leg.participants, agreement)
        key = key_of(rehearsal.sessions[0], own, opened.parameters)
        if rule == "without it":
            found = decrypt(opened.parameters, opened.secret_sum, key, total, some.lane_count)
            assert found.any(), "the sum of all five, four of which are of other values than the victim's"
            continue
        with pytest.raises(BoundError, match="does not open"):
            decrypt(opened.parameters, opened.secret_sum, key, total, some.lane_count)


# --- reuse ------------------------------------------------------------------------------------------------------------


def test_a_step_that_comes_again_is_masked_by_nobody(play, settings, monkeypatch) -> None:
    """All roles go through the same step twice: a second contribution would tell what changed."""
    serve, summed = MaskedSummation.serve, MaskedAggregation._sum
    monkeypatch.setattr(
        MaskedSummation,
        "serve",
        lambda self, step, then="": serve(self, MEAN if step == VARIANCE else step, then),
    )
    monkeypatch.setattr(
        MaskedAggregation,
        "_sum",
        lambda self, request: summed(self, replace(request, step=MEAN) if request.step == VARIANCE else request),
    )
    rehearsal, watch, error = play(nothing, settings=settings, exactness_check=False)
    assert error is not None
    assert isinstance(error.__cause__, ProtocolError)
    assert "standardise/mean is summed twice under one secret" in str(error) + rehearsal.reasons
    assert sorted(watch.senders_of(MaskedBlockMessage, MEAN)) == list(PARTIES)


def test_an_aggregator_that_begins_a_further_step_anew_gets_no_second_upload(play, settings, monkeypatch) -> None:
    """It says that it knows no secret of the group, and begins an upload under another number."""
    begin = MaskedSummation._serve_further

    def forget(self, step, then):
        if step == DEVIATION:
            self._opened = {"A16-4": SimpleNamespace()}
        return begin(self, step, then)

    monkeypatch.setattr(MaskedSummation, "_serve_further", forget)
    _, watch, error = play(nothing, settings=settings, exactness_check=False, timeout_s=3.0)
    assert error is not None
    assert watch.senders_of(DealtMessage, DEVIATION) == []
    assert watch.senders_of(OpenedMessage, DEVIATION) == []


# --- hostile statements -----------------------------------------------------------------------------------------------


def without_e(message):
    digests = {party: digest for party, digest in message.upload_digests.items() if party != "e"}
    return replace(message, upload_digests=digests)


def with_a_stranger(message):
    digest, signature = message.upload_digests["e"], message.signatures["e"]
    return replace(
        message,
        upload_digests={**message.upload_digests, "hub": digest},
        signatures={**message.signatures, "hub": signature},
    )


def with_other_shares(message):
    return replace(message, share_digests={party: [bytes(32)] * 5 for party in message.upload_digests})


def with_salts(message):
    return replace(message, salts=dict.fromkeys(message.upload_digests, bytes(32)))


def with_another_upload(message):
    return replace(message, upload_digests={**message.upload_digests, "e": bytes(32)})


def with_an_upload_twice(message):
    return replace(message, upload_digests={**message.upload_digests, "e": message.upload_digests["d"]})


def with_anothers_signature(message):
    return replace(message, signatures={**message.signatures, "e": message.signatures["d"]})


def without_a_signature(message):
    return replace(message, signatures={party: one for party, one in message.signatures.items() if party != "e"})


def with_another_agreement(message):
    return replace(message, agreement=bytes(32))


ANOTHER_SET = "the aggregator states another set in standardise/deviation than in the sum before it"
STATEMENTS = {
    without_e: ANOTHER_SET,
    with_a_stranger: ANOTHER_SET,
    with_other_shares: ANOTHER_SET,
    with_salts: ANOTHER_SET,
    with_another_upload: "holds what 'e' did not sign",
    with_an_upload_twice: "holds an upload twice",
    with_anothers_signature: "holds what 'e' did not sign",
    without_a_signature: "holds what 'e' did not sign",
    with_another_agreement: "the parties do not hold the same before standardise/deviation",
}


@pytest.mark.parametrize("change", STATEMENTS, ids=lambda change: change.__name__)
def test_a_hostile_statement_of_a_further_sum_is_refused_by_every_party(change, play, settings) -> None:
    def state(to, step, message):
        return change(message) if isinstance(message, IncludedMessage) and step.startswith(DEVIATION) else None

    rehearsal, watch, error = play(state, settings=settings, exactness_check=False)
    assert error is not None
    assert sorted(rehearsal.lost_names) == list(PARTIES)
    assert rehearsal.reasons.count(STATEMENTS[change]) == 5
    assert watch.senders_of(UploadMessage, VARIANCE) == []


def test_the_statement_of_the_first_sum_is_none_of_a_further_one(play, settings) -> None:
    """Replayed, it is signed by all, for another step."""
    first = {}

    def replay(to, step, message):
        if not isinstance(message, IncludedMessage):
            return None
        if step.startswith(SCALE):
            first[to] = message
        if step.startswith(DEVIATION):
            return replace(message, upload_digests=first[to].upload_digests, signatures=first[to].signatures)
        return None

    rehearsal, _, error = play(replay, settings=settings, exactness_check=False)
    assert error is not None
    assert rehearsal.reasons.count("did not sign") == 5


@pytest.mark.parametrize("named", ["round-9", "standardise/variance"])
def test_a_further_statement_that_names_another_step_obtains_no_secret_for_it(named, play, settings) -> None:
    def changed(to, step, message):
        is_further = isinstance(message, IncludedMessage) and step.startswith(DEVIATION)
        return replace(message, next_step=named) if is_further else None

    _, watch, error = play(changed, settings=settings, exactness_check=False, timeout_s=2.0)
    assert error is not None
    assert watch.senders_of(DealtMessage, named) == []


# --- hostile sums -----------------------------------------------------------------------------------------------------


def check_altered(rehearsal, error, victims: str, rehearse_masked, settings, step: str) -> None:
    assert isinstance(error.__cause__, AlteredSumError)
    assert f"the sum of {step} {ALTERED}" in str(error)
    assert error.party in victims
    assert rehearsal.records == []
    # Noted first: nobody goes on with the job.
    with pytest.raises(StateError, match=f"was altered in an earlier run, in {step}"):
        rehearse_masked(settings)


@pytest.mark.parametrize("victims", ["c", PARTIES])
def test_the_answer_to_an_earlier_sum_is_none_to_a_further_one(victims, play, settings, rehearse_masked) -> None:
    """Both are under S, and the aggregator makes the old one as long as the new one; the public polynomials differ."""
    first = {}

    def replay(to, step, message):
        if not isinstance(message, SumBlockMessage):
            return None
        if step.startswith(MEAN):
            first[to] = message
        if not step.startswith(VARIANCE) or to not in victims:
            return None
        size = len(message.written)
        return SumBlockMessage((2 * first[to].written)[:size])

    rehearsal, _, error = play(replay, settings=settings, exactness_check=False)
    check_altered(rehearsal, error, victims, rehearse_masked, settings, VARIANCE)


class AllButOne(Accumulator):
    """It leaves out the last upload of the third sum."""

    sums = 0

    def __init__(self, *others) -> None:
        super().__init__(*others)
        type(self).sums += 1
        self._number, self._added = type(self).sums, 0

    def add(self, blocks) -> None:
        self._added += 1
        if (self._number, self._added) != (3, 5):
            super().add(blocks)


def test_a_further_sum_without_a_party_of_the_set_does_not_open(play, settings, monkeypatch, rehearse_masked) -> None:
    monkeypatch.setattr(AllButOne, "sums", 0)
    monkeypatch.setattr(masked_aggregator, "Accumulator", AllButOne)
    rehearsal, watch, error = play(nothing, settings=settings, exactness_check=False)
    assert AllButOne.sums == 3
    check_altered(rehearsal, error, PARTIES, rehearse_masked, settings, DEVIATION)
    assert watch.senders_of(UploadMessage, VARIANCE) == []


def test_a_further_sum_is_not_tried_again(play, settings) -> None:
    """Whatever the aggregator says: there is no answer of the parties, and none of the aggregator, that asks for it."""

    def change(to, step, message):
        is_further = isinstance(message, SumBlockMessage) and step.startswith(DEVIATION)
        return SumBlockMessage(bytes(len(message.written))) if is_further else None

    _, watch, error = play(change, settings=settings, exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError)
    assert sorted(watch.senders_of(MaskedBlockMessage, DEVIATION)) == list(PARTIES)
    assert watch.senders_of(OpenedMessage, DEVIATION) == []


def test_releases_in_place_of_a_further_sum_are_refused(play, settings) -> None:
    first = {}

    def change(to, step, message):
        if isinstance(message, SumBeginMessage) and step.startswith(SCALE):
            first[to] = message
        return first[to] if isinstance(message, SumBlockMessage) and step.startswith(DEVIATION) else None

    rehearsal, watch, error = play(change, settings=settings, exactness_check=False)
    assert error is not None
    assert rehearsal.records == []
    assert watch.senders_of(UploadMessage, VARIANCE) == []


def test_a_member_releases_once_for_each_set_of_a_group(play, settings) -> None:
    _, watch, error = play(nothing, settings=settings)
    assert error is None
    assert {
        step: watch.senders_of(ReleasedMessage, step) for step in (SCALE, MEAN, DEVIATION, VARIANCE, "round-1")
    } == {SCALE: [*PARTIES], MEAN: [*PARTIES], DEVIATION: [], VARIANCE: [], "round-1": [*PARTIES]}


# --- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["upload", "sign"])
def test_a_party_that_is_lost_in_the_middle_of_a_group_ends_the_run_by_name(
    part, rehearse_masked, settings, leave_at
) -> None:
    rehearsal = rehearse_masked(settings, hooks={"d": leave_at(DEVIATION, part)})
    with pytest.raises(PartyStoppedError, match=r"a party is lost in the middle of 'standardise'.* lost: d"):
        rehearsal.run()
    assert rehearsal.records == []


def test_a_party_that_is_lost_after_its_upload_is_in_the_sum_and_the_next_one_ends_the_run(
    rehearse_masked, settings, leave_at
) -> None:
    rehearsal = rehearse_masked(settings, hooks={"d": leave_at(DEVIATION, "open")})
    with pytest.raises(PartyStoppedError, match=r"a party is lost in the middle of 'standardise'.* lost: d"):
        rehearsal.run()


def test_what_a_party_uploads_besides_its_announcement_in_a_further_sum_ends_the_run(play, settings) -> None:
    """A set that nobody knows, no slots, another number of slots than the others'."""
    for change in (
        lambda message: replace(message, parameter_set="A99-99"),
        lambda message: replace(message, lane_count=0),
        lambda message: replace(message, lane_count=message.lane_count + 1),
        lambda message: replace(message, parameter_set="A24-128"),
        lambda message: replace(message, agreement=b""),
    ):

        def announce(to, step, message, change=change):
            return change(message) if isinstance(message, UploadMessage) and step.startswith(DEVIATION) else None

        rehearsal, _, error = play(announce, role="d", settings=settings, exactness_check=False)
        assert "a party is lost in the middle of 'standardise'" in str(error)
        assert rehearsal.lost_names == ["d"]
