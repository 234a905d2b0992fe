"""What fills the empty cells of columns, from counts over all parties' rows; no party's own counts are seen.

- "mean": the exact sum of the cells as fixed-point numbers, and how many there are.
- "median": the lower one where two are in the middle. Numbers are rounded to 29 significant bits and put in the order
  of whole numbers of 40 bits; ten sums find them four bits at a time, each the histogram of the next four bits among
  cells that begin as the median does.
- "most_frequent": how many rows hold each category; the first of equals.

All parties learn these sums, and the aggregator nothing. The rows that are held out for validation are not in them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.data import Features, Table, is_dense
from hekat.data.columns.moments import largest_magnitudes
from hekat.data.columns.order_keys import DIGIT_BITS, KEY_BITS, key_of_floats, value_of_key
from hekat.errors import InputError
from hekat.protocol.horizontal.training.standardise import FLAG_BITS
from hekat.protocol.secure_sum.aggregation import Aggregation, Alone, Counter, sum_counters
from hekat.protocol.secure_sum.exponents import LEAST_EXPONENT, MOST_EXPONENT, exponents_of

_DIGITS = 1 << DIGIT_BITS
_MEAN_STEPS = ("fill/scale", "fill/mean")
_MEDIAN_STEPS = tuple(f"fill/median-{number + 1}" for number in range(KEY_BITS // DIGIT_BITS))
_FREQUENT_STEP = "fill/most_frequent"
# A cell in units of its column's largest power of two, plus one so that none is negative: 0 to 2.
_MEAN_UNITS = 2**32
_COUNT_BITS = 32
"""Counts and totals travel in the widest slots: they need one or a few, and several hide what they do not say."""
MOST_COUNTERS = _DIGITS
"""The most counters of row counts that one of these sums has for a column."""


def fill_steps(rules: Sequence[str]) -> tuple[str, ...]:
    """The sums in their order, where the job has these rules; the aggregator serves them by these names."""
    return (
        *(_MEAN_STEPS if "mean" in rules else ()),
        *(_MEDIAN_STEPS if "median" in rules else ()),
        *((_FREQUENT_STEP,) if "most_frequent" in rules else ()),
    )


def agree_on_fills(aggregation: Aggregation, table: Table, rules: Sequence[str], weight_max: int) -> FloatArray | None:
    """What stands for an empty cell of each column, shape (columns,); 0 where none is to be filled; None without rules.

    Every party asks for the sums of all `rules`, also where no column has one. Raises InputError for a column without
    a value at any party; a party that trains alone fills such a column with 0, from which it learns nothing.
    """
    if not rules:
        return None
    is_alone = isinstance(aggregation, Alone)
    fills = np.zeros(len(table.feature_names))
    position = {name: number for number, name in enumerate(table.feature_names)}
    places = {
        rule: [[position[name] for name in one.names] for one in table.open_fills if one.rule == rule] for rule in rules
    }
    if "mean" in rules:
        columns = [block[0] for block in places["mean"]]
        fills[columns] = _means(aggregation, table, columns, weight_max, may_be_empty=is_alone)
    if "median" in rules:
        columns = [block[0] for block in places["median"]]
        fills[columns] = _medians(aggregation, table, columns, weight_max, may_be_empty=is_alone)
    if "most_frequent" in rules:
        blocks = places["most_frequent"]
        found = _most_frequent(aggregation, table, blocks, weight_max, may_be_empty=is_alone)
        for block, chosen in zip(blocks, found, strict=True):
            fills[block[chosen]] = 1.0
    return fills


def _means(
    aggregation: Aggregation, table: Table, columns: list[int], weight_max: int, *, may_be_empty: bool
) -> FloatArray:
    cells = [_cells(table.features, column) for column in columns]
    largest = np.array([largest_magnitudes(one.reshape(-1, 1))[0] for one in cells])
    exponents = np.maximum(exponents_of(largest), LEAST_EXPONENT) if columns else np.zeros(0, dtype=np.int64)
    _check_exponents(table, columns, exponents)
    reach = range(LEAST_EXPONENT, MOST_EXPONENT + 1)
    counters = [
        Counter(f"{column}/{exponent}", int(exponents[number] == exponent), maximum=1)
        for number, column in enumerate(columns)
        for exponent in reach
    ]
    sums = sum_counters(aggregation, _MEAN_STEPS[0], counters, value_bits=FLAG_BITS)
    scales = [
        2.0 ** max((exponent for exponent in reach if sums[f"{column}/{exponent}"] > 0), default=0)
        for column in columns
    ]
    totals = [
        Counter(str(column), round(float(np.sum(one / scale + 1.0)) * _MEAN_UNITS), 2 * weight_max * _MEAN_UNITS)
        for column, one, scale in zip(columns, cells, scales, strict=True)
    ]
    totals += [Counter(f"{column}/count", one.size, weight_max) for column, one in zip(columns, cells, strict=True)]
    sums = sum_counters(aggregation, _MEAN_STEPS[1], totals, value_bits=_COUNT_BITS)
    counts = [sums[f"{column}/count"] for column in columns]
    _check_counts(table, columns, counts, may_be_empty=may_be_empty)
    means = [
        scale * (sums[str(column)] / (count * _MEAN_UNITS) - 1.0) if count else 0.0
        for column, count, scale in zip(columns, counts, scales, strict=True)
    ]
    return np.array(means)


def _medians(
    aggregation: Aggregation, table: Table, columns: list[int], weight_max: int, *, may_be_empty: bool
) -> FloatArray:
    keys = {column: key_of_floats(_cells(table.features, column)) for column in columns}
    found = dict.fromkeys(columns, 0)
    ranks: dict[int, int] = {}
    is_held: dict[int, bool] = {}
    for number, step in enumerate(_MEDIAN_STEPS):
        counters = []
        shift = KEY_BITS - DIGIT_BITS * (number + 1)
        for column in columns:
            begins_so = keys[column][keys[column] >> (shift + DIGIT_BITS) == found[column]]
            digits = np.bincount((begins_so >> shift) & (_DIGITS - 1), minlength=_DIGITS)
            counters += [Counter(f"{column}/{digit}", int(count), weight_max) for digit, count in enumerate(digits)]
        sums = sum_counters(aggregation, step, counters, value_bits=_COUNT_BITS)
        for column in columns:
            counts = [sums[f"{column}/{digit}"] for digit in range(_DIGITS)]
            if number == 0:
                _check_counts(table, [column], [sum(counts)], may_be_empty=may_be_empty)
                ranks[column] = (sum(counts) + 1) // 2
                is_held[column] = sum(counts) > 0
            digit, below = _digit_of_rank(counts, ranks[column])
            found[column] = found[column] * _DIGITS + digit
            ranks[column] -= below
    medians = np.array([value_of_key(found[column]) if is_held[column] else 0.0 for column in columns])
    if not np.isfinite(medians).all():
        raise InputError("no median follows from the counts of all parties", expected="a finite number", got="another")
    return medians


def _digit_of_rank(counts: list[int], rank: int) -> tuple[int, int]:
    """The digit that the cell of this rank has, and how many cells have a smaller one.

    Counts that do not reach the rank, as a party can make them, lead to the largest digit.
    """
    below = 0
    for digit, count in enumerate(counts):
        if below + count >= rank or digit == _DIGITS - 1:
            return digit, below
        below += count
    raise AssertionError("the last digit ends the search")


def _most_frequent(
    aggregation: Aggregation, table: Table, blocks: list[list[int]], weight_max: int, *, may_be_empty: bool
) -> list[int]:
    counters = [
        Counter(str(column), int(np.sum(_cells(table.features, column))), weight_max)
        for block in blocks
        for column in block
    ]
    sums = sum_counters(aggregation, _FREQUENT_STEP, counters, value_bits=_COUNT_BITS)
    counts = [[sums[str(column)] for column in block] for block in blocks]
    for block, found in zip(blocks, counts, strict=True):
        _check_counts(table, block[:1], [sum(found)], may_be_empty=may_be_empty)
    return [int(np.argmax(found)) for found in counts]


def _cells(features: Features, column: int) -> FloatArray:
    """The cells of a column that are not empty."""
    values = features[:, [column]]
    numbers = (values if is_dense(values) else values.toarray()).reshape(-1)
    return np.asarray(numbers[~np.isnan(numbers)])


def _check_exponents(table: Table, columns: list[int], exponents: np.ndarray) -> None:
    for column, exponent in zip(columns, exponents.tolist(), strict=True):
        if exponent > MOST_EXPONENT:
            raise InputError(
                f"column {table.feature_names[column]!r} has values too large for a mean over all parties",
                expected=f"magnitudes up to 2^{MOST_EXPONENT}",
                got="a larger one",
                cure='change the column\'s unit, or set fill = "median"',
            )


def _check_counts(table: Table, columns: list[int], counts: list[int], *, may_be_empty: bool) -> None:
    for column, count in zip(columns, counts, strict=True):
        if not count and not may_be_empty:
            raise InputError(
                f"column {table.feature_names[column]!r} is empty in every row of every party",
                expected="a value in some row, from which a fill follows",
                got="none",
                cure="set ignore = true for the column in the job, or a number as its fill",
            )
