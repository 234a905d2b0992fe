"""Rows held out: complete, disjoint, repeatable, and every class in its share."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.data import Table, fold_rows, hold_out_rows
from hekat.errors import InputError


def make_table(labels: np.ndarray | None, row_count: int = 100) -> Table:
    return Table(np.arange(float(row_count))[:, np.newaxis], labels, ("a",), "northside")


@pytest.mark.parametrize("fraction", [0.01, 0.25, 0.5, 0.98])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["float", "int", "none"])
def test_a_split_is_complete_disjoint_and_repeats(fraction: float, seed: int, kind: str) -> None:
    labels = None if kind == "none" else np.arange(100).astype(kind)
    table = make_table(labels)
    kept, held_out = hold_out_rows(table, fraction, seed)
    assert len(held_out) == round(100 * fraction)
    rows = np.concatenate([kept.features[:, 0], held_out.features[:, 0]])
    assert sorted(rows) == list(range(100))
    for part in (kept, held_out):
        assert (np.diff(part.features[:, 0]) > 0).all()
        if labels is not None:
            assert part.labels is not None
            np.testing.assert_array_equal(part.features[:, 0], part.labels)
    np.testing.assert_array_equal(held_out.features, hold_out_rows(table, fraction, seed)[1].features)
    assert not np.array_equal(held_out.features, hold_out_rows(table, fraction, seed + 2)[1].features)


def test_each_class_gives_its_share() -> None:
    labels = np.repeat([0, 1, 2], [70, 25, 5])
    _, held_out = hold_out_rows(make_table(labels), 0.2, seed=3)
    assert held_out.labels is not None
    assert np.bincount(held_out.labels).tolist() == [14, 5, 1]


def test_a_class_keeps_a_row_to_train_on() -> None:
    kept, held_out = hold_out_rows(make_table(np.repeat([0, 1], [9, 1]), 10), 0.8, seed=5)
    assert kept.labels is not None
    assert held_out.labels is not None
    assert (len(kept), set(kept.labels.tolist())) == (2, {0, 1})
    assert set(held_out.labels.tolist()) == {0}


@pytest.mark.parametrize(("fraction", "expected"), [(0.001, 1), (0.9999, 98)])
def test_one_row_is_held_out_and_two_stay(fraction: float, expected: int) -> None:
    assert len(hold_out_rows(make_table(None), fraction, 0)[1]) == expected


@pytest.mark.parametrize(("fraction", "row_count"), [(0.0, 100), (1.0, 100), (-0.5, 9), (float("nan"), 9), (0.5, 2)])
def test_what_cannot_be_split(fraction: float, row_count: int) -> None:
    with pytest.raises(InputError, match="northside cannot be split"):
        hold_out_rows(make_table(None, row_count), fraction, 0)


@pytest.mark.parametrize("fold_count", [2, 3, 10, 47])
@pytest.mark.parametrize("kind", ["float", "int", "none"])
def test_folds_are_complete_disjoint_even_and_repeat(fold_count: int, kind: str) -> None:
    labels = None if kind == "none" else (np.arange(47) % 3).astype(kind)
    table = make_table(labels, 47)
    folds = []
    for number in range(1, fold_count + 1):
        kept, fold = fold_rows(table, number, fold_count, seed=5)
        assert sorted([*kept.features[:, 0], *fold.features[:, 0]]) == list(range(47))
        assert fold_rows(table, number, fold_count, seed=5)[1].features.tobytes() == fold.features.tobytes()
        folds.append(fold)
    assert sorted(np.concatenate([fold.features[:, 0] for fold in folds])) == list(range(47))
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    other = fold_rows(table, 1, fold_count, seed=6)[1]
    assert other.features.tobytes() != folds[0].features.tobytes()
    if kind == "int":
        of_class = [[int(np.count_nonzero(fold.labels == label)) for fold in folds] for label in range(3)]
        assert all(max(counts) - min(counts) <= 1 for counts in of_class)


@pytest.mark.parametrize(("rows", "fold_count"), [(1, 2), (3, 2), (4, 5), (2, 3), (50, 1), (50, 0)])
def test_folds_that_cannot_be_are_refused(rows: int, fold_count: int) -> None:
    with pytest.raises(InputError, match=f"northside cannot be cut into {fold_count} folds") as refused:
        fold_rows(make_table(None, rows), 1, fold_count, seed=1)
    assert f"{rows} rows" in (refused.value.got or "")


def test_folds_leave_two_rows_at_least() -> None:
    for rows, fold_count in ((4, 2), (3, 3), (5, 4)):
        for number in range(1, fold_count + 1):
            kept, fold = fold_rows(make_table(None, rows), number, fold_count, seed=1)
            assert len(kept) >= 2
            assert len(fold) >= 1
