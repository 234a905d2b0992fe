"""The standardiser: pooled mean and spread from encrypted sums, whatever the columns' scales and the split of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hekat.data import Table
from hekat.errors import InputError
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.standardise import (
    ColumnFindings,
    Standardiser,
    _find_apart,
    _Ranges,
    _spread_of,
    fit_standardiser,
)
from hekat.protocol.secure_sum.aggregation import Aggregate, Alone
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.secure_sum.update_codec import UpdateCodec

# Far too small a rate to move the model: only the standardiser is looked at.
STILL = TrainingSettings(algorithm="fedsgd", round_count=1, batch_rows=0, learning_rate=1e-12)


def make_columns(rng: np.random.Generator, rows: int) -> np.ndarray:
    return np.column_stack(
        [
            rng.normal(0, 1e-6, rows),
            rng.normal(5e8, 1e8, rows),
            rng.uniform(-1, 1, rows),
            rng.normal(2000, 10, rows),
            np.full(rows, 3.7),
            np.zeros(rows),
            np.full(rows, -(2.0**20)),
        ]
    )


@pytest.mark.quick_cases("1-balanced", "2-two_sign_bits", "2-offset")
@pytest.mark.parametrize("layout", ["balanced", "offset", "two_sign_bits"])
@pytest.mark.parametrize("seed", [1, 2])
def test_encrypted_moments_are_those_of_the_pooled_rows(layout, seed, rehearse, settings_of) -> None:
    rng = np.random.default_rng(seed)
    tables = {}
    for name, rows in (("a", 3), ("b", 30), ("c", 61)):
        labels = np.arange(rows) % 2
        tables[name] = Table(make_columns(rng, rows), labels, tuple("tuvwxyz"), name)
    settings = settings_of(training=STILL, codec=CodecSettings(layout=layout))
    found = rehearse(settings, tables).run().standardiser
    pooled = np.concatenate([table.features for table in tables.values()])
    scale = np.abs(pooled).max(axis=0) + (np.abs(pooled).max(axis=0) == 0)
    assert np.all(np.abs(found.mean - pooled.mean(axis=0)) <= 1e-8 * scale)
    assert np.allclose(found.spread[:4], pooled.std(axis=0)[:4], rtol=1e-3)
    assert found.spread[4:].tolist() == [1.0, 1.0, 1.0], "constant columns are left at their scale"
    applied = found.apply(pooled)
    assert np.abs(applied[:, 4:]).max() < 0.1, "and come out as about zero"
    assert np.allclose(applied[:, :4].std(axis=0), 1.0, rtol=1e-3)


def make_columns_beside_large_means(rng: np.random.Generator, rows: int) -> np.ndarray:
    return np.column_stack(
        [
            rng.normal(1.7e9, 9380, rows),
            rng.normal(1e6, 50, rows),
            rng.normal(-1e6, 1e-3, rows),
            np.where(np.arange(rows) == 1, 1e9, 1e9 + 1.0),
            np.full(rows, 1.7e9),
            np.full(rows, 0.1) + rng.choice([0.0, 2.0**-56], rows),
        ]
    )


@pytest.mark.quick_cases(
    "1-two_sign_bits-paillier",
    "2-balanced-paillier",
    "1-offset-paillier",
    "2-two_sign_bits-none",
    "1-balanced-none",
    "2-offset-none",
)
@pytest.mark.parametrize("protection", ["paillier", "none"])
@pytest.mark.parametrize("layout", ["balanced", "offset", "two_sign_bits"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_spread_that_is_small_beside_its_mean_is_found(layout, seed, protection, rehearse, settings_of) -> None:
    rng = np.random.default_rng(seed)
    tables = {
        name: Table(make_columns_beside_large_means(rng, rows), np.arange(rows) % 2, tuple("uvwxyz"), name)
        for name, rows in (("a", 5), ("b", 30), ("c", 61))
    }
    settings = settings_of(training=STILL, codec=CodecSettings(layout=layout), protection=protection)
    found = rehearse(settings, tables).run().standardiser
    pooled = np.concatenate([table.features for table in tables.values()])
    assert np.allclose(found.spread[:4], pooled.std(axis=0)[:4], rtol=1e-3)
    assert np.all(np.abs(found.mean - pooled.mean(axis=0))[:4] <= 1e-3 * pooled.std(axis=0)[:4])
    assert found.spread[4:].tolist() == [1.0, 1.0], "constant, and constant but for the last bit"


@pytest.mark.parametrize("seed", [1, 2])
def test_columns_constant_at_each_party_but_not_over_all_are_scaled(seed, rehearse, settings_of) -> None:
    values = np.random.default_rng(seed).normal(1e6, 1.0, 3)
    tables = {
        name: Table(np.full((rows, 1), value), np.arange(rows) % 2, ("x",), name)
        for (name, rows), value in zip((("a", 5), ("b", 30), ("c", 61)), values, strict=True)
    }
    found = rehearse(settings_of(training=STILL), tables).run().standardiser
    pooled = np.concatenate([table.features for table in tables.values()])
    assert np.allclose(found.spread, pooled.std(axis=0), rtol=1e-4)


def test_one_row_far_out_among_very_many_still_has_a_spread() -> None:
    deviations = np.array([1.0, 2.0**-40])
    ranges = _Ranges(scale=np.ones(2), row_count=2**34, party_count=3)
    spread = _spread_of(np.array([-(2.0**-33), -(2.0**-33)]), deviations, ranges)
    assert spread.tolist() == [2.0**-18, 0.0]


def test_yes_or_no_counters_travel_in_narrow_lanes(rehearse, tables_of, settings_of, tmp_path, monkeypatch) -> None:
    sizes: dict[str, int] = {}
    encode = UpdateCodec.encode

    def keep(self, clipped, bounds, weight, counters):
        plain = encode(self, clipped, bounds, weight, counters)
        sizes[f"{len(counters)} counters"] = len(plain)
        return plain

    monkeypatch.setattr(UpdateCodec, "encode", keep)
    rng = np.random.default_rng(1)
    tables = {
        name: Table(rng.normal(size=(6, 20)), np.arange(6) % 2, tuple(f"x{i}" for i in range(20)), name)
        for name in ("a", "b", "c")
    }
    rehearse(settings_of(training=STILL), tables).run()
    # 81 exponents of 20 columns, and rows, at 200 and more lanes of 10 bits to a 2048-bit key; 34 exponents at 600 and
    # more of 3 bits; 19-bit lanes take 16 and 7.
    assert sizes["1621 counters"] == 8
    assert sizes["680 counters"] == 2


@pytest.mark.parametrize("seed", [1, 2])
def test_sparse_rows_have_the_spread_of_all_their_values_and_are_not_centred(seed, rehearse, settings_of) -> None:
    rng = np.random.default_rng(seed)
    dense, tables = [], {}
    for name, rows in (("a", 5), ("b", 30), ("c", 61)):
        features = np.where(rng.random((rows, 4)) < [0.2, 0.9, 1.0, 0.0], rng.normal(7, 3, (rows, 4)), 0.0)
        dense.append(features)
        tables[name] = Table(sparse.csr_array(features), np.arange(rows) % 2, tuple("wxyz"), name)
    found = rehearse(settings_of(training=STILL), tables).run().standardiser
    pooled = np.concatenate(dense)
    assert found.mean.tolist() == [0.0] * 4
    assert np.allclose(found.spread[:3], pooled.std(axis=0)[:3], rtol=1e-6)
    assert found.spread[3] == 1.0
    applied = found.apply(tables["b"].features)
    assert applied.nnz == tables["b"].features.nnz
    np.testing.assert_allclose(applied.toarray(), dense[1] / found.spread, rtol=1e-12)


def test_sparse_rows_are_not_centred_by_a_standardiser_of_dense_ones() -> None:
    with pytest.raises(InputError, match="sparse rows cannot be centred"):
        Standardiser(np.ones(2), np.ones(2)).apply(sparse.csr_array(np.eye(2)))


def test_alone_finds_the_moments_of_its_own_rows() -> None:
    features = make_columns(np.random.default_rng(3), 40)
    found, _ = fit_standardiser(Alone(), features, weight_max=100)
    assert np.allclose(found.mean, features.mean(axis=0), rtol=1e-12, atol=1e-18)
    assert np.allclose(found.spread[:4], features.std(axis=0)[:4], rtol=1e-9)


def test_a_column_too_large_to_scale_is_named(rehearse, tables_of, settings_of) -> None:
    features = np.ones((4, 3))
    features[2, 1] = 2.0**41
    with pytest.raises(InputError, match=r"column 2 .*too large"):
        fit_standardiser(Alone(), features, weight_max=10)


def test_without_standardising_features_pass_as_they_are(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(1)
    found = rehearse(settings_of(training=replace(STILL, standardise=False)), tables).run().standardiser
    assert np.array_equal(found.apply(tables["a"].features), tables["a"].features)
    assert isinstance(found, Standardiser)


def findings_of(features) -> ColumnFindings:
    found: list[ColumnFindings] = []
    fit_standardiser(Alone(), features, weight_max=100_000, on_columns=found.append)
    return found[0]


def test_the_same_sums_tell_of_columns_of_one_value_and_of_one_row() -> None:
    rng = np.random.default_rng(8)
    good, slip, constant = rng.normal(3, 2, 400), rng.normal(3, 2, 400), np.full(400, 7.25)
    slip[11] = -1e12
    tail = rng.lognormal(8, 1.5, 400)
    rare = (np.arange(400) == 5).astype(float)
    found = findings_of(np.column_stack([good, slip, constant, tail, rare]))
    assert found == ColumnFindings(constant=(2,), dominated=(1,))
    assert findings_of(good[:, None]) == ColumnFindings()
    assert findings_of(sparse.csr_array(np.diag([5.0] + [1.0] * 99)[:, :1])) == ColumnFindings()


@pytest.mark.parametrize("rows", [60, 5_000])
def test_a_row_that_is_said_to_dominate_makes_up_a_fifth_at_least(rows: int) -> None:
    rng = np.random.default_rng(rows)
    for size in np.geomspace(2, 1e6, 25):
        column = rng.normal(size=rows)
        column[0] = size
        share = (column - column.mean())[0] ** 2 / (column.var() * rows)
        is_found = bool(findings_of(column[:, None]).dominated)
        assert not is_found or share >= 0.2
        assert is_found or share < 0.95


def apart_of(own: np.ndarray, other: np.ndarray) -> tuple[int, ...]:
    """What a party with the rows `own` finds, both in units of the sums."""
    moments = [(rows.mean(axis=0), (rows**2).mean(axis=0)) for rows in (own, other)]
    counts = [len(own), len(other)]
    offset, square = (np.average(both, axis=0, weights=counts) for both in zip(*moments, strict=True))
    summed = Aggregate({"offset": offset, "square": square}, sum(counts), {}, 2)
    return _find_apart(moments[0], len(own), summed, _Ranges(np.full(own.shape[1], 64.0), sum(counts), 2))


def test_rows_of_another_unit_lie_apart_and_other_groups_of_people_do_not() -> None:
    rng = np.random.default_rng(12)
    names = ("alike", "older", "rare", "unit", "code", "no spread")
    north = np.column_stack(
        [
            rng.normal(0, 0.1, 300),
            rng.normal(0.1, 0.1, 300),
            rng.random(300) < 0.02,
            rng.normal(0.055, 0.02, 300),
            np.full(300, 0.25),
            np.full(300, 0.5),
        ]
    )
    others = np.column_stack(
        [
            rng.normal(0, 0.1, 900),
            rng.normal(-0.1, 0.1, 900),
            np.zeros(900),
            rng.normal(0.99, 0.36, 900).clip(0.6),
            rng.choice([0.5, 0.75], 900),
            np.full(900, 0.5),
        ]
    )
    assert [names[column] for column in apart_of(north, others)] == ["unit", "code"]
    assert apart_of(others, others[::3]) == ()
    assert apart_of(north[:5], others) == (), "five rows have no spread to speak of"


def test_few_rows_are_not_judged() -> None:
    assert findings_of(np.array([[1.0], [2.0], [9e9]])) == ColumnFindings()


@pytest.mark.parametrize("is_sparse", [False, True])
def test_labels_are_one_column_more_that_is_centred_even_beside_sparse_rows(is_sparse) -> None:
    rng = np.random.default_rng(6)
    features, labels = rng.normal(4.0, 2.0, size=(80, 2)), rng.normal(150.0, 77.0, size=80)
    rows = sparse.csr_array(features) if is_sparse else features
    told: list[ColumnFindings] = []
    found, _ = fit_standardiser(Alone(), rows, 128, labels=labels, on_columns=told.append)
    assert found.label is not None
    assert (found.label.mean, found.label.spread) == pytest.approx((labels.mean(), labels.std()), rel=1e-6)
    np.testing.assert_allclose(found.spread, features.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.mean, 0.0 if is_sparse else features.mean(axis=0), rtol=1e-6)
    assert found.apply_to_labels(labels).std() == pytest.approx(1.0)
    assert told == [ColumnFindings()]


def test_the_column_of_labels_is_never_named_among_the_columns() -> None:
    labels = np.full(80, 5.0)
    told: list[ColumnFindings] = []
    found, _ = fit_standardiser(Alone(), np.ones((80, 1)), 128, labels=labels, on_columns=told.append)
    assert told == [ColumnFindings(constant=(0,))]
    assert found.label is not None
    assert found.label.spread == 1.0


def test_labels_beyond_all_bounds_are_refused_as_labels() -> None:
    with pytest.raises(InputError, match="there are labels too large to standardise"):
        fit_standardiser(Alone(), np.ones((2, 1)), 2, labels=np.array([1.0, 2.0**41]))
