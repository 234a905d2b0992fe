"""The memory that sums take at a host, held to the site's bound before any of it is taken.

How much it is follows from what the guest's messages name: how many nodes are asked, and how wide windows are. So a
guest that asks for much ends the run, not the host's machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hekat.data.number_text import count_of
from hekat.errors import PolicyError

SUM_MEMORY_MIB: Final = 4096
"""What a site lets a job have unless its policy says otherwise."""
MIB: Final = 1 << 20
# A node's counts of rows by column and bin, how bins are joined, and what works on both: measured 30 to 60 bytes a
# column and bin of each asked node at work, and 20 that stay to the end of the iteration, for the node and its sibling.
CELL_BYTES: Final = 80
# Numbers of one block of rows by column: the sum that each row belongs to.
DIGIT_BYTES: Final = 8
# A row of a split: its side, beside its sides of other splits, and packed.
SIDE_BYTES: Final = 3


@dataclass
class SumMemory:
    """What the trees of an iteration take so far, up to `most_mib`.

    Every method raises PolicyError, with the line of the site's policy, where the guest asks for more than that.
    """

    guest: str
    most_mib: int
    _kept_bytes: int = 0

    def begin_iteration(self) -> None:
        """Nothing is kept of the trees before."""
        self._kept_bytes = 0

    def take_nodes(self, node_count: int, column_count: int, bin_count: int) -> None:
        """Take what so many asked nodes need, each with all columns and as many bins as the widest has."""
        self._kept_bytes += CELL_BYTES * node_count * column_count * bin_count
        self._check(0, f"{count_of(node_count, 'node')} of {count_of(column_count, 'column')} in a level")

    def check_sums(self, sums_bytes: int, digits: int, what: str) -> None:
        """Check what one exchange takes besides: its sums, and the digits of a block. `what` says the sums in words."""
        self._check(sums_bytes + DIGIT_BYTES * digits, what)

    def check_sides(self, split_count: int, row_count: int) -> None:
        """Check what the sides of all rows at so many splits take."""
        what = f"the sides of {count_of(row_count, 'row')} at {count_of(split_count, 'split')}"
        self._check(SIDE_BYTES * split_count * row_count, what)

    def _check(self, at_work_bytes: int, what: str) -> None:
        needed = self._kept_bytes + at_work_bytes
        if needed > self.most_mib * MIB:
            raise PolicyError(
                f"{self.guest} asks for sums that take more memory than the site lets a job have",
                expected=f"at most policy.max_sum_memory_mib = {self.most_mib:,} MiB",
                got=f"about {-(-needed // MIB):,} MiB: {what}",
                cure="lower training.max_bins or training.max_depth in the job, leave columns out here, or let the "
                "site's owner raise policy.max_sum_memory_mib",
            )
