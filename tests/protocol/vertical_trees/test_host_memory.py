"""A host's memory has a bound of its own: a guest that asks for more ends the run before any of it is taken."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_trees.rehearsal import GUEST, Rehearsal, ends, make_settings, make_tables

from hekat.errors import PolicyError, ProtocolError
from hekat.protocol.vertical_trees.arithmetic.paillier import PaillierHost
from hekat.protocol.vertical_trees.arithmetic.plain import PlainHost
from hekat.protocol.vertical_trees.guest_side import hidden_sums, level_sums
from hekat.protocol.vertical_trees.host_side.sum_memory import CELL_BYTES, MIB, SIDE_BYTES, SumMemory
from hekat.protocol.vertical_trees.roles import run_role
from hekat.protocol.vertical_trees.sums_plan import make_exchange
from hekat.scheme.bin_sums import BinSummer

GROWTH = {"max_iter": 1, "max_depth": 3, "min_samples_leaf": 5, "max_bins": 40}
MOST_MIB = 24
"""Room for what a guest of this release asks for in the trees of these tests, and for no narrow windows."""


def rehearse(*, most_mib: int = MOST_MIB, rows: int = 400, **changes: Any) -> Rehearsal:
    settings = make_settings(1, **({"protection": "lattice", "training": GROWTH} | changes))
    return Rehearsal(settings, make_tables(31, rows, (2, 12)), max_sum_memory_mib=most_mib)


def choose_narrow_windows(monkeypatch: pytest.MonkeyPatch, at_exchange: int) -> None:
    """Let guests choose window 1 for one exchange of a training, 0 for the root's, and lay gradients out by it."""
    choose, made = level_sums.choose_window, iter(range(1 << 10))

    def narrow(*args: Any) -> int:
        return 1 if next(made) == at_exchange else choose(*args)

    for module in (level_sums, hidden_sums):
        monkeypatch.setattr(module, "choose_window", narrow)


def peak_mib(run: Callable[[], object]) -> float:
    """The most memory of arrays that a run has at work, of guest and host together."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def test_a_guest_of_this_release_stays_within_the_bound() -> None:
    for hide in (False, True):
        assert rehearse(hide_partition=hide).run()


@pytest.mark.quick_values
@pytest.mark.parametrize("at_exchange", [0, 1])
@pytest.mark.parametrize("hide", [False, True], ids=["nodes told", "hidden"])
def test_a_guest_that_chooses_narrow_windows_is_refused_before_sums(
    monkeypatch: pytest.MonkeyPatch, at_exchange: int, hide: bool
) -> None:
    begun: list[int] = []
    begin = BinSummer.__init__

    def note_window(self: BinSummer, key: Any, layout: Any, *others: Any) -> None:
        begun.append(layout.window)
        begin(self, key, layout, *others)

    def refused() -> None:
        with ends(
            PolicyError, r"bank asks for sums that take more memory.*in windows of 1.*policy\.max_sum_memory_mib"
        ):
            rehearse(hide_partition=hide).run()

    monkeypatch.setattr(BinSummer, "__init__", note_window)
    choose_narrow_windows(monkeypatch, at_exchange)
    assert peak_mib(refused) < MOST_MIB
    assert len(begun) == at_exchange
    assert 1 not in begun


def test_without_the_bound_narrow_windows_take_several_times_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = peak_mib(rehearse().run)
    choose_narrow_windows(monkeypatch, 0)
    narrow = peak_mib(rehearse(most_mib=4096).run)
    assert narrow > MOST_MIB > 2 * usual


def test_nodes_of_many_columns_are_refused_before_bins_are_joined() -> None:
    settings = make_settings(1, training={"max_iter": 1, "max_depth": 4, "min_samples_leaf": 5, "max_bins": 200})
    tables = make_tables(32, 400, (2, 60))
    with ends(PolicyError, r"bank asks for sums.*at most policy\.max_sum_memory_mib = 2 MiB.* 2 nodes of 60 columns"):
        Rehearsal(settings, tables, max_sum_memory_mib=2).run()
    assert Rehearsal(settings, tables, max_sum_memory_mib=16).run()


def test_hidden_splits_of_more_nodes_than_rows_fill_are_refused() -> None:
    # 160 rows fill two nodes that can be split into children of 40 rows, however deep the job lets trees grow.
    settings, theirs = (
        make_settings(1, training={"max_iter": 1, "max_depth": 5, "min_samples_leaf": rows}, hide_partition=True)
        for rows in (40, 5)
    )

    def play_fine(channel: Any, table: Any, settings: Any, run: Any) -> Any:
        return run_role(channel, table, theirs, run)

    with ends(ProtocolError, "bank (splits in another form.*each of 2 splits|asks for .*: 2 nodes) at most"):
        Rehearsal(settings, make_tables(33, 160, (1, 3)), stand_ins={GUEST: play_fine}).run()


def test_what_an_iteration_keeps_adds_up_and_ends_with_it() -> None:
    memory = SumMemory("bank", 1)
    cells = MIB // CELL_BYTES
    memory.take_nodes(1, 1, cells - 10)
    memory.take_nodes(2, 5, 1)
    memory.check_sums(0, 0, "sums")
    with pytest.raises(PolicyError, match="about 2 MiB: some sums"):
        memory.check_sums(MIB - CELL_BYTES * cells + 1, 0, "some sums")
    with pytest.raises(PolicyError, match="1 node of 1 column in a level"):
        memory.take_nodes(1, 1, 1)
    memory.begin_iteration()
    memory.check_sides(1, MIB // SIDE_BYTES)
    with pytest.raises(PolicyError, match="the sides of 1,048,576 rows at 3 splits"):
        memory.check_sides(3, MIB)


def test_ciphertexts_of_rows_and_of_sums_count_as_they_lie_in_memory() -> None:
    ranges = ((-8, 8), (0, 16))
    root = make_exchange(0, ranges, 1, [np.arange(1000)], [0])
    below = make_exchange(1, ranges, 1, [np.arange(100), np.arange(100, 300)], [0, 0])
    host = PaillierHost(2048, 2, False, None)  # type: ignore[arg-type]  # no ledger: no key comes
    ciphertext = 512
    assert host.working_bytes(root, np.array([50]), GUEST) == (4 * 50 + 2 * 1000) * ciphertext
    assert host.working_bytes(below, np.array([50, 3]), GUEST) == 4 * 2 * 50 * ciphertext
    assert PlainHost().working_bytes(below, np.array([50, 3]), GUEST) == 3 * 53 * 2 * 8
