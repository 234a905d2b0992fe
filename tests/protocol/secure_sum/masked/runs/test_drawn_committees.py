"""Runs of eight parties whose seven members are drawn: nobody chooses them, and nothing is drawn a second time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hekat.errors import ChannelError, HekatError, PartyStoppedError, PolicyError, ProtocolError, StateError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.protocol.secure_sum.masked import draw_members as draw
from hekat.protocol.secure_sum.masked import start_up
from hekat.protocol.secure_sum.masked.messages import DealtMessage, DrawMessage, DrawsMessage, ShareMessage
from hekat.protocol.secure_sum.masked.opening.member_draw import commitment_of
from hekat.protocol.secure_sum.masked.opening.member_record import MemberRecord

JOB = bytes(32)
WORD, COMMITMENT = "members/word", "members/commitment"


@pytest.fixture(autouse=True)
def first_are_members() -> None:
    """Not here: members are drawn."""


@pytest.fixture
def eight(masked_settings) -> Any:
    return masked_settings(8)


def record_of(folder: Path, party: str) -> MemberRecord:
    return MemberRecord(folder / party, JOB)


def words_in(folder: Path, settings: Any) -> dict[str, bytes]:
    return {party: record_of(folder, party).word() for party in settings.parties}


def saying(step: str, value_of: Callable[[RecordedChannel, Any], bytes]) -> Callable[[RecordedChannel], Any]:
    """A party that says something else in that exchange, with its own good signature."""

    def wrap(channel: RecordedChannel) -> Any:
        class Other:
            def __getattr__(self, name: str) -> Any:
                return getattr(channel, name)

            def send(self, to: str, now: str, message: Any, timeout_s: float | None = None) -> bytes:
                if now == step:
                    value = value_of(channel, message)
                    purpose = f"hekat/lattice/{step}"
                    message = DrawMessage(value, channel.sign(purpose, channel.session_id, JOB, value))
                return channel.send(to, now, message, timeout_s)

        return Other()

    return wrap


def ends_with(rehearsal: Any) -> HekatError:
    with pytest.raises(PartyStoppedError) as stopped:
        rehearsal.run()
    assert isinstance(stopped.value.__cause__, HekatError)
    return stopped.value.__cause__


def test_all_parties_draw_the_same_members_and_keep_them(rehearse_masked, eight, expect_step, tmp_path) -> None:
    first = rehearse_masked(eight)
    expect_step(first.run(), eight.parties)
    words = words_in(tmp_path / "state", eight)
    assert first.members == draw.draw_members(eight.parties, words, 7, JOB)
    assert {record_of(tmp_path / "state", party).members() for party in eight.parties} == {first.members}
    assert len(set(words.values())) == 8


def test_a_run_that_is_resumed_keeps_its_members(rehearse_masked, eight, expect_step, tmp_path, leave_at) -> None:
    """Broken off in its first sum, and begun again: another session, the same words, the same members."""
    stopped = rehearse_masked(eight, hooks={party: leave_at("round-1", "deal") for party in eight.parties[:3]})
    with pytest.raises(HekatError):
        stopped.run()
    again = rehearse_masked(eight)
    expect_step(again.run(), eight.parties)
    assert again.members == stopped.members
    assert again.sessions != stopped.sessions


# --- whoever changes its word --------------------------------------------------------------------------------


def test_a_party_that_reveals_another_word_is_named(rehearse_masked, eight) -> None:
    """h has seen the others' words: the last to speak would choose the committee, if its commitment did not bind it."""
    error = ends_with(rehearse_masked(eight, meddlers={"h": saying(WORD, lambda channel, message: b"w" * 32)}))
    assert isinstance(error, ProtocolError)
    assert error.what.startswith("h revealed another word")


def test_the_last_word_chose_the_committee_without_commitments(eight) -> None:
    """The old way of a draw in which words are just said: within some tries h has who it wants left out."""
    words = {party: bytes([number]) * 32 for number, party in enumerate(eight.parties)}
    tries = (draw.draw_members(eight.parties, words | {"h": bytes([n]) * 32}, 7, JOB) for n in range(256))
    assert any("a" not in members for members in tries)


