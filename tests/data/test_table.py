"""Tables, their checks, schemas, labels and splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.data import (
    Table,
    check_finite,
    check_for_training,
    check_has_rows,
    check_same_schema,
    describe_schema_difference,
    encode_labels,
    has_one_class,
    schema_digest,
)
from hekat.errors import InputError

SECRET = 123456.789


def make_table(features: Any = None, labels: Any = None, names: tuple[str, ...] = ("a", "b")) -> Table:
    return Table(np.arange(6.0).reshape(3, 2) if features is None else features, labels, names, "northside")


def test_features_are_float64_in_rows_and_cannot_be_changed() -> None:
    source = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(3, 2))
    table = make_table(source, np.array([1, 0, 1]))
    assert table.features.dtype == np.float64
    assert table.features.flags.c_contiguous
    np.testing.assert_array_equal(table.features, source)
    assert len(table) == 3
    with pytest.raises(ValueError, match="read-only"):
        table.features[0, 0] = 1
    assert table.labels is not None
    with pytest.raises(ValueError, match="read-only"):
        table.labels[0] = 1
    source[0, 0] = 5  # the caller's own array stays writeable


def test_repr_holds_no_value() -> None:
    table = make_table(np.full((2, 2), SECRET), np.full(2, SECRET))
    assert repr(table) == "Table('northside', 2 rows, 2 columns, labels of float64)"
    assert repr(make_table()).endswith("no labels)")


@pytest.mark.parametrize(
    ("features", "labels", "names", "message"),
    [
        (np.array([["1", "x"]]), None, ("a", "b"), "not numeric"),
        (np.array([[1, None]], dtype=object), None, ("a", "b"), "not numeric"),
        (np.array([[1j, 2]]), None, ("a", "b"), "complex"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), None, ("a",), "not numeric"),
        ([[1.0], [2.0, 3.0]], None, ("a",), "rows of unequal lengths"),
        (np.zeros(3), None, ("a",), "not a table"),
        (np.zeros((3, 2)), None, ("a",), "expected 2 names; got 1"),
        (np.zeros((3, 2)), None, ("a", "a"), "same name; expected distinct names; got a"),
        (np.zeros((3, 2)), None, ("a", ""), "has no name"),
        (np.zeros((3, 2)), np.zeros(2), ("a", "b"), "one label for each row"),
        (np.zeros((3, 2)), np.zeros((3, 1)), ("a", "b"), "one label for each row"),
        (np.zeros((3, 2)), np.array([1, "x", None], dtype=object), ("a", "b"), "numbers or texts"),
    ],
)
def test_what_is_no_table(features: Any, labels: Any, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_table(features, labels, names)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "missing value"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_non_finite_features_are_named_by_column_and_row(value: float, word: str) -> None:
    features = np.full((5, 2), SECRET)
    features[3, 1] = features[4, 0] = value
    with pytest.raises(InputError, match=r"column 'b', row 4 \(2 rows in all\)") as caught:
        check_finite(make_table(features))
    assert word in str(caught.value)
    assert "123456" not in str(caught.value)
    check_finite(make_table())


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (0, [], "has no rows"),
        (1, [1], "has one row"),
        (3, None, "has no labels"),
    ],
)
def test_tables_nobody_can_train_on(rows: int, labels: list[int] | None, message: str) -> None:
    encoded = None if labels is None else np.array(labels, dtype=np.int64)
    with pytest.raises(InputError, match=f"northside {message}"):
        check_for_training(make_table(np.zeros((rows, 2)), encoded))


def test_tables_one_can_train_on() -> None:
    check_for_training(make_table(labels=np.array([0, 0, 1])))
    check_for_training(make_table(labels=np.array([2.0, 2.0, 2.0])))  # equal numbers are a fair regression
    check_for_training(make_table(labels=np.array([1, 1, 1])))  # a silo of one class; which there are the job says
    assert has_one_class(make_table(labels=np.array([1, 1, 1])))
    for labels in (np.array([0, 0, 1]), np.array([2.0, 2.0, 2.0]), None):
        assert not has_one_class(make_table(labels=labels))
    with pytest.raises(InputError, match="has no rows"):
        check_has_rows(make_table(np.zeros((0, 2))))


# --- labels ------------------------------------------------------------------------------------------------

CLASSES = ("malignant", "benign")


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["malignant", "benign", "malignant"]),
        np.array([" malignant", "benign ", "malignant"]),
        np.array([0, 1, 0]),
        np.array([0.0, 1.0, 0.0]),
        np.array([False, True, False]),
        np.array(["0", "1", "0"]),
        np.array([0, 1, 0], dtype=np.uint8),
    ],
)
def test_labels_by_name_or_number(labels: Any) -> None:
    encoded = encode_labels(make_table(labels=labels), CLASSES).labels
    assert encoded is not None
    assert encoded.dtype == np.int64
    assert encoded.tolist() == [0, 1, 0]


@pytest.mark.parametrize("labels", [np.array([-1, 1, -1]), np.array([-1.0, 1.0, -1.0]), np.array(["-1", "+1", "-1.0"])])
def test_minus_one_and_one_are_the_first_and_the_second_of_two_classes(labels: Any) -> None:
    for classes in (CLASSES, ("-1", "+1"), ("-1", "1")):
        encoded = encode_labels(make_table(labels=labels), classes).labels
        assert encoded is not None
        assert encoded.tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="none of the classes"):
        encode_labels(make_table(labels=labels), ("a", "b", "c"))


def test_names_that_are_numbers_are_names() -> None:
    table = encode_labels(make_table(labels=np.array([2, 1, 2])), ("1", "2"))
    assert table.labels is not None
    assert table.labels.tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="something else in row 2"):
        encode_labels(make_table(labels=np.array([1, 0, 1])), ("1", "2"))


@pytest.mark.parametrize(
    ("labels", "row"),
    [
        (np.array([0, 2, 1]), 2),
        (np.array([-1, 0, 1]), 2),
        (np.array(["-1", "+1", "0"]), 3),
        (np.array([1, 2, 1]), 2),
        (np.array([0.0, 1.0, 0.5]), 3),
        (np.array([0.0, np.nan, 1.0]), 2),
        (np.array(["malignant", "Patient X", "benign"]), 2),
        (np.array(["malignant", "1", "benign"]), 2),
    ],
)
def test_strange_labels_are_named_by_row_never_by_value(labels: Any, row: int) -> None:
    with pytest.raises(InputError, match=rf"something else in row {row} \(1 rows in all\)") as caught:
        encode_labels(make_table(labels=labels), CLASSES)
    assert "Patient" not in str(caught.value)


def test_numbers_for_a_regression() -> None:
    for labels in (np.array(["1.5", "-2", "3e1"]), np.array([1.5, -2, 30])):
        encoded = encode_labels(make_table(labels=labels), None).labels
        assert encoded is not None
        assert encoded.dtype == np.float64
        assert encoded.tolist() == [1.5, -2.0, 30.0]
    for broken in (np.array(["1", "x", "2"]), np.array([1.0, np.inf, 2.0])):
        with pytest.raises(InputError, match=r"no finite number.*row 2"):
            encode_labels(make_table(labels=broken), None)


@pytest.mark.parametrize("classes", [(), ("a",), ("a", "a"), ("a", "")])
def test_classes_that_cannot_be_told_apart(classes: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="classes cannot be told apart"):
        encode_labels(make_table(labels=np.array([0, 1, 0])), classes)


def test_without_labels_nothing_is_encoded() -> None:
    table = make_table()
    assert encode_labels(table, CLASSES) is table


# --- schema ------------------------------------------------------------------------------------------------


def test_the_digest_tells_names_order_and_kind_of_label() -> None:
    classes, numbers = np.zeros(3, dtype=np.int64), np.zeros(3)
    variants = [
        make_table(labels=classes),
        make_table(labels=numbers),
        make_table(),
        make_table(labels=classes, names=("b", "a")),
        make_table(labels=classes, names=("a", "c")),
        make_table(np.zeros((3, 1)), classes, ("ab",)),
    ]
    digests = [schema_digest(table) for table in variants]
    assert len(set(digests)) == len(variants)
    assert schema_digest(make_table(np.ones((9, 2)), np.ones(9, dtype=np.int64))) == digests[0]
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)


@pytest.mark.parametrize(
    ("b", "difference"),
    [
        (["a", "b", "c"], ""),
        (["a", "c"], "missing 'b'"),
        (["a", "b", "x"], "missing 'c'; unknown 'x'"),
        (["a", "c", "b"], "the same columns in another order, first at column 2: 'c' instead of 'b'"),
        (["a", "b", "c", "a"], "4 columns instead of 3"),
        ([*"abc", *"defghij"], "unknown 'd', 'e', 'f', 'g', 'h' and 2 more"),
    ],
)
def test_differences_are_described(b: list[str], difference: str) -> None:
    assert describe_schema_difference(["a", "b", "c"], b) == difference


@given(a=st.lists(st.sampled_from("abcd"), max_size=4), b=st.lists(st.sampled_from("abcd"), max_size=4))
def test_a_description_is_empty_only_for_equal_columns(a: list[str], b: list[str]) -> None:
    assert (describe_schema_difference(a, b) == "") == (a == b)


def test_the_differing_party_is_named() -> None:
    check_same_schema({"n": ("a", "b"), "m": ("a", "b")})
    with pytest.raises(InputError, match=r"parties n and k do not have the same columns.*at k: missing 'b'"):
        check_same_schema({"n": ("a", "b"), "m": ("a", "b"), "k": ("a",)})


@pytest.mark.parametrize(("classes", "takes_numbers"), [(("1", "2"), False), (("no", "yes"), True)])
def test_labels_are_refused_with_what_is_taken_in_truth(classes, takes_numbers) -> None:
    with pytest.raises(InputError) as caught:
        encode_labels(make_table(labels=np.array(["0", "1", "7"])), classes)
    assert ("whole numbers" in caught.value.expected) == takes_numbers
    numbers = make_table(labels=np.array([0, 1, 0]))
    if takes_numbers:
        assert encode_labels(numbers, classes).labels.tolist() == [0, 1, 0]
    else:
        with pytest.raises(InputError):
            encode_labels(numbers, classes)
