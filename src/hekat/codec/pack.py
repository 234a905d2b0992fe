"""Makes packing layouts by name, and says how well they use a plaintext."""

from __future__ import annotations

import difflib

from hekat.codec.balanced import BalancedLayout
from hekat.codec.layout import Layout, ceil_log2, check_count
from hekat.codec.offset import OffsetLayout
from hekat.codec.quantise import check_value_bits
from hekat.codec.two_sign_bits import TwoSignBitsAsPublishedLayout, TwoSignBitsLayout
from hekat.errors import InputError

LAYOUTS: dict[str, type[Layout]] = {
    layout.name: layout for layout in (BalancedLayout, OffsetLayout, TwoSignBitsLayout, TwoSignBitsAsPublishedLayout)
}


def make_layout(name: str, *, value_bits: int, max_addends: int, plaintext_bits: int) -> Layout:
    """The layout `name` for values of `value_bits` (1 to 32), sums of up to `max_addends` (1 to 65536) contributors.

    `plaintext_bits` is `PlaintextSpace.bits` of the key. The sum of `max_addends` packed plaintexts is at most
    2^plaintext_bits - 1. Raises InputError for an unknown name, a size out of range, or a plaintext too small.
    """
    if name not in LAYOUTS:
        close = difflib.get_close_matches(str(name), LAYOUTS, n=1)
        raise InputError(
            "unknown packing layout",
            expected=f"one of {', '.join(LAYOUTS)}",
            got=repr(name),
            cure=f"did you mean {close[0]!r}?" if close else "'balanced' suits every number of parties",
        )
    return LAYOUTS[name](value_bits=value_bits, max_addends=max_addends, plaintext_bits=plaintext_bits)


def compression_ratio(value_count: int, layout: Layout) -> float:
    """Values for each ciphertext on average: value_count over the plaintexts that `layout` needs for them.

    Source: FLBooster (ICDE 2023), Eq. 11, with the layout's own slots.
    """
    check_count("value_count", value_count, 1, None)
    return value_count / layout.plaintext_count(value_count)


def plaintext_space_use(value_count: int, key_bits: int, layout: Layout) -> float:
    """The share of all plaintext bits that slots of values fill, in (0, 1]; a count slot does not count.

    Source: FLBooster (ICDE 2023), Eq. 12, with the layout's own slot_bits in place of r + ceil(log2 p).
    """
    check_count("value_count", value_count, 1, None)
    check_count("key_bits", key_bits, layout.plaintext_bits, None)
    return value_count * layout.slot_bits / (key_bits * layout.plaintext_count(value_count))


def published_compression_ratio(value_count: int, key_bits: int, value_bits: int, party_count: int) -> float:
    """The paper's ratio: slots of value_bits + ceil(log2 party_count) bits filling all key_bits of a plaintext.

    Source: FLBooster (ICDE 2023), Eq. 11.
    """
    return value_count / _published_plaintext_count(value_count, key_bits, value_bits, party_count)


def published_plaintext_space_use(value_count: int, key_bits: int, value_bits: int, party_count: int) -> float:
    """The paper's use of the plaintext space, in (0, 1]: as `published_compression_ratio`, in bits.

    Source: FLBooster (ICDE 2023), Eq. 12.
    """
    plaintext_count = _published_plaintext_count(value_count, key_bits, value_bits, party_count)
    return value_count * (value_bits + ceil_log2(party_count)) / (key_bits * plaintext_count)


def _published_plaintext_count(value_count: int, key_bits: int, value_bits: int, party_count: int) -> int:
    check_value_bits(value_bits)
    check_count("value_count", value_count, 1, None)
    check_count("party_count", party_count, 1, None)
    slot_bits = value_bits + ceil_log2(party_count)
    check_count("key_bits", key_bits, slot_bits, None)
    return -(-value_count // (key_bits // slot_bits))
