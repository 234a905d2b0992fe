"""Live progress: bars on a terminal, a line for each finished piece of work elsewhere."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from hekat.cli.run import progress as progress_module
from hekat.cli.run.progress import RunProgress


def shown(is_terminal: bool, play, *, verbose: bool = True) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=120, color_system=None)
    with RunProgress(console, verbose=verbose) as progress:
        play(progress)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())


def compare(progress: RunProgress) -> None:
    for done in (100, 200, 256):
        progress.reach("bank: masking own ids", done, 256)
        progress.reach("shop: masking own ids", done // 2, 128)
    progress.begin("training", 2)
    progress.advance("training", "epoch 1, loss 0.6931")
    progress.advance("training", "epoch 2, loss 0.5012")


def test_a_terminal_has_a_bar_for_each_piece_of_work() -> None:
    last = shown(True, compare).split("\r")[-1]
    assert re.search(r"bank: masking own ids +\S* +256/256", last)
    assert re.search(r"shop: masking own ids +\S* +128/128", last)
    assert re.search(r"training on the common rows +\S* +2/2 .*epoch 2, loss 0.5012", last)


def test_elsewhere_finished_work_is_told_once() -> None:
    lines = shown(False, compare).splitlines()
    assert [re.sub(r"\d+\.\d s", "T", line) for line in lines] == [
        "  bank: masking own ids: 256  T",
        "  shop: masking own ids: 128  T",
        "training on the common rows ...",
        "  1/2  epoch 1, loss 0.6931  T",
        "  2/2  epoch 2, loss 0.5012  T",
    ]


def test_in_short_only_bars_of_unfinished_work_and_of_phases_stay() -> None:
    def play(progress: RunProgress) -> None:
        progress.reach("bank: masking own ids", 128, 256)
        compare(progress)
        progress.reach("shop: masking ids of bank", 10, 256)

    text = shown(True, play, verbose=False)
    last = text.split("\r")[-1]
    assert "bank: masking own ids" in text
    assert "own ids" not in last
    assert re.search(r"shop: masking ids of bank +\S* +10/256", last)
    assert re.search(r"training on the common rows +\S* +2/2 .*epoch 2, loss 0.5012", last)


def lines_in_short(play) -> list[str]:
    lines = shown(False, play, verbose=False).splitlines()
    return [re.sub(r"\d+\.\d s$", "T", line) for line in lines]


def test_in_short_a_phase_gets_one_line() -> None:
    assert lines_in_short(compare) == ["training on the common rows          2/2  epoch 2, loss 0.5012  T"]


def test_in_short_a_phase_that_ends_early_is_told_where_it_stood() -> None:
    def stop_early(progress: RunProgress) -> None:
        progress.begin("plain", 9)
        for number in (1, 2):
            progress.advance("plain", f"loss 0.{number}")
        progress.begin("encrypted", 9)
        progress.advance("encrypted", "loss 0.3")

    assert lines_in_short(stop_early) == [
        "federated, nothing encrypted         2/9  loss 0.2  T",
        "federated, every update encrypted    1/9  loss 0.3  T",
    ]


def test_in_short_what_takes_long_is_told_every_minute(monkeypatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress_module.time, "perf_counter", lambda: now)

    def take_long(progress: RunProgress) -> None:
        nonlocal now
        for done in range(11):
            progress.reach("bank: masking own ids", 10 * done, 100)
            now += 14
        progress.begin("training", 9)
        for number in range(1, 10):
            now += 14
            progress.advance("training", f"epoch {number}")

    assert lines_in_short(take_long) == [
        "bank: masking own ids: 50 of 100  T",
        "bank: masking own ids: 100 of 100  T",
        "training on the common rows          5/9  epoch 5  T",
        "training on the common rows          9/9  epoch 9  T",
    ]


@pytest.mark.parametrize("begun", [False, True])
def test_the_search_for_a_key_is_shown_before_and_beside_other_work(begun) -> None:
    def search(progress: RunProgress) -> None:
        if begun:
            progress.begin("encrypted", 3)
        progress.search_key(12, 1)

    text = shown(True, search)
    assert "making the key: 1 of 2 primes, 12 candidates" in text
    assert ("making keys" in text) is not begun
    assert "making" not in shown(False, search)


def test_what_is_shown_steers_no_terminal() -> None:
    assert "\x1b[31m" not in shown(False, lambda progress: progress.reach("evil\x1b[31m: masking", 1, 1))
