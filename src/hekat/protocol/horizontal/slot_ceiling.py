"""The most slots that an upload can have, from the announcements of all parties: names and shapes of tensors, columns.

The aggregator makes an accumulator of the size that parties say they upload. Without a ceiling, parties with
exaggerated announcements could make it take any amount of memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from math import prod
from typing import Final

from hekat.codec.counters import PLAIN_COUNTER_LIMBS
from hekat.errors import InputError
from hekat.protocol.horizontal.categories.agree_on_categories import table_number_count
from hekat.protocol.horizontal.training.fills import MOST_COUNTERS
from hekat.protocol.secure_sum.exponents import LEAST_EXPONENT, MOST_EXPONENT

# The digits of a count of rows, where a slot carries one bit.
_COUNT_SLOTS: Final = 41
# The addition of scaffold to an update: the control variate's change, in the same shapes.
_TENSORS_OF_AN_UPDATE: Final = 2
_EXPONENTS: Final = MOST_EXPONENT - LEAST_EXPONENT + 1
# The digits of a counter, where a slot carries one bit.
_COUNTER_SLOTS: Final = 64 * PLAIN_COUNTER_LIMBS
# Beside a tensor's histogram: how many of its values were clipped, and how many came near.
_COUNTERS_OF_A_TENSOR: Final = _EXPONENTS + 2
# Weight and loss; validation's counters beside scores: rows, loss, hits, labels, their squares.
_OTHER_COUNTERS: Final = 16
_SHAPE: Final = re.compile(r"\((\d{0,12}(?:, \d{1,12})*),?\)")
MOST_VALUES: Final = 1 << 40


def most_slots(
    tensors: Collection[str],
    column_count: int = 0,
    *,
    score_count: int = 0,
    gram_count: int = 0,
    has_fills: bool = False,
) -> int:
    """No sum of a run has more slots in one upload. `tensors` are the announced ones, "... (3, 4)" each.

    `gram_count` are the numbers of a Gram matrix, where the job sums one. `has_fills`: empty cells of columns are
    filled from sums over all parties.

    Raises InputError where one has no shape, or all have more than 2^40 values together.
    """
    value_count = sum(value_count_of(tensor) for tensor in tensors)
    if value_count > MOST_VALUES:
        raise InputError("the tensors have more values than any upload", expected=f"at most {MOST_VALUES}", got="more")
    counters = _OTHER_COUNTERS + _TENSORS_OF_AN_UPDATE * len(tensors) * _COUNTERS_OF_A_TENSOR + score_count
    # Standardising has a value of each column, and for each exponent a counter of one digit.
    columns = column_count * (1 + _EXPONENTS)
    if has_fills:  # the exponents and a count of rows, or the counts of a histogram
        columns = column_count * max(_EXPONENTS + _COUNT_SLOTS, MOST_COUNTERS * _COUNT_SLOTS)
    grams = gram_count + _EXPONENTS if gram_count else 0
    return _TENSORS_OF_AN_UPDATE * value_count + columns + grams + _COUNTER_SLOTS * counters


def slots_of_categories(column_count: int) -> int:
    """No sum by which parties find the categories of so many columns has more slots in one upload."""
    return _COUNTER_SLOTS * _OTHER_COUNTERS + table_number_count(column_count)


def value_count_of(tensor: str) -> int:
    """The most values that a tensor announced as "NAME (3, 4)" or "DTYPE (3, 4), ..." can have. Raises InputError."""
    shapes = _SHAPE.findall(tensor)
    if not shapes:
        raise InputError("a tensor was announced without its shape", expected="NAME (3, 4)", got="another text")
    # A name may hold text that looks like a shape: the largest shape is no less than the tensor's own.
    return max(prod(int(size) for size in shape.split(", ") if size) for shape in shapes)
