"""Cross-checks with `phe`, an independent Paillier: each opens what the other encrypted, and sums mix."""

from __future__ import annotations

import phe
import pytest
from phe.paillier import EncryptedNumber

from hekat.engine.limbs import LIMB_BITS, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import Ciphertexts, add, add_plain, decrypt, encrypt, multiply_plain, rerandomise, subtract

VALUES = [0, 1, -1, 10**30, -(10**30), 2**63, -(2**64)]


@pytest.fixture(scope="module", params=["reference-512", "cpu-1024", "cpu-2048"])
def both(request, paillier_keys):
    """Our engine and keys, and the same keys in phe."""
    name, bits = request.param.split("-")
    keys = paillier_keys(int(bits))
    public = phe.PaillierPublicKey(keys.public.n)
    return get_engine(name), keys, public, phe.PaillierPrivateKey(public, keys.private.p, keys.private.q)


def ours(both, numbers):
    """phe's ciphertexts as ours."""
    engine, keys, _, _ = both
    limbs = limbs_from_ints([number.ciphertext() for number in numbers], keys.public.n_squared.limb_count)
    return Ciphertexts.from_limbs(keys.public, limbs, engine)


def theirs(both, ciphertexts):
    """Our ciphertexts as phe's."""
    return [EncryptedNumber(both[2], c) for c in ints_from_limbs(ciphertexts.to_limbs())]


def plain(both, values):
    bound = both[1].public.plaintext_space.bound
    limb_count = limbs_for_bits(bound.bit_length() + 1)
    return PackedPlaintext(limbs_from_ints([v % (1 << LIMB_BITS * limb_count) for v in values], limb_count), bound)


def opened(both, ciphertexts):
    limbs = decrypt(both[1].private, ciphertexts).limbs.astype("<u8")
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in limbs]


def test_we_open_what_phe_encrypted(both):
    assert opened(both, ours(both, [both[2].encrypt(value) for value in VALUES])) == VALUES


@pytest.mark.parametrize("variant", ["standard", "djn", "crt"])
def test_phe_opens_what_we_encrypted(both, variant):
    engine, keys, _, private = both
    key = keys.private if variant == "crt" else keys.public
    ciphertexts = encrypt(key, plain(both, VALUES), variant=variant, engine=engine)
    assert [private.decrypt(number) for number in theirs(both, ciphertexts)] == VALUES
    assert [private.decrypt(number) for number in theirs(both, rerandomise(ciphertexts))] == VALUES


def test_arithmetic_mixes(both):
    engine, keys, public, private = both
    from_phe = [public.encrypt(value) for value in VALUES]
    from_us = encrypt(keys.public, plain(both, VALUES[::-1]), engine=engine)
    sums = [a + b for a, b in zip(VALUES, VALUES[::-1], strict=True)]
    assert opened(both, add(ours(both, from_phe), from_us)) == sums
    assert [private.decrypt(a + b) for a, b in zip(from_phe, theirs(both, from_us), strict=True)] == sums
    assert [private.decrypt(c) for c in theirs(both, subtract(from_us, from_us))] == [0] * len(VALUES)
    tripled = add_plain(multiply_plain(ours(both, from_phe), -3), 7)
    assert [private.decrypt(c) for c in theirs(both, tripled)] == [7 - 3 * value for value in VALUES]
    assert opened(both, ours(both, [-3 * c + 7 for c in theirs(both, from_us)])) == [7 - 3 * v for v in VALUES[::-1]]
