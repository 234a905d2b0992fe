"""What a member holds of an upload is written over as it is used up: check masks with the answer, shares with the
release."""

from __future__ import annotations

import pytest

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.member import Member


@pytest.fixture
def looked_at(monkeypatch) -> list[str]:
    """Which members' releases were looked at: at what they held before, and at what is left of it."""
    release, names = Member.release, []

    def look(self, leg, included):
        kept = self._kept[leg.number]
        degree = kept.parameters.form.ring.degree
        assert len(kept.shares) == 5
        for share in kept.shares.values():
            # A second answer, under another challenge, would have no mask to hide behind.
            assert share[:degree].any()
            assert not share[degree:].any()
        release(self, leg, included)
        assert not any(share.any() for share in kept.shares.values())
        # Nor is there anything left that a second set could be released with.
        with pytest.raises(ProtocolError, match="a release without shares"):
            release(self, leg, included)
        names.append(self._channel.party)

    monkeypatch.setattr(Member, "release", look)
    return names


@pytest.mark.parametrize(("opening", "openers"), [("committee", "abcde"), ("authority", ["notary"])])
def test_masks_go_with_the_answer_and_shares_with_the_release(
    opening, openers, rehearse_masked, masked_settings, looked_at
) -> None:
    rehearse_masked(masked_settings(5, opening)).run()
    assert sorted(looked_at) == list(openers)


def test_a_party_lets_go_of_the_secret_and_the_shares_it_dealt(rehearse_masked, masked_settings, monkeypatch) -> None:
    """From its own signature on, it could not tell them any more."""
    from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening

    sign, held = PartyOpening.sign, []

    def look(self, *arguments):
        held.append((self._dealt, self._used.secret, self._used.messages))
        return sign(self, *arguments)

    monkeypatch.setattr(PartyOpening, "sign", look)
    rehearse_masked(masked_settings(5)).run()
    assert held == [(None, None, {})] * 5
