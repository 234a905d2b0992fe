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
from hekat.protocol.secure_sum.masked.group import announced_block
from hekat.protocol.secure_sum.masked.group.group_secret import OpenedGroup, key_of_upload
from hekat.protocol.secure_sum.masked.leg import Leg, further_step
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
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS
from hekat.scheme.lattice import SETS, Accumulator, add, block_values, decrypt, public_key

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
        step: [
            type(message).__name__
            for sender, name, message in watch.received
            if sender == "b" and (step in name or step == getattr(message, "step", ""))
        ]
        for step in (SCALE, MEAN, DEVIATION, VARIANCE)
    }
    upload = ["UploadMessage", "MaskedBlockMessage", "StatementMessage"]
    anew = ["DealtMessage", "CheckedMessage", *upload, "ReleasedMessage", "OpenedMessage"]
    further = ["UploadMessage"]
    assert kinds == {SCALE: anew, MEAN: [*further, *anew], DEVIATION: further, VARIANCE: further}


def test_large_uploads_of_a_further_sum_follow_their_announcements(play, settings, monkeypatch) -> None:
    monkeypatch.setattr(announced_block, "MOST_BYTES", 0)
    rehearsal, watch, error = play(nothing, settings=settings)
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [5]
    for step in (DEVIATION, VARIANCE):
        assert watch.senders_of(UploadMessage, step) == [*PARTIES]
        assert watch.senders_of(MaskedBlockMessage, step) == [*PARTIES]
        assert watch.senders_of(StatementMessage, step) == []


def test_a_block_goes_along_where_all_of_them_are_small() -> None:
    parameters = SETS["A16-4"]
    one_block = block_values(parameters, BLOCK_SLOTS)
    size = parameters.form.written_bytes(one_block)
    most = announced_block.MOST_BYTES // size
    assert announced_block.announced_bytes(parameters, one_block, most) == size
    assert announced_block.announced_bytes(parameters, one_block, most + 1) == 0
    assert announced_block.announced_bytes(parameters, one_block + 1, 2) == 0


# --- parties that agree on different things ---------------------------------------------------------------------------


def differ_from(monkeypatch, first: str) -> None:
    """The victim holds another sum than the others from the step `first` on, as if it had been told another one."""
    summed = MaskedAggregation._sum

    def sum_after_another_one(self, request):
        if self._channel.party == VICTIM and request.step == first:
            self._held.digest = b"of another sum"
        return summed(self, request)

    monkeypatch.setattr(MaskedAggregation, "_sum", sum_after_another_one)


def test_a_party_that_differs_in_the_middle_of_a_group_ends_the_run_by_name(
    play, settings, monkeypatch, rehearse_masked
) -> None:
    differ_from(monkeypatch, DEVIATION)
    summed = []

    def nothing_is_sent(to, step, message):
        summed.extend([step] if isinstance(message, SumBlockMessage) and step.startswith(DEVIATION) else [])

    rehearsal, watch, error = play(nothing_is_sent, settings=settings)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    assert "lost: c" in str(error)
    assert rehearsal.lost_names == [VICTIM]
    assert "with another model, mask, bounds or counters than most" in rehearsal.reasons
    assert summed == []
    assert watch.senders_of(StatementMessage, "round-1") == []
    # An accident looks like no altered sum: nobody refuses the rest of the job.
    rehearse_masked(settings)


class Hiding:
    """An aggregator that takes every agreement for that of `a`, and adds all uploads."""

    def __init__(self) -> None:
        self.announced: dict[tuple[str, str], UploadMessage] = {}

    def take(self, sender, step, message):
        if not isinstance(message, UploadMessage):
            return None
        self.announced[message.step, sender] = message
        return replace(message, agreement=self.announced[message.step, "a"].agreement)


