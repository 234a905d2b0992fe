"""Ciphertexts that are no units: what their sender would learn of multipliers, and that they are refused."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import WireCorruptError
from hekat.scheme.paillier import Ciphertexts, PrivateKey, add_plain, multiply_plain, rerandomise
from hekat.wire import from_bytes, to_bytes


def multiples_of(p: int, setting, count: int) -> Ciphertexts:
    """The ciphertext p, `count` times, past the check of the wire."""
    limbs = limbs_from_ints([p] * count, setting.keys.public.n_squared.limb_count)
    return Ciphertexts.from_limbs(setting.keys.public, limbs, setting.engine)


def read_valuations(answers: Ciphertexts, key: PrivateKey) -> list[int]:
    """0, 1 or 2, for 2 and more: how often p divides each answer mod p^2, masks and randomisers being units."""
    values = [value % key.p**2 for value in ints_from_limbs(answers.to_limbs())]
    return [0 if value % key.p else 1 if value else 2 for value in values]


def test_what_a_multiple_of_p_would_tell_and_that_it_is_not_read(small) -> None:
    key, n = small.keys.private, small.keys.public.n
    multipliers = np.array([0, 1, 5, 0, 40321])
    sent = multiples_of(key.p, small, len(multipliers))
    masks = [secrets.randbelow(n) - n // 2 for _ in multipliers]
    answers = rerandomise(add_plain(multiply_plain(sent, multipliers), masks))
    assert read_valuations(answers, key) == [0, 1, 2, 0, 2]
    with pytest.raises(WireCorruptError, match="shares a factor with its key's modulus"):
        from_bytes(to_bytes(sent), Ciphertexts, public_key=small.keys.public, engine=small.engine)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_one_among_many_is_found_wherever_it_stands(setting, place: int) -> None:
    key = setting.keys.private
    n = key.public.n
    good = ints_from_limbs(setting.encrypt([1, -2, 3, 4, 5, 6, 7]).to_limbs())
    for factor in (key.p, 3 * key.q, key.p**2, n, 5 * n):
        values = [*good[:place], factor, *good[place + 1 :]]
        limbs = limbs_from_ints(values, key.public.n_squared.limb_count).reshape(7, 1, -1)
        bad = Ciphertexts.from_limbs(key.public, limbs, setting.engine)
        assert not bad.are_units()
        with pytest.raises(WireCorruptError, match="a batch in which one is none") as refusal:
            from_bytes(to_bytes(bad), Ciphertexts, public_key=key.public, engine=setting.engine)
        assert str(factor) not in str(refusal.value)


def test_units_of_all_shapes_are_read(setting) -> None:
    for shape in ((6,), (2, 3), (1, 6, 1), ()):
        x = setting.encrypt([1] * int(np.prod(shape))).reshape(shape)
        assert x.are_units()
        assert from_bytes(to_bytes(x), Ciphertexts, public_key=x.public, engine=setting.engine).shape == shape
    none = setting.encrypt([])
    assert none.are_units()
    assert from_bytes(to_bytes(none), Ciphertexts, public_key=none.public, engine=setting.engine).size == 0
