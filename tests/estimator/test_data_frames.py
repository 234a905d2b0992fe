"""Data frames of parties: rows matched by an id column or the index, labels by their index, ids never as features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.estimator import VerticalLinearRegression, VerticalLogisticRegression, find_common_rows
from hekat.estimator.data_frames import plain_labels
from hekat.estimator.party_tables import read_parties

pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")

PLAIN = {"arbiter": "notary", "protection": "none", "batch_rows": 0, "epochs": 30, "learning_rate": 1.0} | {
    "label_leak_accepted": "hosts may learn labels",
    "column_leak_accepted": "the guest may learn columns of hosts",
}


def people(seed: int = 3, count: int = 200) -> tuple[Any, Any, Any]:
    """The bank's frame, the insurer's, both with column `customer` and in the same order, and whether each repaid."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, 4))
    customer = rng.permutation(10 * count)[:count]
    bank = pandas.DataFrame({"customer": customer, "age": values[:, 0], "income": values[:, 1]})
    insurer = pandas.DataFrame({"customer": customer, "claims": values[:, 2], "premium": values[:, 3]})
    y = pandas.Series(values @ [0.3, 0.2, 2.0, -2.0] > 0, name="repaid")
    return bank, insurer, y


def shuffled(frame: Any, seed: int) -> Any:
    return frame.sample(frac=1.0, random_state=seed)


@pytest.mark.long
def test_frames_in_other_orders_meet_by_the_id_column() -> None:
    """Row by row these tables are of different people: with the id column the model is as good as on one table."""
    bank, insurer, y = people()
    tables = {"bank": shuffled(bank, 1), "insurer": shuffled(insurer, 2)}
    model = VerticalLogisticRegression(id="customer", **PLAIN).fit(tables, y)
    assert model.parts_["bank"].columns == ("age", "income")
    assert model.score(tables, y.loc[tables["bank"].index]) > 0.95
    by_row = {"bank": tables["bank"].reset_index(drop=True), "insurer": tables["insurer"].reset_index(drop=True)}
    assert model.score(by_row, y.loc[tables["bank"].index]) > 0.95


def test_frames_in_other_orders_meet_by_their_index_where_asked() -> None:
    bank, insurer, y = people()
    bank, insurer, y = (one.set_axis(bank["customer"]) for one in (bank, insurer, y))
    tables = {"bank": shuffled(bank, 1)[["age", "income"]], "insurer": shuffled(insurer, 2)[["claims", "premium"]]}
    with pytest.raises(InputError, match=r"data frames of bank and insurer have different indexes.*id='index'"):
        VerticalLogisticRegression(**PLAIN).fit(tables, y)
    model = VerticalLogisticRegression(id="index", **PLAIN).fit(tables, y)
    assert model.score(tables, y.loc[tables["bank"].index]) > 0.95
    with pytest.raises(InputError, match="different indexes"):
        model.set_params(id=None).predict(tables)


def test_parties_may_call_the_id_column_by_other_names() -> None:
    bank, insurer, y = people()
    insurer = shuffled(insurer.rename(columns={"customer": "policy_holder"}), 2)
    named = {"bank": "customer", "insurer": "policy_holder"}
    found = find_common_rows({"bank": bank, "insurer": insurer}, id=named)
    assert len(found.tables["bank"]) == len(bank)
    assert found.tables["insurer"].feature_names == ("claims", "premium")
    expected = bank.set_index("customer").loc[insurer["policy_holder"].to_numpy()[found.rows["insurer"]], "age"]
    assert found.tables["bank"].features[:, 0].tolist() == expected.tolist()
    with pytest.raises(InputError, match=r"parameter id names no column of insurer"):
        VerticalLogisticRegression(id={"bank": "customer"}, **PLAIN).fit({"bank": bank, "insurer": insurer}, y)
    with pytest.raises(InputError, match=r"insurer has no column 'customer'.*'policy_holder', 'claims', 'premium'"):
        VerticalLogisticRegression(id="customer", **PLAIN).fit({"bank": bank, "insurer": insurer}, y)


def test_equal_indexes_are_taken_row_by_row() -> None:
    bank, insurer, y = people()
    order = np.random.default_rng(4).permutation(len(bank))
    tables = {"bank": bank.iloc[order][["age", "income"]], "insurer": insurer.iloc[order][["claims", "premium"]]}
    model = VerticalLogisticRegression(**PLAIN).fit(tables, y)
    assert model.score(tables, y.iloc[order]) > 0.95


