"""Tables whose categories parties find together: what each offers, and its encoding once all of them are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, Table, is_dense, load_table
from hekat.data.columns.encode import encode_again
from hekat.data.columns.found import (
    MOST_FOUND,
    check_vocabulary,
    is_category,
    join_offers,
    most_categories,
    with_vocabulary,
)
from hekat.data.columns.settle import settle_fills
from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND
from hekat.data.far_cells import notes_on_cells
from hekat.errors import InputError


def found(*specs: ColumnSpec) -> ColumnSpecs:
    return ColumnSpecs(specs, found_together=True)


def load(place: Path, cells: list[str], specs: ColumnSpecs, **options: Any) -> Table:
    rows = "".join(f"{number},{cell},{number % 2}\n" for number, cell in enumerate(cells))
    (place / "rows.csv").write_text(f"age,job,ill\n{rows}")
    return load_table(
        "csv", {"path": "rows.csv", "label": "ill"}, place, name="rows", classes=("0", "1"), columns=specs, **options
    )


def offers_of(table: Table) -> tuple[str, ...]:
    assert table.open_categories is not None
    return table.open_categories.offers["job"]


OTHER = ColumnSpec("job", found=True, other=True, missing="category")
CELLS = ["nurse"] * 6 + ["clerk"] * 5 + ["pilot"] * 4 + ["", "NA", "other", *["other"] * 5]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_table_is_encoded_again_as_if_the_categories_had_been_listed(tmp_path: Path, sparse: bool) -> None:
    table = load(tmp_path, CELLS, found(OTHER), sparse=sparse, digest_rows=True)
    assert offers_of(table) == ("clerk", "nurse")
    vocabulary = ("clerk", "diver", "nurse")
    listed = ColumnSpecs((ColumnSpec("job", categories=vocabulary, other=True, missing="category"),))
    again = encode_again(table, listed, sparse=sparse)
    plain = load(tmp_path, CELLS, listed, sparse=sparse, digest_rows=True)
    assert again.feature_names == plain.feature_names
    assert again.rows_digest == plain.rows_digest is not None
    assert again.labels.tolist() == plain.labels.tolist()
    assert again.notes == plain.notes
    assert again.indicators == plain.indicators == again.feature_names[1:]
    assert again.open_categories is None
    features = [one.features if is_dense(one.features) else one.features.toarray() for one in (again, plain)]
    np.testing.assert_array_equal(*features)


@pytest.mark.parametrize("waived", [False, True])
def test_a_table_that_is_encoded_again_keeps_what_its_site_says_of_its_budget(tmp_path: Path, waived: bool) -> None:
    table = replace(load(tmp_path, CELLS, found(OTHER)), budget_waived=waived)
    listed = ColumnSpecs((ColumnSpec("job", categories=("clerk", "nurse"), other=True, missing="category"),))
    assert encode_again(table, listed, sparse=False).budget_waived == waived


def test_numbers_that_are_categories_are_offered_in_their_shortest_form(tmp_path: Path) -> None:
    table = load(tmp_path, ["1.0"] * 3 + ["+1"] * 2 + ["2"] * 5, found(OTHER))
    assert offers_of(table) == ("1", "2")
    # As numbers, which no text stands among.
    assert offers_of(load(tmp_path, ["10"] * 5 + ["9"] * 5, found(OTHER))) == ("9", "10")


def test_an_open_fill_follows_the_categories_of_all(tmp_path: Path) -> None:
    spec = ColumnSpec("job", found=True, other=True, fill="most_frequent")
    table = load(tmp_path, CELLS, found(spec))
    listed = ColumnSpecs((ColumnSpec("job", categories=("clerk", "nurse"), other=True, fill="most_frequent"),))
    again = encode_again(table, listed, sparse=False)
    assert again.open_fills[0].names == ("job=clerk", "job=nurse", "job=other")
    assert np.isnan(again.features[15, 1:]).all()


def test_a_table_that_offers_nothing_is_loaded_all_the_same(tmp_path: Path) -> None:
    table = load(tmp_path, ["nurse", "clerk", "", ""], found(OTHER))
    assert offers_of(table) == ()
    assert table.feature_names == ("age",)


def test_texts_that_cannot_be_offered_are_refused_at_their_own_site(tmp_path: Path) -> None:
    for text, what in (("x" * 65, "cannot be found"), ("ü" * 33, "cannot be found"), ("a\x07b", "cannot be found")):
        with pytest.raises(InputError, match=what) as caught:
            load(tmp_path, [text] * 5, found(OTHER))
        assert text not in str(caught.value)
    many = [f"text {number}" for number in range(MOST_FOUND + 1)]
    every = ColumnSpec("job", found=True, other=True, min_rows=1)
    with pytest.raises(InputError, match="too many different texts to be found"):
        load(tmp_path, many, found(every))
    with pytest.raises(InputError, match="texts of a few rows are shown to no other party"):
        load(tmp_path, ["nurse"] * 5 + ["clerk"], found(ColumnSpec("job", found=True)))


def test_too_many_of_all_columns_together_are_refused_at_their_own_site(tmp_path: Path) -> None:
    rows = "".join(f"a{number},b{number},{number % 2}\n" for number in range(MOST_FOUND))
    (tmp_path / "rows.csv").write_text(f"a,b,ill\n{rows}")
    specs = found(*(ColumnSpec(name, found=True, other=True, min_rows=1) for name in "ab"))
    with pytest.raises(InputError, match="offers too many categories") as caught:
        load_table(
            "csv", {"path": "rows.csv", "label": "ill"}, tmp_path, name="rows", classes=("0", "1"), columns=specs
        )
    assert caught.value.expected.startswith(f"at most {most_categories(2)} of all 2 columns")


def test_no_text_makes_the_name_of_another_column(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("job,job=nurse,ill\n" + "cook,1,0\nsmith,2,1\n" * 5)
    specs = found(ColumnSpec("job", found=True))
    with pytest.raises(InputError, match="'job=nurse' has the name of a category of column 'job'"):
        load_table(
            "csv", {"path": "rows.csv", "label": "ill"}, tmp_path, name="rows", classes=("0", "1"), columns=specs
        )


def test_a_word_of_the_job_that_a_party_offers_is_the_partys_fault() -> None:
    specs = found(ColumnSpec("x", found=True, other=True))
    with pytest.raises(InputError, match="a party offers what is no category") as refusal:
        with_vocabulary(specs, {"x": ("a", "secret text", "other")})
    assert "secret" not in str(refusal.value)


def test_offers_are_joined_in_the_order_of_texts() -> None:
    offers = [{"job": ("nurse", "9")}, {"job": ("10", "clerk")}, {"job": ()}]
    assert join_offers(offers) == {"job": ("9", "10", "clerk", "nurse")}
    with pytest.raises(InputError, match="all parties together have too many categories"):
        check_vocabulary({name: tuple(f"{name}{number}" for number in range(150)) for name in "ab"})


BAD = ["", " a", "a ", "1.0", "+1", "NA", "?", "a\tb", "a\u202eb", "\ud800", "a\u200bb", "x" * 65]


@pytest.mark.parametrize("text", BAD, ids=ascii)
def test_what_is_no_category(text: str) -> None:
    assert not is_category(text)
    assert is_category("Bäcker")
    assert is_category("x" * 64)


def test_columns_that_are_kept_spare_are_not_noted_as_constant() -> None:
    names = ("age", "job=a", "job=other", "job=missing", "town=other")
    table = Table(np.column_stack([np.arange(30.0), np.arange(30) % 2, *[np.zeros(30)] * 3]), None, names)
    for spec in (ColumnSpec("job", categories=("a",), other=True), ColumnSpec("job", found=True, other=True)):
        specs = ColumnSpecs((spec, ColumnSpec("*", missing="category")))
        assert [specs.is_spare(name) for name in names] == [False, False, True, True, False]
        assert notes_on_cells(table, specs) == ("1 of 5 columns hold one value in every row: 'town=other'",)


def test_an_owner_finds_categories_of_rows_enough_and_counts_the_rest_as_other(tmp_path: Path) -> None:
    """Where a column has one owner, unless said, one row is enough."""
    spec = ColumnSpec("job", found=True, other=True, min_rows=5, missing="category")
    table, settled = settle_fills(load(tmp_path, CELLS, ColumnSpecs((spec,))), ColumnSpecs((spec,)))
    assert table.feature_names[1:] == ("job=clerk", "job=nurse", "job=other", "job=missing")
    assert table.features[:, 3].sum() == 10
    assert settled.find("job") == ColumnSpec("job", categories=("clerk", "nurse"), other=True, missing="category")
    every = ColumnSpec("job", found=True, missing="category")
    assert len(load(tmp_path, CELLS, ColumnSpecs((every,))).feature_names) == 1 + 5
    assert LEAST_ROWS_OF_FOUND == 5