@pytest.fixture
def signer() -> Any:
    """h, which signs whatever helps the aggregator: `meddler` wraps its channel, `sign(step, value)` is its word."""

    class Signer:
        def meddler(self, channel: RecordedChannel) -> RecordedChannel:
            self._channel = channel
            return channel

        def sign(self, step: str, value: bytes) -> bytes:
            return self._channel.sign(f"hekat/lattice/{step}", self._channel.session_id, JOB, value)

    return Signer()


@pytest.mark.parametrize("victim", ["a", "b"])
def test_an_aggregator_that_passes_on_another_word_is_found_by_the_party(play, eight, signer, victim) -> None:
    """The aggregator and h work together, and the aggregator checks nothing."""

    def other_word(to: str, step: str, message: Any) -> Any:
        if not (isinstance(message, DrawsMessage) and step == f"{WORD}/all" and to == victim):
            return None
        word = b"w" * 32
        return DrawsMessage(message.values | {"h": word}, message.signatures | {"h": signer.sign(WORD, word)})

    _, _, error = play(other_word, settings=eight, meddlers={"h": signer.meddler})
    assert isinstance(error, PartyStoppedError)
    assert error.party == victim
    assert "h revealed another word" in str(error.__cause__)


def test_an_aggregator_that_makes_words_up_accuses_itself(play, eight) -> None:
    def forge(to: str, step: str, message: Any) -> Any:
        if isinstance(message, DrawsMessage) and step == f"{WORD}/all" and to == "b":
            return DrawsMessage(message.values | {"h": b"w" * 32}, message.signatures)
        return None

    _, _, error = play(forge, settings=eight)
    assert isinstance(error, PartyStoppedError)
    assert "the aggregator states" in str(error.__cause__)


@pytest.mark.parametrize("part", [f"{COMMITMENT}/all", f"{WORD}/all"])
@pytest.mark.parametrize("change", ["leaves one out", "exchanges its own"])
def test_an_aggregator_passes_on_what_all_said(play, eight, part, change) -> None:
    def alter(to: str, step: str, message: Any) -> Any:
        if not (isinstance(message, DrawsMessage) and step == part and to == "b"):
            return None
        values = dict(message.values)
        if change == "leaves one out":
            del values["c"]
        else:
            values["b"] = b"x" * 32
        return DrawsMessage(values, message.signatures)

    _, _, error = play(alter, settings=eight)
    assert isinstance(error, PartyStoppedError)
    assert "not the common one" in str(error.__cause__)


def test_nobody_reveals_a_word_before_all_signed_one_list(play, eight, signer, tmp_path) -> None:
    """h tells the aggregator two commitments, one for b: had b another list than the others, it would draw others."""

    def two_lists(to: str, step: str, message: Any) -> Any:
        if not (isinstance(message, DrawsMessage) and step == f"{COMMITMENT}/all" and to == "b"):
            return None
        other = commitment_of(JOB, "h", b"w" * 32)
        signature = signer.sign(COMMITMENT, other)
        return DrawsMessage(message.values | {"h": other}, message.signatures | {"h": signature})

    _, watch, error = play(two_lists, settings=eight, meddlers={"h": signer.meddler})
    assert isinstance(error, PartyStoppedError)
    assert "not told the same commitments" in str(error.__cause__)
    assert watch.senders_of(DrawMessage, WORD) == []
    assert all(not record_of(tmp_path / "state", party).commitments() for party in eight.parties)


# --- broken off, and begun again -----------------------------------------------------------------------------


def test_breaking_a_draw_off_draws_nothing_new(rehearse_masked, eight, tmp_path, expect_step) -> None:
    """h sees what the draw gives, and leaves; the next run gives the same, however often h tries."""

    def leave(channel: RecordedChannel) -> Any:
        def refuse(_: RecordedChannel, __: Any) -> bytes:
            raise ChannelError("does not like it")

        return saying(WORD, refuse)(channel)

    first = rehearse_masked(eight, meddlers={"h": leave})
    with pytest.raises(PartyStoppedError):
        first.run()
    expected = draw.draw_members(eight.parties, words_in(tmp_path / "state", eight), 7, JOB)
    again = rehearse_masked(eight)
    expect_step(again.run(), eight.parties)
    assert again.members == expected


