"""The five hospitals of the example: real rows, disjoint, complete, uneven in size and in class balance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hekat.data import Table, load_table
from hekat.errors import InputError

FOLDER = Path(__file__).parents[2] / "examples" / "hospitals"
CLASSES = ("malignant", "benign")


def load_hospital(number: int) -> Table:
    options = {"function": "hospitals:load", "arguments": {"hospital": number}}
    return load_table("python", options, FOLDER, name=f"hospital {number}", classes=CLASSES)


def load_test_set() -> Table:
    return load_table("python", {"function": "hospitals:load_test"}, FOLDER, name="test", classes=CLASSES)


def keys_of(table: Table) -> list[bytes]:
    assert table.labels is not None
    return [row.tobytes() + bytes([label]) for row, label in zip(table.features, table.labels, strict=True)]


def test_all_parts_together_are_the_whole_set_once() -> None:
    features, labels = load_breast_cancer(return_X_y=True)
    whole = [row.tobytes() + bytes([label]) for row, label in zip(features, labels, strict=True)]
    assert len(set(whole)) == len(whole) == 569
    parts = [load_test_set(), *(load_hospital(number) for number in range(5))]
    assert sorted(key for part in parts for key in keys_of(part)) == sorted(whole)


def test_hospitals_are_uneven_and_the_test_set_is_not() -> None:
    hospitals = [load_hospital(number) for number in range(5)]
    assert [len(table) for table in hospitals] == [170, 107, 77, 47, 25]
    malignant_shares = [float(np.mean(table.labels == 0)) for table in hospitals]
    np.testing.assert_allclose(malignant_shares, [0.335, 0.150, 0.597, 0.447, 0.760], atol=5e-4)
    test_set = load_test_set()
    assert len(test_set) == 143
    assert float(np.mean(test_set.labels == 0)) == pytest.approx(212 / 569, abs=0.005)


def test_every_load_gives_the_same_bytes() -> None:
    assert keys_of(load_hospital(2)) == keys_of(load_hospital(2))


def test_columns_are_scikit_learns() -> None:
    assert load_hospital(0).feature_names == tuple(load_breast_cancer().feature_names)
    assert load_hospital(4).feature_names == load_test_set().feature_names


def test_loading_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    load_hospital(0)
    load_test_set()
    assert capfd.readouterr() == ("", "")


def test_a_sixth_hospital_is_refused() -> None:
    with pytest.raises(InputError, match="hospitals:load raised"):
        load_hospital(5)
