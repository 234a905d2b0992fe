"""Tables as people have them, through `hekat run`: categories, sparse rows, other dialects; and every refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PARTIES = ("north", "east", "south")
SECRET = "patient-4711"
JOB_COLUMNS = """
[columns.job]
categories = ["clerk", "nurse"]
other = true

[columns.days]
fill = 4.5
"""


def summary_of(place: Any) -> dict[str, Any]:
    return dict(json.loads((place.folders()[-1] / "summary.json").read_text()))


def model_of(place: Any) -> dict[str, Any]:
    with np.load(place.folders()[-1] / "model.npz") as model:
        return {name: model[name] for name in model.files if model[name].dtype.kind == "f"}


def describe(place: Any) -> None:
    """Give every party a column of texts, ids, and the job what is public of them."""
    for seed, party in enumerate(PARTIES):
        jobs = np.random.default_rng(seed).choice(["nurse", "clerk"], 20)
        path = place.folder / f"{party}.csv"
        header, *lines = path.read_text().splitlines()
        rows = [f"{party}{number},{job},{line}" for number, (job, line) in enumerate(zip(jobs, lines, strict=True))]
        path.write_text("\n".join([f"who,job,{header}", *rows]) + "\n")
    site = place.folder / "site.toml"
    site.write_text(site.read_text().replace('label = "ill"', 'label = "ill"\nid = "who"'))
    job = place.folder / "job.toml"
    job.write_text(job.read_text() + JOB_COLUMNS)


def use_libsvm(place: Any) -> None:
    """The same rows as libsvm files, many values left out, and the job's rows sparse."""
    for party in PARTIES:
        lines = [line.split(",") for line in (place.folder / f"{party}.csv").read_text().splitlines()[1:]]
        rows = [
            " ".join(["+1" if y == "yes" else "-1", *(f"{i}:{x}" for i, x in enumerate(cells, 1) if float(x) > 0)])
            for *cells, y in lines
        ]
        (place.folder / f"{party}.libsvm").write_text("\n".join(rows) + "\n")
        place.edit("site.toml", f'source = "csv"\npath = "{party}.csv"\nlabel = "ill"', libsvm_source(party))
    place.edit("job.toml", 'data = "visits"', 'data = "visits"\nsparse = true')


def libsvm_source(party: str) -> str:
    return f'source = "libsvm"\npath = "{party}.libsvm"\ncolumns = 3'


@pytest.mark.long
def test_categories_and_empty_cells_are_trained_on(workplace) -> None:
    describe(workplace)
    workplace.edit("east.csv", r"^east3,\w+,(.*),(.*),.*,(yes|no)$", r"east3,pilot,\1,\2,,\3")
    answer = workplace.run()
    assert answer.code == 0, answer.err
    model = model_of(workplace)
    assert model["weight"].shape == (6, 1), "job=clerk, job=nurse, job=other, age, dose, days"
    notes = summary_of(workplace)["notes"]
    assert "east: 1 empty cell of column 'days' filled as the job says" in notes
    assert "east: 1 rows of column 'job' hold none of its categories and count as 'other'" in notes
    written = "".join(path.read_text() for path in workplace.folders()[-1].rglob("*.json*"))
    assert "east3" not in written, "ids stay in the table"


@pytest.mark.long
def test_columns_in_another_order_are_taken_by_name(workplace) -> None:
    assert workplace.run().code == 0
    expected = model_of(workplace)
    path = workplace.folder / "east.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text("\n".join(",".join([dose, age, days, ill]) for age, dose, days, ill in rows) + "\n")
    assert workplace.run().code == 0
    for name, values in model_of(workplace).items():
        np.testing.assert_array_equal(values, expected[name])
    assert "east: columns taken in the order they have at north" in summary_of(workplace)["notes"]


