"""What an aggregator makes of the releases that it passes on, alone and with a member: it opens nothing itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.protocol.secure_sum.masked.runs.conftest import Meddler

from hekat.errors import PartyStoppedError, ProtocolError
from hekat.protocol.secure_sum.masked.messages import OpenedMessage, ReleasedMessage, SumBeginMessage
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.masked.opening.opening_schemes import AuthorityScheme, CommitteeScheme
from hekat.protocol.secure_sum.masked.release_key import RELEASE_PURPOSE, ReleaseKey, release_fields
from hekat.wire import to_bytes

VICTIM = "c"


def two_rounds(settings):
    return replace(settings, training=replace(settings.training, round_count=2))


def sums(change, receivers="abcde"):
    """Alters the releases that are passed on to these parties: `change(message)`."""

    def changed(to, step, message):
        return change(message) if isinstance(message, SumBeginMessage) and to in receivers else None

    return changed


def without(message, *members):
    return replace(message, releases={name: one for name, one in message.releases.items() if name not in members})


def refused(played, names: str = "abcde", what: str = "that 'b' did not sign") -> None:
    rehearsal, watch, error = played
    assert error is not None
    assert watch.opened_at == []
    assert rehearsal.records == []
    assert set(rehearsal.lost_names) == set(names)
    assert rehearsal.reasons.count(f"passes on a release of round-1 {what}") == len(names)


# --- releases that are not what their members signed -----------------------------------------------------------------


def flipped(message):
    sealed = message.releases["b"]
    return replace(message, releases=message.releases | {"b": bytes([sealed[0] ^ 1]) + sealed[1:]})


def of_another_member(message):
    return replace(message, releases=message.releases | {"b": message.releases["a"]})


def of_another_member_with_its_signature(message):
    fields = ("releases", "signatures")
    return replace(message, **{name: getattr(message, name) | {"b": getattr(message, name)["a"]} for name in fields})


def unsigned(message):
    return replace(message, signatures={name: one for name, one in message.signatures.items() if name != "b"})


def empty(message):
    return replace(message, releases=message.releases | {"b": b""})


@pytest.mark.quick_values
@pytest.mark.parametrize("opening", ["committee", "authority"])
@pytest.mark.parametrize("change", [flipped, unsigned, empty])
def test_what_an_opener_did_not_sign_ends_the_run(change, opening, play, masked_settings) -> None:
    opener = "b" if opening == "committee" else "notary"

    def alter(message):
        if opener == "b":
            return change(message)
        both = {"releases": message.releases, "signatures": message.signatures}
        renamed = {
            name: {"b" if key == opener else key: one for key, one in held.items()} for name, held in both.items()
        }
        altered = change(SumBeginMessage(**renamed))
        back = {
            name: {opener if key == "b" else key: one for key, one in getattr(altered, name).items()} for name in both
        }
        return SumBeginMessage(**back)

    refused(play(sums(alter), settings=masked_settings(5, opening)), what=f"that {opener!r} did not sign")


@pytest.mark.parametrize("change", [of_another_member, of_another_member_with_its_signature])
def test_nobody_releases_for_another_member(change, play) -> None:
    refused(play(sums(change)))


@pytest.mark.parametrize("stranger", ["hub", "eve", "\x1b[2J"])
def test_nobody_but_members_releases(stranger, play) -> None:
    def add(message):
        return SumBeginMessage(
            message.releases | {stranger: message.releases["b"]}, message.signatures | {stranger: bytes(64)}
        )

    refused(play(sums(add)), what=f"that {stranger!r} did not sign")


def test_one_party_that_is_shown_such_a_release_leaves_and_the_others_go_on(play) -> None:
    rehearsal, _, error = play(sums(flipped, VICTIM))
    assert error is None
    assert rehearsal.lost_names == [VICTIM]
    assert [record.party_count for record in rehearsal.records] == [5]


@pytest.mark.parametrize("whose", ["b", "abcde"])
def test_a_release_of_another_round_is_not_taken(whose, play, masked_settings) -> None:
    first: list[SumBeginMessage] = []

    def change(message):
        first.append(message)
        earlier = first[0]
        return SumBeginMessage(
            message.releases | {name: earlier.releases[name] for name in whose},
            message.signatures | {name: earlier.signatures[name] for name in whose},
        )

    rehearsal, watch, error = play(sums(change), settings=two_rounds(masked_settings(5)))
    assert error is not None
    assert [record.round for record in rehearsal.records] == [1]
    assert len(watch.opened_at) == 5
    assert f"passes on a release of round-2 that {whose[0]!r} did not sign" in rehearsal.reasons


def test_a_release_of_another_session_is_not_taken(play, masked_settings, tmp_path) -> None:
    """Number, step and parties are the same, in a run of the same job with states that were put back."""
    kept: list[SumBeginMessage] = []

    def keep(message):
        kept.append(message)

    _, _, error = play(sums(keep), state_folder=tmp_path / "first")
    assert error is None
    refused(play(sums(lambda message: kept[0]), state_folder=tmp_path / "second"), what="that 'a' did not sign")


# --- releases that are kept back -------------------------------------------------------------------------------------


def test_as_many_may_be_kept_back_as_may_be_lost(play, masked_settings) -> None:
    settings = two_rounds(masked_settings(5))
    rehearsal, _, error = play(sums(lambda message: without(message, "b"), VICTIM), settings=settings)
    assert error is None
    assert rehearsal.lost == []
    assert [record.party_count for record in rehearsal.records] == [5, 5]
    assert rehearsal.not_compared == {}


@pytest.mark.parametrize("receivers", ["abcde", VICTIM, "abc"])
def test_fewer_than_the_threshold_open_nothing(receivers, play) -> None:
    rehearsal, watch, error = play(sums(lambda message: without(message, "a", "b"), receivers))
    assert set(watch.opened_at) == set("abcde") - set(receivers)
    if receivers == VICTIM:
        # To the aggregator's own code it is a party that says what is not so.
        assert error is None
        assert rehearsal.lost_names == [VICTIM]
        return
    words = "the sum of round-1 does not open" if receivers == "abcde" else "opens at some parties only"
    assert isinstance(error.__cause__, ProtocolError)
    assert words in str(error)
    assert (rehearsal.records == []) == (receivers == "abcde")
    used = {state.uploads.next_value for state in rehearsal.upload_states.values()}
    assert used == {3 if receivers == "abcde" else 1}, "masked anew where nobody has the sum, and three times at most"


# --- a member that signs two releases --------------------------------------------------------------------------------


class TwoReleases:
    """Member b signs a second release, of zeros, which the aggregator shows to the victim in place of the first."""

    def __init__(self, monkeypatch) -> None:
        self.other: dict[str, bytes] = {}
        begin = ReleaseKey.begin
        held: dict[int, IncludedSet] = {}

        def keep(key: ReleaseKey, included: IncludedSet) -> None:
            begin(key, included)
            held[id(key)] = included

        monkeypatch.setattr(ReleaseKey, "begin", keep)
        seal = ReleaseKey.seal

        def seal_twice(key: ReleaseKey, member: str, content: bytes) -> bytes:
            if member == "b":
                self.included, self.other["release"] = held[id(key)], seal(key, member, bytes(len(content)))
            return seal(key, member, content)

        monkeypatch.setattr(ReleaseKey, "seal", seal_twice)

    def member(self, channel):
        def sign_other(to, step, message):
            if isinstance(message, ReleasedMessage):
                fields = release_fields(self.included, self.other["release"])
                self.other["signature"] = channel.sign(RELEASE_PURPOSE, *fields)
            return [(step, message)]

        return Meddler(channel, sign_other)

    def show(self, message):
        return SumBeginMessage(
            message.releases | {"b": self.other["release"]}, message.signatures | {"b": self.other["signature"]}
        )


def test_a_second_release_that_a_member_signed_is_named_where_it_is_shown(play, monkeypatch, tmp_path) -> None:
    two = TwoReleases(monkeypatch)
    rehearsal, _, error = play(sums(two.show, VICTIM), meddlers={"b": two.member}, ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.lost == []
    assert [record.party_count for record in rehearsal.records] == [5]
    words = "a release that does not fit, of b"
    assert [name for name in "abcde" if words in (tmp_path / f"{name}.jsonl").read_text()] == [VICTIM]


def test_where_none_can_be_spared_it_costs_the_victim_the_run_and_opens_nothing_else(
    play, monkeypatch, masked_settings
) -> None:
    two = TwoReleases(monkeypatch)
    rehearsal, watch, error = play(
        sums(two.show, VICTIM), meddlers={"b": two.member}, settings=masked_settings(3), exactness_check=False
    )
    assert error is None
    assert rehearsal.lost_names == [VICTIM]
    assert watch.opened_at == ["a", "b"]


# --- what the aggregator sees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_nothing_that_it_is_sent_holds_a_release_in_the_clear(opening, play, masked_settings, monkeypatch) -> None:
    contents: list[bytes] = []
    for scheme in (CommitteeScheme, AuthorityScheme):
        combine = scheme.combine

        def keep(self, kept, parameters, combine=combine):
            contents.append(combine(self, kept, parameters))
            return contents[-1]

        monkeypatch.setattr(scheme, "combine", keep)
    _, watch, error = play(lambda *message: None, settings=masked_settings(5, opening))
    assert error is None
    payloads = [to_bytes(message) for _, _, message in watch.received]
    assert len(contents) == (5 if opening == "committee" else 1)
    assert len(watch.senders_of(ReleasedMessage)) == len(contents)
    pieces = [content[at : at + 48] for content in contents for at in (0, 2048, len(content) - 48)]
    assert not any(piece in payload for piece in pieces for payload in payloads)


def test_a_sealed_release_opens_with_no_key_but_the_parties(play, masked_settings) -> None:
    """The same upload and set under a key that the aggregator draws itself."""
    sets: list[IncludedSet] = []
    begin = ReleaseKey.begin

    def keep(key, included):
        sets.append(included)
        begin(key, included)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseKey, "begin", keep)
        _, watch, error = play(lambda *message: None)
    assert error is None
    guessed = ReleaseKey(bytes(32))
    guessed.begin(sets[0])
    (message,) = (one for sender, _, one in watch.received if isinstance(one, ReleasedMessage) and sender == "b")
    with pytest.raises(Exception, match="a release does not open"):
        guessed.open("b", message.release)


# --- runs that go on -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_a_run_that_broke_off_at_the_releases_is_resumed_under_another_key(
    opening, play, rehearse_masked, masked_settings
) -> None:
    """The same parties' sum is released for again, and what was passed on before opens under no key of the new run."""
    settings = two_rounds(masked_settings(5, opening))
    first: list[SumBeginMessage] = []

    def stop(to, step, message):
        if isinstance(message, SumBeginMessage) and step.startswith("round-2"):
            first.append(message)
            return []
        return None

    rehearsal, _, error = play(stop, settings=settings, timeout_s=2.0)
    assert isinstance(error, PartyStoppedError)
    seen: list[SumBeginMessage] = []

    def look(to, step, message):
        if isinstance(message, SumBeginMessage):
            seen.append(message)

    rehearsal, watch, error = play(look, settings=settings, resume_from=rehearsal.saved[0])
    assert error is None
    assert [record.round for record in rehearsal.records] == [2]
    assert len([one for _, _, one in watch.received if isinstance(one, OpenedMessage) and one.opened]) == 5
    assert not set(first[0].releases.values()) & set(seen[0].releases.values())
