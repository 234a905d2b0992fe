"""Encrypt, then decrypt: every variant, every size, the ends of the plaintext space."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import decrypt, encrypt
from hekat.scheme.paillier.twos_complement import residues_of_signed, signed_of_residues

VARIANTS = ["standard", "djn", "crt"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_extremes(setting, variant):
    bound = setting.bound
    values = [0, 1, -1, bound, -bound, bound - 1, 1 - bound, 2**63, -(2**63), 2**64 - 1, -(2**64)]
    assert setting.decrypt(setting.encrypt(values, variant)) == values


@pytest.mark.parametrize("bits", [1024, 3072])
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
    for module in ("encrypt", "decrypt"):
        # By name, as the package's attributes of these names are the functions.
        monkeypatch.setattr(sys.modules[f"hekat.scheme.paillier.{module}"], "CHUNK_COUNT", 4)
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


def test_bits_of_n_that_fill_their_limbs(small):
    """2^512 - 1 is no key, but the widest n for its limbs: sums must not carry out wrongly."""
    for n in (2**512 - 1, 2**511 + 1, 2**64 - 1, 2**65 + 1):
        half = n // 2
        values = [0, 1, -1, half, -half]
        limb_count = -(-n.bit_length() // 64)
        signed = limbs_from_ints([v % 2 ** (64 * limb_count) for v in values], limb_count)
        residues = residues_of_signed(signed, n, small.engine)
        assert ints_from_limbs(residues) == [v % n for v in values]
        assert np.array_equal(signed_of_residues(residues, n, small.engine), signed)
