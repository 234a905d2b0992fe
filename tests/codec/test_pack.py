"""make_layout by name, and the two measures of packing against numbers worked by hand."""

from __future__ import annotations

import pytest

from hekat.codec import (
    compression_ratio,
    make_layout,
    plaintext_space_use,
    published_compression_ratio,
    published_plaintext_space_use,
)
from hekat.errors import InputError


def test_unknown_name_suggests_the_right_one() -> None:
    with pytest.raises(InputError, match="did you mean 'balanced'"):
        make_layout("ballanced", value_bits=8, max_addends=2, plaintext_bits=100)
    with pytest.raises(InputError, match="balanced, offset, two_sign_bits"):
        make_layout("xyz", value_bits=8, max_addends=2, plaintext_bits=100)


def test_measures_of_the_mnist_network_on_2048_bits() -> None:
    # 102 slots of 20 bits: ceil(101770 / 102) = 998 plaintexts.
    layout = make_layout("balanced", value_bits=16, max_addends=9, plaintext_bits=2046)
    assert layout.plaintext_count(101_770) == 998
    assert compression_ratio(101_770, layout) == pytest.approx(101_770 / 998)
    assert plaintext_space_use(101_770, 2048, layout) == pytest.approx(101_770 * 20 / (2048 * 998))


def test_published_formulas() -> None:
    # FLBooster: r + b = 32 bits, k = 1024, 2048, 4096 give 32, 64, 128 to one.
    for key_bits, ratio in ((1024, 32), (2048, 64), (4096, 128)):
        assert published_compression_ratio(ratio * 100, key_bits, 28, 16) == ratio
        assert published_plaintext_space_use(ratio * 100, key_bits, 28, 16) == 1.0
    # 101 values in slots of 10 bits, 100 bits: 11 plaintexts.
    assert published_compression_ratio(101, 100, 8, 4) == pytest.approx(101 / 11)
    assert published_plaintext_space_use(101, 100, 8, 4) == pytest.approx(1010 / 1100)


@pytest.mark.parametrize("name", ["balanced", "offset", "two_sign_bits"])
@pytest.mark.parametrize("party_count", [2, 9, 256])
def test_offset_alone_reaches_the_published_ratio(name: str, party_count: int) -> None:
    layout = make_layout(name, value_bits=16, max_addends=party_count, plaintext_bits=2046)
    count = 1_000_000
    ours, published = compression_ratio(count, layout), published_compression_ratio(count, 2046, 16, party_count)
    assert ours == published if name == "offset" else ours <= published
    assert 0 < plaintext_space_use(count, 2048, layout) <= 1


@pytest.mark.parametrize("value_count", [0, -5, 2.5])
def test_bad_counts_are_refused(value_count: int) -> None:
    layout = make_layout("balanced", value_bits=8, max_addends=2, plaintext_bits=100)
    with pytest.raises(InputError, match="value_count"):
        compression_ratio(value_count, layout)
    with pytest.raises(InputError, match="value_count"):
        published_plaintext_space_use(value_count, 2048, 16, 9)
    with pytest.raises(InputError, match="key_bits"):
        plaintext_space_use(10, 99, layout)
    with pytest.raises(InputError, match="key_bits"):
        published_compression_ratio(10, 17, 16, 4)
