"""Parties find the categories of columns in one sum, which tells the texts, and not whose or of how many they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hekat.codec.counters import counter_slots, encode_counters
from hekat.codec.pack import LAYOUTS, make_layout
from hekat.codec.quantise import level_bound
from hekat.data.columns.found import MOST_FOUND, most_categories
from hekat.errors import InputError
from hekat.protocol.horizontal.categories import category_key, category_table
from hekat.protocol.horizontal.categories.agree_on_categories import agree_on_categories, table_number_count
from hekat.protocol.horizontal.categories.category_key import CHUNK_COUNT, PRIME, Category, encode_category
from hekat.protocol.horizontal.categories.category_table import (
    CELL_NUMBERS,
    MOST_NUMBER,
    NUMBER_BITS,
    cell_count,
    fill_table,
    read_table,
)
from hekat.protocol.horizontal.slot_ceiling import slots_of_categories
from hekat.protocol.secure_sum.aggregation import Aggregate, Alone, SumRequest

SEED = bytes(range(32))
COLUMNS = ("job", "town")
OFFERS = (
    {"job": ("clerk", "nurse"), "town": ("Ulm",)},
    {"job": ("nurse",), "town": ("Bonn", "Köln", "7")},
    {"job": ("nurse", "pilot"), "town": ()},
)


class SumWith(Alone):
    """One party's side, where `others` are what the other parties add to its numbers."""

    def __init__(self, *others: Sequence[int]) -> None:
        self._others = others

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        own = super().weighted_mean(request)
        added = zip(*self._others, strict=True) if self._others else [()] * len(request.counters)
        sums = {counter.name: counter.value + sum(more) for counter, more in zip(request.counters, added, strict=True)}
        return replace(own, counters=sums)


def keys_of(offers: Mapping[str, Sequence[str]]) -> list[Category]:
    return [Category(number, text) for number, column in enumerate(COLUMNS) for text in offers[column]]


def table_of(offers: Mapping[str, Sequence[str]]) -> list[int]:
    return fill_table(keys_of(offers), most_categories(len(COLUMNS)), SEED)


def agree(*others: Sequence[int], offers: Mapping[str, tuple[str, ...]] = OFFERS[0]) -> dict[str, tuple[str, ...]]:
    return agree_on_categories(SumWith(*others), offers, COLUMNS, SEED)


@pytest.mark.long
def test_all_texts_are_found_in_their_order_however_many_parties_offer_them() -> None:
    expected = {"job": ("clerk", "nurse", "pilot"), "town": ("7", "Bonn", "Köln", "Ulm")}
    assert agree(table_of(OFFERS[1]), table_of(OFFERS[2])) == expected
    assert agree(table_of(OFFERS[0]), table_of(OFFERS[2]), offers=OFFERS[1]) == expected


def opened(*offers: list[Category], most: int = most_categories(1)) -> np.ndarray:
    """What parties open of the sum of these tables: the sum of each digit by itself."""
    level = level_bound(NUMBER_BITS)
    tables = [fill_table(one, most, SEED) for one in offers]
    return sum(encode_counters(table, [MOST_NUMBER] * len(table), level) for table in tables)


def test_a_number_opens_whole_and_not_digit_by_digit() -> None:
    """Sums of digits told how many parties offer a text: a large prime's multiple has middle digits all alike."""
    assert opened([]).size == table_number_count(1)
    for name in LAYOUTS:
        layout = make_layout(name, value_bits=NUMBER_BITS, max_addends=2, plaintext_bits=2048)
        assert counter_slots([MOST_NUMBER], layout.highest) == 1


@pytest.mark.long
def test_the_sum_does_not_tell_how_many_parties_offer_a_text() -> None:
    """Beyond the remainder, what opens has the mean and spread of three parties' draws, for one offer as for three."""
    text = [Category(0, "nurse")]
    used = [cell * CELL_NUMBERS + number for cell in _used(text, most_categories(1)) for number in range(CELL_NUMBERS)]
    deviation = 4 * PRIME * np.sqrt(3)
    for offers in ([text, [], []], [text, text, text]):
        sums = [opened(*offers)[used] for _ in range(60)]
        draws = np.concatenate(sums)
        assert abs(draws.mean() - 3 * 32 * PRIME) < 8 * deviation / np.sqrt(draws.size)
        assert abs(draws.std() / deviation - 1) < 8 / np.sqrt(2 * draws.size)
        # The remainder of the first number of a cell, the sum of the factors, is uniform.
        factors = np.unique([one[0] % PRIME for one in sums])
        # Two of sixty numbers below 2^24 are alike once in 10^4 runs, three pairs once in 10^13.
        assert factors.size >= 58
        assert factors.min() < PRIME / 2 < factors.max()


def test_a_text_whose_factors_cancel_is_missed_by_the_party_that_offers_it() -> None:
    most = most_categories(len(COLUMNS))
    nurse = Category(0, "nurse")
    own = fill_table([nurse], most, SEED)
    other = [PRIME - number % PRIME for number in own]
    with pytest.raises(InputError, match="cannot be read"):
        agree_on_categories(_Given(own, other), {"job": ("nurse",), "town": ()}, COLUMNS, SEED)


@pytest.mark.long_cases("5")
@pytest.mark.parametrize("parties", [3, 5])
def test_a_multiple_of_one_partys_table_is_read_by_parties_that_offer_nothing_else(parties: int) -> None:
    """Under Paillier an aggregator can send that, and who ends the run tells it: SECURITY.md says so."""
    forged = _Given(*[table_of(OFFERS[0])] * parties)
    own = {column: OFFERS[0][column] for column in COLUMNS}
    fewer: dict[str, tuple[str, ...]] = {"job": ("nurse",), "town": ()}
    for offers in (own, fewer):
        assert agree_on_categories(forged, offers, COLUMNS, SEED) == own
    for offers in OFFERS[1:]:
        with pytest.raises(InputError, match="cannot be read"):
            agree_on_categories(forged, offers, COLUMNS, SEED)