def test_a_party_that_comes_back_with_another_word_is_named(rehearse_masked, eight, tmp_path) -> None:
    """The same, and h puts its record away between the runs: without the others' records it would draw anew."""

    def leave(channel: RecordedChannel) -> Any:
        def refuse(_: RecordedChannel, __: Any) -> bytes:
            raise ChannelError("does not like it")

        return saying(WORD, refuse)(channel)

    state = tmp_path / "state"
    with pytest.raises(PartyStoppedError):
        rehearse_masked(eight, meddlers={"h": leave}).run()
    for path in (state / "h").glob("members-*"):
        path.unlink()
    error = ends_with(rehearse_masked(eight))
    assert "h committed to another word" in error.what
    # The old way: nobody remembers what was committed to, and h has another word, so another draw.
    before = words_in(state, eight)
    for party in eight.parties:
        for path in (state / party).glob("members-*"):
            path.unlink()
    rehearse_masked(eight).run()
    assert words_in(state, eight)["h"] != before["h"]


def test_who_has_not_settled_yet_takes_the_list_of_those_who_have(rehearse_masked, eight, tmp_path) -> None:
    """A crash between the two leaves some with the list on disk and some without: the next run goes on with it."""
    first = rehearse_masked(eight)
    settle = MemberRecord.settle

    def crash(record: MemberRecord, commitments: Any) -> None:
        if threading.current_thread().name == "hekat-c":
            raise ChannelError("a crash")
        settle(record, commitments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemberRecord, "settle", crash)
        with pytest.raises(PartyStoppedError):
            first.run()
    state = tmp_path / "state"
    settled = {party: record_of(state, party).commitments() for party in eight.parties}
    assert settled["c"] == {}
    assert any(settled.values())
    expected = draw.draw_members(eight.parties, words_in(state, eight), 7, JOB)
    again = rehearse_masked(eight)
    again.run()
    assert again.members == expected


@pytest.mark.parametrize("value", [b"", b"short"])
def test_a_party_without_a_commitment_stops_the_run_and_spoils_no_record(rehearse_masked, eight, value) -> None:
    def commit(*fields: Any) -> bytes:
        return value if threading.current_thread().name == "hekat-h" else commitment_of(*fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "commitment_of", commit)
        assert isinstance(ends_with(rehearse_masked(eight)), ProtocolError)
    rehearse_masked(eight).run()


# --- other members at other parties ---------------------------------------------------------------------------


def test_parties_with_other_members_open_nothing_together(rehearse_masked, eight, monkeypatch, tmp_path) -> None:
    """Half of the parties are made to believe in other members: no sum opens, for nobody."""

    def other_members(settings: Any, *others: Any) -> tuple[str, ...]:
        party = threading.current_thread().name.removeprefix("hekat-")
        return settings.parties[1:] if party in ("a", "b", "c", "d") else settings.parties[:7]

    monkeypatch.setattr(draw, "members_of", other_members)
    rehearsal = rehearse_masked(eight, exactness_check=False)
    assert "a, b, c, d drew other members" in ends_with(rehearsal).what
    # And where the aggregator does not mind.
    pass_on = draw._pass_on

    def pass_on_all(channel: RecordedChannel, settings: Any) -> tuple[str, ...]:
        members = pass_on(channel, settings)
        draw._receive(channel, settings, draw.ACCEPTED)
        return members

    monkeypatch.setattr(start_up, "pass_on_draw", pass_on_all)
    for party in eight.parties:
        for path in (tmp_path / "state" / party).glob("members-*"):
            path.unlink()
    rehearsal = rehearse_masked(eight, exactness_check=False)
    with pytest.raises(HekatError):
        rehearsal.run()
    assert rehearsal.records == []


# --- runs of older releases -----------------------------------------------------------------------------------


def resumed_state(rehearsal: Any) -> TrainingState:
    return rehearsal.saved[-1]


def forget_draw(folder: Path, settings: Any, *parties: str) -> None:
    for party in parties or settings.parties:
        for path in (folder / party).glob("members-*"):
            path.unlink()


@pytest.fixture
def two_rounds(masked_settings) -> Any:
    settings = masked_settings(8)
    return replace(settings, training=replace(settings.training, round_count=2))


@pytest.fixture
def stopped_after_one(rehearse_masked, two_rounds, leave_at) -> Callable[[], Any]:
    def run() -> TrainingState:
        stopped = rehearse_masked(
            two_rounds,
            hooks={party: leave_at("round-2", "deal") for party in two_rounds.parties[:3]},
            exactness_check=False,
        )
        with pytest.raises(HekatError):
            stopped.run()
        return resumed_state(stopped)

    return run


