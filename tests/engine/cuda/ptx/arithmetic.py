"""What PTX instructions on integers mean, for a vector of threads.

A register of any width is a vector of uint64 below 2^width, a predicate one of bool. Source: NVIDIA, PTX ISA,
"Instruction Set", sections on integer, extended-precision, comparison, logic and data movement instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Words = Any  # numpy.ndarray of uint64, or of bool for predicates

_ONE = np.uint64(1)
_HALF = np.uint64(32)


@cache
def width_of(kind: str) -> int:
    """Bits of a type such as u32. Raises ValueError for types that are not integers."""
    if kind == "pred":
        return 1
    if kind[0] not in "bus" or not kind[1:].isdigit():
        raise ValueError(f"the type {kind} is unknown here")
    return int(kind[1:])


_MASKS = {width: np.uint64((1 << width) - 1) for width in (1, 8, 16, 32, 64)}


def cut(x: Words, width: int) -> Words:
    return x if width == 64 else x & _MASKS[width]


def signed(x: Words, width: int) -> Words:
    """As int64, by its highest bit."""
    if width == 64:
        return x.view(np.int64)
    top = np.uint64(1 << (width - 1))
    return ((x ^ top) - top).view(np.int64)


def read(x: Words, kind: str) -> Words:
    """For comparing and dividing: as int64 where the type is signed."""
    return signed(x, width_of(kind)) if kind[0] == "s" else x


def high_product(a: Words, b: Words, kind: str) -> Words:
    """The upper half of the double-width product."""
    width = width_of(kind)
    if kind[0] == "s":
        values = [(int(x) * int(y)) >> width for x, y in zip(signed(a, width), signed(b, width), strict=True)]
        return np.array([value % (1 << width) for value in values], np.uint64)
    if width <= 32:
        return (a * b) >> np.uint64(width)
    return np.array([(int(x) * int(y)) >> 64 for x, y in zip(a, b, strict=True)], np.uint64)


def wide_product(a: Words, b: Words, kind: str) -> Words:
    """The double-width product of words of at most 32 bits."""
    width = width_of(kind)
    if kind[0] == "s":
        return cut((signed(a, width) * signed(b, width)).view(np.uint64), 2 * width)
    return a * b


def shift_left(a: Words, by: Words, kind: str) -> Words:
    width = width_of(kind)
    return np.where(by < width, cut(a << np.minimum(by, np.uint64(63)), width), np.uint64(0))


def shift_right(a: Words, by: Words, kind: str) -> Words:
    width = width_of(kind)
    if kind[0] == "s":
        return cut((signed(a, width) >> np.minimum(by, np.uint64(63)).view(np.int64)).view(np.uint64), width)
    return np.where(by < width, a >> np.minimum(by, np.uint64(63)), np.uint64(0))


def funnel_shift(opcode: tuple[str, ...], low: Words, high: Words, by: Words) -> Words:
    """shf.l / shf.r of 32 bits."""
    by = by & np.uint64(31) if opcode[2] == "wrap" else np.minimum(by, np.uint64(32))
    both = (high << np.uint64(32)) | low
    return cut((both << by) >> np.uint64(32) if opcode[1] == "l" else both >> by, 32)


def permute(a: Words, b: Words, selector: Words) -> Words:
    """prmt without a mode: each of four bytes chosen of eight, or its sign."""
    both = (b << np.uint64(32)) | a
    result = np.zeros_like(a)
    for i in range(4):
        choice = (selector >> np.uint64(4 * i)) & np.uint64(15)
        byte = (both >> (np.uint64(8) * (choice & np.uint64(7)))) & np.uint64(255)
        byte = np.where(choice > 7, np.where(byte > 127, np.uint64(255), np.uint64(0)), byte)
        result |= byte << np.uint64(8 * i)
    return result


def lop3(a: Words, b: Words, c: Words, table: Words) -> Words:
    """Any function of three bits."""
    result = np.zeros_like(a)
    for entry in range(8):
        picked = np.ones_like(a) * np.uint64(0xFFFFFFFF)
        for bit, word in ((4, a), (2, b), (1, c)):
            picked &= word if entry & bit else ~word
        result |= np.where((table >> np.uint64(entry)) & _ONE != 0, picked, np.uint64(0))
    return cut(result, 32)


def extract_bits(a: Words, first: Words, count: Words, kind: str) -> Words:
    """bfe of unsigned words."""
    if kind[0] != "u":
        raise ValueError("bfe of signed words is unknown here")
    below = shift_left(_ONE + np.zeros_like(count), count, "u64") - _ONE
    return shift_right(a, first & np.uint64(255), kind) & below


def insert_bits(a: Words, b: Words, first: Words, count: Words, kind: str) -> Words:
    """bfi: `count` bits of a, put into b from bit `first` on; none where that is beyond the word."""
    width = width_of(kind)
    first, count = first & np.uint64(255), count & np.uint64(255)
    ones = ~shift_left(np.full_like(b, 2**64 - 1), np.minimum(count, np.uint64(64)), "u64")
    mask = shift_left(cut(ones, width), first, kind)
    return b & ~mask | shift_left(a, first, kind) & mask


def count_ones(a: Words) -> Words:
    return np.bitwise_count(a).astype(np.uint64)


def leading_zeros(a: Words, width: int) -> Words:
    return np.array([width - int(x).bit_length() for x in a], np.uint64)


COMPARISONS: dict[str, Callable[[Words, Words], Words]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip

BITWISE: dict[str, Callable[[Words, Words], Words]] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def divide(opcode: str, a: Words, b: Words, kind: str) -> Words:
    """div and rem of unsigned words by words that are not 0."""
    if kind[0] != "u" or not b.all():
        raise ValueError("a division of signed words, or by 0")
    return a // b if opcode == "div" else a % b


def pure(opcode: tuple[str, ...], a: list[Words]) -> Words:
    """The result of an instruction that reads and writes registers only and knows no carry flag."""
    name, kind = opcode[0], opcode[-1]
    width = width_of(kind)
    match name:
        case "add":
            return cut(a[0] + a[1], width)
        case "sub":
            return cut(a[0] - a[1], width)
        case "neg":
            return cut(np.uint64(0) - a[0], width)
        case "mul" | "mad":
            rest = a[2] if name == "mad" else np.uint64(0)
            if opcode[1] == "wide":
                return cut(wide_product(a[0], a[1], kind) + rest, 2 * width)
            product = a[0] * a[1] if opcode[1] == "lo" else high_product(a[0], a[1], kind)
            return cut(product + rest, width)
        case "div" | "rem":
            return divide(name, a[0], a[1], kind)
        case "min" | "max":
            less = read(a[0], kind) < read(a[1], kind)
            return np.where(less == (name == "min"), a[0], a[1])
        case "and" | "or" | "xor":
            return BITWISE[name](a[0], a[1])
        case "not":
            return ~a[0] if kind == "pred" else cut(~a[0], width)
        case "shl":
            return shift_left(a[0], a[1], kind)
        case "shr":
            return shift_right(a[0], a[1], kind)
        case "shf":
            return funnel_shift(opcode, *a)
        case "prmt" if len(opcode) == 2:
            return permute(*a)
        case "lop3":
            return lop3(*a)
        case "bfe":
            return extract_bits(a[0], a[1], a[2], kind)
        case "bfi":
            return insert_bits(a[0], a[1], a[2], a[3], kind)
        case "popc":
            return count_ones(a[0])
        case "clz":
            return leading_zeros(a[0], width)
        case "selp":
            return np.where(a[2], a[0], a[1])
        case "cvt" if len(opcode) == 3:
            value = read(a[0], kind)
            return cut(value.view(np.uint64) if kind[0] == "s" else value, width_of(opcode[1]))
        case "setp":
            found = COMPARISONS[opcode[1]](read(a[0], kind), read(a[1], kind))
            return found if len(opcode) == 3 else BITWISE[opcode[2]](found, a[2])
    raise ValueError(f"the instruction {'.'.join(opcode)} is unknown here")


def with_carry(opcode: tuple[str, ...], a: list[Words], flag: Words) -> tuple[Words, Words]:
    """Result and carry flag of add, addc, sub, subc, mad and madc on 32-bit words; `flag` is 0 or 1, or 0 for all."""
    if opcode[-1] not in ("u32", "s32", "b32"):
        raise ValueError("carries of other than 32-bit words are unknown here")
    name = opcode[0].removesuffix("c")
    if name == "sub":
        difference = a[0] - a[1] - flag
        return cut(difference, 32), difference >> np.uint64(63)
    if name == "add":
        total = a[0] + a[1] + flag
    else:
        product = a[0] * a[1]
        half = cut(product, 32) if opcode[1] == "lo" else product >> _HALF
        total = half + a[2] + flag
    return cut(total, 32), total >> _HALF
