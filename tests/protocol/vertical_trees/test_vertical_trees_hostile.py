"""A party that sends what it should not ends the run, by its name, at the party that is sent it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import GUEST, Rehearsal, ends, make_settings, make_tables

from hekat.errors import BoundError, ProtocolError, WireError
from hekat.protocol.vertical_trees.messages import (
    ChosenSplitsMessage,
    GradientsMessage,
    HiddenLevelMessage,
    HiddenSplitsMessage,
    HostReadyMessage,
    JoinedBinsMessage,
    LevelMessage,
    PlainGradientsMessage,
    SplitSidesMessage,
    StartMessage,
    SumsMessage,
)
from hekat.protocol.vertical_trees.side_bits import read_sides

Change = Callable[[Any], dict[str, Any]]


class Tamperer:
    """Changes the first message of a kind that a party sends in a step and that the change applies to."""

    def __init__(self, sender: str, kind: type[Any], change: Change, level: int | None = None) -> None:
        self.sender, self.kind, self.change, self.level, self.done = sender, kind, change, level, False

    def __call__(self, sender: str, to: str, step: str, message: Any) -> Any:
        fits = sender == self.sender and isinstance(message, self.kind) and not self.done
        if not fits or (self.level is not None and f"level-{self.level}" not in step):
            return message
        changes = self.change(message)
        self.done = bool(changes)
        return replace(message, **changes)


def play(tamperer: Tamperer, match: str, kind: type[Exception] = ProtocolError, **changes: Any) -> None:
    tables = make_tables(21, 160, (2, 3))
    settings = make_settings(1, training={"max_iter": 1, "max_depth": 3, "min_samples_leaf": 10}, **changes)
    with ends(kind, match):
        Rehearsal(settings, tables, tamper=tamperer).run()
    assert tamperer.done


def flip(data: bytes, *bits: int) -> bytes:
    flipped = np.unpackbits(np.frombuffer(data, np.uint8))
    flipped[list(bits)] ^= 1
    return np.packbits(flipped).tobytes()


LEVELS: dict[str, tuple[int, Change, str]] = {
    "roots that are not asked": (0, lambda m: {"asked": np.zeros(0, np.int64)}, "bank begins trees otherwise"),
    "a division before the root": (0, lambda m: {"sides": b"\x00"}, "bank begins trees otherwise"),
    "nodes that do not exist": (1, lambda m: {"split": np.ones(5, np.uint8)}, "bank splits nodes that do not exist"),
    "neither split nor whole": (1, lambda m: {"split": m.split + np.uint8(2)}, "bank splits nodes that do not exist"),
    "too few sides": (1, lambda m: {"sides": m.sides[:-1]}, "bank sent sides of another number of rows"),
    "a child without rows": (1, lambda m: {"sides": bytes(len(m.sides))}, "bank (splits a node into too|divides a no)"),
    "a child of one row": (1, lambda m: {"sides": b"\x80" + bytes(len(m.sides) - 1)}, "bank (splits a node|divides a)"),
    "a node asked that is none": (1, lambda m: {"asked": np.array([7])}, "bank asks for nodes that cannot be"),
    "a negative node": (1, lambda m: {"asked": np.array([-1])}, "bank asks for nodes that cannot be"),
    "both children": (1, lambda m: {"asked": np.array([0, 1])}, "bank asks for nodes that cannot be"),
    "the larger child": (1, lambda m: {"asked": m.asked ^ 1}, "bank asks for the larger child"),
}


@pytest.mark.parametrize("what", LEVELS)
def test_levels_that_cannot_be_are_refused(what: str) -> None:
    level, change, match = LEVELS[what]
    play(Tamperer(GUEST, LevelMessage, change, level), match)


def test_a_guest_that_divides_a_host_s_own_split_otherwise_is_refused() -> None:
    tables = make_tables(22, 160, (1, 3))
    # The guest's column is noise, so that all splits are the host's.
    noise = np.random.default_rng(1).normal(size=(160, 1))
    tables[GUEST] = replace(tables[GUEST], features=noise)
    settings = make_settings(1, training={"max_iter": 1, "max_depth": 3, "min_samples_leaf": 10})
    tamperer = Tamperer(GUEST, LevelMessage, lambda m: {"sides": flip(m.sides, 3, 8)}, 1)
    with ends(ProtocolError, "bank divides a node otherwise than this host's split"):
        Rehearsal(settings, tables, tamper=tamperer).run()
    omitted = Tamperer(GUEST, LevelMessage, lambda m: {"split": np.zeros(1, np.uint8), "sides": b""}, 1)
    with ends(ProtocolError, "bank leaves out a split"):
        Rehearsal(settings, tables, tamper=omitted).run()


def chosen(change: Callable[[Any], dict[str, Any]]) -> Change:
    return lambda m: change(m) if m.columns.size else {}


SPLITS: dict[str, tuple[Change, str]] = {
    "another node": (lambda m: {"nodes": m.nodes + 90}, "a node that cannot be split"),
    "a negative node": (lambda m: {"nodes": m.nodes - 90}, "a node that cannot be split"),
    "a node twice": (
        lambda m: {
            "nodes": np.repeat(m.nodes[:1], 2),
            "columns": np.repeat(m.columns[:1], 2),
            "left": np.tile(m.left[: m.left.size // m.nodes.size], 2),
        },
        "(a node that cannot be split|on bins)",
    ),
    "a column that does not exist": (lambda m: {"columns": m.columns + 3}, "on a column that does not exist"),
    "a negative column": (lambda m: {"columns": m.columns - 4}, "on a column that does not exist"),
    "too few bins": (lambda m: {"left": m.left[:-1]}, "on bins that it has no sums of"),
    "too many bins": (lambda m: {"left": np.append(m.left, m.left[:1])}, "sides of bins that do not exist"),
    "all left": (lambda m: {"left": np.ones_like(m.left)}, "into too few rows"),
    "no side": (lambda m: {"left": m.left + np.uint8(2)}, "on bins that it has no sums of"),
    "fewer nodes than columns": (lambda m: {"nodes": m.nodes[:-1]}, "splits in another form"),
}


@pytest.mark.parametrize("what", SPLITS)
def test_splits_that_cannot_be_are_refused(what: str) -> None:
    change, match = SPLITS[what]
    play(Tamperer(GUEST, ChosenSplitsMessage, chosen(change)), f"bank .*{match}")


HIDDEN_SPLITS: dict[str, tuple[Change, str]] = {
    "a column that does not exist": (lambda m: {"columns": m.columns + 3}, "on a column that does not exist"),
    "too few bins": (lambda m: {"left": m.left[:-1]}, "on bins that it has no sums of"),
    "too many bins": (lambda m: {"left": np.append(m.left, m.left[:1])}, "sides of bins that do not exist"),
    "all left": (lambda m: {"left": np.ones_like(m.left)}, "on bins that it has no sums of"),
    "no side": (lambda m: {"unseen_left": m.unseen_left + np.uint8(2)}, "on bins that it has no sums of"),
    "too many splits": (
        lambda m: {
            "columns": np.repeat(m.columns[:1], 40),
            "unseen_left": np.repeat(m.unseen_left[:1], 40),
        },
        "splits in another form",
    ),
}


@pytest.mark.parametrize("what", HIDDEN_SPLITS)
def test_splits_of_a_hidden_partition_that_cannot_be_are_refused(what: str) -> None:
    change, match = HIDDEN_SPLITS[what]
    play(Tamperer(GUEST, HiddenSplitsMessage, chosen(change)), f"bank .*{match}", hide_partition=True)


@pytest.mark.parametrize("count", [-1, 3, 17, 1 << 40])
def test_sums_of_more_hidden_nodes_than_a_level_has_are_refused(count: int) -> None:
    tamperer = Tamperer(GUEST, HiddenLevelMessage, lambda m: {"node_count": count} if m.node_count else {})
    play(tamperer, "bank asks for sums of nodes that cannot be", hide_partition=True)


def test_nodes_below_the_depth_of_the_job_are_refused() -> None:
    tables = make_tables(23, 160, (2, 3))
    deep, shallow = (make_settings(1, training={"max_iter": 1, "max_depth": depth}) for depth in (4, 2))
    from hekat.protocol.vertical_trees.roles import run_role

    def play_deep(channel: Any, table: Any, settings: Any, run: Any) -> Any:
        return run_role(channel, table, deep, run)

    for hide in (False, True):
        settings = replace(shallow, hide_partition=hide)
        deep = replace(deep, hide_partition=hide)
        with ends(ProtocolError, "bank asks for (nodes below the depth|sums of nodes that cannot be)"):
            Rehearsal(settings, tables, stand_ins={GUEST: play_deep}).run()


@pytest.mark.parametrize("window", [0, -4, 3, 8192, 1 << 70])
def test_windows_that_cannot_be_are_refused(window: int) -> None:
    tamperer = Tamperer(GUEST, LevelMessage, lambda m: {"window": window})
    play(tamperer, "bank asks for sums that cannot be laid out", protection="lattice")


def test_a_tree_without_a_key_is_refused() -> None:
    tamperer = Tamperer(GUEST, LevelMessage, lambda m: {"public_key": b""})
    play(tamperer, "bank sent no key", protection="lattice")


def test_bytes_that_are_no_key_are_refused() -> None:
    tamperer = Tamperer(GUEST, LevelMessage, lambda m: {"public_key": m.public_key[:-1]})
    play(tamperer, "stopped in step", WireError, protection="lattice")


def test_a_key_where_nothing_is_encrypted_is_refused() -> None:
    play(Tamperer(GUEST, LevelMessage, lambda m: {"public_key": b"key"}), "bank sent a key where nothing is encrypted")


@pytest.mark.parametrize("cut", [1, 40, 4000])
def test_gradients_of_other_rows_are_refused(cut: int) -> None:
    play(
        Tamperer(GUEST, GradientsMessage, lambda m: {"values": m.values[:-cut]}),
        "stopped in step",
        WireError,
        protection="lattice",
    )


def test_plain_gradients_of_other_rows_are_refused() -> None:
    play(Tamperer(GUEST, PlainGradientsMessage, lambda m: {"values": m.values[:-1]}), "bank sent another number")


def test_plain_gradients_beyond_their_range_are_refused() -> None:
    tamperer = Tamperer(GUEST, PlainGradientsMessage, lambda m: {"values": b"\x7f" * len(m.values)})
    play(tamperer, "bank sent integers that cannot be")


STARTS: dict[str, Change] = {
    "rows": lambda m: {"row_count": m.row_count + 1},
    "iterations": lambda m: {"trees_done": 1},
    "parties": lambda m: {"column_counts": [*m.column_counts, 3]},
    "columns": lambda m: {"column_counts": [2, 4]},
}


@pytest.mark.parametrize("what", STARTS)
def test_a_start_with_other_counts_is_refused(what: str) -> None:
    play(Tamperer(GUEST, StartMessage, STARTS[what]), f"bank begins with other {what} than this host has")


@pytest.mark.parametrize("count", [-5, 1 << 17, 1 << 50])
def test_columns_that_no_party_has_are_refused_before_any_are_drawn(count: int) -> None:
    tamperer = Tamperer(GUEST, StartMessage, lambda m: {"column_counts": [count, *m.column_counts[1:]]})
    play(tamperer, "bank tells columns that cannot be")


def test_another_model_than_the_session_s_is_refused() -> None:
    tamperer = Tamperer(GUEST, StartMessage, lambda m: {"model_id": "../model"})
    play(tamperer, "bank begins with another model")


READIES: dict[str, tuple[Change, str]] = {
    "other rows": (lambda m: {"row_count": 3}, "shop begins with other rows"),
    "other trees": (lambda m: {"trees_done": 3}, "shop begins with other trees done"),
    "no column": (
        lambda m: {"bin_counts": np.zeros(0, np.int64), "is_category": np.zeros(0, np.uint8)},
        "shop has columns that cannot be",
    ),
    "a column of one bin": (lambda m: {"bin_counts": m.bin_counts * 0 + 1}, "shop has columns that cannot be"),
    "too many bins": (lambda m: {"bin_counts": m.bin_counts * 0 + 300}, "shop has columns that cannot be"),
    "kinds of other columns": (lambda m: {"is_category": m.is_category[:-1]}, "shop has columns that cannot be"),
    "an unknown kind": (lambda m: {"is_category": m.is_category + np.uint8(2)}, "shop has columns that cannot be"),
}


@pytest.mark.parametrize("what", READIES)
def test_columns_that_cannot_be_are_refused(what: str) -> None:
    change, match = READIES[what]
    play(Tamperer("shop", HostReadyMessage, change), match)


def test_a_host_that_claims_more_bins_than_the_guest_has_room_for_is_refused() -> None:
    tamperer = Tamperer(
        "shop",
        HostReadyMessage,
        lambda m: {"bin_counts": np.full(1 << 16, 256), "is_category": np.zeros(1 << 16, np.uint8)},
    )
    play(tamperer, "columns of shop have more bins.*65,536 columns of up to 256 bins", BoundError)


def set_at(values: np.ndarray, place: int, value: int) -> np.ndarray:
    changed = values.copy()
    changed.flat[place] = value
    return changed


def _wrapped(row_counts: np.ndarray, bin_counts: np.ndarray) -> np.ndarray:
    """Counts of the first column whose 64-bit sum is as it was, by huge counts in the first four bins."""
    assert bin_counts[0, 0] >= 4
    changed = row_counts.copy()
    changed[:4] += 1 << 62
    return changed


BINS: dict[str, tuple[int, Change, str]] = {
    "more joined bins than bins": (0, lambda m: {"bin_counts": m.bin_counts + 90}, "tells bins that cannot be"),
    "one joined bin": (0, lambda m: {"bin_counts": set_at(m.bin_counts, 0, 1)}, "tells bins that cannot be"),
    "negative counts": (0, lambda m: {"bin_counts": -m.bin_counts}, "tells bins that cannot be"),
    "another shape": (0, lambda m: {"bin_counts": m.bin_counts.T.copy()}, "tells bins that cannot be"),
    "too few groups": (0, lambda m: {"groups": m.groups[:-1]}, "tells groups of bins that cannot be"),
    "a group that is none": (
        0,
        lambda m: {"groups": set_at(m.groups, 3, 200)},
        "joins bins to one that does not exist",
    ),
    "bins out of order": (
        0,
        lambda m: {"groups": set_at(m.groups, 3, 0)},
        "(joins bins of a number|tells joined bins)",
    ),
    "too few counts": (0, lambda m: {"row_counts": m.row_counts[:-1]}, "tells groups of bins that cannot be"),
    "more rows": (0, lambda m: {"row_counts": m.row_counts + 1}, "counts other rows than a node has"),
    "rows whose sum wraps": (
        0,
        lambda m: {"row_counts": _wrapped(m.row_counts, m.bin_counts)},
        "counts other rows than a node has",
    ),
    "negative rows": (
        0,
        lambda m: {"row_counts": set_at(set_at(m.row_counts, 0, -5), 1, int(m.row_counts[:2].sum()) + 5)},
        "counts other rows than a node has",
    ),
    "bins of too few rows": (
        0,
        lambda m: {"row_counts": set_at(set_at(m.row_counts, 0, 1), 1, int(m.row_counts[:2].sum()) - 1)},
        "tells bins of too few rows",
    ),
    "a lie about counts": (
        1,
        lambda m: {"row_counts": set_at(set_at(m.row_counts, 0, 1), 1, int(m.row_counts[:2].sum()) - 1)},
        "(tells bins of too few rows|counts more rows than the node above)",
    ),
}


@pytest.mark.parametrize("what", BINS)
def test_joined_bins_that_cannot_be_are_refused(what: str) -> None:
    level, change, match = BINS[what]
    play(Tamperer("shop", JoinedBinsMessage, change, level), f"shop {match}")


def test_a_host_that_lies_about_counts_that_may_be_is_found_when_rows_are_divided() -> None:
    tables = make_tables(24, 160, (1, 2), task="regression")
    tables[GUEST] = replace(tables[GUEST], features=np.random.default_rng(1).normal(size=(160, 1)))
    training = {"max_iter": 1, "max_depth": 1, "min_samples_leaf": 10}
    settings = make_settings(1, "regression", training=training)

    def move_rows(message: Any) -> dict[str, Any]:
        # From the first to the last bin of each column, where both stay large enough.
        counts, at = message.row_counts.copy(), 0
        for count in message.bin_counts[0]:
            counts[at] -= 3
            counts[at + count - 1] += 3
            at += count
        return {"row_counts": counts}

    with ends(ProtocolError, "shop divides a node into other rows than it counted"):
        Rehearsal(settings, tables, tamper=Tamperer("shop", JoinedBinsMessage, move_rows)).run()


def test_a_host_that_counts_less_than_its_hidden_sums_is_refused() -> None:
    def move_rows(message: Any) -> dict[str, Any]:
        return {"row_counts": set_at(set_at(message.row_counts, 0, 12), 1, int(message.row_counts[:2].sum()) - 12)}

    play(
        Tamperer("shop", JoinedBinsMessage, move_rows), "shop answers with sums that so many rows", hide_partition=True
    )


def test_hidden_sums_of_more_rows_than_the_node_above_had_are_refused() -> None:
    """Three rows more in the first bin than the parent has there, though no more than the root has."""

    def add_rows(message: Any) -> dict[str, Any]:
        of_two_nodes = np.frombuffer(message.values, "<i2").reshape(-1, 6).copy()
        of_two_nodes[0, 1:3] += np.array([3 * 16, 3], np.int16)  # each of the largest second derivative
        return {"values": of_two_nodes.tobytes()}

    play(Tamperer("shop", SumsMessage, add_rows, 2), "shop sums more rows than the node above had", hide_partition=True)


@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\x00", lambda data: b""], ids="-+0")
def test_sums_of_another_size_are_refused(protection: str, change: Callable[[bytes], bytes]) -> None:
    kind = ProtocolError if protection == "none" else WireError
    play(
        Tamperer("shop", SumsMessage, lambda m: {"values": change(m.values)}),
        "stopped in step",
        kind,
        protection=protection,
    )


def test_plain_sums_that_no_rows_have_are_refused() -> None:
    tamperer = Tamperer("shop", SumsMessage, lambda m: {"values": b"\x7f" * len(m.values)})
    play(tamperer, "shop sent integers that cannot be")


def test_encrypted_sums_that_no_rows_have_are_refused() -> None:
    def change(message: Any) -> dict[str, Any]:
        data = bytearray(message.values)
        data[-60:] = np.random.default_rng(3).bytes(60)
        return {"values": bytes(data)}

    play(
        Tamperer("shop", SumsMessage, change), "shop (sent sums that cannot be|answers with sums)", protection="lattice"
    )


@pytest.mark.parametrize("hide", [False, True])
def test_sides_of_other_rows_are_refused(hide: bool) -> None:
    play(
        Tamperer("shop", SplitSidesMessage, lambda m: {"sides": m.sides + b"\x00"}),
        "shop sent sides of another number of rows",
        hide_partition=hide,
    )
    play(
        Tamperer("shop", SplitSidesMessage, lambda m: {"sides": bytes(len(m.sides))}),
        "shop divides a node into other rows than it counted",
        hide_partition=hide,
    )


def split_by_the_host() -> dict[str, Any]:
    tables = make_tables(22, 160, (1, 3))
    # The guest's column is noise, so that all splits are the host's.
    return {**tables, GUEST: replace(tables[GUEST], features=np.random.default_rng(1).normal(size=(160, 1)))}


def of_splitting_column(message: Any) -> tuple[int, np.ndarray]:
    """Where the counts of the column begin that split the node above, and its counts: those with bins without rows."""
    at = 0
    for count in message.bin_counts[0].tolist():
        counts = message.row_counts[at : at + count]
        if (counts == 0).any():
            return at, counts
        at += count
    raise AssertionError("no column split the node above")


def test_more_rows_than_the_node_above_had_are_refused_in_the_column_that_split_it() -> None:
    def move_rows(message: Any) -> dict[str, Any]:
        at, counts = of_splitting_column(message)
        first, second = np.flatnonzero(counts)[:2]
        moved = set_at(message.row_counts, at + first, int(counts[first] + counts[second]))
        return {"row_counts": set_at(moved, at + second, 0)}

    settings = make_settings(1, training={"max_iter": 1, "max_depth": 3, "min_samples_leaf": 10})
    with ends(ProtocolError, "shop counts more rows than the node above had"):
        Rehearsal(settings, split_by_the_host(), tamper=Tamperer("shop", JoinedBinsMessage, move_rows, 1)).run()


def test_a_column_that_split_a_node_keeps_its_bins() -> None:
    def leave_out(message: Any) -> dict[str, Any]:
        of_splitting_column(message)
        return {
            "bin_counts": message.bin_counts * 0,
            "groups": message.groups[:0],
            "row_counts": message.row_counts[:0],
        }

    tables = split_by_the_host()
    # One column, which then splits the root.
    tables["shop"] = replace(tables["shop"], features=tables["shop"].features[:, :1], feature_names=("shop-0",))
    settings = make_settings(1, training={"max_iter": 1, "max_depth": 3, "min_samples_leaf": 10})
    labels = (np.asarray(tables["shop"].features)[:, 0] > 0).astype(np.int64)
    tables[GUEST] = replace(tables[GUEST], labels=np.where(np.arange(160) % 5, labels, 1 - labels))
    with ends(ProtocolError, "shop joins bins of a column that split the node above"):
        Rehearsal(settings, tables, tamper=Tamperer("shop", JoinedBinsMessage, leave_out, 1)).run()


def test_bins_of_columns_that_an_iteration_does_not_use_are_refused() -> None:
    from hekat.protocol.vertical_trees.roles import run_role

    def use_all(channel: Any, table: Any, settings: Any, run: Any) -> Any:
        return run_role(channel, table, replace(settings, training=replace(settings.training, max_features=1.0)), run)

    settings = make_settings(1, training={"max_iter": 1, "max_features": 0.3})
    with ends(ProtocolError, "shop tells bins of a column that this iteration does not use"):
        Rehearsal(settings, make_tables(23, 160, (2, 3)), stand_ins={"shop": use_all}).run()


def test_bits_behind_the_last_row_are_refused() -> None:
    with pytest.raises(ProtocolError, match="shop sent sides of rows that do not exist"):
        read_sides(b"\xe1", 3, "shop")
