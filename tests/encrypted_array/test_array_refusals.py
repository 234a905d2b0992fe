"""What an encrypted array refuses, and what it shows: an answer with a cure, and never a value."""

import copy
import pickle
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import hekat
from hekat.errors import BoundError, EngineError, InputError, KeyRefusedError

SECRET = 1234567


@pytest.fixture(scope="module")
def secret(keys):
    return hekat.array([SECRET, -SECRET], key=keys.public)


REFUSED: dict[str, Callable] = {
    "equal": lambda x: x == x,
    "not equal": lambda x: x != 1,
    "less": lambda x: x < 1,
    "less or equal": lambda x: x <= np.ones(2),
    "greater": lambda x: np.ones(2) > x,
    "np.maximum": lambda x: np.maximum(x, 0),
    "divide": lambda x: x / 2,
    "divide by": lambda x: 2 / x,
    "floor divide": lambda x: x // 2,
    "floor divide by": lambda x: np.ones(2) // x,
    "remainder": lambda x: x % 2,
    "remainder by": lambda x: 2 % x,
    "not equal to itself": lambda x: x != x,
    "greater or equal": lambda x: x >= 0,
    "greater than": lambda x: x > 0,
    "less or equal than": lambda x: x <= 0,
    "floor divided": lambda x: 7 // x,
    "joining unequal shapes": lambda x: np.concatenate([x, x[:, None]]),
    "power": lambda x: x**2,
    "as power": lambda x: 2**x,
    "abs": abs,
    "bool": bool,
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "complex": lambda x: complex(x[0]),
    "asarray": np.asarray,
    "array of arrays": lambda x: np.array([x, x]),
    "np.exp": np.exp,
    "np.mean": np.mean,
    "mean": lambda x: x.mean(axis=0),
    "np.sort": np.sort,
    "np.add with out": lambda x: np.add(x, x, out=np.zeros(2)),
    "np.add.accumulate": np.add.accumulate,
    "np.sum with dtype": lambda x: np.sum(x, dtype=np.float64),
    "np.reshape in Fortran order": lambda x: np.reshape(x, (2, 1), order="F"),
    "membership": lambda x: 3 in x,
    "stacking unequal shapes": lambda x: np.stack([x, x[:1]]),
    "transposing axes that are not there": lambda x: x.transpose(1, 0),
    "transposing twice one axis": lambda x: np.transpose(x[:, None], (0, 0)),
    "broadcasting to a shape that does not fit": lambda x: np.broadcast_to(x, (2, 3)),
    "assignment": lambda x: x.__setitem__(0, 1),
    "pickle": pickle.dumps,
    "text operand": lambda x: x + "a",
    "None operand": lambda x: x * None,
    "NaN operand": lambda x: x * float("nan"),
    "axis": lambda x: x.sum(axis=1),
    "axis twice": lambda x: x.sum(axis=(0, 0)),
    "encrypt again": lambda x: hekat.array(x, key=x.key),
    "scale_bits for integers": lambda x: x.multiply(2, scale_bits=8),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_an_answer(secret, what):
    with pytest.raises(InputError) as refusal:
        REFUSED[what](secret)
    assert refusal.value.cure or refusal.value.expected
    assert str(SECRET) not in str(refusal.value)


def test_it_cannot_be_hashed_and_copies_are_itself(secret):
    with pytest.raises(TypeError):
        hash(secret)
    assert copy.copy(secret) is secret
    assert copy.deepcopy(secret) is secret


def test_numpy_reductions_and_mixed_operands_are_one_operation_not_object_arrays(keys, secret):
    for result in (
        np.ones(2, int) + secret,
        np.eye(2, dtype=int) @ secret,
        np.add.reduce(secret),
        np.float64(2) * secret,
    ):
        assert type(result) is type(secret)


def test_repr_says_what_is_public_and_nothing_else(keys):
    x = hekat.array([[SECRET + 0.5]], key=keys.public, engine="reference", scale_bits=16, pack=2, lane_bits=100)
    text = repr(x)
    for part in ("(1, 1)", "fixed point at 16 bits", "2^32", "2 slots of 100 bits", "engine reference", "UNSAFE KEY"):
        assert part in text
    assert f"{keys.public.bits}-bit key {keys.public.fingerprint[:8]}" in text
    assert str(SECRET) not in text
    assert "integers" in repr(hekat.array([SECRET], key=keys.public))
    assert str(SECRET) not in repr(hekat.array([SECRET], key=keys.public))


def test_what_is_public_does_not_depend_on_the_values(keys):
    small = hekat.array([0.0, 1e-9], key=keys.public)
    large = hekat.array([2.0**31, -(2.0**31)], key=keys.public)
    assert repr(small) == repr(large)
    assert small.scaled_bound == large.scaled_bound == 2**63
    assert len(small.to_bytes()) == len(large.to_bytes())


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([2**63 + 1], {}),
        ([2.0**31 * 1.01], {}),
        ([SECRET], {"bound": SECRET - 1}),
        ([-SECRET - 0.5], {"bound": SECRET}),
    ],
)
def test_values_beyond_the_bound_are_refused_without_being_shown(keys, values, options):
    with pytest.raises(BoundError, match="beyond the bound") as refusal:
        hekat.array(values, key=keys.public, **options)
    assert "bound=" in refusal.value.cure
    assert str(SECRET) not in str(refusal.value)
    assert str(2**63 + 1) not in str(refusal.value)


def test_wrong_keys_are_refused(keys, other_keys, secret):
    for wrong in (keys, None, "key", 17):
        with pytest.raises(KeyRefusedError, match="no key to encrypt under") as refusal:
            hekat.array([1], key=wrong)
        assert refusal.value.cure
    with pytest.raises(KeyRefusedError, match=r"keys\.private"):
        secret.decrypt(keys.public)
    with pytest.raises(KeyRefusedError, match="another key"):
        secret.decrypt(other_keys.private)


def test_engines_that_are_not_there_are_refused(keys, secret):
    for name, told in (("cuda:999", "NVIDIA driver|GPU|CuPy"), ("gpu", "did you mean 'cuda:0'"), ("cpuu", "'cpu'")):
        for refused in (partial(secret.to, name), partial(hekat.array, [1], key=keys.public, engine=name)):
            with pytest.raises(EngineError, match=told) as refusal:
                refused()
            assert refusal.value.cure


@pytest.mark.parametrize(
    ("values", "dtype"), [([1, 2], "complex128"), ([1, 2], "U8"), ([0.5], "int64"), ([0.5], "datetime64[D]")]
)
def test_dtypes_that_values_do_not_have_are_refused(keys, values, dtype):
    with pytest.raises(InputError, match="dtype"):
        hekat.array(values, key=keys.public).decrypt(keys.private, dtype=dtype)


def test_decrypted_types_follow_the_bound_or_the_request(keys):
    x = hekat.array([1, -300], key=keys.public)
    assert x.decrypt(keys.private).dtype == object
    assert hekat.array(np.array([1], np.int32), key=keys.public).decrypt(keys.private).dtype == np.int64
    assert x.decrypt(keys.private, dtype=np.int16).dtype == np.int16
    assert x.decrypt(keys.private, dtype=np.float64).tolist() == [1.0, -300.0]
    for narrow in (np.int8, np.uint64):
        with pytest.raises(BoundError, match="does not fit"):
            x.decrypt(keys.private, dtype=narrow)
