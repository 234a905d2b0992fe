"""How many test rows are training rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hekat.data import Table
from hekat.data.repeated_rows import count_repeated


def table_of(features, labels=None, ids=None) -> Table:
    names = tuple(f"x{number}" for number in range(features.shape[1]))
    return Table(features, labels, names, ids=ids)


def made_up(rows: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    return table_of(rng.normal(size=(rows, 3)), rng.integers(0, 2, rows))


def joined(*tables: Table) -> Table:
    return table_of(np.vstack([t.features for t in tables]), np.concatenate([t.labels for t in tables]))


def test_rows_of_any_party_are_counted_in_any_order() -> None:
    north, south, new = made_up(50, 1), made_up(40, 2), made_up(30, 3)
    assert count_repeated(new, [north, south]) == 0
    assert count_repeated(joined(new, north.take(np.arange(9, -1, -1)), south.take(np.arange(5))), [north, south]) == 15
    assert count_repeated(north, [north, south]) == 50
    assert count_repeated(new, []) == 0


def test_sparse_rows_are_the_dense_ones() -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.8)
    features[0] = [-0.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    labels = rng.integers(0, 2, 40)
    dense, other = table_of(features, labels), table_of(sparse.csr_array(features + 0.0), labels)
    assert count_repeated(other.take(np.arange(10)), [dense]) == 10


def test_another_label_or_column_makes_another_row() -> None:
    table = made_up(20, 5)
    assert count_repeated(table_of(table.features, 1 - table.labels), [table]) == 0
    assert count_repeated(table_of(table.features[:, ::-1], table.labels), [table]) == 0


def test_rows_that_look_alike_count_only_where_the_table_is_the_same() -> None:
    """With three yes-or-no columns nearly every new row looks like some training row."""
    rng = np.random.default_rng(6)

    def answers(count: int) -> Table:
        return table_of(rng.integers(0, 2, (count, 3)).astype(float), rng.integers(0, 2, count))

    training, other = answers(300), answers(200)
    assert count_repeated(answers(100), [training, other]) == 0
    assert count_repeated(training.take(rng.permutation(300)), [training, other]) == 300
    assert count_repeated(joined(other, training), [training, other]) == 500


@pytest.mark.parametrize("columns", [1, 2])
def test_with_ids_the_same_row_has_the_same_id(columns: int) -> None:
    rng = np.random.default_rng(7)
    features, labels = rng.integers(0, 2, (60, columns)).astype(float), rng.integers(0, 2, 60)
    training = table_of(features, labels, ids=np.arange(60))
    assert count_repeated(training.take(np.arange(20)), [training]) == 20
    assert count_repeated(table_of(features, labels, ids=np.arange(60) + 100), [training]) == 0
    # The same people a year later, with other values.
    assert count_repeated(table_of(features, 1 - labels, ids=np.arange(60)), [training]) == 0
