"""Packed arrays: slots at their extremes, and every operation that would split or overflow a ciphertext refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hekat
from hekat.encrypted_array import concatenate, stack
from hekat.errors import BoundError, InputError

SMALL = st.integers(-100, 100)


def packed(values, keys, **options):
    return hekat.array(np.asarray(values, dtype=np.int8), key=keys.public, **{"pack": 4, **options})


@pytest.mark.long_cases("reference")
@settings(max_examples=25, deadline=None)
@given(
    a=hnp.arrays(np.int8, hnp.array_shapes(max_dims=3, max_side=6), elements=SMALL),
    pack=st.integers(1, 7),
    factor=st.integers(-1000, 1000),
)
def test_packed_arithmetic(keys, engine_name, a, pack, factor):
    x = packed(a, keys, pack=pack, engine=engine_name)
    wide = a.astype(np.int64)
    assert x.ciphertexts.shape == (*a.shape[:-1], -(-a.shape[-1] // pack))
    for result, expected in (
        (x, wide),
        (x + x, wide + wide),
        (x - x - x, -wide),
        (-x, -wide),
        (x * factor, wide * factor),
        (x + wide, wide + wide),
        (factor - x, factor - wide),
    ):
        assert result.pack == pack
        assert np.array_equal(result.decrypt(keys.private), expected)


def test_packed_floats(keys):
    values = np.array([[0.5, -1.25, 3.0], [2.0**31, -(2.0**31), 0.0]])
    x = hekat.array(values, key=keys.public, pack=2)
    assert np.array_equal(x.decrypt(keys.private), values)
    assert np.array_equal((0.5 * x + 1).decrypt(keys.private), 0.5 * values + 1)


@pytest.mark.quick_values
@pytest.mark.parametrize("lane_bits", [9, 10, 16, 64, 127])
@pytest.mark.parametrize("signs", [(1, 1, 1, 1), (-1, -1, -1, -1), (1, -1, 1, -1), (-1, 1, 1, -1)])
def test_slots_are_exact_at_their_extremes(keys, engine_name, lane_bits, signs):
    limit = 2 ** (lane_bits - 1) - 1
    values = np.array([s * limit for s in signs], dtype=object)
    x = hekat.array(values, key=keys.public, pack=4, lane_bits=lane_bits, bound=limit, engine=engine_name)
    assert x.decrypt(keys.private).tolist() == values.tolist()
    assert (-x).decrypt(keys.private).tolist() == (-values).tolist()
    with pytest.raises(BoundError, match="could pass a slot"):
        x + x
    with pytest.raises(BoundError, match="could pass a slot"):
        x + 1
    with pytest.raises(BoundError, match="could pass a slot"):
        2 * x


def test_sums_fill_a_slot_to_its_last_bit_and_no_further(keys):
    rows = np.full((7, 4), 127, dtype=np.int8)
    x = hekat.array(rows, key=keys.public, bound=127, pack=4, lane_bits=11)
    assert (x.sum(axis=0) + 127).decrypt(keys.private).tolist() == [1016] * 4
    assert x.sum(axis=0).scaled_bound == 889
    with pytest.raises(BoundError, match="could pass a slot"):
        stack([x, x, x]).sum(axis=(0, 1))


def test_slots_are_as_wide_as_the_key_allows_by_default(keys):
    bits = keys.public.plaintext_space.bits
    assert packed([1, 2, 3], keys, pack=3).encoding.packing.slot_bits == (bits + 1) // 3
    with pytest.raises(InputError, match=f"pack={(bits + 1) // 9} or fewer"):
        packed([1, 2, 3], keys, pack=200)


def test_sums_over_other_axes_and_products_from_the_left(keys):
    a = np.arange(-15, 15, dtype=np.int8).reshape(2, 3, 5)
    x = packed(a, keys)
    assert np.array_equal(x.sum(axis=(0, 1)).decrypt(keys.private), a.sum(axis=(0, 1)))
    assert np.array_equal(x.sum(axis=0, keepdims=True).decrypt(keys.private), a.sum(axis=0, keepdims=True))
    plain = np.array([[1, -2, 3], [0, 5, -6]])
    assert np.array_equal((plain @ x[0]).decrypt(keys.private), plain @ a[0].astype(int))
    assert np.array_equal((plain[0] @ x[1]).decrypt(keys.private), plain[0] @ a[1].astype(int))
    per_row = np.array([[[2], [0], [-1]]])
    assert np.array_equal((x * per_row).decrypt(keys.private), a * per_row)


def test_moves_that_keep_ciphertexts_whole(keys):
    a = np.arange(-24, 24, dtype=np.int8).reshape(2, 3, 8)
    x = packed(a, keys)
    cases = [
        (x[0], a[0]),
        (x[:, 1], a[:, 1]),
        (x[..., 4:], a[..., 4:]),
        (x[..., :4], a[..., :4]),
        (x[[1, 0, 1]], a[[1, 0, 1]]),
        (x[:, None], a[:, None]),
        (x.transpose(1, 0, 2), a.transpose(1, 0, 2)),
        (x.reshape(6, 8), a.reshape(6, 8)),
        (x.ravel(), a.ravel()),
        (x.reshape(-1, 16), a.reshape(-1, 16)),
        (concatenate([x, x], axis=1), np.concatenate([a, a], axis=1)),
        (concatenate([x, x], axis=-1), np.concatenate([a, a], axis=-1)),
        (stack([x, x]), np.stack([a, a])),
    ]
    for result, expected in cases:
        assert result.shape == expected.shape
        assert np.array_equal(result.decrypt(keys.private), expected)


def test_moves_within_a_short_last_ciphertext(keys):
    a = np.arange(10, dtype=np.int8)
    x = packed(a, keys)
    assert x[8:].decrypt(keys.private).tolist() == [8, 9]
    assert x[4:].decrypt(keys.private).tolist() == [4, 5, 6, 7, 8, 9]
    assert x[:0].shape == (0,)


@pytest.mark.parametrize(
    "split",
    [
        lambda x: x[0, 0],
        lambda x: x[..., 1:],
        lambda x: x[..., :9],
        lambda x: x[..., ::-1],
        lambda x: x[..., [0, 1, 2, 4]],
        lambda x: x[..., None],
        lambda x: x.T,
        lambda x: x.ravel(),
        lambda x: x.reshape(5, 4),
        lambda x: concatenate([x, x], axis=1),
        lambda x: stack([x, x], axis=2),
        lambda x: concatenate([x, x[:, :8]]),
        lambda x: x[x.shape[0] - 1, 9],
    ],
)
def test_moves_that_would_split_a_ciphertext_are_refused(keys, split):
    x = packed(np.zeros((2, 10)), keys)
    with pytest.raises(InputError, match="would split ciphertexts") as refusal:
        split(x)
    assert "pack" in refusal.value.cure


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (lambda x: x.sum(), "packed axis"),
        (lambda x: x.sum(axis=1), "packed axis"),
        (lambda x: x.sum(axis=-1), "packed axis"),
        (lambda x: x @ np.ones(10, int), "packed axis"),
        (lambda x: np.ones(10, int) @ x[0], "packed axis"),
        (lambda x: x * np.arange(10), "share a ciphertext"),
    ],
)
def test_operations_across_slots_are_refused(keys, operation, says):
    x = packed(np.zeros((2, 10)), keys)
    with pytest.raises(InputError, match=says) as refusal:
        operation(x)
    assert refusal.value.cure


def test_packed_and_unpacked_do_not_add(keys):
    a = np.ones(4, dtype=np.int8)
    x = packed(a, keys)
    for other in (hekat.array(a, key=keys.public), packed(a, keys, pack=2), packed(a, keys, lane_bits=20)):
        with pytest.raises(InputError, match="packed differently"):
            x + other


def test_scalars_and_stray_lane_bits_are_refused(keys):
    with pytest.raises(InputError, match="scalar cannot be packed"):
        hekat.array(1, key=keys.public, pack=2)
    with pytest.raises(InputError, match="lane_bits without pack"):
        hekat.array([1], key=keys.public, lane_bits=20)
