"""What encryption, decryption and arithmetic refuse, and that no refusal tells a value."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.limbs import limbs_from_ints
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import (
    Ciphertexts,
    add_many,
    add_plain,
    decrypt,
    encrypt,
    matmul_plain,
    multiply_plain,
    negate,
    rerandomise,
)


def test_variants(small):
    plain = small.plain([1])
    with pytest.raises(KeyRefusedError, match="PrivateKey") as refusal:
        encrypt(small.keys.public, plain, variant="crt", engine=small.engine)
    assert "djn" in refusal.value.cure
    for variant in ("fast", "", "CRT"):
        with pytest.raises(InputError, match="standard or djn or crt"):
            encrypt(small.keys.public, plain, variant=variant, engine=small.engine)
    for no_key in (small.keys, small.keys.public.n, None):
        with pytest.raises(KeyRefusedError, match="no Paillier key"):
            encrypt(no_key, plain, engine=small.engine)


def test_plaintexts_beyond_the_space(small):
    with pytest.raises(BoundError, match="plaintext space"):
        encrypt(small.keys.public, small.plain([1], bound=small.bound + 1), engine=small.engine)


def test_decrypting_with_another_key(small, paillier_keys):
    ciphertexts = small.encrypt([1])
    other = paillier_keys(512, 1)
    with pytest.raises(KeyRefusedError) as refusal:
        decrypt(other.private, ciphertexts)
    assert other.public.fingerprint in refusal.value.expected
    assert small.keys.public.fingerprint in refusal.value.got
    with pytest.raises(KeyRefusedError, match="cannot decrypt"):
        decrypt(small.keys.public, ciphertexts)
    with pytest.raises(KeyRefusedError):
        rerandomise(ciphertexts, other.public)


def test_bounds_out_of_range(small):
    ciphertexts = small.encrypt([1])
    for bound in (0, -1, small.bound + 1):
        with pytest.raises(InputError, match="bound refused"):
            decrypt(small.keys.private, ciphertexts, bound=bound)


def test_ciphertexts_that_share_a_factor_with_n(setting):
    """Multiples of n are known to everyone, multiples of p to the key holder; neither is an encryption."""
    key = setting.keys
    for value in (key.public.n, 5 * key.public.n, key.private.p, 3 * key.private.q**2):
        limbs = limbs_from_ints([1, value], key.public.n_squared.limb_count)
        ciphertexts = Ciphertexts.from_limbs(key.public, limbs, setting.engine)
        with pytest.raises(InputError, match="shares a factor"):
            decrypt(key.private, ciphertexts)
        with pytest.raises(InputError, match="no inverse"):
            negate(ciphertexts)


def test_plain_operands_that_are_no_integers(small):
    x = small.encrypt([1, 2])
    for operand in (1.5, [0.5, 1], "12", [None, 1], [1, 2.5], [True, "x"], 1 + 2j, np.array([1, 2], "M8[s]")):
        for operation in (add_plain, multiply_plain):
            with pytest.raises(InputError, match="integers"):
                operation(x, operand)


def test_plain_operands_beyond_the_space(small):
    x = small.encrypt([1])
    for operand in (small.bound + 1, -small.bound - 1, 1 << 600):
        for operation in (add_plain, multiply_plain):
            with pytest.raises(BoundError) as refusal:
                operation(x, operand)
            assert str(abs(operand)) not in str(refusal.value)
    with pytest.raises(BoundError):
        add_plain(x, PackedPlaintext(limbs_from_ints([9], 1), 8))
    with pytest.raises(BoundError):
        add_plain(x, small.plain([1], bound=small.bound + 1))


def test_shapes_that_do_not_fit(small):
    x = small.encrypt([1, 2, 3])
    for operation in (
        lambda: add_plain(x, [1, 2]),
        lambda: add_plain(x, small.plain([1, 2])),
        lambda: add_plain(x[:1], [1, 2]),
        lambda: multiply_plain(x, [1, 2]),
        lambda: matmul_plain(np.ones((2, 2), np.int64), x),
        lambda: matmul_plain(np.ones(3, np.int64), x),
        lambda: matmul_plain(np.ones((1, 1), np.int64), x.reshape(1, 3, 1)),
        lambda: add_many([]),
        lambda: add_many([x, x[:1]]),
    ):
        with pytest.raises(InputError):
            operation()
