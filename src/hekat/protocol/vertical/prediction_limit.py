"""How many rows may be predicted with one party's part of a model: the refusal, wherever the rows are counted."""

from __future__ import annotations

from hekat.errors import PolicyError

MAX_PREDICTIONS = 100_000
"""The limit of a site that names none: enough for most test tables. What scores tell adds up, and no number of them is
known to be safe: a site raises the limit on purpose, not by accident."""


def check_prediction_limit(holder: str, row_count: int, used: int, limit: int, setting: str) -> None:
    """Refuse a prediction that would take a part of a model past its limit.

    Args:
        holder: The owner of the limit: a party, or its site.
        row_count: How many rows are to be predicted.
        used: How many rows were predicted with the part before.
        limit: How many rows may be predicted in all.
        setting: Where the limit stands, as its owner would look for it.

    Raises:
        PolicyError: `used + row_count` passes `limit`.
    """
    if used + row_count > limit:
        raise PolicyError(
            f"{holder} does not allow so many predictions with its part of the model",
            expected=f"at most {limit:,} rows in all: {setting}",
            got=f"{row_count:,} rows after {used}",
            cure=f"predict fewer rows, train again where some were predicted before, or let the owner raise {setting}",
        )
