"""Everything that only moves values, against NumPy on the same plain array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hekat
from hekat.encrypted_array import concatenate, stack
from hekat.errors import InputError

PLAIN = np.arange(-12, 12, dtype=np.int32).reshape(2, 3, 4)


@pytest.fixture(scope="module")
def encrypted(keys):
    return hekat.array(PLAIN, key=keys.public)


@settings(max_examples=40, deadline=None)
@given(key=hnp.basic_indices(PLAIN.shape, allow_newaxis=True, allow_ellipsis=True))
def test_basic_indexing(keys, encrypted, key):
    expected = PLAIN[key]
    assert encrypted[key].shape == np.shape(expected)
    assert np.array_equal(encrypted[key].decrypt(keys.private), expected)


@settings(max_examples=20, deadline=None)
@given(mask=hnp.arrays(np.bool_, st.sampled_from([(2,), (2, 3), (2, 3, 4)])))
def test_boolean_masks(keys, encrypted, mask):
    assert np.array_equal(encrypted[mask].decrypt(keys.private), PLAIN[mask])


@pytest.mark.parametrize(
    "key", [[1, 0, 1], ([0, 1], [2, 0]), (slice(None), [2, 2]), np.array([[0], [1]]), (0, 2, 3), np.int64(1), ()]
)
def test_integer_array_indexing(keys, encrypted, key):
    assert np.array_equal(encrypted[key].decrypt(keys.private), PLAIN[key])


@pytest.mark.parametrize("key", [2, (0, 3), 1.5, "a", [5], np.ones((3,), bool)])
def test_wrong_indices_raise_what_numpy_raises(encrypted, key):
    with pytest.raises(IndexError):
        encrypted[key]


def test_an_encrypted_index_is_refused(keys, encrypted):
    with pytest.raises(InputError, match="cannot be an index"):
        encrypted[hekat.array(1, key=keys.public)]


def test_reshape_ravel_and_transpose(keys, encrypted):
    cases = [
        (encrypted.reshape(6, 4), PLAIN.reshape(6, 4)),
        (encrypted.reshape((4, -1)), PLAIN.reshape(4, -1)),
        (encrypted.reshape(-1), PLAIN.reshape(-1)),
        (np.reshape(encrypted, (3, 8)), PLAIN.reshape(3, 8)),
        (encrypted.ravel(), PLAIN.ravel()),
        (np.ravel(encrypted), PLAIN.ravel()),
        (encrypted.T, PLAIN.T),
        (encrypted.transpose(1, 0, 2), PLAIN.transpose(1, 0, 2)),
        (encrypted.transpose((2, 0, 1)), PLAIN.transpose(2, 0, 1)),
        (np.transpose(encrypted, (0, 2, 1)), PLAIN.transpose(0, 2, 1)),
        (np.broadcast_to(encrypted[0, 0], (2, 4)), np.broadcast_to(PLAIN[0, 0], (2, 4))),
    ]
    for result, expected in cases:
        assert result.shape == expected.shape
        assert np.array_equal(result.decrypt(keys.private), expected)
    with pytest.raises(InputError, match="number of values"):
        encrypted.reshape(5, 5)


def test_length_iteration_and_size(keys, encrypted):
    assert (len(encrypted), encrypted.ndim, encrypted.size, encrypted.shape) == (2, 3, 24, (2, 3, 4))
    assert (np.ndim(encrypted), np.size(encrypted), np.shape(encrypted)) == (3, 24, (2, 3, 4))
    assert [part.decrypt(keys.private).tolist() for part in encrypted] == PLAIN.tolist()
    scalar = hekat.array(5, key=keys.public)
    assert scalar.shape == scalar.T.shape == ()
    for refused in (len, iter):
        with pytest.raises(TypeError, match="encrypted scalar"):
            refused(scalar)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_joining(keys, encrypted, axis):
    for join, plain_join in ((concatenate, np.concatenate), (stack, np.stack), (np.concatenate, np.concatenate)):
        result = join([encrypted, encrypted], axis=axis)
        assert np.array_equal(result.decrypt(keys.private), plain_join([PLAIN, PLAIN], axis=axis))


def test_joining_takes_the_larger_bound_and_refuses_what_does_not_belong(keys, encrypted):
    small = hekat.array(np.ones((1, 3, 4), np.int8), key=keys.public)
    joined = np.concatenate([small, encrypted])
    assert joined.scaled_bound == encrypted.scaled_bound
    assert joined.shape == (3, 3, 4)
    with pytest.raises(InputError, match="rescale_up"):
        concatenate([encrypted, hekat.array(np.ones((1, 3, 4)), key=keys.public)])
    with pytest.raises(InputError, match="encrypt the plain part"):
        concatenate([encrypted, PLAIN])
    with pytest.raises(InputError, match="nothing to join"):
        concatenate([])
