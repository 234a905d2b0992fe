"""With what odds the sums of a whole run show anything of the noise that hides a host's rows, before the run begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hekat.ledger import Ledger
from hekat.protocol.vertical_trees.arithmetic.window import valid_layouts
from hekat.protocol.vertical_trees.leak_rule import count_opened
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.sums_plan import NODES_AT_ONCE, root_ranges, tree_ranges
from hekat.scheme.bin_sums import SumLayout


def note_odds(ledger: Ledger, settings: VerticalTreesSettings, row_count: int, bin_counts: Sequence[int]) -> None:
    """Note how many sums a run may open on columns with so many bins each, and with what odds they show more.

    Raises BoundError as `check_room`, before anything leaves.
    """
    ledger.note("setup", check_room(settings, row_count, bin_counts), "disclosed")


def check_room(settings: VerticalTreesSettings, row_count: int, bin_counts: Sequence[int]) -> str:
    """The line of the ledger: how many sums a run may open, and with what odds they show more.

    Raises BoundError where a level's sums have no room or a run's odds are above 2^-30.
    """
    numbers = sum(count_opened(settings, row_count, count)[0] for count in bin_counts)
    told = f"the guest opens at most {numbers:,} numbers on {len(bin_counts)} columns"
    if settings.protection == "lattice":
        layout = min(_layouts(settings, row_count), key=lambda one: one.flood_bits)
        layout.check_run(numbers)
        told += f"; any of them shows anything but sums with odds of at most 2^-{layout.run_bits(numbers):.0f}"
    return told


def _layouts(settings: VerticalTreesSettings, row_count: int) -> Iterator[SumLayout]:
    """Every layout that a level of the run may have."""
    yield from valid_layouts(row_count, root_ranges(settings))
    if settings.hide_partition:
        nodes = min(NODES_AT_ONCE, settings.target_count << settings.training.max_depth)
        yield from valid_layouts(row_count, tree_ranges(settings) * nodes)
    elif settings.training.max_depth > 1:
        yield from valid_layouts(max(1, row_count // 2), tree_ranges(settings))