@pytest.mark.long
def test_sparse_rows_are_trained_on_as_dense_ones_that_are_not_centred(workplace) -> None:
    use_libsvm(workplace)
    answer = workplace.run()
    assert answer.code == 0, answer.err
    sparse = model_of(workplace)
    assert not sparse["standardiser/mean"].any()
    assert any("not centred" in note for note in summary_of(workplace)["notes"])
    workplace.edit("job.toml", "sparse = true", "sparse = false")
    assert workplace.run().code == 0
    dense = model_of(workplace)
    np.testing.assert_allclose(sparse["standardiser/spread"], dense["standardiser/spread"], rtol=1e-6)
    assert dense["standardiser/mean"].all()
    # Without standardising nothing differs but the order of additions.
    workplace.edit("job.toml", r"\[training\]", "[training]\nstandardise = false")
    assert workplace.run().code == 0
    dense = model_of(workplace)
    workplace.edit("job.toml", "sparse = false", "sparse = true")
    assert workplace.run().code == 0
    for name, values in model_of(workplace).items():
        np.testing.assert_allclose(values, dense[name], atol=1e-4, err_msg=name)


@pytest.mark.long
def test_a_silo_of_one_class_takes_part_and_is_named(workplace) -> None:
    path = workplace.folder / "east.csv"
    path.write_text(re.sub("yes$", "no", path.read_text(), flags=re.MULTILINE))
    assert workplace.run().code == 0
    assert "east: all rows are of one class" in summary_of(workplace)["notes"]


@pytest.mark.long
def test_every_dialect_and_source_side_by_side(workplace) -> None:
    """A German CSV file, an npz archive with labels beside it, and Parquet."""
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    from pyarrow import parquet

    expected = run_plainly(workplace)
    folder = workplace.folder
    north = [line.split(",") for line in (folder / "north.csv").read_text().splitlines()]
    (folder / "north.csv").write_bytes(
        "\n".join(";".join(cell.replace(".", ",") for cell in row) for row in north).encode("utf-16")
    )
    change_source(workplace, "north", 'separator = ";"\ndecimal = ","\nencoding = "utf-16"\nlabel = "ill"')
    (names, *_), rows, ill = columns_of(folder / "east.csv")
    np.savez(folder / "east.npz", features=rows, feature_names=np.array(names))
    np.save(folder / "ill.npy", ill)
    change_source(workplace, "east", 'labels = "ill.npy"', kind="npz")
    (names, *_), rows, ill = columns_of(folder / "south.csv")
    columns = {name: rows[:, number] for number, name in enumerate(names)} | {"ill": ill.tolist()}
    parquet.write_table(arrow.table(columns), folder / "south.parquet")
    change_source(workplace, "south", 'label = "ill"', kind="parquet")
    for name, values in run_plainly(workplace).items():
        np.testing.assert_array_equal(values, expected[name])


def run_plainly(place: Any) -> dict[str, Any]:
    answer = place.run()
    assert answer.code == 0, answer.err
    return model_of(place)


def columns_of(path: Path) -> tuple[list[list[str]], np.ndarray, np.ndarray]:
    header, *lines = [line.split(",") for line in path.read_text().splitlines()]
    return [header[:-1]], np.array([line[:-1] for line in lines], dtype=float), np.array([line[-1] for line in lines])


def change_source(place: Any, party: str, options: str, *, kind: str = "csv") -> None:
    place.edit(
        "site.toml",
        f'source = "csv"\npath = "{party}.csv"\nlabel = "ill"',
        f'source = "{kind}"\npath = "{party}.{kind}"\n{options}',
    )


def edit(file: str, pattern: str, replacement: str) -> Callable:
    return lambda place: place.edit(file, pattern, replacement)


def described(change: Callable) -> Callable:
    def apply(place: Any) -> None:
        describe(place)
        change(place)

    return apply


def sparse(change: Callable) -> Callable:
    def apply(place: Any) -> None:
        use_libsvm(place)
        change(place)

    return apply


