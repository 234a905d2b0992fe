"""The categories of columns, found by all parties together in one sum; nobody learns who offers which."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.data.columns.found import Vocabulary, check_vocabulary, is_category, most_categories
from hekat.data.number_text import order_of_text
from hekat.errors import InputError
from hekat.protocol.horizontal.categories.category_key import Category
from hekat.protocol.horizontal.categories.category_table import (
    CELL_NUMBERS,
    MOST_NUMBER,
    NUMBER_BITS,
    cell_count,
    fill_table,
    read_table,
)
from hekat.protocol.secure_sum.aggregation import Aggregation, Counter, sum_counters

CATEGORIES_STEP = "categories/table"
"""The aggregator serves the sum by this name."""


def agree_on_categories(
    aggregation: Aggregation, offers: Vocabulary, columns: Sequence[str], seed: bytes
) -> dict[str, tuple[str, ...]]:
    """By column the texts that some party offers, in their order; `seed` is of the session and the parties' key.

    All parties learn these, and of a text of its own a party learns whether another one offers it too: it knows what
    it added itself. Raises InputError, without a text, for a sum that cannot be read, for texts that no table has, for
    too many of a column, and for a column without any.
    """
    own = [Category(number, text) for number, column in enumerate(columns) for text in offers[column]]
    most = most_categories(len(columns))
    counters = [Counter(str(number), value, MOST_NUMBER) for number, value in enumerate(fill_table(own, most, seed))]
    sums = sum_counters(aggregation, CATEGORIES_STEP, counters, value_bits=NUMBER_BITS)
    found = read_table([sums[counter.name] for counter in counters], own, most, seed)
    if not all(one.column < len(columns) and is_category(one.text) for one in found):
        raise InputError(
            "a party offers what is no category (step categories/table)",
            expected="short printable texts, of columns whose categories the job says are found",
            got="something else; sums do not tell from whom",
            cure="ask the parties what runs at their sites: Hekat offers no such text",
        )
    vocabulary = {
        column: tuple(sorted((one.text for one in found if one.column == number), key=order_of_text))
        for number, column in enumerate(columns)
    }
    check_vocabulary(vocabulary)
    return vocabulary


def table_number_count(column_count: int) -> int:
    """The numbers that each party sends, where the categories of so many columns are found."""
    return cell_count(most_categories(column_count)) * CELL_NUMBERS
