"""The public description of columns: what it makes of texts, numbers and empty cells, and every refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.data import ColumnSpec, ColumnSpecs, Table, arrange_columns, load_csv, load_table, schema_digest
from hekat.errors import InputError

TEXT = "age,job,grade,y\n30,nurse,1,no\n41, clerk ,2.0,yes\n52,nurse,1,yes\n"
SPECS = ColumnSpecs((ColumnSpec("job", ("clerk", "nurse")), ColumnSpec("grade", ("1", "2", "3"))))
SECRET = "patient-4711"


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "data.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("sparse", [False, True])
def test_categories_become_columns_in_the_order_of_the_table(sparse: bool, tmp_path: Path) -> None:
    table = load_csv(write(tmp_path), label="y", columns=SPECS, sparse=sparse)
    assert table.feature_names == ("age", "job=clerk", "job=nurse", "grade=1", "grade=2", "grade=3")
    features = table.features.toarray() if sparse else table.features
    np.testing.assert_array_equal(features, [[30, 0, 1, 1, 0, 0], [41, 1, 0, 0, 1, 0], [52, 0, 1, 1, 0, 0]])
    assert hasattr(table.features, "indptr") == sparse


def test_other_takes_what_is_no_category_and_is_counted(tmp_path: Path) -> None:
    specs = ColumnSpecs((ColumnSpec("job", ("clerk",), other=True, fill="other"), SPECS.specs[1]))
    table = load_csv(write(tmp_path, TEXT + "60,,3,no\n"), label="y", columns=specs)
    assert table.feature_names[1:3] == ("job=clerk", "job=other")
    np.testing.assert_array_equal(table.features[:, 1:3], [[0, 1], [1, 0], [0, 1], [0, 1]])
    assert table.notes == (
        "1 empty cell of column 'job' filled as the job says",
        "2 rows of column 'job' hold none of its categories and count as 'other'",
    )


def test_an_unknown_text_is_told_by_party_column_and_line_never_by_itself(tmp_path: Path) -> None:
    write(tmp_path, TEXT + f"60,{SECRET},1,no\n\n61,{SECRET},1,no\n")
    with pytest.raises(InputError, match="northside: vocabulary mismatch in column 'job'") as caught:
        load_table(
            "csv", {"path": "data.csv", "label": "y"}, tmp_path, name="northside", classes=("no", "yes"), columns=SPECS
        )
    message = str(caught.value)
    assert "expected one of the job's categories: clerk, nurse" in message
    assert "got something else in 2 rows, first in line 5" in message
    assert "[columns.job]" in message
    assert SECRET not in message


def test_a_text_column_that_the_job_does_not_describe_names_the_cure(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"column 'job' holds texts.*got a text in 3 rows, first in line 2.*\[columns.job\] categories = \[",
    ) as caught:
        load_csv(write(tmp_path), label="y")
    assert "nurse" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ColumnSpec("jobs", ("nurse",)), r"no feature column 'jobs'.*did you mean 'job'"),
        (ColumnSpec("y", ("no",)), r"no feature column 'y'.*remove the section from the job"),
        (ColumnSpec("other thing", fill=1), r'got \[columns."other thing"\]'),
    ],
)
def test_a_described_column_that_is_not_there(spec: ColumnSpec, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_csv(write(tmp_path), label="y", columns=ColumnSpecs((*SPECS.specs, spec)))


@pytest.mark.parametrize("fill", [None, "nurse"])
def test_empty_cells_of_a_category(fill: str | None, tmp_path: Path) -> None:
    specs = ColumnSpecs((ColumnSpec("job", ("clerk", "nurse"), fill=fill), SPECS.specs[1]))
    path = write(tmp_path, TEXT + "60,,1,no\n")
    if fill is None:
        with pytest.raises(
            InputError, match=r"'job' has empty cells; .*none in 1 rows, first in line 5.*fill = CATEGORY"
        ):
            load_csv(path, label="y", columns=specs)
    else:
        np.testing.assert_array_equal(load_csv(path, label="y", columns=specs).features[3, 1:3], [0, 1])


def test_columns_of_a_numeric_source(tmp_path: Path) -> None:
    features = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 2.0]])
    np.savez(tmp_path / "d.npz", features=features, labels=np.array([0, 1, 0]), names=np.array(["a", "b"]))
    specs = ColumnSpecs((ColumnSpec("a", fill=9), ColumnSpec("b", ("1", "2"))))

    def load(specs: ColumnSpecs | None) -> Table:
        return load_table("npz", {"path": "d.npz"}, tmp_path, name="n", classes=("x", "y"), columns=specs)

    table = load(specs)
    assert table.feature_names == ("a", "b=1", "b=2")
    np.testing.assert_array_equal(table.features, [[1, 0, 1], [9, 1, 0], [3, 0, 1]])
    with pytest.raises(InputError, match=r"vocabulary mismatch in column 'b'.*first in row 1"):
        load(ColumnSpecs((specs.specs[0], ColumnSpec("b", ("1", "7")))))
    with pytest.raises(InputError, match=r"n: column 'a' has empty cells.*first in row 2.*fill = NUMBER"):
        load(None)
    with pytest.raises(InputError, match=r"'a' has empty cells.*first in row 2"):
        load(ColumnSpecs(specs.specs[1:]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "columns.c.fill refused; expected a finite number, .*or categories"),
        ({"fill": "x"}, "columns.c.fill refused; .*got a text"),
        ({"fill": float("nan")}, "columns.c.fill refused"),
        ({"fill": True}, "columns.c.fill refused"),
        ({"categories": ("a", "a")}, "columns.c.categories refused; expected each category once"),
        ({"categories": ("a", "")}, "columns.c.categories refused"),
        ({"categories": ("a", " b")}, "columns.c.categories refused"),
        ({"categories": (1, 2)}, "columns.c.categories refused"),
        ({"categories": ("a", "other"), "other": True}, "columns.c.other refused"),
        ({"other": True, "fill": 1.0}, "columns.c.other refused; expected categories"),
        ({"categories": ("a",), "fill": "b"}, "columns.c.fill refused; expected one of the column's categories"),
        ({"categories": ("1",), "fill": 1}, "columns.c.fill refused; expected one of .*in quotes: '1'"),
        ({"categories": ("a",), "fill": "other"}, "columns.c.fill refused"),
    ],
)
def test_descriptions_that_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ColumnSpec("c", **arguments)


def test_a_column_is_described_once() -> None:
    with pytest.raises(InputError, match="described twice"):
        ColumnSpecs((ColumnSpec("c", fill=1), ColumnSpec("c", fill=2)))


categories = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool),
    min_size=1,
    max_size=4,
    unique=True,
)


@given(texts=categories, other=st.booleans(), fill=st.booleans(), number=st.floats(-1e9, 1e9))
def test_json_brings_the_same_back(texts: list[str], other: bool, fill: bool, number: float) -> None:
    spec = ColumnSpec("c", tuple(texts), other and "other" not in texts, texts[0] if fill else None)
    specs = ColumnSpecs((spec, ColumnSpec("d", fill=number)))
    assert ColumnSpecs.from_json(json.loads(json.dumps(specs.to_json()))) == specs


@pytest.mark.parametrize(
    "described",
    [
        None,
        [],
        {"c": None},
        {"c": {}},
        {"c": {"categories": "ab"}},
        {"c": {"categories": ["a"], "other": 1}},
        {"c": {"colour": 1}},
        {"": {"fill": 1}},
        {"c": {"fill": [1]}},
    ],
)
def test_json_that_is_no_description(described: object) -> None:
    with pytest.raises(InputError):
        ColumnSpecs.from_json(described)


def test_notes_of_a_table_stay_beside_those_of_its_columns(tmp_path: Path) -> None:
    source = "import numpy as np\nfrom hekat.data import Table\n"
    source += "def load(): return Table(np.array([[np.nan]]), None, ('a',), notes=('as the registry has it',))\n"
    (tmp_path / "rows.py").write_text(source)
    specs = ColumnSpecs((ColumnSpec("a", fill=1),))
    table = load_table(
        "python", {"function": "rows:load"}, tmp_path, name="n", classes=None, columns=specs, for_training=False
    )
    assert table.notes == ("as the registry has it", "1 empty cell of column 'a' filled as the job says")


def test_columns_are_arranged_by_name() -> None:
    labels = np.array([0, 1])
    first = Table(np.array([[1.0, 2.0], [3.0, 4.0]]), labels, ("a", "b"), "n", ids=("p", "q"))
    second = Table(np.array([[2.0, 1.0], [4.0, 3.0]]), labels, ("b", "a"), "m", ids=("p", "q"))
    arranged = arrange_columns(second, first.feature_names)
    np.testing.assert_array_equal(arranged.features, first.features)
    assert (arranged.name, arranged.ids) == ("m", second.ids)
    assert schema_digest(arranged) == schema_digest(first) != schema_digest(second)
    assert arrange_columns(first, ("a", "b")) is first
    assert arrange_columns(first, ("a", "c")) is first, "other names are for check_same_schema to refuse"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("row", ["7,a,1,3,no", "7,q,,,yes"], ids=["full", "gaps"])
def test_columns_that_are_0_or_1_by_the_job_are_known_whatever_the_table_holds(row, sparse, tmp_path: Path) -> None:
    specs = ColumnSpecs(
        (
            ColumnSpec("job", categories=("a", "b"), other=True, missing="category"),
            ColumnSpec("grade", categories=("1", "2"), fill="most_frequent"),
            ColumnSpec("lab_*", fill="median", missing="indicator"),
        )
    )
    table = load_csv(
        write(tmp_path, f"flag,job,grade,lab_iron,y\n1,b,2,0,no\n{row}\n"), label="y", columns=specs, sparse=sparse
    )
    known = ("job=a", "job=b", "job=other", "job=missing", "grade=1", "grade=2", "lab_iron=missing")
    assert table.indicators == known
    assert set(table.feature_names) - set(known) == {"flag", "lab_iron"}, "0 and 1 as numbers are numbers"
    turned = arrange_columns(table, table.feature_names[::-1]).take(np.array([1]))
    assert [turned.feature_names[place] for place in turned.indicator_places] == list(known[::-1])
