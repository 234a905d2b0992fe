"""Tables of real databases: SQLite files, and a PostgreSQL server of the test's own where one is installed."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hekat.data import ColumnSpec, ColumnSpecs, NamedColumns, SqlSource, load_ids, load_sql, load_table, named_columns
from hekat.errors import InputError

SPECS = ColumnSpecs((ColumnSpec("dose", fill=1.0), ColumnSpec("town", ("Bonn", "Ulm"), fill="Ulm")))
NAMES = ("patient", "age", "dose", "town", "seen", "sick")
ROWS = [
    ("p3", 61, 2.5, "Ulm", "1970-01-02", "yes"),
    ("p1", 40, None, None, "1969-12-31", "no"),
    ("p2", 25, 0.5, " Bonn", None, "yes"),
]
CREATE = (
    "CREATE TABLE visits (patient {text} PRIMARY KEY, age INTEGER, dose {real}, town {text}, seen {date}, sick {text})"
)
EXPECTED = [[40, 1.0, 0, 1, -1.0], [25, 0.5, 1, 0, np.nan], [61, 2.5, 0, 1, 1.0]]
SECRET = "hunter2"


def make_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(CREATE.format(text="TEXT", real="REAL", date="TEXT"))
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    database.close()


@pytest.fixture(scope="module", autouse=True)
def _needs_sqlalchemy() -> None:
    pytest.importorskip("sqlalchemy", reason="needs hekat[sql]")


@pytest.fixture
def sqlite(tmp_path) -> Path:
    make_sqlite(tmp_path / "visits.db")
    return tmp_path


OPTIONS = {"url": "sqlite:///visits.db", "label": "sick", "id": "patient", "ignore": ["s*n"], "missing": ["-"]}


def test_a_table_comes_in_the_order_of_its_key(sqlite) -> None:
    table = load_table(
        "sql", {**OPTIONS, "table": "visits"}, sqlite, name="clinic", classes=["no", "yes"], columns=SPECS
    )
    assert table.feature_names == ("age", "dose", "town=Bonn", "town=Ulm")
    np.testing.assert_array_equal(table.features, [row[:4] for row in EXPECTED])
    assert table.labels.tolist() == [0, 1, 1]
    assert table.ids.to_rows() == [("p1",), ("p2",), ("p3",)]


def test_a_query_gives_the_columns_that_it_names(sqlite) -> None:
    query = "SELECT age, julianday(seen) - julianday('1970-01-01') AS day, sick FROM visits WHERE age > 30 ORDER BY age"
    table = load_sql(SqlSource(url="sqlite:///visits.db", query=query, folder=sqlite), NamedColumns(label="sick"))
    assert table.feature_names == ("age", "day")
    np.testing.assert_array_equal(table.features, [[40, -1], [61, 1]])


def test_dates_that_are_asked_for_are_days(sqlite) -> None:
    specs = ColumnSpecs((ColumnSpec("seen", fill=0.0),))
    options = NamedColumns(only=("seen",), dates=("seen",))
    table = load_sql(SqlSource(url="sqlite:///visits.db", table="visits", folder=sqlite), options, columns=specs)
    np.testing.assert_array_equal(table.features, [[-1], [0], [1]])


def test_ids_and_names_are_read_alone(sqlite) -> None:
    options = {**OPTIONS, "table": "visits"}
    assert load_ids("sql", options, sqlite, name="clinic").to_rows() == [("p1",), ("p2",), ("p3",)]
    assert named_columns("sql", options, sqlite) == NAMES


def test_many_rows_come_in_batches_and_a_column_may_change_its_kind(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE a (x, y)")
        rows = [(number, None) for number in range(15_000)] + [(None, "late"), (1.5, 7)]
        database.executemany("INSERT INTO a VALUES (?, ?)", rows)
    specs = ColumnSpecs((ColumnSpec("x", fill=-1.0), ColumnSpec("y", ("late", "7"), fill="7")))
    table = load_sql(SqlSource(url="sqlite:///a.db", table="a", folder=tmp_path), columns=specs)
    assert len(table) == 15_002
    np.testing.assert_array_equal(table.features[-3:], [[14_999, 0, 1], [-1, 1, 0], [1.5, 0, 1]])


def test_nothing_can_be_written(sqlite) -> None:
    before = (sqlite / "visits.db").read_bytes()
    with pytest.raises(InputError, match=r"cannot be read|gives no rows"):
        load_sql(SqlSource(url="sqlite:///visits.db", query="DELETE FROM visits", folder=sqlite))
    assert (sqlite / "visits.db").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"url": "sqlite:///missing.db", "table": "visits"}, "is not there"),
        ({"url": "sqlite:///visits.db", "table": "visit"}, "no table 'visit'"),
        ({"url": "sqlite:///visits.db"}, "needs table or query"),
        ({"url": "sqlite:///visits.db", "table": "visits", "query": "SELECT 1"}, "got both"),
        ({"table": "visits"}, "needs url or url_variable"),
        ({"url": f"postgresql://reader:{SECRET}@localhost/x", "table": "visits"}, "url_variable"),
        ({"url": f"{SECRET} ?", "table": "visits"}, "cannot be read"),
        ({"url": f"postgresql://reader:p@ss:{SECRET}@localhost/x", "table": "visits"}, "cannot be read"),
        ({"url": f"postgresql://localhost/x?password={SECRET}", "table": "visits"}, "url_variable"),
        ({"url": f"oracle+nonsense://{SECRET}@localhost/x", "table": "visits"}, "not installed"),
        ({"url_variable": "HEKAT_TEST_NO_SUCH_URL", "table": "visits"}, "HEKAT_TEST_NO_SUCH_URL"),
        ({"url": "sqlite:///visits.db", "query": f"SELECT '{SECRET}' FROM nowhere"}, "cannot be read"),
        ({"url": "sqlite:///visits.db", "query": "SELECT age, dose AS age FROM visits"}, "repeats a name"),
        ({"url": "sqlite:///visits.db", "query": "SELECT age, zeroblob(3) AS scan FROM visits"}, "type bytes"),
        ({"url": "sqlite:///visits.db", "table": "visits", "columns": ["agee"]}, "did you mean 'age'"),
        ({"url": "sqlite:///visits.db", "table": "visits", "columns": ["lab_*"]}, "no column 'lab_*'"),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_secret(options, words, sqlite) -> None:
    with pytest.raises(InputError) as refused:
        load_table("sql", options, sqlite, name="clinic", classes=None)
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_url_with_a_password_comes_from_the_environment(sqlite, monkeypatch) -> None:
    monkeypatch.setenv("HEKAT_TEST_URL", "sqlite:///visits.db")
    options = {**OPTIONS, "table": "visits", "url_variable": "HEKAT_TEST_URL", "columns": ["a*"]}
    del options["url"]
    assert load_table("sql", options, sqlite, name="clinic", classes=["no", "yes"]).feature_names == ("age",)


def postgres_programs() -> Path | None:
    """Where PostgreSQL's server lies; Debian keeps it off the path."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "postgres").exists()), None)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """The URL of a server that listens at a socket in a folder of the test's own, and at no port."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    pytest.importorskip("psycopg", reason="needs hekat[dev]")
    folder = tmp_path_factory.mktemp("pg")
    # The server refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if Path("/root").owner() == Path.home().owner() == "root" else []
    if user:
        folder = Path(
            subprocess.run([*user, "mktemp", "-d"], check=True, capture_output=True, text=True).stdout.strip()
        )
    data, log = folder / "data", folder / "log"
    control = [*user, programs / "pg_ctl", "-D", data, "-l", log, "-w"]
    subprocess.run(
        [*user, programs / "initdb", "-D", data, "-A", "trust", "-U", "reader", "-N"], check=True, capture_output=True
    )
    try:
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        subprocess.run([*control, "-o", settings, "start"], check=True, capture_output=True)
        yield f"postgresql+psycopg://reader@/postgres?host={folder}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)
        if user:
            subprocess.run([*user, "rm", "-r", "--", folder], check=True)


