"""Whatever becomes of an upload, nothing of its secret stays in the arrays that held it."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from hekat.errors import HekatError
from hekat.protocol.secure_sum import party_side
from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import SumBlockMessage
from hekat.protocol.secure_sum.masked.opening.opening_scheme import Dealt
from hekat.protocol.secure_sum.masked.opening.opening_schemes import CommitteeScheme
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import SETS, Encryptor, keys


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[keys.SecretKey]:
    """Every secret that was made, copies too, with its coefficients as they were then."""
    found: list[keys.SecretKey] = []
    original = keys.SecretKey._begin

    def spy(self: keys.SecretKey, *arguments: object) -> None:
        original(self, *arguments)
        assert self.coefficients.any()
        found.append(self)

    monkeypatch.setattr(keys.SecretKey, "_begin", spy)
    return found


@pytest.fixture
def encryptors(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Encryptor, object, bytearray]]:
    found = []

    def make(*arguments: object) -> Encryptor:
        encryptor = Encryptor(*arguments)
        found.append((encryptor, encryptor._secret_ntt, encryptor._error_key))
        return encryptor

    monkeypatch.setattr(masked_party, "Encryptor", make)
    return found


def check_wiped(made, encryptors) -> None:
    assert made
    assert encryptors
    for secret in made:
        assert not secret.coefficients.any()
        assert secret._transformed is None
    for _, secret_ntt, error_key in encryptors:
        assert not secret_ntt.any()
        assert error_key == bytearray(32)


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_after_a_round(opening, rehearse_masked, masked_settings, made, encryptors) -> None:
    rehearse_masked(masked_settings(5, opening)).run()
    assert len(encryptors) == 5
    check_wiped(made, encryptors)


def standardising(settings):
    return replace(settings, training=replace(settings.training, standardise=True))


def test_secrets_of_a_group_end_with_it(rehearse_masked, masked_settings, made, encryptors, monkeypatch) -> None:
    """As a party deals for the round, it holds none of its secrets of standardising any more."""
    deal, left = CommitteeScheme.deal, []

    def deal_and_look(scheme, context, dealer, *others):
        if context.step == "round-1":
            left.append(sum(secret.coefficients.any() for secret in own[dealer]))
        dealt = deal(scheme, context, dealer, *others)
        own[dealer].append(dealt.secret)
        return dealt

    own = {party: [] for party in "abcde"}
    monkeypatch.setattr(CommitteeScheme, "deal", deal_and_look)
    rehearse_masked(standardising(masked_settings(5))).run()
    assert left == [0] * 5
    assert {len(secrets) for secrets in own.values()} == {3}
    assert len(encryptors) == 5 * (4 + 1)
    check_wiped(made, encryptors)


@pytest.fixture
def dealt(monkeypatch) -> dict[str, list[keys.SecretKey]]:
    """The secrets that each party of five has dealt, in their order."""
    deal, own = CommitteeScheme.deal, {party: [] for party in "abcde"}

    def deal_and_keep(scheme, context, dealer, *others):
        dealt = deal(scheme, context, dealer, *others)
        own[dealer].append(dealt.secret)
        return dealt

    monkeypatch.setattr(CommitteeScheme, "deal", deal_and_keep)
    return own


def test_the_secret_of_an_upload_that_nobody_opens_is_wiped_before_another_is_masked(
    rehearse_masked, dealt, lie_in_releases, monkeypatch
) -> None:
    lie_in_releases({*"abcde"}, lambda content, index: content if index else b"\xff\x7f" * (len(content) // 2))
    take, left = PartyOpening.take_secret, []

    def take_and_look(opening, leg, opened=None):
        left.append([bool(secret.coefficients.any()) for secret in dealt[opening._channel.party]])
        return take(opening, leg, opened)

    monkeypatch.setattr(PartyOpening, "take_secret", take_and_look)
    rehearse_masked().run()
    assert sorted(left) == [[False, True]] * 5 + [[True]] * 5


def test_the_secret_of_a_round_ends_with_the_round(rehearse_masked, dealt, monkeypatch) -> None:
    tell, left = party_side.tell_round_end, []

    def tell_and_look(channel, *others):
        left.append(any(secret.coefficients.any() for secret in dealt[channel.party]))
        return tell(channel, *others)

    monkeypatch.setattr(party_side, "tell_round_end", tell_and_look)
    rehearse_masked().run()
    assert left == [False] * 5


@pytest.mark.parametrize(("step", "part"), [("mean", "sign"), ("deviation", "upload"), ("variance", "sign")])
def test_of_parties_whose_run_ends_in_the_middle_of_a_group(
    step, part, rehearse_masked, masked_settings, leave_at, made, encryptors
) -> None:
    settings = standardising(masked_settings(5))
    with pytest.raises(HekatError):
        rehearse_masked(settings, hooks={"d": leave_at(f"standardise/{step}", part)}).run()
    check_wiped(made, encryptors)


@pytest.mark.parametrize("to_whom", ["c", "abcde"])
def test_of_parties_that_wait_in_vain_for_a_further_sum(to_whom, play, masked_settings, made, encryptors) -> None:
    def withhold(to, step, message):
        is_it = isinstance(message, SumBlockMessage) and step.startswith("standardise/deviation") and to in to_whom
        return [] if is_it else None

    _, _, error = play(withhold, settings=standardising(masked_settings(5)), exactness_check=False, timeout_s=2.0)
    assert "a party is lost in the middle of 'standardise'" in str(error)
    check_wiped(made, encryptors)


@pytest.mark.parametrize("part", ["upload", "sign"])
def test_of_a_party_that_leaves_in_the_middle(part, rehearse_masked, leave_at, made, encryptors) -> None:
    rehearsal = rehearse_masked(hooks={"d": leave_at("round-1", part)})
    rehearsal.run()
    assert rehearsal.lost_names == ["d"]
    check_wiped(made, encryptors)


def test_of_a_secret_that_is_dealt_ahead_and_then_dealt_again(made) -> None:
    """An aggregator may name a step ahead in each statement of a group: what was dealt before is not left behind."""
    parameters, leg = SETS["A16-16"], Leg("round-1", 3, tuple("abc"))
    opening = object.__new__(PartyOpening)
    opening._channel = Mock(session_id=bytes(32), party="a")
    opening._scheme = Mock(deal=lambda *others: Dealt(keys.generate_secret(parameters)), members=())
    opening._settings, opening._stopwatch = Mock(aggregator="hub"), Stopwatch()
    opening._channel.sign.return_value = b""
    opening._keys = opening._member = opening._dealt = None
    opening.deal(leg, parameters)
    opening.deal(replace(leg, number=4), parameters)
    first, second = made
    assert not first.coefficients.any()
    assert second.coefficients.any()
