"""Which rows each party trains on, in the run's folder: a run is resumed on the very rows, in the very order.

The order counts: it says which rows are held out, which fold a row is in and what a batch holds, and it rounds sums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hekat.data import Table
from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import StateError
from hekat.run.row_identity import KEY_BYTES, RowIdentity
from hekat.state import replace_file

ROWS_FOLDER = "rows"
_FORMAT = 1
_DIGEST_BYTES = 32


def keep_rows(folder: Path, tables: Mapping[str, Table]) -> None:
    """Write the identities of these parties' tables into the run's `folder`, once, in a file of mode 600 that is named
    after the first of them: so the files of roles that play apart can lie together. Raises StateError."""
    if not tables:
        return
    path = folder / ROWS_FOLDER / f"{next(iter(tables))}.json"
    with disk_errors_as_state_errors(f"{path} could not be written"):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if path.is_file():
            return
    found = {party: RowIdentity.of(table) for party, table in tables.items()}
    rows = {party: {"key": one.key.hex(), "digest": one.digest.hex()} for party, one in found.items()}
    replace_file(path, json.dumps({"version": _FORMAT, "rows": rows}).encode())


def check_rows_kept(folder: Path, tables: Mapping[str, Table]) -> None:
    """Raise StateError where the run in `folder` trained on other rows of a party, or in another order; it says nothing
    of a run that kept none, under an earlier release."""
    place = folder / ROWS_FOLDER
    with disk_errors_as_state_errors(f"{place} cannot be read"):
        paths = sorted(place.glob("*.json")) if place.is_dir() else []
    known: dict[str, RowIdentity] = {}
    for path in paths:
        known |= _read(path)
    for party, table in tables.items():
        if party in known and not known[party].fits(table):
            raise StateError(
                f"the rows of {party} are not those that the run began with",
                expected="the same table: the same rows and labels in the same order, since this order says which rows "
                "are held out and what a batch holds",
                got="a table that differs, or its rows in another order",
                cure="put the table back as it was, or begin a new run, without --resume",
            )


def _read(path: Path) -> dict[str, RowIdentity]:
    try:
        content = json.loads(read_file(path))
        rows = {
            party: [bytes.fromhex(one[name]) for name in ("key", "digest")] for party, one in content["rows"].items()
        }
        is_whole = all([len(part) for part in parts] == [KEY_BYTES, _DIGEST_BYTES] for parts in rows.values())
        if content["version"] == _FORMAT and is_whole:
            return {party: RowIdentity(*parts) for party, parts in rows.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise StateError(
        f"{path} does not say which rows the run began with",
        expected="what Hekat wrote there",
        got="another content",
        cure="put the run's folder back as it was left, or begin a new run, without --resume",
    )
