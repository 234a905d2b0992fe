"""Caveats on test rows that a model was trained on."""

from __future__ import annotations

from collections.abc import Iterator


def caveats_on_test_rows(rows: int, trained_on: int) -> Iterator[str]:
    """What to keep in mind of metrics on `rows` rows, of them `trained_on` training rows too."""
    if rows and trained_on >= rows:
        yield (
            "the model was trained on all rows that the metrics are of: measured on the training rows, they say "
            "nothing of new rows"
        )
    elif trained_on:
        yield f"{trained_on:,} of the {rows:,} test rows are training rows too"
