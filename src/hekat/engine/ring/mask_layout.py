"""Where slots lie in coefficients and fields in written bytes (`MaskFormat`), in Python integers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from hekat.engine.ring.checks import refuse_opened
from hekat.engine.ring.parameters import MaskFormat


class Chunk(NamedTuple):
    """One chunk of a block: its number in the block, its values, the coefficients it uses."""

    number: int
    first_value: int
    value_count: int
    used: int


def chunks_of(form: MaskFormat, value_count: int) -> Iterator[Chunk]:
    """The chunks of a block of `value_count` values."""
    last = form.chunk_count(value_count) - 1
    for number in range(last):
        yield Chunk(number, number * form.values_per_chunk, form.values_per_chunk, form.ring.degree)
    first_value = last * form.values_per_chunk
    yield Chunk(last, first_value, value_count - first_value, form.last_used(value_count))


def join_slots(form: MaskFormat, slots: list[int], used: int) -> list[int]:
    """The integer of each of `used` coefficients: digit j of number n is slot j * used + n."""
    digits = [slots[j * used : (j + 1) * used] for j in range(form.slots)]
    return [
        sum(digit << j * form.slot_bits for j, digit in enumerate(column))
        for column in zip_longest(*digits, fillvalue=0)
    ]


def split_slots(form: MaskFormat, messages: list[int]) -> list[int]:
    """The slots of all coefficients. Raises InputError where a coefficient holds more than its balanced digits."""
    half = 1 << form.slot_bits - 1
    slots = []
    for _ in range(form.slots):
        digits = [(m + half) % (2 * half) - half for m in messages]
        messages = [(m - digit) // (2 * half) for m, digit in zip(messages, digits, strict=True)]
        slots += digits
    if any(messages):
        raise refuse_opened()
    return slots


def join_fields(planes: list[list[int]], field_bits: tuple[int, ...]) -> list[int]:
    """Coefficients from their low fields, and their high fields where there are any."""
    return [low + sum(high) * (1 << field_bits[0]) for low, *high in zip(*planes, strict=True)]


def write_fields(coefficients: list[int], field_bits: tuple[int, ...]) -> bytes:
    """The bytes of one chunk: the low fields, whole bytes, then the high ones."""
    low_bits = field_bits[0]
    planes = [[x % (1 << low_bits) for x in coefficients], [x >> low_bits for x in coefficients]]
    written = b""
    for plane, bits in zip(planes, field_bits, strict=False):
        number = sum(field << i * bits for i, field in enumerate(plane))
        written += number.to_bytes(-(-len(plane) * bits // 8), "little")
    return written


def read_fields(data: bytes, used: int, field_bits: tuple[int, ...]) -> tuple[list[list[int]], bytes]:
    """The fields of one chunk, low ones first, and the bytes behind it."""
    planes = []
    for bits in field_bits:
        byte_count = -(-used * bits // 8)
        number, data = int.from_bytes(data[:byte_count], "little"), data[byte_count:]
        planes.append([number >> i * bits & (1 << bits) - 1 for i in range(used)])
    return planes, data
