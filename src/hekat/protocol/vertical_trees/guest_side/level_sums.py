"""Sums and splits over the columns of all parties, as the growth of trees asks for them at the guest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.model.trees import AskedNode, BinSums, IterationLoss, NodeId, Split, Tree, concatenate_columns
from hekat.protocol.vertical_trees.arithmetic.interface import Exchange, IntArray, finished_nodes
from hekat.protocol.vertical_trees.arithmetic.make import make_guest_side
from hekat.protocol.vertical_trees.arithmetic.window import choose_window
from hekat.protocol.vertical_trees.guest_side.host_sums import HostSums, Told
from hekat.protocol.vertical_trees.guest_side.own_rows import GuestColumns
from hekat.protocol.vertical_trees.messages import (
    GRADIENTS,
    ChosenSplitsMessage,
    JoinedBinsMessage,
    LevelMessage,
    SplitSidesMessage,
    SumsMessage,
)
from hekat.protocol.vertical_trees.party_run import TreesRun
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.side_bits import pack_sides, read_sides
from hekat.protocol.vertical_trees.steps import (
    CHOSEN,
    GRADIENTS_STEP,
    JOINED,
    SIDES,
    SUMS,
    iteration_step,
    level_step,
)
from hekat.protocol.vertical_trees.sums_plan import make_exchange, root_ranges, tree_ranges, uses_hosts
from hekat.protocol.vertical_trees.timing_labels import DECRYPT, ENCRYPT, KEYS, ROWS, SPLITS

Bools = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass
class _Level:
    """What hosts know of the level that growth has come to: its nodes in their order, and the division before it."""

    number: int
    nodes: list[NodeId]
    split: npt.NDArray[np.uint8]
    sides: bytes
    awaits_splits: bool = False


class VerticalSource:
    """The guest's columns and its hosts', one growth's source of sums."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: VerticalTreesSettings,
        own: GuestColumns,
        hosts: Sequence[HostSums],
        run: TreesRun,
        split_counts: dict[str, int],
    ) -> None:
        self._channel, self._settings, self._own, self._hosts = channel, settings, own, list(hosts)
        self._stopwatch = run.stopwatch
        with run.stopwatch.measure(KEYS):
            self._side = make_guest_side(settings, channel.ledger, run.key_pair)
        self._level = _Level(0, [], np.zeros(0, np.uint8), b"")
        self._step, self._with_hosts = "", True
        self._column_count = own.columns.table.column_count + sum(host.column_count for host in hosts)
        self.split_counts = split_counts
        self.split_numbers: dict[NodeId, int] = {}
        """Of the trees of the iteration: the number of each node's split at the host that owns it."""

    @property
    def is_category(self) -> Bools:
        return np.concatenate([self._own.columns.is_category, *(host.is_category for host in self._hosts)])

    @property
    def joins_bins(self) -> bool:
        return self._with_hosts

    @property
    def gradient_scales(self) -> FloatArray:
        return self._own.levels.gradient_scales

    @property
    def hessian_scales(self) -> FloatArray:
        return self._own.levels.hessian_scales

    def begin_iteration(self, iteration: int) -> None:
        """As `BoostingSource`: the first iteration is 0."""
        sampled = self._own.row_sets.columns(iteration + 1, self._column_count)
        with self._stopwatch.measure(SPLITS):
            self._own.begin_iteration(iteration + 1, sampled[: self._own.columns.table.column_count])
        for host in self._hosts:
            host.start(sampled[host.first_column : host.first_column + host.column_count])
        self._step = iteration_step(iteration + 1)
        self._with_hosts = uses_hosts(self._settings, iteration + 1)
        roots = [NodeId(tree, 0) for tree in range(self._settings.target_count)]
        self._level = _Level(0, roots, np.zeros(0, np.uint8), b"")
        self.split_numbers = {}

    def sum_bins(self, asked: Sequence[AskedNode]) -> BinSums:
        if not self._with_hosts:
            return concatenate_columns([self._sum_own(asked), *(host.no_sums(len(asked)) for host in self._hosts)])
        settings, level, at = self._settings, self._level, level_step(self._step, self._level.number)
        is_root = level.number == 0
        with self._stopwatch.measure(ENCRYPT):
            exchange, values = self._exchange(asked, is_root=is_root)
            key = self._side.begin_level(exchange, values)
            places = {node: place for place, node in enumerate(level.nodes)}
            message = LevelMessage(
                level.split,
                level.sides,
                np.array([places[one.node] for one in asked], np.int64),
                exchange.window,
                key,
            )
        self._send_to_hosts(at, message)
        own: list[BinSums] = []
        told: list[Told] = []

        def sum_meanwhile() -> None:
            own.append(self._sum_own(asked))
            told.extend(self._hear_bins(host, at, asked, own[0].totals[0]) for host in self._hosts)

        opened = self._exchange_blocks(at, exchange, sum_meanwhile, told)
        level.awaits_splits = True
        self._after_sums(asked, told, is_root=is_root)
        with self._stopwatch.measure(SPLITS):
            parts = [
                host.place(of_host, sums, own[0].totals, tree_ranges(settings), shares_rows=is_root)
                for host, of_host, sums in zip(self._hosts, told, opened, strict=True)
            ]
            return concatenate_columns([own[0], *parts])

    def _after_sums(self, asked: Sequence[AskedNode], told: Sequence[Told], *, is_root: bool) -> None:
        """What a hidden partition keeps of the roots."""

    def _exchange_blocks(
        self, at: str, exchange: Exchange, meanwhile: Callable[[], None], told: Sequence[Told]
    ) -> list[IntArray]:
        """Send the blocks of an exchange, one ahead of the answers; the opened sums of each host.

        `meanwhile` is called once hosts compute; after it `told` says the layout of each host's sums.
        """
        cuts = self._side.cuts(exchange)
        finished = list(finished_nodes(exchange, cuts))
        opened: list[list[IntArray]] = [[] for _ in self._hosts]
        for number, cut in enumerate(cuts):
            with self._stopwatch.measure(ENCRYPT):
                block = GRADIENTS[self._settings.protection](self._side.block(cut))
            self._send_to_hosts(f"{at}/{GRADIENTS_STEP}", block)
            if number:
                self._open(at, finished[number - 1], told, opened)
            else:
                meanwhile()
        self._open(at, finished[-1], told, opened)
        return [np.concatenate(sums) for sums in opened]

    def split_nodes(self, splits: Sequence[Split]) -> Sequence[Bools | None]:
        sides: dict[NodeId, Bools] = {}
        masks: list[Bools | None] = [None] * len(splits)
        if self._with_hosts:
            sides = self._ask_hosts(splits)
        with self._stopwatch.measure(ROWS):
            for number, split in enumerate(splits):
                if self._own.columns.owns(split.column):
                    left = self._own.columns.left_bins(split)
                    masks[number] = left
                    rows = np.concatenate(self._own.rows_of(split.node))
                    sides[split.node] = left[self._own.columns.table.digits[split.column, rows]]
            level = self._level
            by_node = {split.node: split for split in splits}
            ordered = [by_node[node] for node in level.nodes if node in by_node]
            is_split = np.array([node in by_node for node in level.nodes], np.uint8)
            all_sides = pack_sides(np.concatenate([sides[split.node] for split in ordered]))
            for split in ordered:
                self._own.divide(split.node, split.left_child, split.right_child, sides[split.node])
            children = [child for split in ordered for child in (split.left_child, split.right_child)]
        self._level = _Level(level.number + 1, children, is_split, all_sides)
        return masks

    def sum_leaves(self, leaves: Sequence[NodeId]) -> FloatArray:
        return self._own.sum_leaves(leaves)

    def end_iteration(self, trees: Sequence[Tree]) -> IterationLoss:
        if self._with_hosts:
            self._end_levels()
        with self._stopwatch.measure(SPLITS):
            return self._own.end_iteration(trees)

    def _end_levels(self) -> None:
        """Tell hosts that the trees of the iteration have grown."""
        level = self._level
        if level.awaits_splits:
            none = ChosenSplitsMessage(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8))
            self._send_to_hosts(f"{level_step(self._step, level.number)}/{CHOSEN}", none)
            level.number += 1
        nothing = LevelMessage(np.zeros(0, np.uint8), b"", np.zeros(0, np.int64), 1, b"")
        self._send_to_hosts(level_step(self._step, level.number), nothing)

    def _exchange(self, asked: Sequence[AskedNode], *, is_root: bool) -> tuple[Exchange, IntArray]:
        own, settings = self._own, self._settings
        components = len(tree_ranges(settings))
        # The roots of all trees have the same rows, and share one exchange.
        rows = [own.columns.rows_of(one.node) for one in (asked[:1] if is_root else asked)]
        if is_root:
            parts = [own.integers_of([one.node.tree], rows, components) for one in asked]
            values, ranges = np.concatenate(parts, axis=1), root_ranges(settings)
        else:
            values, ranges = own.integers_of([one.node.tree for one in asked], rows, components), tree_ranges(settings)
        bins = [self._bins_ahead(host, asked) for host in self._hosts]
        window = choose_window(settings.protection, [len(one) for one in rows], bins, ranges)
        trees = [one.node.tree for one in (asked[:1] if is_root else asked)]
        return make_exchange(self._level.number, ranges, window, rows, trees), values

    def _bins_ahead(self, host: HostSums, asked: Sequence[AskedNode]) -> list[int]:
        """The most bins of a host in each of the nodes, as they were joined in the nodes above."""
        return [host.bin_total if one.parent is None else host.bins_in(one.parent) for one in asked]

    def _sum_own(self, asked: Sequence[AskedNode]) -> BinSums:
        with self._stopwatch.measure(SPLITS):
            return self._own.columns.sum_bins(asked, self._own.levels)

    def _send_to_hosts(self, step: str, message: object) -> None:
        with self._channel.encoding_once(message):
            for host in self._hosts:
                self._channel.send(host.host, step, message)

    def _hear_bins(self, host: HostSums, at: str, asked: Sequence[AskedNode], node_rows: IntArray) -> Told:
        message = self._channel.receive(host.host, f"{at}/{JOINED}", JoinedBinsMessage)
        with self._stopwatch.measure(SPLITS):
            return host.take(message, asked, node_rows)

    def _open(self, at: str, nodes: tuple[int, int], told: Sequence[Told], opened: Sequence[list[IntArray]]) -> None:
        """Hear and open what hosts answer to one block: the sums of nodes `nodes[0]` .. `nodes[1] - 1`."""
        for host, of_host, sums in zip(self._hosts, told, opened, strict=True):
            message = self._channel.receive(host.host, f"{at}/{SUMS}", SumsMessage)
            with self._stopwatch.measure(DECRYPT):
                counts = of_host.layout.counts[slice(*nodes)]
                sums.append(self._side.open(nodes[0], counts, message.values, host.host))

    def _ask_hosts(self, splits: Sequence[Split]) -> dict[NodeId, Bools]:
        """Tell each host its splits; the sides of the rows of their nodes."""
        level, at = self._level, level_step(self._step, self._level.number)
        places = {node: place for place, node in enumerate(level.nodes)}
        chosen = {host.host: [split for split in splits if host.owns(split.column)] for host in self._hosts}
        level.awaits_splits = False
        for host in self._hosts:
            of_host = chosen[host.host]
            message = ChosenSplitsMessage(
                np.array([places[split.node] for split in of_host], np.int64),
                np.array([split.column - host.first_column for split in of_host], np.int64),
                np.concatenate([np.zeros(0, np.uint8), *(split.left.astype(np.uint8) for split in of_host)]),
            )
            self._channel.send(host.host, f"{at}/{CHOSEN}", message)
        sides: dict[NodeId, Bools] = {}
        for host in self._hosts:
            of_host = chosen[host.host]
            if not of_host:
                continue
            answer = self._channel.receive(host.host, f"{at}/{SIDES}", SplitSidesMessage)
            counts = [sum(map(len, self._own.rows_of(split.node))) for split in of_host]
            flat = read_sides(answer.sides, sum(counts), host.host)
            ends = np.cumsum(counts)[:-1]
            for split, of_node in zip(of_host, np.split(flat, ends), strict=True):
                self._take_sides(host.host, split, of_node)
                sides[split.node] = of_node
        return sides

    def _take_sides(self, host: str, split: Split, sides: Bools) -> None:
        """Number a host's split. Raises ProtocolError where it counted other rows on a side."""
        training = len(self._own.columns.rows_of(split.node))
        if int(sides[:training].sum()) != split.left_count:
            raise ProtocolError(
                f"{host} divides a node into other rows than it counted",
                expected="as many rows on each side as its joined bins have",
                got="another number",
                cure="find out what runs there: this release counts what it divides",
            )
        self.split_numbers[split.node] = self.split_counts[host]
        self.split_counts[host] += 1
