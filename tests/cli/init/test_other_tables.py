"""`hekat init --from` of databases, Excel and Parquet files: the same job as from CSV files, and it runs unedited."""

from __future__ import annotations

import csv
import datetime
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.job.horizontal.job_file import load_job
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job

NAMES = ("record", "age", "ward", "seen", "photo", "ill")
PARTIES = ("north", "east", "south")


def init(folder: Path, *options: str) -> int:
    try:
        return main(["init", str(folder), *options])
    except SystemExit as stop:  # argparse
        return int(stop.code or 0)


def rows_of(seed: int, count: int = 80) -> list[tuple[object, ...]]:
    """Numbers with gaps, texts with gaps, dates and truth values."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        age, ward = float(rng.integers(20, 90)), str(rng.choice(["Süd", "Nord"]))
        day = datetime.date(2024, 1, 1) + datetime.timedelta(days=int(rng.integers(300)))
        ill = age > 55 if number % 5 else age <= 55
        gaps = rng.random(2) < 0.1
        rows.append((1000 + number, None if gaps[0] else age, None if gaps[1] else ward, day, ill))
    return rows


def write_excel(path: Path, rows: list[tuple[object, ...]]) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs hekat[excel]")
    book = openpyxl.Workbook()
    for row in [("record", "age", "ward", "seen", "ill"), *rows]:
        book.active.append(row)
    book.save(path)


def write_parquet(path: Path, rows: list[tuple[object, ...]]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    columns = dict(zip(("record", "age", "ward", "seen", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pyarrow.table({**columns, "photo": [b"x"] * len(rows)}), path)


def write_sqlite(path: Path, rows: list[tuple[object, ...]]) -> None:
    pytest.importorskip("sqlalchemy", reason="needs hekat[sql]")
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE visits (record INTEGER PRIMARY KEY, age REAL, ward TEXT, seen TEXT, ill INTEGER)"
        )
        lines = [(record, age, ward, day.isoformat(), int(ill)) for record, age, ward, day, ill in rows]
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", lines)
    database.close()


WRITERS = {"xlsx": write_excel, "parquet": write_parquet, "db": write_sqlite}


@pytest.fixture(params=WRITERS)
def tables(request, tmp_path) -> list[str]:
    paths = [tmp_path / f"{name}.{request.param}" for name in PARTIES]
    for seed, path in enumerate(paths):
        WRITERS[request.param](path, rows_of(seed))
    return [str(path) for path in paths]


@pytest.mark.quick_cases("parquet")
def test_tables_of_every_kind_give_a_job_that_can_run(tables, tmp_path, capsys) -> None:
    assert init(tmp_path / "trial", "--from", *tables, "--label", "ill") == 0
    told = capsys.readouterr().out
    assert "all 80 rows" in told
    assert "label       ill: 0, 1" in told
    assert "dates       seen" in told
    assert "left out    record: names or numbers of records" in told
    assert "photo" not in told or "left out    photo: values of type bytes" in told
    job = load_job(tmp_path / "trial" / "job.toml")
    assert job.columns.find("ward").categories == ("Nord", "Süd")
    assert job.columns.find("age").fill == "median"
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


def write_csv(path: Path, rows: list[tuple[object, ...]]) -> None:
    """Semicolons, decimal commas, dates as Germans write them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(("record", "age", "ward", "seen", "ill"))
        for record, age, ward, day, ill in rows:
            shown = "" if age is None else f"{age:.1f}".replace(".", ",")
            writer.writerow((record, shown, ward or "", day.strftime("%d.%m.%Y"), int(ill)))


def test_each_table_may_be_of_its_own_kind(tmp_path, capsys) -> None:
    writers = {**WRITERS, "csv": write_csv}
    for seed, (ending, write) in enumerate(writers.items()):
        write(tmp_path / f"{ending}-site.{ending}", rows_of(seed))
    tables = [str(tmp_path / f"{ending}-site.{ending}") for ending in writers]
    assert init(tmp_path / "trial", "--from", *tables, "--label", "ill", "--table", "visits") == 2
    assert "has no sheet 'visits'" in capsys.readouterr().err
    assert init(tmp_path / "trial", "--from", *tables, "--label", "ill") == 0
    told = capsys.readouterr().out
    assert "numbers     age" in told
    assert "dates       seen" in told
    site = load_site(tmp_path / "trial" / "site.toml")
    sources = [site.parties[f"{ending}-site"].data["rows"] for ending in writers]
    assert [source.kind for source in sources] == ["excel", "parquet", "sql", "csv"]
    assert sources[-1].options["decimal"] == ","
    assert [source.options.get("date_format") for source in sources] == [None, None, None, "%d.%m.%Y"]
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


