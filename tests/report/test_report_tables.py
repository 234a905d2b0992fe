"""Tables say what the summary says, mark the best honestly, and read the same in the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.report import terminal_tables
from hekat.report.horizontal.byte_text import byte_table
from hekat.report.horizontal.tables import party_table, result_table, role_time_table, time_table
from hekat.report.number_text import (
    format_byte_count,
    format_count,
    format_difference,
    format_metric,
    format_number,
    format_seconds,
    pluralise,
)


def test_the_best_of_each_column_is_marked_and_equal_texts_share_it(sample: dict[str, Any]) -> None:
    table = result_table(sample)
    assert table.columns == (
        "model", "accuracy (higher is better)", "log-loss (lower is better)", "AUC (higher is better)",
    )  # fmt: skip
    marked = {(table.rows[row][0], column) for row, column in table.marked}
    assert marked == {
        ("saint-anne alone", 1),
        ("riverside alone", 1),
        ("plain federated", 2),
        ("encrypted federated", 2),
        ("saint-anne alone", 3),
    }
    assert "143 common test rows" in table.note


def test_a_single_model_is_not_the_best_of_one(sample: dict[str, Any]) -> None:
    sample["results"] = sample["results"][-1:]
    assert result_table(sample).marked == frozenset()


def test_without_a_test_set_the_table_says_so(nothing_measured: dict[str, Any]) -> None:
    table = result_table(nothing_measured)
    assert table.columns == ("model",)
    assert "no common test set" in table.note


def test_an_unknown_metric_is_shown_and_never_called_best(sample: dict[str, Any]) -> None:
    for place, result in enumerate(sample["results"]):
        result["metrics"] = {"kappa": place / 10}
    table = result_table(sample)
    assert table.columns == ("model", "kappa")
    assert table.marked == frozenset()


def test_a_terminal_shows_no_table_of_results_where_nothing_was_measured(nothing_measured: dict[str, Any]) -> None:
    assert "Each model on the common test set" not in [table.title for table in terminal_tables(nothing_measured)]


def test_terminal_tables_carry_their_marks_in_the_text(sample: dict[str, Any]) -> None:
    results, times, sizes = terminal_tables(sample)
    assert {row[0]: row[1] for row in results.rows}["riverside alone"] == "96.5% *"
    assert "*: the best of each column" in results.note
    assert results.marked == frozenset()
    assert times.title == "Time by step, in seconds"
    assert ("one ciphertext", "768 B") in sizes.rows


def test_seconds_of_all_steps_and_roles_add_up(sample: dict[str, Any]) -> None:
    *steps, total, rest, wall = time_table(sample).rows
    assert float(wall[-1]) == pytest.approx(sample["seconds"]["encrypted"], abs=0.001)
    assert float(rest[-1]) == pytest.approx(float(wall[-1]) - float(total[-1]), abs=0.002)
    assert float(total[-1]) == pytest.approx(sum(float(row[-1]) for row in steps), abs=0.01)
    by_role = role_time_table(sample).rows
    assert [row[0] for row in by_role] == ["northside", "lakeview", "saint-anne", "riverside", "county", "aggregator"]
    assert float(total[-1]) == pytest.approx(sum(float(row[-1]) for row in by_role), abs=0.01)
    aggregate = next(row for row in steps if row[0] == "aggregate")
    assert (aggregate[2], float(aggregate[3])) == ("0.000", pytest.approx(0.023, abs=0.001))


def test_a_step_this_release_does_not_know_is_still_shown(sample: dict[str, Any]) -> None:
    sample["seconds_by_step"]["prove"] = 1.25
    assert time_table(sample).rows[-4] == ("prove", "", "1.250", "0.000", "1.250")


def test_bytes_name_the_form_that_travels(sample: dict[str, Any], unprotected: dict[str, Any]) -> None:
    labels = [row[0] for row in byte_table(unprotected).rows]
    assert "up, per party and round (NOT encrypted, sealed)" in labels
    assert "no compression ratio" in byte_table(unprotected).note


def test_parties_are_counted_by_class(sample: dict[str, Any]) -> None:
    table = party_table(sample)
    assert table.columns == ("name", "role", "rows", "malignant", "benign")
    assert table.rows[0] == ("northside", "party, makes the key pair", "170", "57 (34%)", "113 (66%)")
    assert table.rows[-2] == ("aggregator", "aggregator, no private key", "none", "–", "–")
    assert table.rows[-1] == ("all parties", "", "426", "159 (37%)", "267 (63%)")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.0, "0"), (1, "1"), (31.0, "31"), (123456, "123,456"), (1.23456, "1.23"), (9.996, "10.0"),
        (99.96, "100"), (999.6, "1,000"), (12345.6, "12,300"), (0.0123456, "0.0123"), (-0.5, "-0.500"),
        (0.0000123, "1.23 × 10⁻⁵"), (999999.7, "1.00 × 10⁶"), (1.5e300, "1.50 × 10³⁰⁰"), (2**70, "1.18 × 10²¹"),
        (None, "not measured"),
    ],
)  # fmt: skip
def test_numbers_have_three_significant_digits(value: float | None, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(min_value=1e-30, max_value=1e30))
def test_a_number_as_text_is_within_half_a_percent(value: float) -> None:
    text = (
        format_number(value)
        .replace(",", "")
        .replace(" × 10", "e")
        .translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    )
    assert float(text) == pytest.approx(value, rel=0.00501)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_seconds(4.8), "4.80 s"),
        (format_seconds(0.0233), "23.3 ms"),
        (format_seconds(0.0), "0 s"),
        (format_seconds(None), "not measured"),
        (format_byte_count(768), "768 B"),
        (format_byte_count(2367), "2.37 kB"),
        (format_byte_count(999_999), "1.00 MB"),
        (format_byte_count(None), "not measured"),
        (format_count(3100), "3,100"),
        (format_metric("accuracy", 0.958041), "95.8%"),
        (format_metric("log_loss", 0.10061), "0.1006"),
        (format_metric("log_loss", 3.2e-6), "3.20 × 10⁻⁶"),
        (format_metric("rmse", 12345.6), "12,346"),
        (format_metric("auc", None), "not measured"),
        (format_difference("accuracy", 0.0), "0 points"),
        (format_difference("accuracy", -0.00699), "−0.699 points"),
        (format_difference("log_loss", 3.1e-8), "+3.10 × 10⁻⁸"),
        (pluralise(1, "party"), "party"),
        (pluralise(2, "party"), "parties"),
        (pluralise(0, "row"), "rows"),
    ],
)
def test_figures_have_their_units(shown: str, text: str) -> None:
    assert shown == text
