"""Reads a table from a database (extra hekat[sql]): a table of it, or what a query gives; never writes to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.data.columns.choose import check_names_differ, choose_id_columns
from hekat.data.columns.encode import encode_columns
from hekat.data.columns.specs import ColumnSpecs
from hekat.data.ids import Ids, make_ids
from hekat.data.sources.named_columns import NamedColumns
from hekat.data.sources.object_rows import BATCH_ROWS, table_of_rows
from hekat.data.sources.source_file import readable_file
from hekat.data.table import Table
from hekat.errors import InputError, missing_extra
from hekat.first_few import first_few

_EXAMPLE = "postgresql+psycopg://reader@localhost/hospital or sqlite:///visits.db"


@dataclass(frozen=True)
class SqlSource:
    """Where rows lie in a database.

    Args:
        url: The database as SQLAlchemy has it, without a password; or
        url_variable: the environment variable that holds the URL.
        table: Which table, TABLE or SCHEMA.TABLE; or
        query: a SELECT.
        folder: What a path of SQLite is relative to.

    Raises:
        InputError: None or both of `url` and `url_variable`, or of `table` and `query`, are said.

    Examples:
        >>> from hekat.data import SqlSource
        >>> SqlSource(url_variable="VISITS_URL", query="SELECT age, outcome FROM visits").table is None
        True
    """

    url: str | None = None
    url_variable: str | None = None
    table: str | None = None
    query: str | None = None
    folder: Path = Path()

    @classmethod
    def of_options(cls, options: Mapping[str, Any], folder: Path) -> SqlSource:
        """The source that the options of a site file describe.

        Args:
            options: As in the site file.
            folder: What a path of SQLite is relative to.

        Returns:
            The source.

        Raises:
            InputError: As the constructor.
        """
        names = ("url", "url_variable", "table", "query")
        return cls(**{name: options.get(name) for name in names}, folder=folder)

    def __post_init__(self) -> None:
        for first, second in (("url", "url_variable"), ("table", "query")):
            if (getattr(self, first) is None) == (getattr(self, second) is None):
                raise InputError(
                    f"a source of kind sql needs {first} or {second}",
                    expected="one of the two",
                    got="neither" if getattr(self, first) is None else "both",
                    cure=f"say one of them in the site file; a URL looks like {_EXAMPLE}",
                )


def load_sql(
    source: SqlSource,
    options: NamedColumns | None = None,
    *,
    columns: ColumnSpecs | None = None,
    sparse: bool = False,
    digest_rows: bool = False,
    name: str = "the database",
) -> Table:
    """Read a table from a database, in the order of its primary key; a query gives its own order.

    Args:
        source: Where the rows lie.
        options: The parts of the columns.
        columns: How columns become features; columns that it does not describe hold numbers.
        sparse: Hold the rows as a scipy.sparse.csr_array.
        digest_rows: Keep a digest of the rows.
        name: What errors call the table.

    Returns:
        The table.

    Raises:
        InputError: The database cannot be read so, or SQLAlchemy or a driver is missing (the message has the command
            that installs it); no message holds a value, a password or a part of the URL.

    Examples:
        >>> import sqlite3
        >>> from pathlib import Path
        >>> from hekat.data import NamedColumns, SqlSource, load_sql
        >>> with sqlite3.connect("visits.db") as database:
        ...     _ = database.execute("CREATE TABLE visits (age INTEGER, sick TEXT)")
        ...     _ = database.execute("INSERT INTO visits VALUES (61, 'yes'), (40, 'no')")
        >>> load_sql(SqlSource(url="sqlite:///visits.db", table="visits"), NamedColumns(label="sick")).features
        array([[61.],
               [40.]])
    """
    options = options or NamedColumns()
    with opened_sql(source, name) as (names, batches):
        raw = table_of_rows(names, batches, options.choose(name, names), options, name)
    return encode_columns(raw, ColumnSpecs() if columns is None else columns, sparse=sparse, digest_rows=digest_rows)


def load_sql_ids(source: SqlSource, *, id: str | Sequence[str], name: str = "the database") -> Ids:
    """The columns of ids alone; the others may hold anything. Raises InputError as `load_sql`."""
    with opened_sql(source, name) as (names, batches):
        places = {one: names.index(one) for one in choose_id_columns(name, names, id).ids}
        rows = [row for batch in batches for row in batch]
    return make_ids({one: [row[place] for row in rows] for one, place in places.items()}, name)


def sql_column_names(source: SqlSource, name: str = "the database") -> tuple[str, ...]:
    """The names of all columns; no row is fetched. Raises InputError."""
    with opened_sql(source, name) as (names, _):
        return names


def sql_table_names(source: SqlSource, name: str = "the database") -> tuple[str, ...]:
    """The names of tables and views of the database's usual schema, whatever `source` reads. Raises InputError."""
    sql = _import_sqlalchemy()
    engine = _engine(source, sql, name)
    try:
        with engine.connect() as connection:
            inspector = sql.inspect(connection)
            return (*inspector.get_table_names(), *inspector.get_view_names())
    except sql.exc.SQLAlchemyError as error:
        raise _failed(error, source, name) from None
    finally:
        engine.dispose()


