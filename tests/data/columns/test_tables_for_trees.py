"""Tables for trees: categories as numbers in one column, and empty cells that stay empty."""

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, load_vertical_table
from hekat.data.columns.settle import settle_fills
from hekat.errors import HekatError, InputError

TEXT = "id,town,age,size\na,Bonn,1,4\nb,,,\nc,Ulm,3,8\nd,Ulm,5,6\n"


@pytest.fixture
def load(tmp_path):
    def read(*specs: ColumnSpec, text: str = TEXT, for_training: bool = True):
        (tmp_path / "rows.csv").write_text(text)
        table = load_vertical_table(
            "csv",
            {"path": "rows.csv", "id": "id"},
            tmp_path,
            name="host",
            is_labelled=False,
            classes=None,
            columns=ColumnSpecs(specs, for_trees=True),
            for_training=for_training,
        )
        return settle_fills(table, ColumnSpecs(specs, for_trees=True))

    return read


def test_a_category_is_its_number_and_an_empty_cell_stays_empty(load) -> None:
    table, columns = load(ColumnSpec("town", found=True), ColumnSpec("size", fill="median"))
    assert table.feature_names == ("town", "age", "size")
    assert table.categories == ("town",)
    np.testing.assert_array_equal(table.features, [[0, 1, 4], [np.nan, np.nan, 6], [1, 3, 8], [1, 5, 6]])
    assert columns.find("town").categories == ("Bonn", "Ulm")
    assert any("column 'age' left empty" in note for note in table.notes)


def test_new_rows_have_the_same_numbers_and_an_unknown_text_is_refused_or_empty(load) -> None:
    spec = ColumnSpec("town", categories=("Bonn", "Ulm"))
    text = TEXT.replace("Bonn", "Jena")
    with pytest.raises(HekatError, match="town"):
        load(spec, text=text, for_training=False)
    taken = ColumnSpec("town", categories=("Bonn", "Ulm"), unknown="ignore")
    table, _ = load(taken, text=text, for_training=False)
    np.testing.assert_array_equal(table.features[:, 0], [np.nan, np.nan, 1, 1])
    other, _ = load(ColumnSpec("town", categories=("Ulm",), other=True))
    np.testing.assert_array_equal(other.features[:, 0], [1, np.nan, 0, 0])


def test_infinity_is_refused_for_trees_too(load) -> None:
    spec = ColumnSpec("town", found=True)
    with pytest.raises(InputError):
        load(spec, text=TEXT.replace("a,Bonn,1", "a,Bonn,inf"))
