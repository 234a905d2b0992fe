"""Cuts a table into rows to train on and rows held out."""

from __future__ import annotations

import numpy as np

from hekat.data.table import Table
from hekat.errors import InputError


def split_rows(table: Table, fraction: float, seed: int) -> tuple[Table, Table]:
    """(kept, held out): a random `fraction` of the rows is held out, the same for the same seed, each in row order.

    The count is rounded to the nearest. Raises InputError where either part would be empty.
    """
    held_out_count = round(len(table) * fraction) if 0 < fraction < 1 else 0
    if not 0 < held_out_count < len(table):
        raise InputError(
            f"{table.name} cannot be split",
            expected="a fraction between 0 and 1 that leaves at least one row on each side",
            got=f"fraction {fraction} of {len(table)} rows",
            cure="change the fraction",
        )
    order = np.random.default_rng(seed).permutation(len(table))
    return table.take(np.sort(order[held_out_count:])), table.take(np.sort(order[:held_out_count]))
