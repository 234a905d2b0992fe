"""Which columns of a table a job may use: the lists of the site file held against the header, before a row is read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hekat.data import id_column_names, named_columns
from hekat.errors import PolicyError
from hekat.first_few import first_few
from hekat.job.data_source import DataSource

_MOST_NAMES = 5


def check_columns(source: DataSource, folder: Path, place: str, only: Collection[str] | None = None) -> None:
    """Raise PolicyError where the table at `place` of the site file has features that its lists do not allow.

    `only` are the columns that are used, None for all. The label and the ids are named by the site itself, and what it
    ignores is never read: none of them is judged. Raises InputError where the header cannot be read.
    """
    if source.allowed_columns is None and not source.denied_columns:
        return
    features = [name for name in _feature_columns(source, folder) if only is None or name in only]
    denied = [name for name in features if name in source.denied_columns]
    if denied:
        raise _refuse(denied, place, "deny_columns", "columns that are not denied")
    allowed = source.allowed_columns
    others = [] if allowed is None else [name for name in features if name not in allowed]
    if allowed is not None and others:
        raise _refuse(others, place, "allow_columns", f"no column beside the {len(allowed)} that are allowed")


def _feature_columns(source: DataSource, folder: Path) -> tuple[str, ...]:
    """The columns of a file with a header that a job trains on. Raises InputError."""
    options = source.options
    left_out = {*options.get("ignore", ()), options.get("label"), *id_column_names(options.get("id"))}
    return tuple(name for name in named_columns(source.kind, options, folder) or () if name not in left_out)


def say_column_lists(source: DataSource) -> str:
    """What the lists of a source allow, without a name."""
    allowed = "all columns" if source.allowed_columns is None else f"{len(source.allowed_columns)} columns"
    return f"{allowed}, {len(source.denied_columns)} denied" if source.denied_columns else allowed


def _refuse(names: list[str], place: str, key: str, expected: str) -> PolicyError:
    shown = first_few([*map(repr, names)], _MOST_NAMES)
    return PolicyError(
        f"the site does not allow jobs to use columns of this table: {shown}",
        expected=expected,
        got=f"{len(names)} that {place}.{key} does not allow",
        cure=f"ignore them under [{place}], or let the site's owner change {place}.{key}",
    )
