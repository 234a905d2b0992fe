"""How large delta may be: below one over the units that a promise is about.

A mechanism that shows one row of a table of n whole, drawn by chance, keeps to epsilon 0 at a delta of 1 / n. So the
table to count is the one that the mechanism reads. A job's sums are of the rows of all parties, and its delta is held
against all rows that this machine knows of: its own party's alone where the parties are apart, since counts of rows are
not sums that a run under differential privacy may open. A site's budget is a promise about the rows of its own data
set, over all jobs, and its delta is held against these.

A loop of one's own hands over parts, and no table: its delta, and its budget's, are held against the most rows that the
party had in one call of the run so far. This is less than the rows of all parties, also where they play in one process,
so that a loop is refused alike wherever they play, and less than the party's table where its calls are batches. Whoever
writes the loop has to choose delta below one over all rows.

Source: Dwork and Roth 2014 (The algorithmic foundations of differential privacy), section 2.3.
"""

from __future__ import annotations


def delta_below(delta: float, count: int, units: str) -> str | None:
    """What delta has to be, in words, where `delta` lets one of `count` units show whole; None where it does not.

    Examples:
        >>> from hekat.privacy.accounting.largest_delta import delta_below
        >>> delta_below(0.01, 100, "the rows")
        'far less than 1 over the rows: by that chance one of them may show whole'
        >>> delta_below(1e-6, 100, "the rows")
    """
    if delta * count < 1:
        return None
    return f"far less than 1 over {units}: by that chance one of them may show whole"
