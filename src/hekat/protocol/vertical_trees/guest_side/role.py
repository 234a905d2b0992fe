"""The role of the guest: it has labels, and may have columns.

    1. hear how many bins each host's columns have; tell all hosts how many columns each party has
    2. each iteration: round the gradients of all rows; for each level of its trees tell hosts how the last level was
       divided, and send the gradients of the smaller child of each divided node, encrypted
    3. hear which bins each host joined, and the rows of each joined bin; hold both to the rows of the node
    4. open the sums; the larger child follows by subtraction; find the best split of each node over all columns
    5. tell each host the splits that are its own; hear the side of each row, and hold it to the rows counted before
    6. once the trees have grown: value the leaves by exact gradients, move the scores, say whether another one follows

Source: SecureBoost (Cheng et al. 2021); Squirrel (Lu et al. 2023) for sums under lattices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.model.trees import BoostedTrees, IterationLoss, NodeId, Tree, boost, should_stop
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical_trees.arithmetic.odds import note_odds
from hekat.protocol.vertical_trees.guest_side.hidden_sums import HiddenSource
from hekat.protocol.vertical_trees.guest_side.host_sums import HostSums, check_columns
from hekat.protocol.vertical_trees.guest_side.level_sums import VerticalSource
from hekat.protocol.vertical_trees.guest_side.own_rows import GuestColumns
from hekat.protocol.vertical_trees.messages import HostReadyMessage, StartMessage, TreeEndMessage
from hekat.protocol.vertical_trees.model_part import TreesPart, bins_as_arrays
from hekat.protocol.vertical_trees.own_table import bin_own_table
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun, TreeState
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.steps import READY_STEP, START_STEP, TREE_END, iteration_step, model_id_of
from hekat.protocol.vertical_trees.sums_plan import check_level_sums
from hekat.protocol.vertical_trees.timing_labels import PLAIN
from hekat.protocol.vertical_trees.tree_arrays import OWN, OwnedTree, read_trees, trees_as_arrays
from hekat.protocol.vertical_trees.warm_start import predict_before

SCORES = "scores"


def run_guest(channel: RecordedChannel, table: Table, settings: VerticalTreesSettings, run: TreesRun) -> TreesPart:
    """Train with the others; returns the guest's part of the model."""
    with run.stopwatch.measure(PLAIN):
        labels = read_labels(table, settings)
        binned = bin_own_table(table, settings, run, may_be_empty=True)
        own = GuestColumns(binned, labels, settings)
    return _Guest(channel, table, settings, run, own).train()


