"""Arrays of ciphertexts: shape, indexing, joining, and the way in and out as limbs."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.limbs import limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import EngineError, InputError, KeyRefusedError
from hekat.scheme.paillier import Ciphertexts, add


def test_shape_and_indexing_follow_numpy(setting):
    values = np.arange(-6, 6)
    x = setting.encrypt(values.tolist()).reshape(3, 4)
    table = values.reshape(3, 4)
    assert (x.shape, x.size, len(x)) == ((3, 4), 12, 3)
    for key in (0, -1, (1, 2), np.s_[:, 1], np.s_[::2, ::-1], [2, 0, 2], table > 0, None, np.s_[5:]):
        assert x[key].shape == table[key].shape
        assert setting.decrypt(x[key]) == table[key].ravel().tolist()
    with pytest.raises(IndexError):
        x[3]


def test_reshape(setting):
    x = setting.encrypt([1, 2, 3, 4])
    assert x.reshape(2, 2).shape == x.reshape((2, 2)).shape == x.reshape(-1, 2).shape == (2, 2)
    assert x[:1].reshape(()).shape == ()
    for shape in ((3,), (2, 3), (-1, -1), ("a",)):
        with pytest.raises(InputError, match="4 values"):
            x.reshape(shape)


def test_take(setting):
    x = setting.encrypt([5, 6, 7]).reshape(3, 1)
    taken = x.take(np.array([[2, 0], [2, 1]]))
    assert taken.shape == (2, 2)
    assert setting.decrypt(taken) == [7, 5, 7, 6]


def test_concatenate(setting):
    x, y = setting.encrypt([1, 2]), setting.encrypt([3], "djn")
    assert setting.decrypt(Ciphertexts.concatenate([x, y, x])) == [1, 2, 3, 1, 2]
    with pytest.raises(InputError, match="nothing to concatenate"):
        Ciphertexts.concatenate([])


def test_limbs_out_and_in(setting):
    x = setting.encrypt([1, -2]).reshape(2, 1)
    limbs = x.to_limbs()
    assert limbs.shape == (2, 1, setting.keys.public.n_squared.limb_count)
    again = Ciphertexts.from_limbs(setting.keys.public, limbs, setting.engine)
    assert again.shape == (2, 1)
    assert setting.decrypt(again) == [1, -2]


def test_limbs_out_of_range_are_refused(setting):
    public = setting.keys.public
    n_squared, limb_count = public.n_squared.value, public.n_squared.limb_count
    for value in (0, n_squared, n_squared + 1, (1 << 64 * limb_count) - 1):
        with pytest.raises(InputError):
            Ciphertexts.from_limbs(public, limbs_from_ints([1, value], limb_count), setting.engine)
    largest = limbs_from_ints([n_squared - 1], limb_count)
    assert setting.decrypt(Ciphertexts.from_limbs(public, largest, setting.engine)) == [0]


def test_residues_of_another_modulus_are_no_ciphertexts(small, paillier_keys):
    with pytest.raises(InputError, match="not ciphertexts of this key"):
        Ciphertexts(paillier_keys(512, 1).public, small.encrypt([1]).residues)


def test_different_keys_and_engines_do_not_mix(small, paillier_keys):
    x = small.encrypt([1])
    other = paillier_keys(512, 1).public
    y = Ciphertexts.from_limbs(other, np.ones_like(x.to_limbs()), small.engine)
    for operation in (lambda: add(x, y), lambda: Ciphertexts.concatenate([x, y])):
        with pytest.raises(KeyRefusedError) as refusal:
            operation()
        assert x.public.fingerprint in str(refusal.value)
        assert other.fingerprint in str(refusal.value)


def test_different_engines_do_not_mix(small):
    x = small.encrypt([1])
    y = Ciphertexts.from_limbs(x.public, x.to_limbs(), get_engine("cpu"))
    with pytest.raises(EngineError):
        add(x, y)


def test_repr_names_the_key_and_no_value(small):
    x = small.encrypt([4242])
    assert repr(x) == f"Ciphertexts(shape (1,), engine reference, {x.public!r})"