def test_labels_of_another_index_are_refused() -> None:
    bank, insurer, y = people()
    tables = {"bank": bank[["age", "income"]], "insurer": insurer[["claims", "premium"]]}
    with pytest.raises(InputError, match=r"y and the data frame of bank have different indexes.*y\.loc"):
        VerticalLogisticRegression(**PLAIN).fit(tables, y.set_axis(bank["customer"]))
    with pytest.raises(InputError, match=r"y and the data frame of bank have different indexes"):
        VerticalLogisticRegression(**PLAIN).fit(tables, y.iloc[:-1])


def test_one_frame_and_its_shuffled_labels_are_aligned() -> None:
    bank, insurer, y = people()
    frame = bank.assign(claims=insurer["claims"], premium=insurer["premium"], city="Thebes")
    columns = {"bank": ["age", "income"], "insurer": ["claims", "premium"]}
    model = VerticalLogisticRegression(columns=columns, **PLAIN).fit(frame, shuffled(y, 5))
    assert model.score(frame, y) > 0.95
    with pytest.raises(InputError, match="the parameter id belongs to a table for each party"):
        VerticalLogisticRegression(columns=columns, id="customer", **PLAIN).fit(frame, y)


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "customerId", "PatientID", "id_of_row", "row id", "uuid"])
def test_a_column_that_is_an_id_by_name_is_refused(name) -> None:
    bank, insurer, y = people()
    tables = {"bank": bank[["age", "income"]], "insurer": insurer.rename(columns={"customer": name})}
    with pytest.raises(InputError, match=f"column {name!r} of insurer looks like an id.*say id={name!r}"):
        VerticalLogisticRegression(**PLAIN).fit(tables, y)


def test_numbers_that_both_parties_have_are_ids_whatever_they_are_called() -> None:
    bank, insurer, y = people()
    with pytest.raises(InputError, match="column 'customer' of insurer and column 'customer' of bank are ids"):
        VerticalLogisticRegression(**PLAIN).fit({"bank": bank, "insurer": insurer}, y)
    insurer.loc[:9, "customer"] = 5000 + np.arange(10)
    arrays = {"bank": bank.to_numpy(), "insurer": insurer.to_numpy()}
    with pytest.raises(InputError, match="column 'x0' of insurer and column 'x0' of bank are ids"):
        VerticalLinearRegression(**PLAIN).fit(arrays, y.to_numpy().astype(float))


def test_columns_that_are_no_ids_pass() -> None:
    """Codes that repeat, numbers of their own at each party, fractions, and words that end as `id` does."""
    bank, insurer, y = people()
    rng = np.random.default_rng(1)
    bank = bank.assign(region_id=rng.integers(0, 9, len(bank)), paid=rng.permutation(len(bank)), fluid=bank["age"])
    bank = bank.drop(columns="customer")
    insurer = insurer.assign(customer=insurer["customer"] + 100_000)
    model = VerticalLogisticRegression(**PLAIN).fit({"bank": bank, "insurer": insurer}, y)
    assert model.parts_["bank"].columns == ("age", "income", "region_id", "paid", "fluid")


def test_texts_are_refused_together_and_missing_numbers_by_their_place() -> None:
    bank, insurer, y = people()
    tables = {"bank": bank.assign(city="Thebes", sex="f"), "insurer": insurer}
    with pytest.raises(InputError, match=r"columns of bank hold no numbers.*'city', 'sex'.*id='COLUMN'"):
        VerticalLogisticRegression(**PLAIN).fit(tables, y)
    claims = insurer["claims"].round().astype("Int64")
    claims[4] = pandas.NA
    tables = {"bank": bank[["age", "income"]], "insurer": insurer[["premium"]].assign(claims=claims)}
    assert np.isnan(read_parties(tables, None, None)["insurer"].features[4, 1])
    with pytest.raises(InputError, match="claims"):
        VerticalLogisticRegression(**PLAIN).fit(tables, y)


def test_an_index_of_several_levels_and_ids_without_a_frame_are_refused() -> None:
    bank, insurer, y = people()
    levels = bank.set_index(["customer", "age"])
    with pytest.raises(InputError, match=r"rows of bank have no index to match by.*id='COLUMN'"):
        VerticalLogisticRegression(id="index", **PLAIN).fit({"bank": levels, "insurer": insurer}, y)
    with pytest.raises(InputError, match=r"bank has no column 'customer'.*ndarray"):
        VerticalLogisticRegression(id="customer", **PLAIN).fit({"bank": bank.to_numpy(), "insurer": insurer}, y)
    both = bank.assign(index=1)
    with pytest.raises(InputError, match="bank has an index, and a column 'index' too"):
        VerticalLogisticRegression(id="index", **PLAIN).fit({"bank": both, "insurer": insurer}, y)


