"""The role of a host: it has columns and no labels.

    1. put its columns into bins; tell the guest how many each has; check by the guest's counts what sums will tell
    2. each level of the trees of an iteration: hear how the nodes of the last level were divided, and which nodes are
       asked; join bins that have too few rows in a node or its sibling; tell the guest which, and the rows of each
    3. add up the encrypted gradients of the asked nodes' rows by joined bin, hide all but the sums, and send them
    4. hear which splits of the level are its own; keep them, and tell the guest the side of each row
    5. hear whether another iteration follows; save its part

Source: SecureBoost (Cheng et al. 2021); Squirrel (Lu et al. 2023) for sums under lattices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hekat.data import Table, check_has_no_labels
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.model.trees import JoinedBins, LocalColumns, NodeId, Split
from hekat.protocol.vertical_trees.arithmetic.bin_layout import ABSENT, BinLayout
from hekat.protocol.vertical_trees.arithmetic.interface import IntArray
from hekat.protocol.vertical_trees.arithmetic.make import make_host_side
from hekat.protocol.vertical_trees.host_side.block_answers import BlockAnswers
from hekat.protocol.vertical_trees.host_side.hidden_levels import RootBins, play_hidden_levels
from hekat.protocol.vertical_trees.host_side.host_part import HostPart
from hekat.protocol.vertical_trees.host_side.level_rows import LevelRows
from hekat.protocol.vertical_trees.host_side.sum_memory import SumMemory
from hekat.protocol.vertical_trees.messages import (
    ChosenSplitsMessage,
    HostReadyMessage,
    JoinedBinsMessage,
    LevelMessage,
    SplitSidesMessage,
    StartMessage,
    TreeEndMessage,
)
from hekat.protocol.vertical_trees.model_part import TreesPart
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun
from hekat.protocol.vertical_trees.row_sets import RowSets
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.side_bits import pack_sides
from hekat.protocol.vertical_trees.steps import (
    CHOSEN,
    JOINED,
    READY_STEP,
    SIDES,
    START_STEP,
    TREE_END,
    iteration_step,
    level_step,
    model_id_of,
)
from hekat.protocol.vertical_trees.sums_plan import (
    MOST_COLUMNS,
    make_exchange,
    root_ranges,
    sampled_places,
    tree_ranges,
    uses_hosts,
)
from hekat.protocol.vertical_trees.timing_labels import PLAIN, ROWS, SPLITS
from hekat.protocol.vertical_trees.warm_start import predict_before


def run_host(channel: RecordedChannel, table: Table, settings: VerticalTreesSettings, run: TreesRun) -> TreesPart:
    """Train with the others; returns this host's part of the model."""
    check_has_no_labels(table)
    with run.stopwatch.measure(PLAIN):
        part = HostPart.begin(channel.party, table, settings, run)
    start = _announce(channel, part, settings, run)
    if not start.finished:
        predict_before(channel, table, run)
        _Host(channel, part, settings, run, start).train()
    return part.model_part(start.model_id)


def _announce(channel: RecordedChannel, part: HostPart, settings: VerticalTreesSettings, run: TreesRun) -> StartMessage:
    ready = HostReadyMessage(
        row_count=part.table.row_count,
        bin_counts=np.array([bins.bin_count for bins in part.table.bins], np.int64),
        is_category=np.array([bins.is_category for bins in part.table.bins], np.uint8),
        trees_done=run.trees_done,
        model_id=part.model_id,
    )
    channel.send(settings.guest, READY_STEP, ready)
    start = channel.receive(settings.guest, START_STEP, StartMessage)
    own, counts = settings.parties.index(channel.party), start.column_counts
    _check_model_id(start, part, settings, run, channel.session_id)
    if not all(0 <= count <= MOST_COLUMNS for count in counts):
        raise ProtocolError(
            f"{settings.guest} tells columns that cannot be",
            expected=f"0 to {MOST_COLUMNS:,} columns of each party",
            got="others",
            cure="find out what runs there: this release does not send such counts",
        )
    for what, guests, here in (
        ("rows", start.row_count, part.table.row_count),
        ("iterations", start.trees_done, run.trees_done),
        ("parties", len(counts), len(settings.parties)),
        ("columns", counts[own] if own < len(counts) else -1, part.table.column_count),
    ):
        if guests != here:
            raise ProtocolError(
                f"{settings.guest} begins with other {what} than this host has",
                expected=f"{here:,}",
                got=f"{guests:,}",
                cure="all parties must run the same job, on the same rows, and resume from the same iteration",
            )
    part.check_leak(channel.ledger)
    return start


