"""Refuses sums that no rows can have: a party that counts wrongly is found out, though not by name."""

from __future__ import annotations

from typing import NoReturn

from hekat.errors import ProtocolError


def refuse_counts(step: str) -> NoReturn:
    """Raise ProtocolError for sums of counts that do not fit together."""
    raise ProtocolError(
        f"counts of rows do not fit together in {step}",
        expected="as many rows in the bins of one column as in the bins of any other, and no more than before",
        got="other sums",
        cure="a party counted other rows than before, or sent what it did not count; nobody can see which one, since "
        "sums alone open: compare Hekat's release and the job at all parties, and run the parties' sums again without "
        "one after the other",
    )