CASES: dict[str, tuple[Callable, list[str]]] = {
    "a vocabulary that differs": (
        described(
            lambda place: (
                place.edit("job.toml", "other = true\n", ""),
                place.edit("east.csv", r"^east0,\w+", f"east0,{SECRET}"),
            )
        ),
        ["east", "vocabulary mismatch", "'job'", "clerk, nurse", "line 2", "[columns.job]", "other = true"],
    ),
    "texts that the job does not describe": (
        described(edit("job.toml", r"\[columns.job\]\n.*\n.*\n", "")),
        ["line 2", "'job'", "a text", "[columns.job] categories"],
    ),
    "an empty category": (
        described(edit("east.csv", r"^east0,\w+", "east0,")),
        ["east", "'job'", "empty cells", "line 2", "fill = CATEGORY"],
    ),
    "a column misspelt in the job": (
        described(edit("job.toml", r"columns\.job", "columns.jobb")),
        ["[columns.jobb]", "did you mean 'job'"],
    ),
    "a described column that nobody has": (
        edit("job.toml", r"\Z", "[columns.doses]\nfill = 1\n"),
        ["north", "'doses'", "did you mean 'dose'"],
    ),
    "a column that says nothing": (edit("job.toml", r"\Z", "[columns.dose]\n"), ["columns.dose.fill", "neither"]),
    "a fill of the wrong kind": (
        edit("job.toml", r"\Z", '[columns.dose]\nfill = "much"\n'),
        ["columns.dose.fill", "a text", "categories"],
    ),
    "an option of columns misspelt": (
        edit("job.toml", r"\Z", '[columns.dose]\ncategory = ["a"]\n'),
        ["columns.dose.category", "did you mean categories"],
    ),
    "found categories without a word on texts of few rows": (
        edit("job.toml", r"\Z", '[columns.dose]\ncategories = "found"\n'),
        ["texts of a few rows", "[columns.dose]", "other = true", "min_rows = 1"],
    ),
    "categories that are no list": (
        edit("job.toml", r"\Z", '[columns.dose]\ncategories = "find"\n'),
        ["columns.dose.categories", "a list of texts, or 'found'", "got: 'find'", 'say categories = "found"'],
    ),
    "ids that repeat": (
        described(edit("east.csv", "^east0,", "east1,")),
        ["east", "ids that repeat", "1 rows"],
    ),
    "an id column misspelt": (described(edit("site.toml", '"who"', '"whom"')), ["'whom'", "did you mean 'who'"]),
    "another separator": (
        lambda place: (place.folder / "east.csv").write_text((place.folder / "east.csv").read_text().replace(",", ";")),
        ["east.csv", "semicolons", 'separator = ";"'],
    ),
    "a separator that is none": (
        edit("site.toml", 'label = "ill"', 'label = "ill"\nseparator = ":"'),
        ["separator refused", "';'", "'\\t'"],
    ),
    "a decimal comma": (
        edit("east.csv", r"^(-?\d[^,\n]*),([^,\n]+)", r'"1,5",\2'),
        ["line 2", "'age'", "decimal comma", 'decimal = ","'],
    ),
    "an encoding that is none": (
        edit("site.toml", 'label = "ill"', 'label = "ill"\nencoding = "utf8000"'),
        ["encoding refused", "cp1252"],
    ),
    "an option of another source": (
        edit("site.toml", 'label = "ill"', 'label = "ill"\nzero_based = true'),
        ["zero_based", "is not a setting"],
    ),
    "libsvm without columns": (sparse(edit("site.toml", "\ncolumns = 3", "")), ["columns is missing", "whole number"]),
    "libsvm with too few columns": (
        sparse(edit("site.toml", "columns = 3", "columns = 2")),
        ["index beyond the columns", "raise columns"],
    ),
    "libsvm with other columns at one party": (
        sparse(edit("site.toml", "columns = 3", "columns = 4")),
        ["north and east", "'column_4'"],
    ),
    "a libsvm line that is none": (
        sparse(edit("east.libsvm", r"\A.*", f"1 1:{SECRET}")),
        ["east.libsvm, line 1", "INDEX:VALUE"],
    ),
    "sparse rows and categories": (
        sparse(edit("job.toml", r"\Z", '[columns.column_1]\ncategories = ["1"]\n')),
        ["north is sparse", "[columns.column_1]"],
    ),
    "sparse that is no truth value": (
        edit("job.toml", 'data = "visits"', 'data = "visits"\nsparse = "yes"'),
        ["sparse", "true or false"],
    ),
    "a kind of source that is none": (
        edit("site.toml", 'source = "csv"', 'source = "word"'),
        ["no kind of data source", "'parquet'", "'libsvm'", "'npy'"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_short_answer_and_nothing_written(name: str, workplace) -> None:
    change, words = CASES[name]
    change(workplace)
    answer = workplace.run()
    assert answer.code == 2, answer.out
    said = " ".join(answer.err.split())
    assert [word for word in words if word not in said] == [], said
    assert SECRET not in answer.err + answer.out
    assert "Traceback" not in answer.err
    assert not workplace.runs.exists()
