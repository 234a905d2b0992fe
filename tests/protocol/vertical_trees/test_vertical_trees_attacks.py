"""What a curious guest or host can make of what it sees: each attack succeeds without its rule, and fails with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import GUEST, Rehearsal, ends, make_settings, make_tables

from hekat.data import Table
from hekat.errors import PolicyError
from hekat.model.trees import JoinedBins, join_small_bins, make_objective, round_gradients
from hekat.protocol.vertical_trees.messages import (
    ChosenSplitsMessage,
    GradientsMessage,
    HiddenSplitsMessage,
    JoinedBinsMessage,
    LevelMessage,
    SplitSidesMessage,
    SumsMessage,
)


def told_by(rehearsal: Rehearsal, party: str, kind: type[Any]) -> list[Any]:
    return [message for _, _, message in rehearsal.sent[party] if isinstance(message, kind)]


class TestSubsetSums:
    """The guest knows every row's gradient, so each sum is an equation on the rows of a bin."""

    rows, bins = 40, 8

    def run(self, least: int, bits: int) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]], np.ndarray]:
        """(levels of rows, the host's bins, each sum with its count of rows, joined bins of these sums)."""
        rng = np.random.default_rng(1)
        score = rng.normal(size=self.rows)
        own = np.repeat(np.arange(self.bins), self.rows // self.bins)
        rng.shuffle(own)
        tables = {
            GUEST: Table(score[:, None], score + rng.normal(size=self.rows), ("x",), GUEST),
            "shop": Table(own[:, None].astype(float), None, ("y",), "shop"),
        }
        training = {"max_iter": 1, "max_depth": 1, "min_samples_leaf": least, "gradient_bits": bits}
        settings = make_settings(1, "regression", training={**training, "rounding": "nearest"})
        rehearsal = Rehearsal(settings, tables)
        rehearsal.run()
        told = told_by(rehearsal, "shop", JoinedBinsMessage)[0]
        (sums,) = told_by(rehearsal, "shop", SumsMessage)
        labels = tables[GUEST].labels
        assert labels is not None
        objective = make_objective(0)
        start = np.full((1, self.rows), objective.start_scores(objective.label_sums(labels), self.rows))
        rounded = round_gradients(*objective.gradients(start, labels), bits, None, has_constant_hessian=True)
        kind = {1: "i1", 2: "<i2", 4: "<i4", 8: "<i8"}[len(sums.values) // (len(told.row_counts) - 1)]
        fullest = int(told.row_counts.argmax())
        bins = [number for number in range(len(told.row_counts)) if number != fullest]
        counts = told.row_counts[bins].tolist()
        opened = list(zip(np.frombuffer(sums.values, kind).tolist(), counts, strict=True))
        return rounded.gradients[0], told.groups[own], opened, np.array(bins)

    def test_without_a_least_number_of_rows_every_bin_is_found(self) -> None:
        levels, own, opened, bins = self.run(least=1, bits=32)
        sets = np.array(list(combinations(range(self.rows), self.rows // self.bins)))
        totals = levels[sets].sum(axis=1)
        for (total, count), number in zip(opened, bins, strict=True):
            assert count == self.rows // self.bins
            (found,) = np.flatnonzero(totals == total)
            assert sets[found].tolist() == np.flatnonzero(own == number).tolist()

    def test_joined_bins_and_coarse_gradients_leave_more_sets_than_can_be_told_apart(self) -> None:
        levels, _, opened, _ = self.run(least=20, bits=4)
        shifted = levels - levels.min()
        ways = np.zeros((self.rows + 1, int(shifted.sum()) + 1))
        ways[0, 0] = 1
        for level in shifted.tolist():
            ways[1:, level:] += ways[:-1, : ways.shape[1] - level].copy()
        for total, count in opened:
            assert ways[count, total - count * int(levels.min())] > 2**30

    def test_a_job_that_does_not_waive_the_rule_is_refused(self) -> None:
        tables = make_tables(1, 200, (2, 2))
        with ends(PolicyError, "would tell the guest the bins of a column of shop"):
            Rehearsal(make_settings(1, bin_leak_accepted=None), tables).run()

    def test_one_small_tree_on_many_rows_keeps_to_the_rule(self) -> None:
        tables = make_tables(1, 3000, (1, 1), task="regression")
        training = {"max_iter": 1, "max_depth": 1}
        rehearsal = Rehearsal(make_settings(1, "regression", bin_leak_accepted=None, training=training), tables)
        rehearsal.run()
        assert any("the guest opens at most" in note for note in rehearsal.notes["shop"])


class TestSiblingDifference:
    """What the guest asked of a node and of one child gives it the other child's sums, as small as they are."""

    k = 10

    def join(self, of_siblings: bool) -> tuple[np.ndarray, JoinedBins]:
        parent_rows = np.array([[[11, 30, 30, 30]]])
        child_rows = np.array([[[10, 15, 15, 15]]])
        every = np.arange(4, dtype=np.uint8)[None, None]
        parent = JoinedBins(every, np.array([[4]]), np.zeros((1, 1), bool), every)
        siblings = parent_rows - child_rows
        column = np.zeros((1, 1), bool), np.zeros(1, bool), np.array([self.k])
        joined = join_small_bins(parent, every, child_rows, siblings if of_siblings else child_rows, *column)
        groups = joined.groups[0, 0]
        return np.bincount(groups, siblings[0, 0]), joined

    def test_a_least_number_of_rows_in_each_asked_node_leaves_single_rows(self) -> None:
        rows, _ = self.join(of_siblings=False)
        assert rows.min() == 1

    def test_bins_joined_for_both_children_do_not(self) -> None:
        rows, _ = self.join(of_siblings=True)
        assert rows.min() >= self.k

    def test_no_message_of_a_run_tells_of_fewer_rows(self) -> None:
        tables = make_tables(5, 400, (2, 3))
        settings = make_settings(1, training={"max_depth": 4, "min_samples_leaf": self.k, "max_iter": 2})
        rehearsal = Rehearsal(settings, tables)
        smallest: list[int] = []

        from hekat.protocol.vertical_trees.guest_side.host_sums import HostSums

        check = HostSums._check_rows

        def watch(self: Any, rows: Any, siblings: Any, told: Any, splitting: Any, node_rows: Any) -> None:
            check(self, rows, siblings, told, splitting, node_rows)
            is_bin = np.arange(rows.shape[-1]) < told.bin_counts[..., None]
            for counts in (rows,) if siblings is None else (rows, siblings):
                smallest.extend(counts[is_bin & (counts > 0)].tolist())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(HostSums, "_check_rows", watch)
            rehearsal.run()
        assert len(smallest) > 50
        assert min(smallest) >= self.k


class TestClustersOfNodes:
    """ID2Graph (arXiv 2307.10318): rows that share leaves in many trees share labels; a host clusters them."""

    def run(self, *, hide: bool, first: int = 0) -> tuple[float, Rehearsal]:
        """How well the host's two clusters are the labels, from what the guest sent it."""
        rng = np.random.default_rng(4)
        tables = make_tables(4, 400, (3, 3))
        noise = replace(tables["shop"], features=rng.normal(size=(400, 3)))
        score = np.asarray(tables[GUEST].features) @ [1.0, 0.4, 0.2] + 0.3 * rng.normal(size=400)
        labels = (score > 0).astype(np.int64)
        training = {"max_iter": 6, "max_depth": 4, "min_samples_leaf": 10}
        settings = make_settings(1, hide_partition=hide, label_party_first_trees=first, training=training)
        rehearsal = Rehearsal(settings, {GUEST: replace(tables[GUEST], labels=labels), "shop": noise})
        rehearsal.run()
        nodes = self.nodes_of(rehearsal, 400)
        centred = nodes - nodes.mean(axis=0)
        clusters = np.linalg.svd(centred, full_matrices=False)[0][:, 0] > 0
        right = float((clusters == labels).mean())
        return max(right, 1 - right), rehearsal

    @staticmethod
    def nodes_of(rehearsal: Rehearsal, row_count: int) -> np.ndarray:
        """Rows by nodes that a host knows of: of its own splits both sides, and all that the guest tells of others."""
        columns = [np.zeros(row_count, bool)]
        frontier: list[np.ndarray] = []
        for to, step, message in rehearsal.sent[GUEST]:
            if to != "shop" or not isinstance(message, LevelMessage):
                continue
            if step.endswith("level-0"):
                frontier = [np.arange(row_count)]
                continue
            bits, at, children = np.unpackbits(np.frombuffer(message.sides, np.uint8)).astype(bool), 0, []
            for place in np.flatnonzero(message.split):
                rows = frontier[place]
                left = bits[at : at + rows.size]
                at += rows.size
                children += [rows[left], rows[~left]]
            frontier = children
            for rows in children:
                columns.append(np.isin(np.arange(row_count), rows))
        for _, _, message in rehearsal.sent["shop"]:
            if isinstance(message, SplitSidesMessage) and len(message.sides) % (row_count // 8) == 0:
                for bits in np.frombuffer(message.sides, np.uint8).reshape(-1, row_count // 8):
                    columns.append(np.unpackbits(bits).astype(bool))
        return np.stack(columns, axis=1).astype(float)

    def test_a_host_without_any_knowledge_of_labels_finds_them(self) -> None:
        accuracy, rehearsal = self.run(hide=False)
        assert accuracy > 0.8
        told = told_by(rehearsal, GUEST, LevelMessage)
        assert any(message.sides for message in told)

    def test_a_hidden_partition_leaves_it_what_its_own_columns_say(self) -> None:
        accuracy, rehearsal = self.run(hide=True)
        assert accuracy < 0.6
        assert not any(message.sides or message.split.size for message in told_by(rehearsal, GUEST, LevelMessage))
        assert not told_by(rehearsal, GUEST, ChosenSplitsMessage)
        assert told_by(rehearsal, GUEST, HiddenSplitsMessage)

    def test_the_ledger_of_the_host_says_what_nodes_tell(self) -> None:
        from hekat.wire import disclosure_of

        told = disclosure_of(LevelMessage)["sides"]
        assert told.kind == "disclosed"
        assert "every row" in told.detail


class TestFreshSeeds:
    """The same uniform a under the same secret twice shows how rows changed (`tests/scheme/bin_sums`)."""

    @staticmethod
    def blocks(task: str = "binary", hide: bool = False) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
        """(key, seed) of every block that a guest sends, each once, and the public keys."""
        tables = make_tables(6, 200, (2, 2, 2), task=task)
        settings = make_settings(2, task, protection="lattice", hide_partition=hide, training={"max_iter": 3})
        rehearsal = Rehearsal(settings, tables)
        rehearsal.run()
        sent = [message for to, _, message in rehearsal.sent[GUEST] if to == "shop"]
        values = [message.values for message in sent if isinstance(message, GradientsMessage)]
        keys = [message.public_key for message in sent if getattr(message, "public_key", b"")]
        # A fingerprint of 16 bytes, a count of 4, a seed of 32.
        return [(one[:16], one[20:52]) for one in values], keys

    @pytest.mark.parametrize(("task", "hide"), [("binary", False), ("multiclass", False), ("binary", True)])
    def test_no_seed_comes_twice_and_no_key_serves_two_trees(self, task: str, hide: bool) -> None:
        blocks, keys = self.blocks(task, hide)
        seeds = [seed for _, seed in blocks]
        assert len(seeds) >= 6
        assert len(set(seeds)) == len(seeds)
        assert len(set(keys)) == len(keys) >= 3
