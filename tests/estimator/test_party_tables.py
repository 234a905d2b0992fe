"""Tables of parties from arrays by party, from one array cut by columns, from data frames and from Tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.data import Table
from hekat.errors import InputError
from hekat.estimator.party_tables import labels_for, read_parties

X = np.arange(24.0).reshape(4, 6) ** 2
COLUMNS = ("age", "income", "claims", "premium", "debt", "years")


def dense(table: Table) -> np.ndarray:
    return table.features if isinstance(table.features, np.ndarray) else table.features.toarray()


def contents(tables: dict[str, Table]) -> dict[str, tuple]:
    return {name: (dense(table).tolist(), table.feature_names) for name, table in tables.items()}


EXPECTED = {"bank": (X[:, :2].tolist(), ("x0", "x1")), "insurer": (X[:, [5, 3]].tolist(), ("x5", "x3"))}


@pytest.mark.parametrize(
    "columns",
    [
        {"bank": slice(0, 2), "insurer": [5, 3]},
        {"bank": [0, 1], "insurer": np.array([-1, 3])},
        {"bank": np.array([True, True, False, False, False, False]), "insurer": (5, 3)},
    ],
)
@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda values: values.tolist()])
def test_one_array_is_cut_by_slices_positions_and_masks(columns, form) -> None:
    assert contents(read_parties(form(X), columns, None)) == EXPECTED


def test_a_data_frame_is_cut_by_names_and_keeps_them() -> None:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    tables = read_parties(
        pandas.DataFrame(X, columns=list(COLUMNS)), {"bank": ["age", "income"], "insurer": ["years", "premium"]}, None
    )
    assert contents(tables) == {
        "bank": (X[:, :2].tolist(), ("age", "income")),
        "insurer": (X[:, [5, 3]].tolist(), ("years", "premium")),
    }


def test_one_column_is_a_position_of_any_whole_type() -> None:
    for position in (3, np.int64(3)):
        tables = read_parties(X, {"bank": [0], "insurer": position}, None)
        assert contents(tables)["insurer"] == (X[:, [3]].tolist(), ("x3",))


def test_a_name_that_two_columns_have_is_refused() -> None:
    pandas = pytest.importorskip("pandas", reason="needs hekat[dev]")
    frame = pandas.DataFrame(X, columns=["age", "age", *COLUMNS[2:]])
    with pytest.raises(InputError, match=r"two columns of bank have the same name.*rename one"):
        read_parties(frame, {"bank": [0, 1], "insurer": [5]}, None)
    with pytest.raises(InputError, match=r"column of bank cannot be told by its name.*'age'"):
        read_parties(frame, {"bank": ["age"], "insurer": ["years"]}, None)


def test_arrays_by_party_come_with_the_guest_first() -> None:
    tables = read_parties({"insurer": X[:, 2:], "bank": X[:, :2]}, None, "bank")
    assert list(tables) == ["bank", "insurer"]
    assert list(read_parties({"insurer": X[:, 2:], "bank": X[:, :2]}, None, None)) == ["insurer", "bank"]


def test_labels_of_a_table_never_reach_the_features_of_a_prediction() -> None:
    bank = Table(X[:, :2], [0, 1, 1, 0], ("a", "b"), "bank")
    assert read_parties({"bank": bank, "insurer": X[:, 2:]}, None, None)["bank"].labels is None


def test_labels_are_y_or_those_of_the_guests_table() -> None:
    bank = Table(X[:, :2], [0, 1, 1, 0], ("a", "b"), "bank")
    given = {"bank": bank, "insurer": X[:, 2:]}
    assert labels_for(given, None, "bank", 4).tolist() == [0, 1, 1, 0]
    assert labels_for({**given, "bank": X[:, :2]}, [[1], [2], [3], [4]], "bank", 4).tolist() == [1, 2, 3, 4]
    with pytest.raises(InputError, match="labels are needed once"):
        labels_for(given, [0, 1, 1, 0], "bank", 4)
    with pytest.raises(InputError, match="labels are needed once"):
        labels_for({**given, "bank": X[:, :2]}, None, "bank", 4)
    with pytest.raises(InputError, match="labels do not fit"):
        labels_for(X, [0, 1, 1], "bank", 4)
    with pytest.raises(InputError, match=r"labels in the table of 'bank'.*name the party that has them as guest"):
        labels_for(given, [0, 1, 1, 0], "insurer", 4)


@pytest.mark.parametrize(
    ("given", "columns", "guest", "says"),
    [
        (X, None, None, "the parameter columns"),
        (X, {"bank": [0, 1], "insurer": [1, 2]}, None, "given out twice"),
        (X, {"bank": [0, 0], "insurer": [1, 2]}, None, "given out twice"),
        (X, {"bank": [0, 6], "insurer": [1]}, None, "positions below 6"),
        (X, {"bank": ["x0", "age"], "insurer": [1]}, None, "'age'"),
        (X[0], {"bank": [0], "insurer": [1]}, None, r"shape \(6,\)"),
        (X, {"bank": [0], "insurer": [1]}, "grocer", "guest is not among the parties"),
        ({}, None, None, "names no party"),
        ({"bank": X[:, :2], "insurer": X[:3, 2:]}, None, None, "bank: 4, insurer: 3"),
        ({"bank": X[:, :2], "insurer": X[0]}, None, None, "columns of insurer are no table"),
        ({"bank": X[:, :2], "insurer": np.array([["a"], ["b"], ["c"], ["d"]])}, None, None, "not numeric"),
    ],
)
def test_what_is_no_table_for_each_party_is_refused(given, columns, guest, says) -> None:
    with pytest.raises(InputError, match=says):
        read_parties(given, columns, guest)


def test_tables_with_ids_need_not_be_of_one_length() -> None:
    bank = Table(X[:, :2], None, ("a", "b"), "bank", ids=["p", "q", "r", "s"])
    insurer = Table(X[:3, 2:4], None, ("c", "d"), "insurer", ids=["s", "t", "p"])
    assert {name: len(one) for name, one in read_parties({"bank": bank, "insurer": insurer}, None, None).items()} == {
        "bank": 4,
        "insurer": 3,
    }