@contextmanager
def opened_sql(source: SqlSource, name: str) -> Iterator[tuple[tuple[str, ...], Iterator[Sequence[Sequence[Any]]]]]:
    """The names of the columns, and the rows in batches of at most 10,000. Raises InputError, inside the block too."""
    sql = _import_sqlalchemy()
    engine = _engine(source, sql, name)
    try:
        with engine.connect() as opened:
            connection = opened.execution_options(stream_results=True, max_row_buffer=BATCH_ROWS)
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            statement = sql.text(source.query) if source.query else _table(source, sql, connection, name)
            result = connection.execute(statement)
            if not result.returns_rows:
                raise InputError(
                    f"the query of {name} gives no rows", expected="a SELECT", got="another statement",
                    cure="correct query in the site file",
                )  # fmt: skip
            names = tuple(result.keys())
            check_names_differ(
                name, names, place="", empty="an empty name", cure="name the columns in the query: SELECT a AS b"
            )
            yield names, result.partitions(BATCH_ROWS)
    except sql.exc.SQLAlchemyError as error:
        raise _failed(error, source, name) from None
    finally:
        engine.dispose()


def _import_sqlalchemy() -> Any:
    try:
        import sqlalchemy
        import sqlalchemy.exc
    except ImportError as error:
        raise missing_extra("databases need SQLAlchemy", "sql", error) from None
    return sqlalchemy


def _engine(source: SqlSource, sql: Any, name: str) -> Any:
    text = source.url
    if source.url_variable is not None:
        text = os.environ.get(source.url_variable)
        if not text:
            raise InputError(
                f"the environment variable {source.url_variable} is not set",
                expected=f"the URL of the database of {name}, such as {_EXAMPLE}",
                got="nothing",
                cure=f"set {source.url_variable} where hekat runs",
            )
    try:
        url = sql.make_url(text)
    except (sql.exc.ArgumentError, ValueError):  # a port that is no number: the error's text quotes it
        raise InputError(
            f"the URL of the database of {name} cannot be read",
            expected=f"such as {_EXAMPLE}",
            got="another text",
            cure="correct url in the site file"
            if source.url
            else f"correct {source.url_variable}; in a password write %40 for @, %3A for : and %2F for /",
        ) from None
    secrets = {"password", "passwd", "pwd"} & {key.lower() for key in url.query}
    if source.url is not None and (url.password is not None or secrets):
        raise InputError(
            f"the URL of the database of {name} holds a password",
            expected="no password in a file",
            got="one in url",
            cure='say url_variable = "NAME" instead of url in the site file, and put the URL into that environment '
            "variable; or leave the password to the driver's own file, such as ~/.pgpass",
        )
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
        path = source.folder / url.database
        with readable_file(path):
            pass
        # SQLite would make a new file where there is none, and take locks to write.
        url = url.set(database=f"file:{path.resolve().as_posix()}", query={"mode": "ro", "uri": "true"})
    try:
        return sql.create_engine(url, poolclass=sql.pool.NullPool)
    except (sql.exc.NoSuchModuleError, ImportError) as error:
        package = error.name if isinstance(error, ImportError) else None
        raise InputError(
            f"the driver of the database of {name} is not installed",
            expected=f"the driver that SQLAlchemy has for {url.drivername}",
            got=f"no {package}" if package else "no such dialect",
            cure=f"pip install {_PACKAGES.get(package, package)}" if package else f"use a URL such as {_EXAMPLE}",
        ) from None
    except (sql.exc.SQLAlchemyError, ValueError, TypeError) as error:
        raise _failed(error, source, name) from None


# Where the package is called otherwise than its module.
_PACKAGES = {"psycopg": "'psycopg[binary]'", "psycopg2": "psycopg2-binary", "MySQLdb": "mysqlclient"}


def _table(source: SqlSource, sql: Any, connection: Any, name: str) -> Any:
    """The statement that reads the whole table, in the order of its primary key."""
    assert source.table is not None
    schema, _, table = source.table.rpartition(".")
    inspector = sql.inspect(connection)
    views = [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)]
    if table not in views:
        shown = first_few(sorted(views), 8)
        raise InputError(
            f"the database of {name} has no table {source.table!r}",
            expected=f"one of {shown}" if views else "a table, and it has none",
            got=source.table,
            cure="correct table in the site file",
        )
    columns = inspector.get_columns(table, schema or None)
    keys = inspector.get_pk_constraint(table, schema or None).get("constrained_columns") or []
    listed = [sql.column(column["name"]) for column in columns]
    return sql.select(*listed).select_from(sql.table(table, schema=schema or None)).order_by(*map(sql.column, keys))


def _failed(error: Any, source: SqlSource, name: str) -> InputError:
    """The kind of the driver's error; its text is left out, since it may hold a value or the URL."""
    kind = type(getattr(error, "orig", None) or error).__name__
    return InputError(
        f"the database of {name} cannot be read",
        expected="a database that answers, and a table or query that it takes",
        got=kind,
        cure="try the query with the database's own client"
        if source.query
        else "check that the database can be reached",
    )
