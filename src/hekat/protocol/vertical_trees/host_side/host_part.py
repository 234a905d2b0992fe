"""What a host keeps of a training: its columns in bins, and the splits that are its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import ProtocolError
from hekat.ledger import Ledger
from hekat.model.trees import BinnedTable, LocalColumns, Split
from hekat.protocol.vertical_trees.arithmetic.odds import note_odds
from hekat.protocol.vertical_trees.host_side.level_rows import LevelRows
from hekat.protocol.vertical_trees.leak_rule import measure_leak
from hekat.protocol.vertical_trees.messages import ChosenSplitsMessage
from hekat.protocol.vertical_trees.model_part import MASK_BINS, SPLIT_COLUMNS, SPLIT_LEFT, TreesPart, bins_as_arrays
from hekat.protocol.vertical_trees.own_table import bin_own_table
from hekat.protocol.vertical_trees.party_run import TreesRun, TreeState
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings

MASK_BYTES = MASK_BINS // 8


@dataclass
class HostPart:
    """A host's columns and its splits so far, in the order in which the guest asked for them."""

    party: str
    settings: VerticalTreesSettings
    column_names: tuple[str, ...]
    table: BinnedTable = field(repr=False)
    trees_done: int
    model_id: str
    split_columns: list[int] = field(default_factory=list, repr=False)
    split_left: list[npt.NDArray[np.uint8]] = field(default_factory=list, repr=False)

    @classmethod
    def begin(cls, party: str, table: Table, settings: VerticalTreesSettings, run: TreesRun) -> HostPart:
        """Put the columns of `table` into bins, and take the splits that training goes on with."""
        binned = bin_own_table(table, settings, run, may_be_empty=False)
        before = run.resume_from or run.start_from
        part = cls(
            party, settings, table.feature_names, binned, run.trees_done, "" if before is None else before.model_id
        )
        if before is not None:
            part.split_columns = before.arrays[SPLIT_COLUMNS].tolist()
            part.split_left = list(before.arrays[SPLIT_LEFT])
        return part

    def check_leak(self, ledger: Ledger) -> None:
        """Note what sums tell of this host's columns, and hold it to the rules. Raises PolicyError, BoundError."""
        bin_counts = [bins.bin_count for bins in self.table.bins]
        leak = measure_leak(self.settings, self.table.digits, bin_counts)
        ledger.note("setup", leak.describe(), "disclosed")
        leak.check(self.party, self.settings)
        note_odds(ledger, self.settings, self.table.row_count, bin_counts)

    def keep_split(self, column: int, left: npt.NDArray[np.bool_]) -> None:
        """Keep a split of one of its columns: which of the column's bins go left."""
        mask = np.zeros(MASK_BINS, bool)
        mask[: left.size] = left
        self.split_columns.append(column)
        self.split_left.append(np.packbits(mask))

    def read_splits(
        self, chosen: ChosenSplitsMessage, rows: LevelRows, columns: LocalColumns, guest: str
    ) -> list[Split]:
        """The splits that the guest asks of this host.

        Raises ProtocolError for nodes and columns without sums, and for sides that are not of their joined bins.
        """
        count = chosen.nodes.size
        if chosen.nodes.shape != (count,) or chosen.columns.shape != (count,) or chosen.left.ndim != 1:
            raise _refused(guest, "splits in another form", "one node and one column for each split")
        splits: list[Split] = []
        at = 0
        may_split = {node for one in rows.asked for node in (one.node, one.sibling)}
        for place, column in zip(chosen.nodes.tolist(), chosen.columns.tolist(), strict=True):
            node = rows.nodes[place] if 0 <= place < len(rows.nodes) else None
            if node is None or node not in may_split or any(node == split.node for split in splits):
                raise _refused(guest, "splits a node that cannot be split", "nodes whose sums it has, each once")
            if not 0 <= column < self.table.column_count:
                raise _refused(guest, "splits on a column that does not exist", f"0 to {self.table.column_count - 1}")
            bin_count = int(columns.joined_of(node).bin_counts[column])
            left = chosen.left[at : at + bin_count]
            at += bin_count
            if bin_count < 2 or left.size != bin_count or (left > 1).any():
                raise _refused(
                    guest, "splits on bins that it has no sums of", "a side for each joined bin of the column"
                )
            is_left = left.astype(bool)
            counts = columns.joined_rows_of(node)[column, :bin_count]
            left_count, right_count = int(counts[is_left].sum()), int(counts[~is_left].sum())
            if min(left_count, right_count) < rows.least_rows:
                raise _refused(guest, "splits a node into too few rows", f"{rows.least_rows:,} rows in each child")
            of_all = column + columns.first_column
            splits.append(Split(node, node, node, of_all, is_left, 0.0, left_count, right_count))
        if at != chosen.left.size:
            raise _refused(guest, "sends sides of bins that do not exist", f"{at} sides")
        return splits

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The party's bins and splits by name."""
        empty = np.zeros((0, MASK_BYTES), np.uint8)
        return {
            **bins_as_arrays(self.table.bins),
            SPLIT_COLUMNS: np.array(self.split_columns, np.int64),
            SPLIT_LEFT: np.stack(self.split_left) if self.split_left else empty,
        }

    def state(self, trees_done: int, model_id: str, *, finished: bool) -> TreeState:
        """What to resume from after so many iterations."""
        self.trees_done, self.model_id = trees_done, model_id
        return TreeState(self.arrays, trees_done, finished, model_id=model_id)

    def model_part(self, model_id: str) -> TreesPart:
        """The host's part of the model."""
        settings = self.settings
        return TreesPart(
            self.party,
            settings.guest,
            settings.hosts,
            settings.task,
            settings.classes,
            self.column_names,
            model_id,
            self.trees_done,
            self.arrays,
            label_privacy=settings.label_privacy,
        )


def _refused(guest: str, what: str, expected: str) -> ProtocolError:
    return ProtocolError(
        f"{guest} {what}",
        expected=expected,
        got="something else",
        cure="find out what runs there: this release does not send that",
    )
