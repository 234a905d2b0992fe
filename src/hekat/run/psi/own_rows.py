"""The file that a learner of an intersection keeps: its own common ids, readable only by the owner."""

from __future__ import annotations

from pathlib import Path

from hekat.data import Ids
from hekat.data.sources.csv_text import csv_bytes
from hekat.protocol.psi.roles import Intersection
from hekat.state import replace_file

INTERSECTION_FOLDER = "intersection"


def save_own_rows(run_folder: Path, party: str, ids: Ids, found: Intersection) -> Path | None:
    """Write intersection/PARTY.csv of mode 600: the party's own ids of common rows, in the order common to all.

    Line k is the same record at every party that learns. Returns the path; None where the party learned no rows.
    Raises StateError where the disk does not take the file.
    """
    if found.rows is None:
        return None
    path = run_folder / INTERSECTION_FOLDER / f"{party}.csv"
    replace_file(path, csv_bytes([ids.names, *ids.take(found.rows).to_rows()]), mode=0o600)
    return path
