"""Reads many decimal numbers at once from the bytes of a text: for each the very number that `float` makes of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

PADDING = b"0" * 8
"""Stands before the bytes, so that a word of eight of them ends at every position."""
_MOST_DIGITS = 16
# Whole numbers up to that, and powers of ten up to 10^22, are floats: one division rounds their quotient as IEEE 754
# asks, which is the float nearest to the decimal number (Clinger, How to Read Floating Point Numbers Accurately, 1990).
_MOST_EXACT = np.uint64(2**53)
_POWERS = np.array([10**power for power in range(_MOST_DIGITS + 1)], dtype=np.uint64)
_ZEROS, _HIGH_HALVES, _SIX = (np.uint64(0x0101010101010101 * byte) for byte in (0x30, 0xF0, 0x06))
_MINUS, _PLUS = b"-+"


def read_plain_numbers(
    padded: Bytes, starts: Positions, points: Positions, ends: Positions
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The numbers that stand in cells of a text, and which cells hold one in plain form.

    Plain is a sign or none, then up to 16 digits with up to 8 before and 16 after the decimal sign, worth up to 2^53
    together. What stands for other cells is no number of theirs.

    Args:
        padded: The bytes, after `PADDING`.
        starts: Where cells start, counted without the padding.
        points: Where the decimal sign of a cell stands; its end where it has none.
        ends: Where cells end.

    Returns:
        The numbers, and for each whether its cell is plain.
    """
    first = padded[starts + len(PADDING)]
    is_negative = first == _MINUS
    starts = starts + (is_negative | (first == _PLUS))
    whole_digits, part_digits = points - starts, np.maximum(ends - points - 1, 0)
    digits = whole_digits + part_digits
    is_plain = (whole_digits >= 0) & (whole_digits <= 8) & (digits >= 1) & (digits <= _MOST_DIGITS)
    # A cell that is not plain is read as one without digits.
    whole_digits, part_digits = np.where(is_plain, whole_digits, 0), np.where(is_plain, part_digits, 0)
    words: Words = np.ndarray(padded.size - 7, dtype="<u8", buffer=padded, strides=(1,))
    power = _POWERS[part_digits]
    digits_of_whole, is_number = _read_digits(words[points], whole_digits)
    values = digits_of_whole * power
    is_plain &= is_number
    part, is_number = _read_digits(words[ends], np.minimum(part_digits, 8))
    values += part
    is_plain &= is_number
    if (part_digits > 8).any():
        part, is_number = _read_digits(words[np.maximum(ends - 8, 0)], np.maximum(part_digits - 8, 0))
        values += part * _POWERS[8]
        is_plain &= is_number
    is_plain &= values <= _MOST_EXACT
    numbers = values.astype(np.float64) / power.astype(np.float64)
    return np.where(is_negative, -numbers, numbers), is_plain


def _read_digits(words: Words, counts: Positions) -> tuple[Words, npt.NDArray[np.bool_]]:
    """The number in the last `counts` of the eight bytes of each word, and whether they all are digits.

    Source: parse_eight_digits_unrolled of Langdale and Lemire, Parsing gigabytes of JSON per second (2019).
    """
    # Leading zeros in place of other bytes: a shift by 64 leaves none.
    shift = (np.uint64(64) - counts.astype(np.uint64) * np.uint64(8)).astype(np.uint64)
    digits = (words ^ _ZEROS) >> shift << shift
    is_number = ((digits | (digits + _SIX)) & _HIGH_HALVES) == 0
    digits = (digits * np.uint64(2561)) >> np.uint64(8)
    digits = ((digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32), is_number
