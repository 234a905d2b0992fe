"""What a shared result hides: flooding adds the noise it states, rounding keeps to its grid, both know their limits."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from hekat.errors import BoundError, InputError
from hekat.scheme.ckks import (
    FEDML_HE,
    FLOODED,
    KeyPair,
    decrypt,
    default_grid,
    describe_flooding,
    encrypt,
    generate_keys,
    reached_bits,
    weighted_sum,
)
from hekat.scheme.ckks.decrypt import draw_uniform
from hekat.scheme.ckks.noise import noise_bound, value_noise_bound

from .conftest import draw

RAW = "raw_reveals_key"


@pytest.fixture(autouse=True)
def library() -> None:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")


@pytest.mark.long
def test_flooding_is_the_default_and_adds_the_noise_it_states_seed_21(flooded_keys: KeyPair) -> None:
    """Mean, deviation, largest error and shape of what is added; a value sums 16384 uniform numbers: normal."""
    values = draw(8192, 21, 8.0)
    encrypted = encrypt(flooded_keys.public, values)
    raw = decrypt(flooded_keys.private, encrypted, RAW)
    stated = describe_flooding(FLOODED)
    added = decrypt(flooded_keys.private, encrypted) - raw
    # Deviations of estimates from 8192 normal numbers: 0.8% of the deviation itself, 1.1% for the mean; seven each.
    assert np.std(added) == pytest.approx(stated.deviation, rel=0.056)
    assert abs(np.mean(added)) < 7 * stated.deviation / math.sqrt(8192)
    assert np.abs(added).max() <= stated.largest_error
    shares = [np.mean(np.abs(added) < width * stated.deviation) for width in (1, 2, 3)]
    assert shares == pytest.approx([0.6827, 0.9545, 0.9973], abs=0.037)
    # Fresh noise each time.
    again = decrypt(flooded_keys.private, encrypted) - raw
    assert abs(np.corrcoef(added, again)[0, 1]) < 0.08


def test_what_flooding_hides_is_more_than_all_noise_by_the_stated_bits() -> None:
    """s = log2(2^(m+1) / (T N noise)), computed once more from the parts."""
    for gain, roundings in ((1.0, 0), (1.0, 1), (1.5, 3)):
        stated = describe_flooding(FLOODED, gain, roundings)
        hidden = FLOODED.shared_count * FLOODED.degree * noise_bound(FLOODED, gain, roundings)
        assert stated.statistical_bits == pytest.approx(math.log2(2.0 ** (stated.amplitude_bits + 1) / hidden))
        assert 128 <= stated.statistical_bits < 129
        assert stated.precision_bits > 15


def test_the_noise_of_ciphertexts_stays_within_the_bound_that_flooding_covers_seed_22(keys: KeyPair) -> None:
    """Measured through encryptions of zero, whose values are noise alone."""
    encrypted = encrypt(keys.public, np.zeros(3 * 4096))
    for result, gain, roundings in ((encrypted, 1.0, 0), (weighted_sum([encrypted] * 3, [0.4, 0.4, 0.2]), 1.0, 1)):
        noise = decrypt(keys.private, result, RAW)
        assert np.abs(noise).max() <= value_noise_bound(FEDML_HE, gain, roundings)
        # t0 + t1 s with s ternary: variance (1 + 2N/3)/12 a coefficient, and N/2 of them in a value.
        expected = math.sqrt((1 + 2 * 8192 / 3) / 12 * 4096) / FEDML_HE.scale
        assert np.std(noise) >= 0.9 * expected


def test_weighted_results_are_flooded_for_what_weights_and_rounding_add_seed_23(flooded_keys: KeyPair) -> None:
    vectors, weights = [draw(2000, 23), draw(2000, 24)], [0.25, 0.75]
    total = weighted_sum([encrypt(flooded_keys.public, vector) for vector in vectors], weights)
    stated = describe_flooding(FLOODED, total.gain, total.rounding_count)
    error = decrypt(flooded_keys.private, total) - (0.25 * vectors[0] + 0.75 * vectors[1])
    assert np.std(error) == pytest.approx(stated.deviation, rel=0.1)


def test_fedml_he_parameters_leave_no_room_and_say_so(keys: KeyPair, flooded_keys: KeyPair) -> None:
    encrypted = encrypt(keys.public, np.ones(2))
    assert reached_bits(FEDML_HE) < 1
    with pytest.raises(BoundError, match="too little room to hide its noise by flooding; expected 128 bits") as caught:
        decrypt(keys.private, encrypted)
    assert "no security at that precision" in str(caught.value)
    assert "FLOODED" in caught.value.cure
    with pytest.raises(BoundError, match=r"expected 200 bits .* got about 147 bits"):
        decrypt(flooded_keys.private, encrypt(flooded_keys.public, np.ones(2)), statistical_bits=200)


def test_a_lower_level_is_reached_only_when_named(keys: KeyPair) -> None:
    few = dataclasses.replace(FEDML_HE, name="few results", shared_count=1, statistical_bits=16)
    pair = generate_keys(few)
    encrypted = encrypt(pair.public, np.ones(1))
    assert decrypt(pair.private, encrypted).shape == (1,)
    with pytest.raises(BoundError, match="opened as many ciphertexts for sharing"):
        decrypt(pair.private, encrypted)
    # Rounding and raw results are not counted: nothing is promised for their number.
    decrypt(pair.private, encrypted, "rounding")


def test_rounding_keeps_to_the_grid_seed_25(keys: KeyPair) -> None:
    values = draw(5000, 25)
    total = weighted_sum([encrypt(keys.public, values)] * 2, [0.5, 0.5])
    step = default_grid(FEDML_HE, 1.0, 1)
    assert step >= 2**10 * value_noise_bound(FEDML_HE, 1.0, 1) > step / 2
    for grid in (None, 2.0**-10):
        rounded = decrypt(keys.private, total, "rounding", grid=grid)
        used = step if grid is None else grid
        assert np.array_equal(rounded, np.rint(rounded / used) * used)
        assert np.abs(rounded - values).max() <= used / 2 + 2e-9


def test_rounding_gives_the_same_for_fresh_noise_seed_26(keys: KeyPair) -> None:
    """Values in the middle of their cells: noise shows nowhere. At a boundary it decides: that is not proven."""
    step = default_grid(FEDML_HE)
    cells = np.random.default_rng(26).integers(-1000, 1000, 4096) * step
    opened = [decrypt(keys.private, encrypt(keys.public, cells), "rounding") for _ in range(3)]
    assert all(np.array_equal(one, cells) for one in opened)
    boundary = cells + step / 2
    opened = [decrypt(keys.private, encrypt(keys.public, boundary), "rounding") for _ in range(2)]
    assert not np.array_equal(*opened)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"sharing": "none"}, InputError, "unknown way to share"),
        ({"sharing": "rounding", "grid": 0.3}, InputError, "a power of two"),
        ({"sharing": "rounding", "grid": float("nan")}, InputError, "a power of two"),
        ({"sharing": "rounding", "grid": 1}, InputError, "a power of two"),
        ({"sharing": "rounding", "grid": 2.0**-30}, BoundError, "too fine to hide the noise"),
        ({"sharing": "rounding", "grid": 256.0}, BoundError, "leaves nothing"),
        ({"sharing": "raw_reveals_key", "grid": 0.5}, InputError, "grid belongs to rounding"),
        ({"sharing": "rounding", "statistical_bits": 5}, InputError, "statistical_bits to flooding"),
        # Flooding by less than a bit would be the raw result under another name.
        *[
            ({"statistical_bits": bits}, InputError, "bits of statistical security refused")
            for bits in (0, -200, 1.5, float("nan"), True, "128", 257)
        ],
    ],
)
def test_settings_that_would_not_hide_are_refused(
    keys: KeyPair, arguments: dict, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        decrypt(keys.private, encrypt(keys.public, np.ones(2)), **arguments)


@pytest.mark.parametrize("amplitude_bits", [0, 7, 8, 107])
def test_uniform_integers_fill_their_range(amplitude_bits: int) -> None:
    drawn = draw_uniform(4096, amplitude_bits)
    edge = 1 << amplitude_bits
    assert -edge <= min(drawn) < 0 <= max(drawn) < edge
    assert max(drawn) >= edge * 0.97 - 1
    assert sum(drawn) / len(drawn) / edge == pytest.approx(-0.5 / edge, abs=0.07)
    # Every bit down to the last one is random: nothing of the noise that is added to shows below it.
    assert 0.45 < sum(number & 1 for number in drawn) / len(drawn) < 0.55
