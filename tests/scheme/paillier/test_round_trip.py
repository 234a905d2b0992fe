"""Encrypt, then decrypt: every variant, every size, the ends of the plaintext space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.engine.limbs import ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import PublicKey, decrypt, encrypt
from hekat.scheme.paillier.encrypt import plaintext_residues
from hekat.scheme.paillier.twos_complement import signed_of_sums

VARIANTS = ["standard", "djn", "crt"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_extremes(setting, variant):
    bound = setting.bound
    values = [0, 1, -1, bound, -bound, bound - 1, 1 - bound, 2**63, -(2**63), 2**64 - 1, -(2**64)]
    assert setting.decrypt(setting.encrypt(values, variant)) == values


@pytest.mark.parametrize("bits", [1024, pytest.param(3072, marks=pytest.mark.long)])
def test_other_key_sizes(paillier_keys, bits):
    keys = paillier_keys(bits)
    plain = PackedPlaintext(limbs_from_ints([0, 1, 2**64 - 1], 1), 1)
    for key in keys:
        opened = decrypt(keys.private, encrypt(key, plain, engine=get_engine("reference")), bound=1)
        assert opened.limbs[:, 0].astype(np.int64).tolist() == [0, 1, -1]
        assert (opened.limbs[:, 1:] == np.array([[0], [0], [2**64 - 1]], np.uint64)).all()


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_values_come_back(small, data):
    values = data.draw(st.lists(st.integers(-small.bound, small.bound), min_size=1, max_size=5))
    assert small.decrypt(small.encrypt(values)) == values


def test_narrow_and_wide_plaintexts(setting):
    narrow = setting.plain([5, -5, 0], bound=5)
    assert narrow.limbs.shape[1] == 1
    wide = PackedPlaintext(np.pad(narrow.limbs[:1], ((0, 0), (0, 70))), 5)
    for plain, values in ((narrow, [5, -5, 0]), (wide, [5])):
        ciphertexts = encrypt(setting.keys.public, plain, engine=setting.engine)
        assert setting.decrypt(ciphertexts) == values


def test_no_plaintexts(setting):
    ciphertexts = setting.encrypt([])
    assert ciphertexts.shape == (0,)
    opened = decrypt(setting.keys.private, ciphertexts)
    assert opened.limbs.shape == (0, setting.keys.public.n_modulus.limb_count)


def test_decrypt_flattens_in_c_order(setting):
    ciphertexts = setting.encrypt([1, 2, 3, 4, 5, 6]).reshape(2, 3)
    assert setting.decrypt(ciphertexts) == [1, 2, 3, 4, 5, 6]


def test_batches_above_one_chunk(small, monkeypatch):
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 4)
    for count in (3, 4, 5, 8, 9):
        values = list(range(-count, 0))
        assert small.decrypt(small.encrypt(values)) == values


def test_bound_of_the_result(setting):
    ciphertexts = setting.encrypt([7, -7])
    assert decrypt(setting.keys.private, ciphertexts, bound=7).bound == 7
    assert decrypt(setting.keys.private, ciphertexts).bound == setting.bound
    for values in ([0, 8], [-8, 0]):
        with pytest.raises(BoundError) as refusal:
            decrypt(setting.keys.private, setting.encrypt(values), bound=7)
        assert "8" not in str(refusal.value)


def test_a_plaintext_beyond_its_own_bound_is_refused(setting):
    for value in (6, -6, 2**62):
        forged = PackedPlaintext(limbs_from_ints([0, value % 2**64], 1), 5)
        with pytest.raises(BoundError):
            encrypt(setting.keys.public, forged, engine=setting.engine)


WIDEST = [2**512 - 1, 2**511 + 1, 2**510 + 1, 2**481 - 1]
"""No keys, but moduli that fill their limbs and squares that do not: sums must not carry out wrongly."""


@pytest.mark.parametrize("n", WIDEST)
def test_opened_sums_of_widest_moduli(small, n):
    ends = [0, 1, n // 2, n // 2 + 1, n - 1, n, n + 1, n + n // 2, n + n // 2 + 1, 2 * n - 1]
    limb_count = limbs_for_bits(n.bit_length())
    for width in {limbs_for_bits(n.bit_length() + 1), limb_count + 1}:
        signed = signed_of_sums(limbs_from_ints(ends, width), n, small.engine)
        assert signed.shape == (len(ends), limb_count)
        assert [value % n for value in signed_ints(signed)] == [value % n for value in ends]
        assert all(-n < 2 * value < n for value in signed_ints(signed))


@pytest.mark.parametrize("n", WIDEST)
@pytest.mark.parametrize("limb_count", [1, 7, 8, 9])
def test_residues_of_plaintexts_of_widest_moduli(small, n, limb_count):
    """Also of plaintexts with fewer limbs than n, and with more."""
    public = PublicKey._trusted(n, ())
    most = min(n // 2, 2 ** (64 * limb_count - 1) - 1)
    values = [0, 1, -1, most, -most, 2**63 - 1, 1 - 2**63]
    limbs = limbs_from_ints([value % 2 ** (64 * limb_count) for value in values], limb_count)
    found = plaintext_residues(public, limbs, small.engine)
    assert found.shape == (len(values), limbs_for_bits(n.bit_length()))
    assert ints_from_limbs(found) == [value % n for value in values]


def signed_ints(limbs):
    return [int.from_bytes(row.astype("<u8").tobytes(), "little", signed=True) for row in limbs]