@pytest.mark.long
def test_polars_frames_meet_by_the_id_column() -> None:
    polars = pytest.importorskip("polars", reason="needs hekat[dev]")
    bank, insurer, y = people()
    tables = {
        "bank": polars.DataFrame(bank.to_dict("list")),
        "insurer": polars.DataFrame(shuffled(insurer, 2).to_dict("list")),
    }
    model = VerticalLogisticRegression(id="customer", **PLAIN).fit(tables, polars.Series(y.to_list()))
    assert model.score(tables, y.to_numpy()) > 0.95


def test_texts_of_a_series_are_labels_and_a_gap_among_them_is_refused() -> None:
    series = pandas.Series(["yes", "no", "yes"], dtype=object)
    assert plain_labels(series, "bank").tolist() == ["yes", "no", "yes"]
    assert plain_labels(series, "bank").dtype.kind == "U"
    assert plain_labels(series.to_frame(), "bank").shape == (3,)
    for gap in (None, np.nan, pandas.NA):
        series[1] = gap
        with pytest.raises(InputError, match="labels of bank are missing"):
            plain_labels(series, "bank")
    bank, insurer, y = people()
    with pytest.raises(InputError, match="labels of bank are missing"):
        VerticalLogisticRegression(guest="bank", id="customer", **PLAIN).fit(
            {"bank": bank, "insurer": insurer}, y.map({True: "yes", False: None})
        )


def test_what_float64_and_a_model_cannot_take_is_refused_in_the_words_of_estimators() -> None:
    """Numbers beyond 2^53 were rounded without a word."""
    bank, insurer, y = people()
    bank = bank[["age", "income"]]
    for column, match in (
        (np.full(len(bank), 2**53 + 1), r"'odd' holds whole numbers that float64 cannot.*name the column in id"),
        (pandas.date_range("2024-01-01", periods=len(bank)), r"'odd' holds dates.*make numbers of them"),
        (pandas.Series([object()] * len(bank), index=bank.index), "'odd' cannot be used.*leave the column out"),
    ):
        with pytest.raises(InputError, match=match) as refused:
            VerticalLogisticRegression(**PLAIN).fit({"bank": bank.assign(odd=column), "insurer": insurer}, y)
        assert "site file" not in str(refused.value)


def test_frames_of_other_libraries_are_read_as_those_of_pandas() -> None:
    polars = pytest.importorskip("polars", reason="needs hekat[dev]")
    pyarrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    bank = people()[0]
    columns = {"age": bank["age"].tolist(), "income": bank["income"].tolist()}
    expected = read_parties({"bank": bank[["age", "income"]].to_numpy()}, None, None)["bank"].features
    for make in (polars.DataFrame, pyarrow.table):
        cut = read_parties(make(columns), {"bank": ["age"], "insurer": [1]}, None)
        assert cut["insurer"].feature_names == ("income",)
        np.testing.assert_array_equal(cut["insurer"].features, expected[:, [1]])
        given = make({"customer": list(range(len(bank))), **columns})
        table = read_parties({"bank": given}, None, None, "customer")["bank"]
        assert table.feature_names == ("age", "income")
        assert table.ids is not None
        np.testing.assert_array_equal(table.features, expected)
    with pytest.raises(InputError, match=r"a lazy frame.*collect"):
        read_parties({"bank": polars.DataFrame(columns).lazy()}, None, None)


def test_pandas_columns_of_any_kind_of_number_are_numbers() -> None:
    """Truth values, numbers with gaps in pandas' own types, and numbers among objects, with names that are numbers."""
    frame = pandas.DataFrame({0: [True, False], 1: [1, 2]})
    frame[2] = pandas.array([1, None], dtype="Int64")
    frame[3] = pandas.Series([1.5, None], dtype=object)
    table = read_parties({"bank": frame}, None, None)["bank"]
    assert table.feature_names == ("0", "1", "2", "3")
    np.testing.assert_array_equal(table.features, [[1, 1, 1, 1.5], [0, 2, np.nan, np.nan]])
