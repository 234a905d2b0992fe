"""The guest's source of sums where no host hears which rows are in which node: all rows, masked by node, each level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.model.trees import AskedNode, BinSums, NodeId, Split, concatenate_columns
from hekat.protocol.vertical_trees.arithmetic.interface import Exchange, IntArray
from hekat.protocol.vertical_trees.arithmetic.window import choose_window
from hekat.protocol.vertical_trees.guest_side.hidden_bins import HiddenBins
from hekat.protocol.vertical_trees.guest_side.host_sums import Bools, Told
from hekat.protocol.vertical_trees.guest_side.level_sums import VerticalSource
from hekat.protocol.vertical_trees.messages import HiddenLevelMessage, HiddenSplitsMessage, SplitSidesMessage
from hekat.protocol.vertical_trees.side_bits import read_sides
from hekat.protocol.vertical_trees.steps import CHOSEN, SIDES, level_step, part_step
from hekat.protocol.vertical_trees.sums_plan import NODES_AT_ONCE, make_exchange, tree_ranges
from hekat.protocol.vertical_trees.timing_labels import ENCRYPT, SPLITS


class HiddenSource(VerticalSource):
    """As `VerticalSource`; below the roots, hosts hear how many nodes are asked, and which of their splits are used."""

    _hidden: list[HiddenBins]

    def sum_bins(self, asked: Sequence[AskedNode]) -> BinSums:
        if not self._with_hosts or self._level.number == 0:
            return super().sum_bins(asked)
        parts: list[list[IntArray]] = [[] for _ in self._hosts]
        starts = range(0, len(asked), NODES_AT_ONCE)
        for number, start in enumerate(starts):
            at = part_step(level_step(self._step, self._level.number), number)
            nodes = asked[start : start + NODES_AT_ONCE]
            for host_parts, opened in zip(parts, self._ask(at, nodes, more=start != starts[-1]), strict=True):
                host_parts.append(opened)
        self._level.awaits_splits = True
        own, ranges = self._sum_own(asked), tree_ranges(self._settings)
        with self._stopwatch.measure(SPLITS):
            of_hosts = [
                hidden.place(asked, np.concatenate(of_host, axis=1), own.totals, ranges)
                for hidden, of_host in zip(self._hidden, parts, strict=True)
            ]
            return concatenate_columns([own, *of_hosts])

    def _after_sums(self, asked: Sequence[AskedNode], told: Sequence[Told], *, is_root: bool) -> None:
        roots, least = [one.node for one in asked], self._settings.training.min_samples_leaf
        self._hidden = [HiddenBins(*pair, roots, least) for pair in zip(self._hosts, told, strict=True)]

    def _ask(self, at: str, nodes: Sequence[AskedNode], *, more: bool) -> list[IntArray]:
        """The opened sums of each host for some nodes, (numbers, nodes x components)."""
        with self._stopwatch.measure(ENCRYPT):
            exchange, values = self._masked_exchange(nodes)
            key = self._side.begin_level(exchange, values)
        self._send_to_hosts(at, HiddenLevelMessage(len(nodes), more, exchange.window, key))
        return self._exchange_blocks(at, exchange, lambda: None, [hidden.root for hidden in self._hidden])

    def _masked_exchange(self, nodes: Sequence[AskedNode]) -> tuple[Exchange, IntArray]:
        """All rows that train in their order, with the integers of each node; 0 for rows that are not in it."""
        own, settings = self._own, self._settings
        ranges = tree_ranges(settings)
        width = len(ranges)
        rows = own.training_rows
        values = np.zeros((rows.size, width * len(nodes)), np.int64)
        for n, one in enumerate(nodes):
            of_node = own.columns.rows_of(one.node)
            places = np.searchsorted(rows, of_node)
            values[places, n * width : (n + 1) * width] = own.integers_of([one.node.tree], [of_node], width)
        ranges *= len(nodes)
        bins = [[int(hidden.root.layout.counts[0])] for hidden in self._hidden]
        window = choose_window(settings.protection, [rows.size], bins, ranges)
        return make_exchange(self._level.number, ranges, window, [rows], [0]), values

    def _ask_hosts(self, splits: Sequence[Split]) -> dict[NodeId, Bools]:
        at, row_count = level_step(self._step, self._level.number), self._own.labels.size
        self._level.awaits_splits = False
        chosen = [[split for split in splits if hidden.host.owns(split.column)] for hidden in self._hidden]
        for hidden, of_host in zip(self._hidden, chosen, strict=True):
            left = [hidden.root_left(split).astype(np.uint8) for split in of_host]
            message = HiddenSplitsMessage(
                np.array([split.column - hidden.host.first_column for split in of_host], np.int64),
                np.concatenate([np.zeros(0, np.uint8), *left]),
                np.array([split.unseen_left for split in of_host], np.uint8),
            )
            self._channel.send(hidden.host.host, f"{at}/{CHOSEN}", message)
        sides: dict[NodeId, Bools] = {}
        for hidden, of_host in zip(self._hidden, chosen, strict=True):
            if not of_host:
                continue
            host = hidden.host.host
            answer = self._channel.receive(host, f"{at}/{SIDES}", SplitSidesMessage)
            flat = read_sides(answer.sides, row_count * len(of_host), host).reshape(len(of_host), row_count)
            for split, of_all in zip(of_host, flat, strict=True):
                of_node = of_all[np.concatenate(self._own.rows_of(split.node))]
                self._take_sides(host, split, of_node)
                sides[split.node] = of_node
        return sides

    def _end_levels(self) -> None:
        if self._level.awaits_splits:
            self._ask_hosts([])
            self._level.number += 1
        nothing = HiddenLevelMessage(0, False, 1, b"")
        self._send_to_hosts(part_step(level_step(self._step, self._level.number), 0), nothing)