class _Given(Alone):
    """The sum of these tables, whatever the party adds itself."""

    def __init__(self, *tables: Sequence[int]) -> None:
        self._tables = tables

    def weighted_mean(self, request: SumRequest) -> Aggregate:
        sums = (sum(numbers) for numbers in zip(*self._tables, strict=True))
        names = (counter.name for counter in request.counters)
        return replace(super().weighted_mean(request), counters=dict(zip(names, sums, strict=True)))


def _used(categories: list[Category], most: int) -> list[int]:
    return _cells_in_use(fill_table(categories, most, SEED))


def _cells_in_use(table: Sequence[int]) -> list[int]:
    return [cell for cell in range(len(table) // CELL_NUMBERS) if table[cell * CELL_NUMBERS] % PRIME]


def test_a_full_table_is_read_and_an_overfull_one_refused() -> None:
    most = most_categories(1)
    full = [Category(0, f"text {number}") for number in range(most)]
    assert read_table(fill_table(full, most, SEED), full, most, SEED) == sorted(full)
    for more in (1, 3 * most):
        overfull = [*full, *(Category(0, f"more {number}") for number in range(more))]
        with pytest.raises(InputError, match=r"cannot be read from their sum \(step categories/table\)"):
            read_table(fill_table(overfull, most, SEED), [], most, SEED)


def test_places_and_checks_are_of_the_session() -> None:
    one = [Category(0, "nurse")]
    assert _used(one, 200) == _used(one, 200)
    other = bytes(32)
    table = fill_table(one, 200, other)
    assert _cells_in_use(table) != _used(one, 200)
    with pytest.raises(InputError, match="cannot be read"):
        read_table(table, [], 200, SEED)


def _garbage() -> list[int]:
    return [number % MOST_NUMBER for number in range(10**30, 10**30 + table_number_count(len(COLUMNS)))]


def _empty_cells() -> np.ndarray:
    return np.zeros((cell_count(most_categories(len(COLUMNS))), CELL_NUMBERS), dtype=np.int64)


def _numbers(cells: np.ndarray) -> list[int]:
    return [int(number) for number in cells.ravel()]


def _ever_again() -> list[int]:
    """A category added to its cells with different factors: taking it out of one leaves it in others."""
    table = _empty_cells()
    chunks = encode_category(Category(0, "again"), SEED)
    places = category_table._places(chunks, most_categories(len(COLUMNS)), SEED)
    for factor, place in enumerate(places, 1):
        category_table._add(table, chunks, factor, [place])
    return _numbers(table)


def _in_a_wrong_cell() -> list[int]:
    table = _empty_cells()
    chunks = encode_category(Category(0, "lost"), SEED)
    places = category_table._places(chunks, most_categories(len(COLUMNS)), SEED)
    wrong = next(cell for cell in range(cell_count(most_categories(len(COLUMNS)))) if cell not in places)
    category_table._add(table, chunks, 1, [wrong])
    return _numbers(table)


def _without_a_factor() -> list[int]:
    return [int(number % CELL_NUMBERS == CHUNK_COUNT) for number in range(table_number_count(len(COLUMNS)))]


@pytest.mark.parametrize("hostile", [_garbage, _ever_again, _in_a_wrong_cell, _without_a_factor])
def test_what_is_no_table_ends_the_phase(hostile) -> None:
    with pytest.raises(InputError, match=r"cannot be read from their sum \(step categories/table\)"):
        agree(hostile())


@pytest.mark.long_cases("category0")
@pytest.mark.parametrize(
    "category",
    [
        Category(0, "\x1b[31mred"),
        Category(0, "two\nlines"),
        Category(0, "left\u202eright"),
        Category(1, ""),
        Category(1, " padded"),
        Category(1, "1.0"),
        Category(0, "NA"),
        Category(2, "of no column"),
    ],
)
def test_texts_that_no_table_offers_are_neither_used_nor_shown(category: Category) -> None:
    with pytest.raises(InputError, match="offers what is no category") as caught:
        agree(fill_table([category], most_categories(len(COLUMNS)), SEED))
    assert category.text.strip() == "" or category.text not in f"{caught.value} {caught.value.got}"


@pytest.mark.long
def test_bytes_that_are_no_text_are_no_category() -> None:
    table = _empty_cells()
    body = b"\0\0" + b"\2" + b"\xff\xfe".ljust(64, b"\0")
    content = category_key._check_of(body, SEED) + body
    chunks = tuple(int.from_bytes(content[start : start + 3]) for start in range(0, 75, 3))
    category_table._add(table, chunks, 1, category_table._places(chunks, most_categories(len(COLUMNS)), SEED))
    with pytest.raises(InputError, match="cannot be read"):
        agree(_numbers(table))


def test_too_many_texts_of_a_column_and_none_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="too many categories") as caught:
        agree(table_of({"job": tuple(f"job {number}" for number in range(MOST_FOUND)), "town": ()}))
    assert caught.value.got == "more for 'job'"
    with pytest.raises(InputError, match="no party offers a category") as caught:
        agree(offers={"job": ("nurse",), "town": ()})
    assert caught.value.got == "none for 'town'"


@pytest.mark.parametrize("count", [1, 2, 16, 100])
def test_the_aggregator_accepts_the_slots_of_a_table(count: int) -> None:
    maxima = [MOST_NUMBER] * table_number_count(count)
    assert counter_slots(maxima, 2**31 - 1) <= slots_of_categories(count) < 2 * counter_slots(maxima, 2**31 - 1)
