"""Whatever becomes of an upload, nothing of its secret stays in the arrays that held it."""

from __future__ import annotations

import pytest

from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.scheme.lattice import Encryptor, keys


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[keys.SecretKey]:
    """Every secret that was made, with its coefficients as they were then."""
    found: list[keys.SecretKey] = []
    original = keys.SecretKey.__init__

    def spy(self: keys.SecretKey, *arguments: object) -> None:
        original(self, *arguments)
        assert self.coefficients.any()
        found.append(self)

    monkeypatch.setattr(keys.SecretKey, "__init__", spy)
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
    for _, secret_ntt, error_key in encryptors:
        assert not secret_ntt.any()
        assert error_key == bytearray(32)


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_after_a_round(opening, rehearse_masked, masked_settings, made, encryptors) -> None:
    rehearse_masked(masked_settings(5, opening)).run()
    assert len(encryptors) == 5
    check_wiped(made, encryptors)


@pytest.mark.parametrize("part", ["upload", "sign"])
def test_of_a_party_that_leaves_in_the_middle(part, rehearse_masked, leave_at, made, encryptors) -> None:
    rehearsal = rehearse_masked(hooks={"d": leave_at("round-1", part)})
    rehearsal.run()
    assert rehearsal.lost_names == ["d"]
    check_wiped(made, encryptors)