def test_a_run_of_an_older_release_keeps_the_first_seven(
    rehearse_masked, two_rounds, stopped_after_one, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(draw, "draw_members", lambda parties, words, count, job: parties[:count])
    state = stopped_after_one()
    monkeypatch.undo()
    forget_draw(tmp_path / "state", two_rounds)
    resumed = rehearse_masked(two_rounds, resume_from=state, ledger_folder=tmp_path / "ledger", exactness_check=False)
    (tmp_path / "ledger").mkdir()
    assert resumed.run().rounds_done == 2
    assert resumed.members == two_rounds.parties[:7]
    assert resumed.keeps_older_committee
    assert draw.OLDER_COMMITTEE in (tmp_path / "ledger" / "a.jsonl").read_text()


@pytest.mark.parametrize("forgetful", [("h",), ("a", "b", "c", "d", "e", "f", "g")])
def test_not_some_with_the_first_and_some_with_drawn_ones(
    rehearse_masked, two_rounds, stopped_after_one, tmp_path, forgetful
) -> None:
    state = stopped_after_one()
    forget_draw(tmp_path / "state", two_rounds, *forgetful)
    error = ends_with(rehearse_masked(two_rounds, resume_from=state, exactness_check=False))
    assert error.what == "the parties do not go on with one committee"


def test_parties_look_for_that_themselves(
    rehearse_masked, two_rounds, stopped_after_one, tmp_path, monkeypatch
) -> None:
    """The aggregator wants the first seven, whatever h has drawn: all others lost their records."""
    state = stopped_after_one()
    forget_draw(tmp_path / "state", two_rounds, *two_rounds.parties[:7])

    def pass_on(channel: RecordedChannel, settings: Any) -> tuple[str, ...]:
        draw._collect(channel, settings, draw.COMMITMENT)
        for party in draw.first_members(settings):
            channel.receive(party, "members/accepted", DrawMessage)
        return draw.first_members(settings)

    monkeypatch.setattr(start_up, "pass_on_draw", pass_on)
    error = ends_with(rehearse_masked(two_rounds, resume_from=state, exactness_check=False))
    assert error.what == "the parties do not go on with one committee"


def test_a_job_with_keys_was_never_begun_by_an_older_release(
    rehearse_masked, two_rounds, stopped_after_one, tmp_path
) -> None:
    """Its parties cannot be talked into the first seven by having their records lost."""
    state = stopped_after_one()
    forget_draw(tmp_path / "state", two_rounds)
    resumed = rehearse_masked(two_rounds, resume_from=state, exactness_check=False)
    resumed.job_keys = {name: key.public for name, key in resumed.party_keys.items()}
    assert isinstance(ends_with(resumed), StateError)


def test_sums_of_a_job_that_were_opened_need_its_record(rehearse_masked, eight, tmp_path) -> None:
    """Begun anew where an older release, or this one, has released already: other members would know nothing of it."""
    rehearse_masked(eight).run()
    forget_draw(tmp_path / "state", eight)
    assert isinstance(ends_with(rehearse_masked(eight)), StateError)


# --- what the site says ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("refusing", ["all", "a", "h"])
def test_a_site_refuses_members_before_any_share_is_dealt(play, eight, refusing) -> None:
    """One site is enough, whether its party was drawn or not."""

    def refuse(members: tuple[str, ...]) -> None:
        if refusing in ("all", threading.current_thread().name.removeprefix("hekat-")):
            raise PolicyError("the site forms no committee with these members", got=", ".join(members))

    _, watch, error = play(lambda to, step, message: None, settings=eight, accept_members=refuse)
    assert isinstance(error, PartyStoppedError)
    assert "forms no committee" in str(error.__cause__)
    assert watch.senders_of(DealtMessage) == watch.senders_of(ShareMessage) == []


def test_seven_parties_are_all_members_and_draw_nothing(play, masked_settings, tmp_path) -> None:
    settings = masked_settings(7)
    rehearsal, watch, error = play(lambda to, step, message: None, settings=settings)
    assert error is None
    assert watch.senders_of(DrawMessage) == []
    assert rehearsal.members is None
    assert not any(record_of(tmp_path / "state", party).exists() for party in settings.parties)