@pytest.mark.long
def test_a_vertical_job_of_two_kinds(tmp_path) -> None:
    write_sqlite(tmp_path / "bank.db", rows_of(1))
    lines = [f"{1010 + number},{number % 4}" for number in range(80)]
    (tmp_path / "insurer.csv").write_text("\n".join(["record,claims", *lines]))
    tables = [str(tmp_path / "insurer.csv"), str(tmp_path / "bank.db")]
    # The guest's table has the label, in whatever place it stands.
    assert init(tmp_path / "trial", "--protocol", "vertical_linear", "--label", "ill", "--from", *tables) == 0
    site = load_site(tmp_path / "trial" / "site.toml")
    assert {name: party.data["rows"].kind for name, party in site.parties.items()} == {"bank": "sql", "insurer": "csv"}
    assert main(["run", str(tmp_path / "trial" / "job.toml"), "--dry-run"]) == 0


def test_a_database_is_named_by_an_environment_variable(tmp_path, monkeypatch, capsys) -> None:
    write_sqlite(tmp_path / "a.db", rows_of(1))
    monkeypatch.setenv("VISITS_URL", f"sqlite:///{tmp_path / 'a.db'}")
    assert init(tmp_path / "trial", "--data", "sql", "--from", "VISITS_URL", "--label", "ill") == 0
    site = load_site(tmp_path / "trial" / "site.toml")
    first, second = (site.parties[name].data["rows"].options for name in ("alpha", "beta"))
    assert (first["url_variable"], first["table"]) == ("VISITS_URL", "visits")
    assert (second["url"], second["table"]) == ("sqlite:///data/beta.db", "visits")
    assert "sqlite:///" not in capsys.readouterr().out


def test_a_vertical_job_of_other_tables(tmp_path) -> None:
    write_sqlite(tmp_path / "bank.db", rows_of(1))
    with sqlite3.connect(tmp_path / "insurer.db") as database:
        database.execute("CREATE TABLE cover (record INTEGER PRIMARY KEY, claims INTEGER)")
        database.executemany("INSERT INTO cover VALUES (?, ?)", [(1010 + number, number % 4) for number in range(80)])
    database.close()
    write_sqlite(tmp_path / "two.db", rows_of(1))
    tables = [str(tmp_path / "bank.db"), str(tmp_path / "insurer.db")]
    options = ("--protocol", "vertical_linear", "--label", "ill", "--table", "visits")
    assert init(tmp_path / "one", *options, "--from", *tables) == 2  # the insurer's table is called otherwise
    with sqlite3.connect(tmp_path / "insurer.db") as database:
        database.execute("ALTER TABLE cover RENAME TO visits")
    database.close()
    assert init(tmp_path / "two", *options, "--from", *tables) == 0
    job, site = load_vertical_job(tmp_path / "two" / "job.toml"), load_site(tmp_path / "two" / "site.toml")
    assert job.hold_out == 0.2
    assert site.parties["bank"].data["rows"].kind == "sql"
    assert site.parties["insurer"].data["rows"].options["id"] == "record"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "a.csv", "--data", "libsvm"), "tables in files or databases"),
        (("--from", "a.csv", "--table", "x"), "leave out --table"),
        (("--table", "x"), "add --from FILE"),
        (("--from", "a.xlsx", "--split"), "leave out --split"),
        (("--from", "missing-one.db"), "is not there"),
        (("--from", "HEKAT_TEST_NO_SUCH_URL", "--data", "sql"), "HEKAT_TEST_NO_SUCH_URL is not set"),
        (("--from", "two.db"), "name it with --table"),
    ],
)
def test_what_is_not_clear_is_asked(options, words, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("two.db") as database:
        database.execute("CREATE TABLE a (x)")
        database.execute("CREATE TABLE b (x)")
    database.close()
    pytest.importorskip("sqlalchemy", reason="needs hekat[sql]")
    assert init(Path("new"), *options) == 2
    assert words in capsys.readouterr().err
    assert not Path("new").exists()