def test_a_postgresql_server_gives_the_same_table(postgres, monkeypatch) -> None:
    import psycopg

    with psycopg.connect(postgres.replace("+psycopg", "")) as database:
        database.execute(CREATE.format(text="TEXT", real="NUMERIC(8, 3)", date="DATE"))
        database.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s)", ROWS)
    monkeypatch.setenv("HEKAT_TEST_URL", postgres)
    options = {
        "url_variable": "HEKAT_TEST_URL",
        "table": "public.visits",
        "label": "sick",
        "id": "patient",
        "dates": ["seen"],
    }
    specs = ColumnSpecs((*SPECS, ColumnSpec("seen", fill=9.0)))
    table = load_table("sql", options, Path(), name="clinic", classes=["no", "yes"], columns=specs)
    np.testing.assert_array_equal(table.features, np.nan_to_num(EXPECTED, nan=9.0))
    assert table.ids.to_rows() == [("p1",), ("p2",), ("p3",)]
    undated = {**options, "dates": []}
    with pytest.raises(InputError, match=r'dates = \["COLUMN"\]'):
        load_table("sql", undated, Path(), name="clinic", classes=["no", "yes"], columns=specs)
    for query in (
        "DELETE FROM visits RETURNING age",
        "WITH gone AS (DELETE FROM visits RETURNING age) SELECT 1 AS age",
    ):
        with pytest.raises(InputError, match="cannot be read"):
            load_table("sql", {**options, "table": None, "query": query}, Path(), name="clinic", classes=None)
    assert len(load_ids("sql", options, Path(), name="clinic")) == 3
    wrong = {**options, "table": None, "query": f"SELECT '{SECRET}'::int AS age"}
    with pytest.raises(InputError) as refused:
        load_table("sql", wrong, Path(), name="clinic", classes=None)
    assert SECRET not in str(refused.value)
