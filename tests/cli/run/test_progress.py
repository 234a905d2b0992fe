"""Live progress: bars on a terminal, a line for each finished piece of work elsewhere."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from hekat.cli.run.progress import RunProgress


def shown(is_terminal: bool, play) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=120, color_system=None)
    with RunProgress(console) as progress:
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
