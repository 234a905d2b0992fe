"""All gaps and texts of all tables are told at once, and the lines that are told make every table load."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, CsvDialect, Table, load_csv
from hekat.data.columns.findings import ColumnsRefusedError, load_together
from hekat.data.columns.proposals import propose
from hekat.errors import InputError

SECRET = "patient-4711"
HEADER = "age,job,grade,days,note,all_empty,y\n"


def rows(jobs: list[str], count: int, days: str = "") -> str:
    """Gaps in age, two jobs in turn, grades of which one is no number, days with a mark of their own, notes."""
    lines = []
    for number in range(count):
        age = "NA" if number == 1 else str(30 + number)
        day = days if days and number % 10 == 3 else str(number / 2)
        lines.append(
            f"{age},{jobs[number % len(jobs)]},{'1A2'[number % 3]},{day},{days}{len(jobs)} {number},,{number % 2}"
        )
    return HEADER + "\n".join(lines) + "\n"


@pytest.fixture
def load(tmp_path: Path) -> Callable[[ColumnSpecs], dict[str, Table]]:
    (tmp_path / "a.csv").write_text(rows(["clerk", "nurse", ""], 30))
    (tmp_path / "b.csv").write_text(rows(["pilot", "nurse"], 40, days="unknown"))
    (tmp_path / "c.csv").write_text(rows(["clerk"], 30).replace("1A2", "121").replace(",A,", ",3,"))

    def load(specs: ColumnSpecs) -> dict[str, Table]:
        return load_together(
            {name: partial(load_csv, tmp_path / f"{name}.csv", label="y", columns=specs, name=name) for name in "abc"}
        )

    return load


def specs_of(lines: tuple[str, ...]) -> ColumnSpecs:
    """What the lines of a refusal say, read as a job is read."""
    text = "\n".join(lines).partition("[columns.")
    return ColumnSpecs.from_json(tomllib.loads(text[1] + text[2])["columns"])


def test_one_refusal_tells_of_all_columns_of_all_tables(load: Callable[[ColumnSpecs], dict[str, Table]]) -> None:
    with pytest.raises(ColumnsRefusedError, match=r"3 tables: 6 columns have empty cells or texts") as caught:
        load(ColumnSpecs())
    assert {finding.column for finding in caught.value.findings} == {"age", "job", "grade", "days", "note", "all_empty"}
    told = "\n".join(caught.value.lines)
    assert "age: 3 of 100 cells empty (a 1, b 1, c 1; first in line 3 of a)" in told
    assert 'job: 10 of 30 cells empty (a 10; first in line 4 of a); a text in 90 rows, 3 different: "clerk", ' in told
    assert "note: a text in 100 rows, 100 different (a 30, b 40, c 30; first in line 2 of a)" in told
    assert "nurse" not in str(caught.value), "texts are for this terminal alone"


def test_the_lines_that_are_told_make_every_table_load(load: Callable[[ColumnSpecs], dict[str, Table]]) -> None:
    with pytest.raises(ColumnsRefusedError) as caught:
        load(ColumnSpecs())
    specs = specs_of(caught.value.lines)
    assert specs.find("job") == ColumnSpec("job", ("clerk", "nurse", "pilot"), missing="category")
    assert specs.find("grade") == ColumnSpec("grade", ("1", "2", "3", "A")), "grades of table c are numbers alone"
    assert specs.find("days") == ColumnSpec("days", empty=("unknown",), fill="median")
    assert specs.find("note") == ColumnSpec("note", ignore=True)
    assert specs.find("all_empty") == ColumnSpec("all_empty", ignore=True)
    tables = load(specs)
    names = {table.feature_names for table in tables.values()}
    assert names == {
        (
            "age",
            "job=clerk",
            "job=nurse",
            "job=pilot",
            "job=missing",
            "grade=1",
            "grade=2",
            "grade=3",
            "grade=A",
            "days",
        )
    }
    assert tables["a"].features[:, 4].sum() == 10
    assert np.isnan(tables["b"].features[:, -1]).sum() == 4


def test_fills_that_parties_agree_on_are_values(
    load: Callable[[ColumnSpecs], dict[str, Table]], tmp_path: Path
) -> None:
    with pytest.raises(ColumnsRefusedError) as caught:
        load(ColumnSpecs(fills_agreed=True))
    assert "fill = 0" in caught.value.lines
    assert "[columns.age]    # fill: a value that all parties agree on" in caught.value.lines
    specs = specs_of(caught.value.lines)
    assert not specs.joint_fills
    load(specs)
    (tmp_path / "one.csv").write_text("dose,days\n1,1\n,2\n3,3\n")
    with pytest.raises(ColumnsRefusedError, match=r"let the job say fill = NUMBER under"):
        load_csv(tmp_path / "one.csv", columns=ColumnSpecs(fills_agreed=True))


def test_a_text_of_a_single_row_is_neither_shown_nor_put_into_a_job(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("job,dose\n" + "nurse,1\nclerk,2\n" * 20 + f"{SECRET},3\nnurse,{SECRET}\n")
    with pytest.raises(ColumnsRefusedError) as caught:
        load_csv(path)
    assert SECRET not in "\n".join((str(caught.value), *caught.value.lines))
    specs = specs_of(caught.value.lines)
    table = load_csv(path, columns=specs)
    assert table.feature_names == ("job=clerk", "job=nurse", "job=other", "dose")
    assert table.features[:, 2].sum() == 1
    assert np.isnan(table.features[-1, 3]), "every text among these numbers is an empty cell"


def test_a_vocabulary_that_lacks_a_text_is_told_with_the_whole_section(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("job\n" + "nurse\nclerk\npilot\n" * 5 + "\n")
    specs = ColumnSpecs((ColumnSpec("job", ("nurse", "clerk")),))
    with pytest.raises(ColumnsRefusedError, match=r"vocabulary mismatch in column 'job'.*in 5 rows") as caught:
        load_csv(path, columns=specs)
    assert "[columns.job]    # in place of this section of the job" in caught.value.lines
    assert specs_of(caught.value.lines).find("job") == ColumnSpec("job", ("nurse", "clerk", "pilot"))


def test_a_decimal_comma_is_cured_in_the_site_file_not_by_categories(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a;b\n"1,5";x\n"2,5";y\n' * 1 + '"3,5";x\n"3,5";y\n')
    with pytest.raises(ColumnsRefusedError, match='cure: say decimal = "," in the site file') as caught:
        load_csv(path, dialect=CsvDialect(separator=";"), name="a")
    assert '# a: numbers with a decimal comma: say decimal = "," in the site file for a' in caught.value.lines
    specs = specs_of(caught.value.lines)
    assert load_csv(path, dialect=CsvDialect(separator=";", decimal=","), columns=specs).feature_names == (
        "a",
        "b=x",
        "b=y",
    )


@pytest.mark.parametrize(
    ("cell", "signs", "decimal"),
    [
        ("1.234.567", "points", "."),
        ("1.234.567", "points", ","),
        ("1,234.50", "commas", "."),
        ("1.234,50", "points", ","),
        ("1.234,50", "points", "."),
        ("12'345", "apostrophes", "."),
        ("1 234 567", "spaces", ","),
    ],
)
def test_numbers_with_signs_between_thousands_are_told_as_such(
    cell: str, signs: str, decimal: str, tmp_path: Path
) -> None:
    """Neither another decimal sign nor categories nor an empty cell is the cure."""
    path = tmp_path / "a.csv"
    path.write_text("umsatz;dose\n" + "850;1\n" * 30 + f"{cell};2\n")
    with pytest.raises(ColumnsRefusedError) as caught:
        load_csv(path, dialect=CsvDialect(separator=";", decimal=decimal), name="a")
    error = caught.value
    assert error.got == f"a number with {signs} between thousands in 1 rows, first in line 32"
    assert error.cure.startswith(f"write the numbers of 'umsatz' without {signs} between thousands")
    assert f"# umsatz: numbers with {signs} between thousands: write them without in the tables" in error.lines
    assert not any(line.startswith(("empty", "fill", "categories")) for line in error.lines)
    assert cell not in "\n".join((str(error), *error.lines))


def test_thousands_in_one_column_are_told_beside_gaps_in_another(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("umsatz,dose\n" + "850,1\n" * 30 + "1.234.567,\n")
    with pytest.raises(ColumnsRefusedError) as caught:
        load_csv(path, name="a")
    assert "'umsatz' (a number with points between thousands), 'dose' (empty cells)" in caught.value.got
    assert "without points between thousands" in caught.value.cure
    assert "[columns.dose]" in caught.value.lines


@pytest.mark.parametrize("cells", [("1.234.567", "none"), ("1.2.3.4",), ("12.34.567",), ("2024-01-02",)])
def test_other_texts_among_numbers_are_no_thousands(cells: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("umsatz,dose\n" + "850,1\n" * 30 + "".join(f"{cell},2\n" for cell in cells))
    with pytest.raises(ColumnsRefusedError, match="a text in") as caught:
        load_csv(path, name="a")
    assert "thousands" not in caught.value.cure


def test_a_table_that_cannot_be_read_at_all_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n\n1\nx\n")
    loads = {name: partial(load_csv, tmp_path / f"{name}.csv") for name in ("a", "none")}
    with pytest.raises(InputError, match="is not there"):
        load_together(loads)


def test_an_empty_column_whose_categories_others_find_is_kept() -> None:
    specs = ColumnSpecs((ColumnSpec("ward", found=True, other=True),), found_together=True)
    empty = {"a": np.full(20, np.nan)}
    assert propose("ward", empty, specs).values == {"missing": "category"}
    assert propose("ward", empty, ColumnSpecs()).values == {"ignore": True}


def test_infinite_cells_are_told_as_such_and_can_count_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n" + "1\n2\n" * 20 + "inf\n-inf\n1e999\n")
    with pytest.raises(ColumnsRefusedError, match="an infinite value in 3 rows, first in line 42") as caught:
        load_csv(path)
    assert np.isnan(load_csv(path, columns=specs_of(caught.value.lines)).features).sum() == 3


def test_lists_say_how_many_more_there_are(tmp_path: Path) -> None:
    """A text of one row is not shown, and the list does not look whole without it."""
    path = tmp_path / "a.csv"
    jobs = ["clerk", "nurse"] * 10 + [SECRET]
    path.write_text("job,y\n" + "".join(f"{job},{number % 2}\n" for number, job in enumerate(jobs)))
    with pytest.raises(ColumnsRefusedError) as caught:
        load_csv(path, label="y", name="a")
    told = "\n".join(caught.value.lines)
    assert '3 different: "clerk", "nurse" and 1 more (a 21' in told
    assert SECRET not in told
    listed = ColumnSpecs.from_json({"job": {"categories": [f"job {number}" for number in range(20)]}})
    with pytest.raises(ColumnsRefusedError, match="job 7 and 12 more; got"):
        load_csv(path, label="y", columns=listed)
