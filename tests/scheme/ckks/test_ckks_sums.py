"""Sums and weighted sums under CKKS are right within the stated error; what does not fit a sum is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.ckks import (
    FEDML_HE,
    Accumulator,
    KeyPair,
    add,
    block_values,
    decrypt,
    encrypt,
    error_bound,
    generate_keys,
    make_parameters,
    weighted_sum,
)

from .conftest import draw

RAW = "raw_reveals_key"
COUNTS = (1, 4095, 4096, 4097, 10_000)


@pytest.mark.parametrize("count", COUNTS)
def test_weighted_mean_within_the_stated_error_seeds_1_to_3(keys: KeyPair, count: int) -> None:
    vectors, weights = [draw(count, seed, 64.0) for seed in (1, 2, 3)], [0.5, 0.3, 0.2]
    total = weighted_sum([encrypt(keys.public, vector) for vector in vectors], weights)
    expected = sum(weight * vector for weight, vector in zip(weights, vectors, strict=True))
    bound = error_bound(FEDML_HE, total.gain, total.rounding_count, total.addend_count)
    assert bound < 1e-7
    assert np.abs(decrypt(keys.private, total, RAW) - expected).max() <= bound
    assert (total.value_count, total.addend_count, total.rounding_count) == (count, 3, 1)


def test_plain_sum_of_two_hundred_seed_4(keys: KeyPair) -> None:
    vector = draw(50, 4, 64.0).astype(np.float32)
    encrypted = encrypt(keys.public, vector)
    total = add([encrypted] * 200)
    bound = error_bound(FEDML_HE, total.gain, 0, 200)
    assert np.abs(decrypt(keys.private, total, RAW) - 200 * vector.astype(np.float64)).max() <= bound
    assert np.abs(decrypt(keys.private, encrypted, RAW) - vector).max() <= bound


@pytest.mark.parametrize(("weights", "seed"), [((1.0, 0.0, 0.0), 5), ((0.25, -0.75, 0.5), 6), ((1e-9, 1.0, 0.0), 7)])
def test_weights_of_every_size(keys: KeyPair, weights: tuple[float, ...], seed: int) -> None:
    vectors = [draw(20, seed + 10 * number) for number in range(3)]
    total = weighted_sum([encrypt(keys.public, vector) for vector in vectors], weights)
    expected = sum(weight * vector for weight, vector in zip(weights, vectors, strict=True))
    bound = error_bound(FEDML_HE, total.gain, total.rounding_count, total.addend_count)
    assert np.abs(decrypt(keys.private, total, RAW) - expected).max() <= bound


def test_sets_without_weights_and_with_room_for_flooding_sum_too(small_keys: KeyPair, flooded_keys: KeyPair) -> None:
    for pair in (small_keys, flooded_keys):
        vectors = [draw(9000, seed, 8.0 / 4) for seed in (8, 9)]
        total = add([encrypt(pair.public, vector) for vector in vectors])
        bound = error_bound(pair.public.parameters, total.gain, 0, 2)
        assert np.abs(decrypt(pair.private, total, RAW) - sum(vectors)).max() <= bound
    with pytest.raises(InputError, match="takes no weights"):
        Accumulator(small_keys.public, 3, weighted=True)


def test_blocks_in_order_are_the_whole_seed_10(keys: KeyPair) -> None:
    vector = draw(9000, 10)
    step = block_values(FEDML_HE, 5000)
    assert step == 4096
    opened = [
        decrypt(keys.private, encrypt(keys.public, vector[start : start + step]), RAW)
        for start in range(0, vector.size, step)
    ]
    assert np.abs(np.concatenate(opened) - vector).max() <= error_bound(FEDML_HE, 1, 0, 1)


def test_sums_with_weights_add_up_seed_11(keys: KeyPair) -> None:
    vectors = [draw(30, 11 + number) for number in range(4)]
    halves = [
        weighted_sum([encrypt(keys.public, vector) for vector in vectors[start : start + 2]], [0.25, 0.25])
        for start in (0, 2)
    ]
    total = add(halves)
    assert (total.gain, total.rounding_count, total.addend_count) == (1.0, 2, 4)
    expected = sum(vectors) / 4
    assert np.abs(decrypt(keys.private, total, RAW) - expected).max() <= error_bound(FEDML_HE, 1, 2, 4)


@pytest.mark.parametrize("scale_bits", [14, 20, 33, 40, 52])
def test_error_stays_within_the_bound_at_every_scale_of_table_4_seed_15(scale_bits: int) -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    pair = generate_keys(make_parameters(scale_bits, 1024))
    vector = draw(3000, 15)
    total = weighted_sum([encrypt(pair.public, vector)] * 2, [0.5, 0.5])
    error = np.abs(decrypt(pair.private, total, RAW) - vector).max()
    assert error <= error_bound(pair.public.parameters, 1, 1, 2)
    assert error > 0


def test_encryption_is_fresh_each_time(keys: KeyPair) -> None:
    values = np.ones(3)
    assert encrypt(keys.public, values).to_streams() != encrypt(keys.public, values).to_streams()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([1.0, np.nan]), "not finite"),
        (np.array([np.inf]), "not finite"),
        (np.zeros((2, 2)), "wrong layout"),
        (np.zeros(0), "wrong layout"),
        (np.zeros(3, np.int64), "wrong layout"),
        ([1.0, 2.0], "wrong layout"),
    ],
)
def test_what_is_no_vector_of_floats_is_refused(keys: KeyPair, values: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        encrypt(keys.public, values)  # type: ignore[arg-type]


def test_values_beyond_the_bound_are_refused_without_being_told(keys: KeyPair) -> None:
    with pytest.raises(BoundError, match="within \\+-64") as caught:
        encrypt(keys.public, np.array([0.0, -64.53125]))
    assert "64.5" not in str(caught.value)


def test_sums_that_could_wrap_are_refused_and_leave_the_sum_as_it_was(keys: KeyPair) -> None:
    encrypted = encrypt(keys.public, np.array([64.0, -64.0]))
    total = Accumulator(keys.public, 2, weighted=True)
    total.add(encrypted, 1.5)
    with pytest.raises(BoundError, match=r"sum to at most 1\.96"):
        total.add(encrypted, 0.5)
    opened = decrypt(keys.private, total.finish(), RAW)
    assert np.abs(opened - [96.0, -96.0]).max() < 1e-7


def test_other_keys_sizes_levels_and_weights_are_refused(keys: KeyPair) -> None:
    other = generate_keys(FEDML_HE)
    one = encrypt(keys.public, np.ones(2))
    weighted = weighted_sum([one], [1.0])
    total = Accumulator(keys.public, 2)
    with pytest.raises(KeyRefusedError, match="under another key"):
        total.add(encrypt(other.public, np.ones(2)))
    with pytest.raises(KeyRefusedError, match="under another key"):
        decrypt(other.private, one, RAW)
    with pytest.raises(InputError, match="expected 2 values; got 3"):
        total.add(encrypt(keys.public, np.ones(3)))
    with pytest.raises(InputError, match="takes no weights"):
        total.add(one, 1.0)
    with pytest.raises(InputError, match="there is no sum"):
        total.finish()
    total.add(one)
    with pytest.raises(InputError, match="another level"):
        total.add(weighted)
    with pytest.raises(InputError, match="bears no second product"):
        weighted_sum([weighted], [1.0])
    with pytest.raises(InputError, match="expected 1 weights; got 2"):
        weighted_sum([one], [1.0, 2.0])
    with pytest.raises(InputError, match="weight is missing"):
        Accumulator(keys.public, 2, weighted=True).add(one)
    for weight in (float("nan"), float("inf"), 2.0**21, 1e-30, "1", True):
        with pytest.raises(InputError, match="weight refused"):
            weighted_sum([one], [weight])
    with pytest.raises(InputError, match="no sum"):
        weighted_sum([one], [0.0])
    with pytest.raises(InputError, match="no vectors"):
        add([])
