"""How wide the windows of a level are: the cheapest of what encrypted rows and answers cost together, public counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hekat.errors import BoundError
from hekat.protocol.vertical_trees.arithmetic.interface import Ranges
from hekat.scheme.bin_sums import BINS, SumLayout

NO_WINDOW: Final = 1
WIDEST: Final = 256
# Seconds on one core of a server: a component of a group of rows encrypted and written; the same read by a host; a
# group of rows times the digits of one answer; an answer concealed, written, read and opened; a byte on 1 Gbit/s, and
# its checksums, seals and copies at both ends.
ENCRYPT_S: Final = 0.12e-3
READ_S: Final = 60e-6
PRODUCT_S: Final = 9e-6
ANSWER_S: Final = 0.25e-3
BYTE_S: Final = 14e-9


def choose_window(protection: str, row_counts: Sequence[int], bins: Sequence[Sequence[int]], ranges: Ranges) -> int:
    """The window of a level that costs least.

    Args:
        protection: As the job names it; only `lattice` has windows.
        row_counts: The rows of each asked node.
        bins: For each host the most sums of each asked node.
        ranges: For each component the least and the largest integer of a row.

    Raises BoundError where no window has room, with the cure.
    """
    if protection != "lattice":
        return NO_WINDOW
    layouts = valid_layouts(max(1, *row_counts), ranges)
    return min(layouts, key=lambda layout: level_seconds(layout, row_counts, bins)).window


def valid_layouts(row_count: int, ranges: Ranges) -> list[SumLayout]:
    """The layouts of all windows that have room for nodes of so many rows. Raises BoundError where none has."""
    found, refusal, window = [], None, 1
    while window <= WIDEST:
        try:
            found.append(SumLayout(BINS, window, row_count, ranges))
        except BoundError as error:
            refusal = error
        window *= 2
    if not found and refusal is not None:
        raise refusal
    return found


def level_seconds(layout: SumLayout, row_counts: Sequence[int], bins: Sequence[Sequence[int]]) -> float:
    """What a level costs all parties: encrypting, multiplying, concealing and opening, and bytes on the lines."""
    ends = np.cumsum(row_counts)
    # Groups that hold a row of each node: two nodes may share one.
    per_group = layout.rows_per_group
    spans = (ends - 1) // per_group - (ends - row_counts) // per_group + 1
    windows = -(-np.array(bins, np.int64) // layout.window)
    groups, answers, numbers = layout.groups(int(ends[-1])), int(windows.sum()), int(np.sum(bins))
    degree, components = layout.parameters.degree, layout.components
    rows_bytes = groups * components * layout.parameters.polynomial_bytes * len(bins)
    answer_bytes = (answers * degree + numbers * components) * layout.sent_bytes
    seconds = (
        groups * components * (ENCRYPT_S + len(bins) * READ_S)
        + float((windows * spans).sum()) * PRODUCT_S
        + answers * ANSWER_S
    )
    return seconds + (rows_bytes + answer_bytes) * BYTE_S
