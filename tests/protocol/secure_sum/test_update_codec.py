"""Updates through lanes and back: the decoded mean is within the stated bound, counters and weights are exact."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hekat.codec import make_layout
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.errors import BoundError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.secure_sum.aggregation import Counter
from hekat.protocol.secure_sum.update_codec import UpdateCodec

WEIGHT_MAX = 1000
PLAINTEXT_BITS = 2046
SHAPES = {"bias": (3,), "weight": (7, 3)}
LAYOUTS = ("balanced", "offset", "two_sign_bits")


def make_codec(layout: str, bits: int, party_count: int, rounding: str = "nearest", range_factor: int = 1):
    chosen = make_layout(layout, value_bits=bits, max_addends=party_count, plaintext_bits=PLAINTEXT_BITS)
    return UpdateCodec(chosen, rounding, WEIGHT_MAX, range_factor=range_factor)


def add(plains: list[PackedPlaintext]) -> PackedPlaintext:
    """The sum as decryption would give it; packed plaintexts are not negative, so limbs are plain integers."""
    columns = zip(*(ints_from_limbs(plain.limbs) for plain in plains), strict=True)
    limb_count = PLAINTEXT_BITS // 64 + 1
    return PackedPlaintext(limbs_from_ints([sum(column) for column in columns], limb_count), 1 << PLAINTEXT_BITS)


@pytest.mark.quick_values
@pytest.mark.parametrize("bits", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**32), spread=st.sampled_from([1e-6, 0.3, 40.0]), range_factor=st.booleans())
def test_the_mean_is_within_its_stated_bound(layout, bits, seed, spread, range_factor) -> None:
    for party_count, rounding in product((2, 3, 5, 17), ("nearest", "stochastic")):
        codec = make_codec(layout, bits, party_count, rounding, party_count if range_factor else 1)
        check_mean(codec, party_count, spread, np.random.default_rng(seed), f"{party_count} parties, {rounding}")


def check_mean(codec: UpdateCodec, party_count: int, spread: float, rng: np.random.Generator, case: str) -> None:
    """Of random updates of `spread`, weights and counts, through lanes and back."""
    bounds = {"bias": spread / 3, "weight": spread}
    weights = [int(weight) for weight in rng.integers(1, WEIGHT_MAX + 1, party_count)]
    plains, clipped_sum, counts = [], {name: np.zeros(shape) for name, shape in SHAPES.items()}, []
    for weight in weights:
        update = {name: spread * rng.standard_normal(shape) for name, shape in SHAPES.items()}
        clipped = codec.clip_scaled(update, bounds, weight)
        counts.append(int(rng.integers(0, 2**50)))
        plains.append(codec.encode(clipped, bounds, weight, [Counter("count", counts[-1], 2**50)]))
        for name, values in clipped.items():
            clipped_sum[name] += values * WEIGHT_MAX
    like = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    found = codec.decode(add(plains), like, bounds, [Counter("count", 0, 2**50)], party_count)
    assert found.weight_sum == sum(weights), case
    assert found.counters == {"count": sum(counts)}, case
    allowed = codec.mean_error_bounds(like, bounds, party_count, found.weight_sum)
    for name in SHAPES:
        assert found.mean[name].shape == SHAPES[name], case
        assert np.all(np.abs(found.mean[name] - clipped_sum[name] / sum(weights)) <= allowed[name]), case


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("change", ["dropped", "doubled"])
def test_a_sum_of_other_contributors_is_refused(layout, change) -> None:
    codec = make_codec(layout, 16, 3)
    like = {"weight": np.linspace(-1, 1, 5)}
    plains = [codec.encode(codec.clip_scaled(like, {"weight": 1.0}, 10), {"weight": 1.0}, 10, []) for _ in range(3)]
    total = add(plains[:2] if change == "dropped" else [*plains[:2], plains[0], plains[1]])
    assert codec.decode(add(plains), like, {"weight": 1.0}, [], 3).weight_sum == 30
    with pytest.raises(BoundError):
        codec.decode(total, like, {"weight": 1.0}, [], 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", ["row counts", "counter 'rows'"])
def test_totals_beyond_what_the_contributors_could_make_are_refused(layout, what) -> None:
    """Digits in range, their sum not: what a lane can hold is more than what a counter may be."""
    codec = make_codec(layout, 16, 3)
    like, bounds = {"weight": np.zeros(5)}, {"weight": 1.0}
    generous = UpdateCodec(codec.layout, "nearest", WEIGHT_MAX + 1 if what == "row counts" else WEIGHT_MAX)
    weight, sent, limit = (WEIGHT_MAX + 1, 10, 10) if what == "row counts" else (10, 11, 11)
    plain = generous.encode(like, bounds, weight, [Counter("rows", sent, limit)])
    total = add([plain] * 3)
    assert generous.decode(total, like, bounds, [Counter("rows", 0, limit)], 3).counters == {"rows": 3 * sent}
    with pytest.raises(BoundError, match=what) as caught:
        codec.decode(total, like, bounds, [Counter("rows", 0, 10)], 3)
    assert str(3 * weight if what == "row counts" else 3 * sent) not in str(caught.value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_plaintext_at_all_of_zero_is_taken_for_a_sum(layout) -> None:
    codec = make_codec(layout, 16, 3)
    like = {"weight": np.zeros(5)}
    with pytest.raises(BoundError):
        codec.decode(PackedPlaintext(np.zeros((1, 32), dtype=np.uint64), 1), like, {"weight": 1.0}, [], 3)


def test_lanes_are_counted_with_what_travels_beside_the_values() -> None:
    like = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    counters = [Counter("small", 0, 10), Counter("large", 0, 2**40)]
    # 24 values, the weight in 1 lane of 15 bits, counters in 1 and 4; offset lanes hold 16 bits and count contributors.
    assert make_codec("balanced", 16, 3).slot_count(like, counters) == 24 + 1 + 1 + 4
    assert make_codec("offset", 16, 3).slot_count(like, counters) == 24 + 1 + 1 + 1 + 4
