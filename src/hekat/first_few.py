"""A list in words that tells of its length where it is cut."""

from __future__ import annotations

from collections.abc import Sequence


def first_few(texts: Sequence[str], most: int) -> str:
    """The first `most` texts, with commas between them, and how many more there are.

    Examples:
        >>> first_few(["age", "dose", "ward"], 2)
        'age, dose and 1 more'
    """
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")