def _check_model_id(
    start: StartMessage, part: HostPart, settings: VerticalTreesSettings, run: TreesRun, session_id: bytes
) -> None:
    """Raise ProtocolError unless the model is the resumed one, or this session's."""
    expected = part.model_id if run.resume_from is not None else model_id_of(session_id)
    if start.model_id != expected:
        raise ProtocolError(
            f"{settings.guest} begins with another model than this host has",
            expected=expected,
            got="another name",
            cure="resume all parties from the states of one training",
        )


class _Host:
    """A host's loop over iterations."""

    def __init__(
        self,
        channel: RecordedChannel,
        part: HostPart,
        settings: VerticalTreesSettings,
        run: TreesRun,
        start: StartMessage,
    ) -> None:
        self._channel, self._part, self._settings, self._run = channel, part, settings, run
        self._model_id = start.model_id
        self._column_counts = start.column_counts
        self._own = settings.parties.index(channel.party)
        first = sum(start.column_counts[: self._own])
        least = np.full(part.table.column_count, settings.training.min_samples_leaf, np.int64)
        self._columns = LocalColumns(part.table, least, first)
        self._row_sets = RowSets(settings.training, part.table.row_count)
        self._own_bin_counts = np.array([bins.bin_count for bins in part.table.bins], np.int64)
        side = make_host_side(settings, channel.ledger)
        self._memory = SumMemory(settings.guest, run.max_sum_memory_mib)
        self._answers = BlockAnswers(channel, settings, side, part.table.digits, run.stopwatch, self._memory)

    def train(self) -> None:
        """Train to the last iteration, or until the guest stops."""
        for iteration in range(self._run.trees_done + 1, self._settings.training.max_iter + 1):
            if self._play_iteration(iteration):
                return

    def _play_iteration(self, iteration: int) -> bool:
        step = iteration_step(iteration)
        if uses_hosts(self._settings, iteration):
            self._grow(step, iteration)
        finished = self._channel.receive(self._settings.guest, f"{step}/{TREE_END}", TreeEndMessage).finished
        state = self._part.state(iteration, self._model_id, finished=finished)
        self._run.end_iteration(self._channel, state, TreeRecord(iteration))
        return finished

    def _grow(self, step: str, iteration: int) -> None:
        """Answer the guest until the trees of an iteration have grown."""
        settings, guest = self._settings, self._settings.guest
        self._memory.begin_iteration()
        with self._run.stopwatch.measure(ROWS):
            training_rows, others = self._row_sets.of(iteration)
            sampled = self._row_sets.columns(iteration, sum(self._column_counts))
            self._columns.start(
                training_rows, settings.target_count, sampled_places(sampled, self._column_counts, self._own)
            )
            roots = [NodeId(tree, 0) for tree in range(settings.target_count)]
            rows = LevelRows(
                guest, self._columns, dict.fromkeys(roots, others), settings.training.min_samples_leaf, roots
            )
        for level in range(settings.training.max_depth + 1):
            at = level_step(step, level)
            message = self._channel.receive(guest, at, LevelMessage)
            if level and not message.asked.size:
                return
            if level == settings.training.max_depth:
                raise ProtocolError(
                    f"{guest} asks for nodes below the depth of the job",
                    expected=f"splits at {settings.training.max_depth} levels",
                    got="one more",
                )
            with self._run.stopwatch.measure(ROWS):
                rows.divide(message) if level else rows.take_roots(message)
            root = self._answer(at, level, rows, message)
            if settings.hide_partition:
                return play_hidden_levels(self._answers, self._part, root, step)
            self._take_splits(at, rows)

    def _answer(self, at: str, level: int, rows: LevelRows, message: LevelMessage) -> RootBins:
        """Tell the guest the joined bins of the asked nodes, and the sums in them."""
        settings, guest, table = self._settings, self._settings.guest, self._part.table
        self._memory.take_nodes(len(rows.asked), table.column_count, table.widest)
        with self._run.stopwatch.measure(SPLITS):
            joined = self._columns.join_bins(rows.asked)
            counts = np.stack([self._columns.joined_rows_of(one.node) for one in rows.asked])
            counts[joined.bin_counts == 0] = 0
            # The roots of all trees have the same rows, and share one exchange.
            nodes = slice(0, 1) if level == 0 else slice(None)
            told = _describe(joined, counts, nodes, self._parent_counts(rows))
            layout = BinLayout.of(counts[nodes])
        self._channel.send(guest, f"{at}/{JOINED}", told)
        ranges = root_ranges(settings) if level == 0 else tree_ranges(settings)
        asked = rows.asked[nodes]
        node_rows = [self._columns.rows_of(one.node) for one in asked]
        exchange = make_exchange(level, ranges, message.window, node_rows, [one.node.tree for one in asked])
        tables = np.take_along_axis(layout.digits, joined.groups[nodes].astype(np.int64), axis=-1)
        tables[joined.bin_counts[nodes] == 0] = ABSENT
        self._answers.play(at, exchange, message.public_key, tables, layout.counts)
        # Where the partition is hidden, the levels below sum by the same bins.
        own_counts, digits = self._own_bin_counts, table.digits[:, node_rows[0]]
        is_missing_seen = (digits == (own_counts - 1)[:, np.newaxis]).any(axis=1)
        return RootBins(own_counts, joined, tables, layout.counts, node_rows[0], is_missing_seen)

    def _parent_counts(self, rows: LevelRows) -> IntArray:
        """How many bins the parents' columns were joined to, (nodes, columns); at roots, the columns' own bins."""
        if rows.asked[0].parent is None:
            return np.broadcast_to(self._own_bin_counts, (len(rows.asked), self._own_bin_counts.size))
        return np.stack([self._columns.joined_of(one.parent).bin_counts for one in rows.asked if one.parent])

    def _take_splits(self, at: str, rows: LevelRows) -> None:
        """Hear which splits are this host's own, keep them, and tell the side of each row."""
        guest = self._settings.guest
        chosen = self._channel.receive(guest, f"{at}/{CHOSEN}", ChosenSplitsMessage)
        with self._run.stopwatch.measure(ROWS):
            splits = self._part.read_splits(chosen, rows, self._columns, guest)
            sides = [self._take_split(split, rows) for split in splits]
        if splits:
            message = SplitSidesMessage(pack_sides(np.concatenate(sides)))
            self._channel.send(guest, f"{at}/{SIDES}", message)

    def _take_split(self, split: Split, rows: LevelRows) -> npt.NDArray[np.bool_]:
        left = self._columns.left_bins(split)
        column = split.column - self._columns.first_column
        self._part.keep_split(column, left)
        sides: npt.NDArray[np.bool_] = left[self._part.table.digits[column, np.concatenate(rows.rows_of(split.node))]]
        rows.own_splits[split.node] = split.column, sides
        return sides


def _describe(joined: JoinedBins, counts: IntArray, nodes: slice, parent_counts: IntArray) -> JoinedBinsMessage:
    bin_counts = joined.bin_counts[nodes]
    width = np.arange(joined.from_parent.shape[-1])
    is_live = (bin_counts > 0)[..., np.newaxis]
    has_group = is_live & (width < parent_counts[nodes][..., np.newaxis])
    has_rows = is_live & (np.arange(counts.shape[-1]) < bin_counts[..., np.newaxis])
    return JoinedBinsMessage(bin_counts, joined.from_parent[nodes][has_group], counts[nodes][has_rows])