@pytest.mark.parametrize("rule", ["with the rule", "without it"])
def test_with_a_party_that_knows_s_uploads_of_different_agreements_open_nothing(
    rule, play, settings, monkeypatch, rehearse_masked
) -> None:
    """No member is asked any more, and nothing is stated. The parties see that the sum does not open, but too late: the
    uploads are there, and S is known.

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
    hiding = Hiding()
    rehearsal, watch, error = play(nothing, take=hiding.take, settings=settings, exactness_check=False)
    if rule == "with the rule":
        check_altered(rehearsal, error, PARTIES, rehearse_masked, settings, DEVIATION)
    else:
        assert sorted(watch.senders_of(UploadMessage, VARIANCE)) == list(PARTIES), "it opened at all of them"

    uploads = {party: hiding.announced[DEVIATION, party].block for party in PARTIES}
    assert all(uploads.values())
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
    serve = MaskedSummation._serve_announced

    def forget(self, steps, then=""):
        if DEVIATION in steps:
            self._opened = {"A16-4": SimpleNamespace()}
        return serve(self, steps, then)

    monkeypatch.setattr(MaskedSummation, "_serve_announced", forget)
    _, watch, error = play(nothing, settings=settings, exactness_check=False)
    assert error is not None
    assert watch.senders_of(DealtMessage, DEVIATION) == []
    assert watch.senders_of(OpenedMessage, DEVIATION) == []


def test_a_secret_that_is_dealt_ahead_in_the_middle_of_a_group_is_dropped_as_a_further_sum_comes(
    play, settings, monkeypatch
) -> None:
    """An aggregator names the round two sums too early. It drops what was dealt, and so do all parties."""
    serve, upload, held = MaskedSummation.serve, MaskedAggregation._mask_further, []
    monkeypatch.setattr(
        MaskedSummation, "serve", lambda self, step, then="": serve(self, step, "round-1" if step == MEAN else then)
    )

    def upload_and_look(self, leg, *others):
        held.append((leg.step, self._ahead, self._opening._dealt))
        return upload(self, leg, *others)

    monkeypatch.setattr(MaskedAggregation, "_mask_further", upload_and_look)
    rehearsal, watch, error = play(nothing, settings=settings)
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [5]
    assert held == [(step, None, None) for step in (DEVIATION, VARIANCE) for _ in PARTIES]
    assert [step for sender, step, _ in watch.received if sender == "b" and step.startswith("round-1/")] == [
        "round-1/upload-2/dealt",
        "round-1/upload-2/checked",
        "round-1/upload-3/dealt",
        "round-1/upload-3/checked",
        "round-1/upload-3/upload",
        "round-1/upload-3/block",
        "round-1/upload-3/statement",
        "round-1/upload-3/released",
        "round-1/upload-3/opened",
        "round-1/end",
    ]


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


class OfAnotherSet(Accumulator):
    """It adds the last upload of the third sum so many `times`, and the first one `more` times."""

    sums = times = more = 0

    def __init__(self, *others) -> None:
        super().__init__(*others)
        type(self).sums += 1
        self._number, self._added = type(self).sums, []

    def add(self, blocks) -> None:
        self._added.append(blocks)
        if (self._number, len(self._added)) != (3, 5):
            return super().add(blocks)
        for one in [blocks] * self.times + self._added[:1] * self.more:
            super().add(one)


@pytest.mark.parametrize(("times", "more"), [(0, 0), (2, 0), (0, 1), (1, 1)])
def test_a_further_sum_of_other_uploads_than_one_of_each_party_of_the_set_does_not_open(
    times, more, play, settings, monkeypatch, rehearse_masked
) -> None:
    """One is left out, twice in it, in the place of another, or added beside all."""
    made = type("Made", (OfAnotherSet,), {"times": times, "more": more})
    monkeypatch.setattr(masked_aggregator, "Accumulator", made)
    rehearsal, watch, error = play(nothing, settings=settings, exactness_check=False)
    assert made.sums == 3
    check_altered(rehearsal, error, PARTIES, rehearse_masked, settings, DEVIATION)
    assert watch.senders_of(UploadMessage, VARIANCE) == []


def test_an_upload_for_an_earlier_step_is_in_no_further_sum(play, settings, rehearse_masked) -> None:
    """An aggregator that adds what a party sent for the mean once more, as if it were for the variance."""
    earlier = {}

    def take(sender, step, message):
        if sender == VICTIM and isinstance(message, MaskedBlockMessage) and step.startswith(MEAN):
            earlier[sender] = message.written
        if sender == VICTIM and isinstance(message, UploadMessage) and message.step == VARIANCE:
            return replace(message, block=(2 * earlier[sender])[: len(message.block)])
        return None

    rehearsal, _, error = play(nothing, take=take, settings=settings, exactness_check=False)
    assert earlier
    check_altered(rehearsal, error, PARTIES, rehearse_masked, settings, VARIANCE)


def test_a_further_sum_is_not_tried_again(play, settings) -> None:
    """Whatever the aggregator says: there is no answer of the parties, and none of the aggregator, that asks for it."""

    def change(to, step, message):
        is_further = isinstance(message, SumBlockMessage) and step.startswith(DEVIATION)
        return SumBlockMessage(bytes(len(message.written))) if is_further else None

    _, watch, error = play(change, settings=settings, exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError)
    assert sorted(watch.senders_of(UploadMessage, DEVIATION)) == list(PARTIES)
    assert watch.senders_of(OpenedMessage, DEVIATION) == []


@pytest.mark.parametrize("kind", [IncludedMessage, SumBeginMessage])
def test_what_only_the_first_sum_has_is_refused_in_a_further_one(kind, play, settings) -> None:
    """A statement or releases in the place of the sum; the statement names a step to deal for, which nobody does."""
    first = {}

    def change(to, step, message):
        if isinstance(message, kind) and step.startswith(SCALE):
            first[to] = replace(message, next_step="round-9") if kind is IncludedMessage else message
        return first[to] if isinstance(message, SumBlockMessage) and step.startswith(DEVIATION) else None

    rehearsal, watch, error = play(change, settings=settings, exactness_check=False)
    assert error is not None
    assert rehearsal.records == []
    assert watch.senders_of(UploadMessage, VARIANCE) == []
    assert watch.senders_of(DealtMessage, "round-9") == []


def test_a_member_releases_once_for_each_set_of_a_group(play, settings) -> None:
    _, watch, error = play(nothing, settings=settings)
    assert error is None
    assert {
        step: watch.senders_of(ReleasedMessage, step) for step in (SCALE, MEAN, DEVIATION, VARIANCE, "round-1")
    } == {SCALE: [*PARTIES], MEAN: [*PARTIES], DEVIATION: [], VARIANCE: [], "round-1": [*PARTIES]}


# --- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.quick_values
@pytest.mark.parametrize(("party", "part"), [("a", "sign"), ("d", "upload"), ("e", "sign")])
@pytest.mark.parametrize("most", [announced_block.MOST_BYTES, 0], ids=["one message", "blocks that follow"])
def test_a_party_that_is_lost_in_the_middle_of_a_group_ends_the_run_by_name(
    most, party, part, rehearse_masked, settings, leave_at, monkeypatch
) -> None:
    """Before or after others have announced theirs."""
    monkeypatch.setattr(announced_block, "MOST_BYTES", most)
    rehearsal = rehearse_masked(settings, hooks={party: leave_at(DEVIATION, part)})
    with pytest.raises(PartyStoppedError, match=rf"a party is lost in the middle of 'standardise'.* lost: {party}"):
        rehearsal.run()
    assert rehearsal.records == []


def test_a_party_that_is_lost_after_its_upload_is_in_the_sum_and_the_next_one_ends_the_run(
    rehearse_masked, settings, leave_at
) -> None:
    rehearsal = rehearse_masked(settings, hooks={"d": leave_at(DEVIATION, "open")})
    with pytest.raises(PartyStoppedError, match=r"a party is lost in the middle of 'standardise'.* lost: d"):
        rehearsal.run()


@pytest.mark.parametrize(
    "changes",
    [
        lambda message: {"step": MEAN},
        lambda message: {"step": VARIANCE},
        lambda message: {"parameter_set": "A99-99"},
        lambda message: {"lane_count": 0},
        lambda message: {"lane_count": message.lane_count + 1},
        lambda message: {"lane_count": 2**70},
        lambda message: {"parameter_set": "A24-128"},
        lambda message: {"agreement": b""},
        lambda message: {"block": b""},
        lambda message: {"block": message.block + b"0"},
        lambda message: {"block": b"\xff" * len(message.block)},
    ],
    ids=[
        "an open step",
        "a later step",
        "no set",
        "no slots",
        "other slots",
        "more slots than numbers",
        "another set",
        "no agreement",
        "no block",
        "long block",
        "padding",
    ],
)
def test_who_announces_what_cannot_be_in_a_further_sum_ends_the_run_by_name(changes, play, settings) -> None:
    def announce(to, step, message):
        is_further = isinstance(message, UploadMessage) and message.step == DEVIATION
        return replace(message, **changes(message)) if is_further else None

    rehearsal, _, error = play(announce, role="d", settings=settings, exactness_check=False)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    assert rehearsal.lost_names == ["d"]


def test_a_block_before_there_is_a_secret_for_it_is_refused(play, settings) -> None:
    def announce(to, step, message):
        is_new = isinstance(message, UploadMessage) and step == further_step(MEAN) and message.step == MEAN
        return replace(message, block=b"0") if is_new else None

    rehearsal, _, error = play(announce, role="d", settings=settings, exactness_check=False)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    assert rehearsal.lost_names == ["d"]
    assert "an announcement with a block of another size" in rehearsal.reasons


@pytest.mark.parametrize(
    "sent",
    [
        lambda step, message: [(step, message), (f"{DEVIATION}/upload-0/block", MaskedBlockMessage(message.block))],
        lambda step, message: [(step, message), (step, message)],
        lambda step, message: [("round-1/further", message)],
        lambda step, message: [],
    ],
    ids=["and its block again", "twice", "in the next group", "nothing"],
)
def test_who_sends_another_number_of_messages_in_a_further_sum_ends_the_run_by_name(sent, play, settings) -> None:
    def change(to, step, message):
        is_further = isinstance(message, UploadMessage) and message.step == DEVIATION
        return sent(step, message) if is_further else None

    rehearsal, _, error = play(change, role="d", settings=settings, exactness_check=False, timeout_s=5.0)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    assert rehearsal.lost_names == ["d"]


@pytest.mark.parametrize(
    "sent",
    [lambda step, written: [], lambda step, written: [(step, MaskedBlockMessage(written[:-1]))], None],
    ids=["nothing", "a short one", "padding"],
)
def test_who_announces_an_upload_whose_block_does_not_follow_ends_the_run_by_name(
    sent, play, settings, monkeypatch
) -> None:
    monkeypatch.setattr(announced_block, "MOST_BYTES", 0)

    def change(to, step, message):
        if not isinstance(message, MaskedBlockMessage) or not step.startswith(DEVIATION):
            return None
        if sent is None:
            return MaskedBlockMessage(b"\xff" * len(message.written))
        return sent(step, message.written)

    rehearsal, _, error = play(change, role="d", settings=settings, exactness_check=False)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    assert rehearsal.lost_names == ["d"]
