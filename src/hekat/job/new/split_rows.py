"""Deals the rows of one table out to several parties, so that a job can be tried where there is one table alone."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from pathlib import Path

from hekat.data.sources.csv_dialect import CsvDialect
from hekat.data.sources.csv_file import opened_csv
from hekat.errors import InputError

_SEED = 2025
_LEAST_ROWS = 10


def split_rows(path: Path, dialect: CsvDialect, parties: Sequence[str]) -> dict[str, bytes]:
    """The tables data/PARTY.csv in UTF-8, each with the header and about as many rows, which chance deals out.

    Raises InputError for fewer than 10 rows a party.
    """
    texts = {party: io.StringIO() for party in parties}
    writers = [csv.writer(text, delimiter=dialect.separator, lineterminator="\n") for text in texts.values()]
    with opened_csv(path, dialect) as (names, records, *_):
        rows = [cells for _, cells in records]
    if len(rows) < _LEAST_ROWS * len(parties):
        raise InputError(
            f"{path} has too few rows to deal out",
            expected=f"at least {_LEAST_ROWS} rows for each of {len(parties)} parties",
            got=f"{len(rows):,} rows",
            cure="name fewer parties, or leave out --split",
        )
    random.Random(_SEED).shuffle(rows)  # noqa: S311  # which party gets a row is no secret
    for number, writer in enumerate(writers):
        writer.writerow(names)
        writer.writerows(rows[number :: len(writers)])
    return {f"data/{party}.csv": text.getvalue().encode() for party, text in texts.items()}
