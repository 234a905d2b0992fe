"""Conformance: random integers fill their range and nothing beyond it, exactly uniform, no two draws alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hekat.array_module import on_host
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits
from hekat.errors import InputError

# What a correct implementation fails by chance, once in 10^9 runs.
CHANCE = 1e-9


def integers(each_engine, limbs, bits):
    """The integers of limbs that lie where the engine has its own; their form is checked."""
    assert limbs.dtype == np.uint64
    assert limbs.ndim == 2
    assert limbs.shape[1] == limbs_for_bits(bits)
    return ints_from_limbs(limbs if on_host(limbs) else each_engine._device.download(limbs))


@pytest.mark.quick_values
@pytest.mark.parametrize("bits", [1, 2, 63, 64, 65, 127, 128, 500, 512, 513])
def test_random_bits_fill_their_range(each_engine, bits):
    values = integers(each_engine, each_engine.random_bits(4096, bits), bits)
    assert len(values) == 4096
    assert max(values).bit_length() == bits
    # Each bit is set in half of 4096 draws; 8 standard deviations have odds of 10^-15.
    octets = np.frombuffer(b"".join(value.to_bytes(-(-bits // 8), "little") for value in values), np.uint8)
    counts = np.unpackbits(octets.reshape(4096, -1), axis=1, bitorder="little").sum(axis=0, dtype=np.int64)[:bits]
    assert (abs(counts - 2048) < 8 * 32).all()


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 31, 32, 33, 46])
def test_random_below_is_uniform(each_engine, bound):
    values = integers(each_engine, each_engine.random_below(200 * bound, bound), bound.bit_length())
    counts = np.bincount(values, minlength=bound)
    assert counts.size == bound
    if bound > 1:
        assert stats.chisquare(counts).pvalue > CHANCE


@pytest.mark.parametrize("bound", [2**64 - 1, 2**64, 2**64 + 1, 3 * 2**190 + 1, 2**512, 2**512 + 1, 2**1030 + 2**64])
def test_random_below_at_limb_boundaries(each_engine, bound):
    values = integers(each_engine, each_engine.random_below(500, bound), bound.bit_length())
    assert max(values) < bound
    assert len(set(values)) == 500
    # The largest of 500 lies below 7/8 of the bound with odds of 10^-29.
    assert max(values) > bound // 8 * 7


def test_no_draw_is_like_another(each_engine):
    drawn = []
    for _ in range(3):
        drawn += integers(each_engine, each_engine.random_bits(100, 200), 200)
        drawn += integers(each_engine, each_engine.random_below(100, 3 << 198), 200)
    assert len(set(drawn)) == 600
    # Nor are the limbs within them.
    mask = 2**64 - 1
    limbs = {value >> shift & mask for value in drawn for shift in (0, 64, 128)}
    assert len(limbs) == 1800


def test_nothing_is_drawn_where_nothing_is_asked_for(each_engine):
    assert each_engine.random_bits(0, 100).shape == (0, 2)
    assert each_engine.random_below(0, 2**64).shape == (0, 2)


@pytest.mark.parametrize(("count", "bits"), [(-1, 5), (1, 0), (1, -3)])
def test_refusals(each_engine, count, bits):
    with pytest.raises(InputError, match="no random integers can be drawn"):
        each_engine.random_bits(count, bits)
    with pytest.raises(InputError, match="no random integers can be drawn"):
        each_engine.random_below(count, bits)