class _Guest:
    """The guest's loop over iterations."""

    def __init__(
        self,
        channel: RecordedChannel,
        table: Table,
        settings: VerticalTreesSettings,
        run: TreesRun,
        own: GuestColumns,
    ) -> None:
        self._channel, self._table, self._settings, self._run, self._own = channel, table, settings, run, own
        self._trees: list[tuple[OwnedTree, ...]] = []
        self._losses: list[IterationLoss] = []
        self._start_scores = own.start_scores
        before = run.resume_from or run.start_from
        if before is not None:
            self._trees = list(read_trees(before.arrays))
            self._start_scores = before.arrays["start_scores"]
        self._before_id = "" if before is None else before.model_id
        self._model_id = self._before_id if run.resume_from is not None else model_id_of(channel.session_id)

    def train(self) -> TreesPart:
        """Train to the last iteration, or until held-out rows get no better."""
        settings, run = self._settings, self._run
        hosts, finished = self._begin()
        self._host_columns = {host.host: host.column_count for host in hosts}
        if not finished:
            self._take_scores()
            kind = HiddenSource if settings.hide_partition else VerticalSource
            source = kind(self._channel, settings, self._own, hosts, run, self._count_splits(hosts))
            self._source = source
            trees = tuple(tuple(one.tree for one in iteration) for iteration in self._trees)
            before = BoostedTrees(trees, tuple(self._losses))
            boost(source, settings.training, settings.target_count, before=before, on_iteration=self._end_iteration)
        return self._model_part()

    def _begin(self) -> tuple[list[HostSums], bool]:
        """Hear all hosts, check them, and tell each how many columns all have."""
        settings, run, rows = self._settings, self._run, self._own.labels.size
        column_count = self._own.columns.table.column_count
        hosts, counts = [], [column_count]
        for name in settings.hosts:
            ready = self._channel.receive(name, READY_STEP, HostReadyMessage)
            self._check_ready(ready, name, rows)
            hosts.append(HostSums(name, ready, sum(counts), settings.training.min_samples_leaf))
            counts.append(hosts[-1].column_count)
        check_level_sums(settings, rows, {host.host: host.own_bin_counts for host in hosts})
        of_hosts = [count for host in hosts for count in host.own_bin_counts]
        note_odds(self._channel.ledger, settings, rows, of_hosts)
        finished = run.had_ended(settings.training.max_iter)
        start = StartMessage(rows, counts, run.trees_done, self._model_id, finished)
        for name in settings.hosts:
            self._channel.send(name, START_STEP, start)
        return hosts, finished

    def _check_ready(self, ready: HostReadyMessage, host: str, row_count: int) -> None:
        check_columns(host, ready)
        for what, own, hosts, cure in (
            ("rows", row_count, ready.row_count, "find the rows that all parties have in common first"),
            ("trees done", self._run.trees_done, ready.trees_done, "resume all parties from the same tree"),
            ("model", self._before_id or "none", ready.model_id or "none", "use the parts of one training"),
        ):
            if own != hosts:
                raise ProtocolError(
                    f"{host} begins with other {what} than {self._settings.guest}",
                    expected=str(own),
                    got=str(hosts),
                    cure=cure,
                )

    def _take_scores(self) -> None:
        """The scores that training goes on from: a state's, or what an earlier model predicts."""
        run = self._run
        if run.resume_from is not None:
            self._own.scores = np.array(run.resume_from.arrays[SCORES])
            training = run.resume_from.losses
            held_out = run.resume_from.validation_losses or (None,) * len(training)
            self._losses = [IterationLoss(*pair) for pair in zip(training, held_out, strict=True)]
        before = predict_before(self._channel, self._table, run)
        if before is not None:
            self._own.scores = np.ascontiguousarray(before.T)

    def _count_splits(self, hosts: list[HostSums]) -> dict[str, int]:
        """How many splits each host has so far."""
        counts = {host.host: 0 for host in hosts}
        for iteration in self._trees:
            for one in iteration:
                for column in one.tree.column[one.split_numbers != OWN]:
                    counts[next(host.host for host in hosts if host.owns(int(column)))] += 1
        return counts

    def _end_iteration(self, iteration: int, trees: tuple[Tree, ...], loss: IterationLoss) -> None:
        settings, done = self._settings, iteration + 1
        numbers = self._source.split_numbers
        self._trees.append(
            tuple(
                OwnedTree(tree, np.array([numbers.get(NodeId(k, n), OWN) for n in range(tree.node_count)], np.int64))
                for k, tree in enumerate(trees)
            )
        )
        self._losses.append(loss)
        finished = done == settings.training.max_iter or should_stop(self._losses, settings.training)
        for host in settings.hosts:
            self._channel.send(host, f"{iteration_step(done)}/{TREE_END}", TreeEndMessage(finished))
        held_out = [one.held_out for one in self._losses if one.held_out is not None]
        state = TreeState(
            {**self._arrays(), SCORES: self._own.scores.copy()},
            done,
            finished,
            tuple(one.training for one in self._losses),
            tuple(held_out),
            self._model_id,
        )
        self._run.end_iteration(self._channel, state, TreeRecord(done, loss.training, loss.held_out))

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**bins_as_arrays(self._own.columns.table.bins), **trees_as_arrays(self._start_scores, self._trees)}

    def _model_part(self) -> TreesPart:
        settings = self._settings
        return TreesPart(
            self._channel.party,
            settings.guest,
            settings.hosts,
            settings.task,
            settings.classes,
            self._table.feature_names,
            self._model_id,
            len(self._trees),
            self._arrays(),
            self._host_columns,
            settings.label_privacy,
        )
