"""How wide the windows of a level are: the cheapest of what encrypted rows and answers cost together, public counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hekat.errors import BoundError
from hekat.protocol.vertical_trees.arithmetic.interface import Ranges
from hekat.scheme.bin_sums import BINS, SumLayout

NO_WINDOW: Final = 1
WIDEST: Final = 256
# Seconds on one core: a ciphertext of one component encrypted, or a group of rows prepared and multiplied with one
# answer's digits, or one answer concealed and opened; and a byte on a line of 1 Gbit/s.
ENCRYPT_S: Final = 0.25e-3
ANSWER_S: Final = 1.2e-3
BYTE_S: Final = 8e-9


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
    best: tuple[float, int] | None = None
    window, refusal = 1, None
    while window <= WIDEST:
        try:
            layout = SumLayout(BINS, window, max(1, *row_counts), ranges)
        except BoundError as error:
            refusal = error
        else:
            cost = level_seconds(layout, row_counts, bins)
            if best is None or cost < best[0]:
                best = cost, window
        window *= 2
    if best is None:
        assert refusal is not None
        raise refusal
    return best[1]


def level_seconds(layout: SumLayout, row_counts: Sequence[int], bins: Sequence[Sequence[int]]) -> float:
    """What grows or shrinks with the window in a level's cost: encrypting, concealing, opening, and bytes of all hosts.

    Products of rows with digits are as many whatever the window.
    """
    groups = layout.groups(sum(row_counts))
    answers = sum(-(-count // layout.window) for of_host in bins for count in of_host)
    numbers = sum(sum(of_host) for of_host in bins)
    degree, components = layout.parameters.degree, layout.components
    rows_bytes = groups * components * layout.parameters.polynomial_bytes * len(bins)
    answer_bytes = (answers * degree + numbers * components) * layout.sent_bytes
    seconds = groups * components * ENCRYPT_S + answers * ANSWER_S
    return seconds + (rows_bytes + answer_bytes) * BYTE_S
