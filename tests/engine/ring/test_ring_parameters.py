"""Rings and mask formats: what they refuse, and the sizes that follow from them."""

from __future__ import annotations

import pytest

from hekat.engine.ring.parameters import MaskFormat, Ring
from hekat.errors import InputError

# 50 bits, 1 mod 4096; and a pair of 43 bits, 1 mod 8192.
P50 = 1125899906826241
PAIR = (4398046486529, 4398046240769)
LEAST = 12289


@pytest.mark.parametrize(
    ("degree", "primes", "words"),
    [
        (1000, (LEAST,), "one of 1024"),
        (512, (LEAST,), "one of 1024"),
        (16384, (65537,), "one of 1024"),
        (2048, (), "1 to 2"),
        (2048, (P50, P50), "different"),
        (4096, (*PAIR, 40961), "1 to 2"),
        (2048, (8193,), "1 mod 4096"),
        (2048, (4099,), "1 mod 4096"),
        (8192, (LEAST,), "1 mod 16384"),
        (2048, ((1 << 50) + 1,), "below 2\\^50"),
        (2048, (1,), "1 mod 4096"),
        (2048, (-4095,), "1 mod 4096"),
    ],
)
def test_rings_that_are_none_are_refused(degree, primes, words):
    with pytest.raises(InputError, match=words):
        Ring(degree, primes)


def test_the_root_is_primitive_and_the_smallest():
    for degree in (1024, 2048):
        (root,) = Ring(degree, (LEAST,)).roots
        powers = [pow(x, degree, LEAST) for x in range(1, root)]
        assert pow(root, degree, LEAST) == LEAST - 1
        assert LEAST - 1 not in powers


@pytest.mark.parametrize(
    ("slots", "slot_bits", "dropped_bits", "sum_dropped_bits", "words"),
    [
        (0, 20, 4, 6, "slots"),
        (9, 5, 0, 0, "slots"),
        (8, 1, 0, 0, "bits of a slot"),
        (1, 45, 0, 0, "bits of a slot"),
        (2, 25, 0, 0, "bits of delta"),
        (2, 14, 0, 0, "bits of delta"),
        (2, 20, 10, 6, "dropped bits"),
        (2, 20, 4, 10, "dropped bits of a sum"),
        (2, 20, -1, 6, "dropped bits"),
    ],
)
def test_formats_that_cannot_be_are_refused(slots, slot_bits, dropped_bits, sum_dropped_bits, words):
    with pytest.raises(InputError, match=words):
        MaskFormat(Ring(2048, (P50,)), slots, slot_bits, dropped_bits, sum_dropped_bits)


def test_a_modulus_whose_rounded_residues_need_a_bit_more_is_refused():
    ring = Ring(2048, (P50,))
    assert (P50 >> 19) + 1 == 1 << 31
    with pytest.raises(InputError, match="a larger one"):
        MaskFormat(ring, 1, 30, 19, 0)
    MaskFormat(ring, 1, 30, 4, 6)


def test_sizes_of_whole_and_odd_blocks():
    form = MaskFormat(Ring(4096, PAIR), 3, 23, 7, 13)
    chunk = 3 * 4096 - 1
    assert (form.delta, form.values_per_chunk) == (32767, chunk)
    assert (form.field_bits, form.sum_field_bits) == ((39, 38), (36, 35))
    # Values, chunks, coefficients of the last one.
    for values, chunks, used in [
        (0, 1, 1),
        (2, 1, 1),
        (3, 1, 2),
        (chunk - 1, 1, 4096),
        (chunk, 1, 4096),
        (chunk + 1, 2, 1),
        (2 * chunk, 2, 4096),
    ]:
        assert (form.chunk_count(values), form.last_used(values)) == (chunks, used)
        assert form.field_count(values) == 2 * ((chunks - 1) * 4096 + used)
        full = (chunks - 1) * 4096 // 8
        assert form.written_bytes(values) == 77 * full + (39 * used + 7) // 8 + (38 * used + 7) // 8
        assert form.written_sum_bytes(values) == 71 * full + (36 * used + 7) // 8 + (35 * used + 7) // 8
