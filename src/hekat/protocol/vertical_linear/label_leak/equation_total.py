"""What the gradients of all hosts tell together: hosts that share their gradients have the sum of their equations."""

from __future__ import annotations

from collections.abc import Sequence


def describe_equation_total(batch_count: int, host_columns: Sequence[int], row_count: int) -> str:
    """The line of the ledger on all hosts together; `host_columns` has the number of columns of each."""
    total = batch_count * sum(host_columns)
    return (
        f"all {len(host_columns)} hosts together learn {total:,} linear equations over {row_count:,} rows: "
        f"{total / row_count:.3g} for each row"
    )
