"""Fills from encrypted sums: those of the pooled rows, the same at every party, and used on every later row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hekat.data import Table
from hekat.data.columns.order_keys import lower_median
from hekat.data.table import OpenFill
from hekat.errors import InputError, PartyStoppedError
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.fills import agree_on_fills, fill_steps
from hekat.protocol.secure_sum.aggregation import Alone

STILL = TrainingSettings(algorithm="fedsgd", round_count=1, batch_rows=0, learning_rate=1e-12)
NAMES = ("small", "large", "tail", "whole", "job=a", "job=b", "job=c", "full")
FILLS = (
    OpenFill(("small",), "mean"),
    OpenFill(("large",), "mean"),
    OpenFill(("tail",), "median"),
    OpenFill(("whole",), "median"),
    OpenFill(("job=a", "job=b", "job=c"), "most_frequent"),
)
RULES = ("mean", "median", "most_frequent")


def make_table(name: str, seed: int, row_count: int, *, is_sparse: bool = False) -> Table:
    rng = np.random.default_rng(seed)
    features = np.column_stack(
        [
            rng.normal(0, 1e-6, row_count),
            rng.normal(5e8, 1e8, row_count),
            rng.lognormal(0, 6, row_count),
            rng.integers(-50, 50, row_count),
            np.eye(3)[rng.choice(3, row_count, p=[0.2, 0.6, 0.2])],
            rng.normal(0, 1, row_count),
        ]
    )
    for columns in ([0], [1], [2], [3], [4, 5, 6]):
        gaps = rng.random(row_count) < 0.3
        features[np.ix_(gaps, columns)] = np.nan
    held = sparse.csr_array(features) if is_sparse else features
    return Table(held, np.arange(row_count) % 2, NAMES, name, open_fills=FILLS)


def expected_of(tables: dict[str, Table]) -> np.ndarray:
    pooled = np.concatenate([np.asarray(table.features) for table in tables.values()])
    fills = np.zeros(len(NAMES))
    fills[:2] = np.nanmean(pooled[:, :2], axis=0)
    fills[2:4] = [lower_median(column[~np.isnan(column)]) for column in pooled[:, 2:4].T]
    fills[4 + int(np.argmax(np.nansum(pooled[:, 4:7], axis=0)))] = 1.0
    return fills


@pytest.mark.long_cases("paillier")
@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_fills_are_those_of_the_pooled_rows(protection: str, rehearse, settings_of) -> None:
    tables = {
        name: make_table(name, seed, rows) for seed, (name, rows) in enumerate({"a": 5, "b": 30, "c": 61}.items())
    }
    settings = replace(settings_of(training=STILL), protection=protection, fills=RULES)
    found = rehearse(settings, tables).run().standardiser
    assert found.fill is not None
    expected = expected_of(tables)
    np.testing.assert_array_equal(found.fill[2:], expected[2:], err_msg="medians and categories are exact")
    scale = np.nanmax(np.abs(np.concatenate([table.features for table in tables.values()])[:, :2]), axis=0)
    assert np.all(np.abs(found.fill[:2] - expected[:2]) <= 2.0**-31 * scale)
    applied = found.apply(tables["b"].features)
    assert np.isfinite(applied).all()
    filled = np.where(np.isnan(tables["b"].features), found.fill, tables["b"].features)
    np.testing.assert_array_equal(applied, (filled - found.mean) / found.spread)


def test_sparse_rows_are_filled_alike_and_their_zeros_are_values() -> None:
    dense, held = make_table("a", 3, 40), make_table("a", 3, 40, is_sparse=True)
    from_dense = agree_on_fills(Alone(), dense, RULES, 1000)
    from_sparse = agree_on_fills(Alone(), held, RULES, 1000)
    assert from_dense is not None
    assert from_sparse is not None
    np.testing.assert_array_equal(from_dense, from_sparse)


@pytest.mark.parametrize("rules", [("mean",), ("median",), ("most_frequent",), ("mean", "most_frequent")])
def test_sums_of_a_rule_are_asked_for_where_no_column_has_it(rules: tuple[str, ...]) -> None:
    """The aggregator, which knows the job alone, serves them at every party."""
    table = Table(np.array([[1.0], [2.0]]), np.array([0, 1]), ("full",))
    asked: list[str] = []

    class Told(Alone):
        def weighted_mean(self, request):
            asked.append(request.step)
            return super().weighted_mean(request)

    np.testing.assert_array_equal(agree_on_fills(Told(), table, rules, 10), [0.0])
    assert tuple(asked) == fill_steps(rules)


def test_no_rule_asks_for_nothing() -> None:
    assert fill_steps(()) == ()
    assert agree_on_fills(Alone(), make_table("a", 1, 10), (), 10) is None


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_a_column_that_is_empty_everywhere_is_named_with_a_cure(rule: str, rehearse, settings_of) -> None:
    tables = {
        name: Table(np.array([[np.nan, 1.0], [np.nan, 2.0]]), np.array([0, 1]), ("dose", "age"), name,
                    open_fills=(OpenFill(("dose",), rule),))
        for name in "abc"
    }  # fmt: skip
    settings = replace(settings_of(training=STILL), fills=(rule,))
    with pytest.raises((InputError, PartyStoppedError)) as caught:
        rehearse(settings, tables).run()
    cause = caught.value.__cause__ or caught.value
    assert "column 'dose' is empty in every row of every party" in str(cause)
    assert "ignore = true" in str(cause)


def test_a_mean_of_numbers_too_large_for_its_sums_offers_the_median() -> None:
    table = Table(np.array([[2.0**50], [np.nan]]), np.array([0, 1]), ("a",), open_fills=(OpenFill(("a",), "mean"),))
    with pytest.raises(InputError, match=r'too large for a mean.*fill = "median"'):
        agree_on_fills(Alone(), table, ("mean",), 10)
    other = replace(table, open_fills=(OpenFill(("a",), "median"),))
    assert agree_on_fills(Alone(), other, ("median",), 10) == [2.0**50]


def test_a_party_that_trains_alone_may_lack_a_column_that_others_have() -> None:
    features = np.array([[np.nan, np.nan, np.nan, np.nan, 1.0], [np.nan, np.nan, np.nan, np.nan, 2.0]])
    fills = (OpenFill(("a",), "mean"), OpenFill(("b",), "median"), OpenFill(("c=x", "c=y"), "most_frequent"))
    table = Table(features, np.array([0, 1]), ("a", "b", "c=x", "c=y", "d"), open_fills=fills)
    np.testing.assert_array_equal(agree_on_fills(Alone(), table, RULES, 10), [0, 0, 1, 0, 0])
