"""What masked a contribution is written over: coefficients, their transform, and the key of the errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hekat.engine.select import get_engine
from hekat.errors import BoundError, KeyRefusedError
from hekat.scheme.lattice import SETS, Encryptor, add, decrypt, encrypt, generate_secret, public_key, sum_secrets

PARAMETERS = SETS["A16-16"]
KEY = public_key(b"session", 1, PARAMETERS)
LEVELS = np.zeros(PARAMETERS.form.values_per_chunk, np.int32)


class Spied:
    """An encryptor, and the arrays that it held before anything was wiped."""

    def __init__(self) -> None:
        self.encryptor = Encryptor(PARAMETERS, generate_secret(PARAMETERS), KEY)
        self.secret_ntt, self.error_key = self.encryptor._secret_ntt, self.encryptor._error_key
        assert self.secret_ntt.any()
        assert any(self.error_key)

    def is_wiped(self) -> bool:
        return not self.secret_ntt.any() and self.error_key == bytearray(32)


def test_after_the_last_block_and_not_before() -> None:
    spied = Spied()
    spied.encryptor.encrypt(LEVELS)
    assert not spied.is_wiped()
    spied.encryptor.encrypt(LEVELS, last=True)
    assert spied.is_wiped()


def test_where_a_block_fails_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    spied = Spied()

    class Failing:
        def mask_values(self, *arguments: object) -> None:
            raise MemoryError

    monkeypatch.setattr(spied.encryptor, "_engine", Failing(), raising=False)
    with pytest.raises(MemoryError):
        spied.encryptor.encrypt(LEVELS)
    assert spied.is_wiped()


def test_where_an_upload_is_given_up_half_way() -> None:
    spied = Spied()
    spied.encryptor.encrypt(LEVELS)
    spied.encryptor.wipe()
    spied.encryptor.wipe()
    assert spied.is_wiped()
    with pytest.raises(KeyRefusedError, match="takes no more values"):
        spied.encryptor.encrypt(LEVELS)


def test_a_refused_value_leaves_the_contribution_as_it_was() -> None:
    spied = Spied()
    with pytest.raises(BoundError):
        spied.encryptor.encrypt(LEVELS + PARAMETERS.level + 1)
    assert not spied.is_wiped()


def test_coefficients_that_are_wiped_mask_nothing_any_more() -> None:
    secret = generate_secret(PARAMETERS)
    kept = secret.coefficients
    assert kept.any()
    secret.wipe()
    assert not kept.any()
    assert not kept.flags.writeable
    with pytest.raises(KeyRefusedError, match="one contribution only"):
        Encryptor(PARAMETERS, secret, KEY)


def test_a_secret_of_several_contributions_is_wiped_as_a_whole() -> None:
    """Each contribution's copy by itself; the kept transform with the secret it was made of."""
    secret = generate_secret(PARAMETERS)
    plain = secret.transform(get_engine())
    first, second = secret.once_more(), secret.once_more()
    kept = [secret._transformed[1], first._transformed[1], second._transformed[1]]
    assert all(np.array_equal(one, plain) for one in kept)
    first.wipe()
    assert not first.coefficients.any()
    assert [bool(one.any()) for one in kept] == [True, False, True]
    assert np.array_equal(second.transform(get_engine()), plain)
    secret.wipe()
    assert [bool(one.any()) for one in kept] == [False, False, True]
    for one in (first, secret):
        with pytest.raises(KeyRefusedError, match="one contribution only"):
            one.once_more()
    Encryptor(PARAMETERS, second, KEY).wipe()
    with pytest.raises(KeyRefusedError, match="one contribution only"):
        second.once_more()


def test_contributions_of_one_secret_are_what_they_are_under_secrets_of_their_own() -> None:
    secret = generate_secret(PARAMETERS)
    total = sum_secrets([secret])
    for number in range(3):
        key = bytes([number]) * 32
        levels = LEVELS + np.int32(number)
        written = add(PARAMETERS, levels.size, [encrypt(PARAMETERS, secret.once_more(), key, levels)])
        assert decrypt(PARAMETERS, total, key, written, levels.size).tolist() == levels.tolist()


class Slow:
    """Transforms as the selected engine does, and calls `meanwhile` first."""

    def __init__(self, meanwhile) -> None:
        self._meanwhile = meanwhile

    def __getattr__(self, name):
        return getattr(get_engine(), name)

    def ring_ntt(self, *arguments):
        self._meanwhile()
        return get_engine().ring_ntt(*arguments)


def test_a_secret_is_not_wiped_while_it_is_copied() -> None:
    """Zeros, or half of a secret, would mask nothing."""
    secret = generate_secret(PARAMETERS)
    plain = secret.coefficients.copy()
    wiper = threading.Thread(target=secret.wipe)

    def wipe_meanwhile() -> None:
        wiper.start()
        wiper.join(0.05)  # it waits for the copy

    other = secret.once_more(Slow(wipe_meanwhile))
    wiper.join()
    assert np.array_equal(other.coefficients, plain)
    assert other._transformed[1].any()
    assert not secret.coefficients.any()
    assert secret._transformed is None


def test_a_transform_for_another_engine_is_wiped_as_the_next_one_is_kept() -> None:
    secret = generate_secret(PARAMETERS)
    first, second = Slow(lambda: None), Slow(lambda: None)
    secret.once_more(first)
    kept = secret._transformed[1]
    other = secret.once_more(second)
    assert not kept.any()
    assert np.array_equal(other.transform(second), secret.transform(get_engine()))
