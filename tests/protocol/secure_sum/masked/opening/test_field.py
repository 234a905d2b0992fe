"""Arithmetic mod 65521 against Python's integers, at the ends of every range."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening import field
from hekat.protocol.secure_sum.masked.opening.field import (
    PRIME,
    centre,
    evaluate_at,
    is_field_vector,
    multiply_matrices,
    read_elements,
    reduce_wide,
    take_elements,
    to_field,
    wipe,
    write_elements,
)


def test_reduction_at_the_ends_and_at_random() -> None:
    print("seed 1")
    generator = random.Random(1)
    ends = [n for k in (0, 1, 2**16, PRIME, 2**32, 2**48, 2**63) for n in range(max(0, k - 40), k + 40)]
    ends += [PRIME * k + d for k in (1, 2**16, 2**32, 2**47) for d in (-1, 0, 1)] + list(range(2**64 - 80, 2**64))
    numbers = ends + [generator.getrandbits(generator.randrange(1, 65)) for _ in range(5000)]
    assert reduce_wide(np.array(numbers, dtype=np.uint64)).tolist() == [n % PRIME for n in numbers]


def test_every_word_of_17_bits_reduces() -> None:
    words = np.arange(2**17, dtype=np.uint64)
    assert np.array_equal(reduce_wide(words), words % PRIME)


@pytest.mark.parametrize("bits", range(1, 65))
def test_the_largest_values_of_so_many_bits_reduce(bits: int) -> None:
    words = [value for value in range((1 << bits) - 3, 1 << bits) if value >= 0]
    words += [PRIME * ((1 << bits) // PRIME) - one for one in (0, 1) if 1 << bits > PRIME]
    expected = [value % PRIME for value in words]
    assert reduce_wide(np.array(words, dtype=np.uint64), bits).tolist() == expected


def test_a_product_of_largest_elements_does_not_overflow() -> None:
    a = np.full((1, 8192), PRIME - 1, dtype=np.uint16)
    assert multiply_matrices(a, a.T).tolist() == [[8192]]


def test_signed_numbers_come_back() -> None:
    signed = np.arange(-(PRIME // 2), PRIME // 2 + 1)
    residues = to_field(signed)
    assert residues.tolist() == [value % PRIME for value in signed.tolist()]
    assert np.array_equal(centre(residues), signed)
    assert to_field(np.array([-21, 21], dtype=np.int8)).tolist() == [PRIME - 21, 21]


@pytest.mark.parametrize("count", range(1, 8))
def test_a_polynomial_is_the_same_at_all_points(count: int) -> None:
    print(f"seed {count}")
    generator = random.Random(count)
    coefficients = [generator.randrange(PRIME) for _ in range(count)]
    points = generator.sample(range(1, 9), count)
    at = [0, 3, 8, 65520]

    def value(x: int) -> int:
        return sum(a * pow(x, k, PRIME) for k, a in enumerate(coefficients)) % PRIME

    rows = np.array([[value(x), 0] for x in points], dtype=np.uint16)
    assert evaluate_at(points, rows, at).tolist() == [[value(x), 0] for x in at]


def test_words_from_the_prime_on_are_thrown_away() -> None:
    words = np.array([65520, 65521, 7, 65535, 9], dtype="<u2").tobytes()
    assert take_elements(lambda count: (words * count)[:count], 6).tolist() == [65520, 7, 9, 65520, 7, 9]


def test_a_stream_of_refused_words_is_asked_for_more() -> None:
    asked: list[int] = []

    def stream(count: int) -> bytes:
        asked.append(count)
        return b"\xff" * min(count, 300) + b"\x01\x00" * max(0, count // 2 - 150)

    assert take_elements(stream, 100).tolist() == [1] * 100
    assert len(asked) == 2


def test_elements_of_random_bytes_are_uniform() -> None:
    elements = take_elements(os.urandom, 2**18)
    assert elements.shape == (2**18,)
    assert elements.max() < PRIME
    cells = np.bincount(elements % 16, minlength=16) / np.bincount(np.arange(PRIME) % 16)
    # Chi-square with 15 degrees of freedom: above 110 with odds of 10^-15.
    share = elements.size / PRIME
    assert float(np.sum((cells - share) ** 2 * np.bincount(np.arange(PRIME) % 16) / share)) < 110


def test_written_elements_come_back_and_damage_is_refused() -> None:
    elements = np.array([0, 1, 65520], dtype=np.uint16)
    back = read_elements(write_elements(elements), 3)
    assert np.array_equal(back, elements)
    assert back.flags.writeable
    for bad in (write_elements(elements)[:-1], b"", b"\xf1\xff" * 3):  # 0xfff1 is the prime
        with pytest.raises(ProtocolError):
            read_elements(bad, 3)


def test_what_is_a_field_vector() -> None:
    assert is_field_vector(np.array([65520], dtype=np.uint64), 1)
    for bad in ([1], np.array([PRIME], dtype=np.uint16), np.array([1], dtype=np.int32), np.zeros((1, 1), np.uint16)):
        assert not is_field_vector(bad, 1)


def test_wiped_arrays_are_zero() -> None:
    arrays = np.ones(3, np.uint16), np.ones((2, 2), np.uint8)
    wipe(*arrays)
    assert not any(array.any() for array in arrays)
    assert field.PRIME == 2**16 - 15
