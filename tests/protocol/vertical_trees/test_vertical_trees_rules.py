"""What is refused before training, and what the ledger says: leaks, odds, windows, and columns that divide nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import GUEST, Rehearsal, ends, make_settings, make_tables

from hekat.errors import BoundError, InputError, JobError
from hekat.model.trees import TreeTraining
from hekat.protocol.vertical_trees.arithmetic.window import choose_window, level_seconds, valid_layouts
from hekat.protocol.vertical_trees.leak_rule import MARGIN, count_opened, measure_leak
from hekat.protocol.vertical_trees.settings import BIN_LEAK_ACCEPTED, VerticalTreesSettings
from hekat.protocol.vertical_trees.sums_plan import check_level_sums, most_nodes

RANGES = ((-8, 8), (0, 16))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"hosts": ()}, "hosts"),
        ({"hosts": ("bank",)}, "guest and hosts"),
        ({"task": "ranking"}, "model.task"),
        ({"protection": "rot13"}, "protection.kind"),
        ({"classes": None}, "classes"),
        ({"classes": ("a", "b", "c")}, "classes"),
        ({"classes": ("a", "a")}, "classes"),
        ({"task": "regression"}, "classes"),
        ({"task": "multiclass"}, "classes"),
        ({"key_bits": 1024}, "key_bits"),
        ({"key_bits": 2050}, "key_bits"),
        ({"hide_partition": 1}, "hide_partition"),
        ({"label_party_first_trees": -1}, "label_party_first_trees"),
        ({"label_party_first_trees": 101}, "label_party_first_trees"),
        ({"bin_leak_accepted": "fine"}, "bin_leak.accepted"),
        ({"max_level_sums": 0}, "max_level_sums"),
        ({"max_level_sums": 1 << 33}, "max_level_sums"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(JobError, match=match):
        VerticalTreesSettings(**{"guest": "bank", "hosts": ("shop",), "classes": ("a", "b")} | changes)


@pytest.mark.parametrize(
    ("task", "training", "rows", "nodes"),
    [
        ("binary", {"max_depth": 1}, 10_000, 1),
        ("binary", {"max_depth": 6}, 10_000, 32),
        ("binary", {"max_depth": 16, "min_samples_leaf": 20}, 10_000, 500),
        ("binary", {"max_depth": 6, "max_leaf_nodes": 7}, 10_000, 7),
        ("multiclass", {"max_depth": 3}, 10_000, 12),
        ("binary", {"max_depth": 3}, 3, 1),
    ],
)
def test_as_many_nodes_have_sums_as_depth_leaves_and_rows_allow(task, training, rows, nodes) -> None:
    assert most_nodes(make_settings(1, task, training=training), rows) == nodes


def test_sums_of_all_hosts_are_held_to_the_guest_s_room_together() -> None:
    settings = make_settings(2, training={"max_depth": 2}, max_level_sums=2 * (3 * 8 + 2 * 4))
    counts = {"shop": [2, 8, 3], "telco": [4, 4]}
    check_level_sums(settings, 100, counts)
    with pytest.raises(BoundError, match="shop, telco have more bins") as caught:
        check_level_sums(settings, 100, {**counts, "telco": [4, 5]})
    assert "raise protection.max_level_sums" in caught.value.cure


def changed(values: Any, party: str = "shop", column: int = 1) -> dict[str, Any]:
    tables = make_tables(31, 120, (2, 2))
    features = np.array(tables[party].features)
    features[:, column] = values
    return {**tables, party: replace(tables[party], features=features, keeps_gaps=True)}


@pytest.mark.parametrize("party", ["bank", "shop"])
@pytest.mark.parametrize(
    ("values", "match"), [(3.0, "has one value"), (np.nan, "is empty in every row"), (np.inf, "infinite")]
)
def test_columns_that_divide_nothing_are_refused(party: str, values: float, match: str) -> None:
    with ends(InputError, match):
        Rehearsal(make_settings(1), changed(values, party)).run()


def test_a_host_without_columns_is_refused() -> None:
    with ends(InputError, "has no columns"):
        Rehearsal(make_settings(1), make_tables(31, 120, (2, 0))).run()


def test_labels_that_are_missing_or_all_the_same_are_refused() -> None:
    tables = make_tables(31, 120, (2, 2), task="regression")
    for labels, match in (
        (None, "has no labels"),
        (np.full(120, 2.5), "all the same"),
        (np.where(np.arange(120) == 7, np.nan, 1.0), "no finite number"),
    ):
        with ends(InputError, match):
            changes = {**tables, GUEST: replace(tables[GUEST], labels=labels)}
            Rehearsal(make_settings(1, "regression"), changes).run()


def test_labels_at_a_host_are_refused() -> None:
    tables = make_tables(31, 120, (2, 2))
    labelled = replace(tables["shop"], labels=tables[GUEST].labels)
    with ends(InputError, "label"):
        Rehearsal(make_settings(1), {**tables, "shop": labelled}).run()


def test_too_few_rows_for_two_leaves_are_refused() -> None:
    with ends(InputError, "too few rows for a split"):
        Rehearsal(make_settings(1, training={"min_samples_leaf": 30}), make_tables(31, 50, (2, 2))).run()


def test_samples_that_differ_by_single_rows_are_refused() -> None:
    # The rows of a host's bins at the roots of two trees would tell the bin of the one row that a sample leaves out.
    tables = make_tables(31, 120, (2, 2))
    with ends(InputError, "samples of rows leave too few out"):
        Rehearsal(make_settings(1, training={"subsample": 0.99}), tables).run()
    Rehearsal(make_settings(1, training={"subsample": 0.95, "min_samples_leaf": 6, "max_iter": 1}), tables).run()


def test_sums_without_room_are_refused_before_anything_leaves() -> None:
    settings = make_settings(1, protection="lattice", training={"gradient_bits": 32})
    rehearsal = Rehearsal(settings, make_tables(31, 120, (2, 2)))
    with ends(BoundError, "lower training.gradient_bits"):
        rehearsal.run()
    assert not any("level" in step for _, step, _ in rehearsal.sent[GUEST])


def test_the_ledgers_say_how_many_numbers_are_opened_and_with_what_odds() -> None:
    rehearsal = Rehearsal(make_settings(1, protection="lattice"), make_tables(31, 120, (2, 2)))
    rehearsal.run()
    for party in (GUEST, "shop"):
        (note,) = [note for note in rehearsal.notes[party] if "2^-" in note]
        assert "the guest opens at most" in note
        assert int(note.rpartition("2^-")[2]) >= 30
    assert any("the guest may learn the bin of every row" in note for note in rehearsal.notes["shop"])


def test_no_run_opens_more_numbers_on_a_column_than_the_rule_counts() -> None:
    from hekat.protocol.vertical_trees.messages import JoinedBinsMessage

    for hide in (False, True):
        training = {"max_iter": 4, "max_depth": 4, "min_samples_leaf": 3, "max_bins": 16}
        settings = make_settings(1, training=training, hide_partition=hide)
        rehearsal = Rehearsal(settings, make_tables(32, 400, (2, 1)))
        rehearsal.run()
        told = [m for _, _, m in rehearsal.sent["shop"] if isinstance(m, JoinedBinsMessage)]
        numbers = 3 * sum(int(np.maximum(m.bin_counts - 1, 0).sum()) for m in told)
        most, bits = count_opened(settings, 400, 17)
        assert 0 < numbers <= most
        assert bits > most


def test_the_rule_counts_the_bins_of_the_root_in_every_node_of_a_hidden_partition() -> None:
    from hekat.protocol.vertical_trees.messages import HiddenLevelMessage, JoinedBinsMessage

    training = {"max_iter": 1, "max_depth": 3, "min_samples_leaf": 20, "max_bins": 16}
    settings = make_settings(1, training=training, hide_partition=True)
    rehearsal = Rehearsal(settings, make_tables(32, 400, (2, 1)))
    rehearsal.run()
    (told,) = [m for _, _, m in rehearsal.sent["shop"] if isinstance(m, JoinedBinsMessage)]
    nodes = 1 + sum(m.node_count for _, _, m in rehearsal.sent[GUEST] if isinstance(m, HiddenLevelMessage))
    # The root's rows come as joined bins, all else as sums of a gradient, a hessian and a 1.
    numbers = 3 * nodes * (int(told.bin_counts[0, 0]) - 1)
    assert nodes == 4
    assert numbers <= count_opened(settings, 400, int(told.bin_counts[0, 0]))[0]


def test_the_rule_weighs_entropy_against_bits() -> None:
    settings = make_settings(1, training={"max_iter": 1, "max_depth": 1})
    rng = np.random.default_rng(2)
    rich, poor = rng.integers(0, 8, 100_000, np.uint8), (np.arange(100_000) < 9).astype(np.uint8)
    leak = measure_leak(settings, rich[np.newaxis], [9])
    assert leak.held_bits == pytest.approx(300_000, rel=0.01)
    assert leak.is_within_rule
    assert leak.held_bits >= MARGIN * leak.opened_bits
    worst = measure_leak(settings, np.stack([rich, poor]), [9, 9])
    assert worst.held_bits < 200
    assert not worst.is_within_rule


def test_a_window_is_the_cheapest_of_those_with_room() -> None:
    for rows, bins in (([30_000], [[713]]), ([900] * 16, [[400] * 16]), ([50], [[20], [700]])):
        chosen = choose_window("lattice", rows, bins, RANGES)
        costs = {one.window: level_seconds(one, rows, bins) for one in valid_layouts(max(rows), RANGES)}
        assert costs[chosen] == min(costs.values())
        assert chosen == choose_window("lattice", rows, bins, RANGES)
    assert choose_window("none", [10], [[3]], RANGES) == choose_window("paillier", [10], [[3]], RANGES) == 1


def test_windows_grow_with_the_number_of_nodes_and_fall_with_the_number_of_rows() -> None:
    few, many = (choose_window("lattice", [30_000 // n] * n, [[700] * n], RANGES) for n in (1, 16))
    assert few < many
    small, large = (choose_window("lattice", [rows], [[700]], RANGES) for rows in (1_000, 1_000_000))
    assert small > large


def test_many_components_keep_windows_within_what_an_answer_may_show() -> None:
    for nodes in (1, 4, 16):
        layouts = valid_layouts(30_000, (*RANGES, (0, 1)) * nodes)
        assert max(one.window for one in layouts) * nodes * 3 * layouts[0].opened_bits <= 2 * 4096


def test_bins_and_depth_out_of_range_are_refused() -> None:
    for changes in ({"max_bins": 1}, {"max_bins": 256}, {"max_depth": 0}, {"max_iter": 0}, {"subsample": 0.0}):
        with pytest.raises(InputError, match=next(iter(changes))):
            TreeTraining(**changes)


def test_the_words_that_waive_the_rule_are_those_of_the_documents() -> None:
    assert BIN_LEAK_ACCEPTED == "the guest may learn bins of hosts"
