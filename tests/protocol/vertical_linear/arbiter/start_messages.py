"""The guest's first message, made up for tests: two parties with few columns, unless a test says otherwise."""

from __future__ import annotations

from typing import Any

from hekat.protocol.vertical_linear.arbiter.messages import StartMessage


def make_start(row_count: int = 5, column_counts: tuple[int, ...] = (3, 2), **changes: Any) -> StartMessage:
    """A start of `row_count` rows and the parties' `column_counts`, with nothing trained yet."""
    fields = {"high_leverage_columns": 0, "feature_bits": 18, "target_bits": 1, "epochs_done": 0, "finished": False}
    return StartMessage(row_count=row_count, column_counts=list(column_counts), **(fields | changes))
