"""The guest's attack on a host's column of two values: which of all such columns give the loss that it was told?"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from hekat.data import Table
from hekat.protocol.vertical.columns import prepare_columns
from hekat.protocol.vertical_linear.loss_bits import told_loss_bits

ROWS, EPOCHS, RATE = 11, 2, 0.5


def tiny_tables() -> dict[str, Table]:
    """So few rows that one can try all columns of two values: the guest's own column, and the host's."""
    rng = np.random.default_rng(16)
    own, labels = rng.normal(size=(ROWS, 1)), np.arange(ROWS) % 2
    yes = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0], np.float64)
    return {
        "bank": Table(own, labels.astype(np.int64), ("income",), "bank"),
        "shop": Table(yes[:, np.newaxis], None, ("member",), "shop"),
    }


def second_loss(make_run: Callable[..., Any], settings_of: Callable[..., Any], protection: str) -> float:
    """The loss that the guest of `tiny_tables` is told after the second epoch of a run in either form."""
    job = settings_of(protection=protection, batch_rows=0, epochs=EPOCHS, learning_rate=RATE)
    run = make_run(job, tiny_tables(), exactness_check=False)
    run.run()
    loss: float = run.records["bank"][1].loss
    return loss


def columns_that_fit(tables: dict[str, Table], told: float, tolerance: float) -> np.ndarray:
    """All columns (count, rows) of 0 and 1 under which the second epoch's loss is `told`, up to `tolerance`.

    The guest plays both epochs of two parties for each: from weights of 0, one batch, residuals u / 4 - y / 2.
    """
    own = _rounded(prepare_columns(tables["bank"], standardise=True).features[:, 0])
    y = np.where(np.asarray(tables["bank"].labels) == 1, 1.0, -1.0)
    guesses = np.array([one for one in itertools.product([0.0, 1.0], repeat=len(y)) if 0 < sum(one) < len(y)])
    theirs = _rounded((guesses - guesses.mean(axis=1, keepdims=True)) / guesses.std(axis=1, keepdims=True))
    d = -y / 2
    fixed = -RATE * (own * (own @ d) + d.sum()) / len(y)
    scores = fixed - RATE * theirs * (theirs @ d)[:, np.newaxis] / len(y)
    losses = np.log(2) - 0.5 + 2 * np.mean((scores / 4 - y / 2) ** 2, axis=1)
    return guesses[np.abs(losses - told) <= tolerance]


def told_unit(rows: int, epochs: int) -> float:
    """How far the told loss may lie from the loss: a unit of the mean square, which the Taylor loss takes twice."""
    return 2 * 2.0 ** -told_loss_bits(rows, epochs)


def is_told_coarsely(told: float, rows: int, epochs: int) -> bool:
    """Whether the mean square behind this loss is a whole number of units, with nothing finer in it."""
    units = (told - (np.log(2) - 0.5)) / 2 * 2.0 ** told_loss_bits(rows, epochs)
    return abs(units - round(units)) < 1e-9


def is_the_hosts(found: np.ndarray, tables: dict[str, Table]) -> bool:
    """Whether the columns found are the host's column and nothing else; swapping its two values changes no score."""
    yes = tables["shop"].features[:, 0]
    return len(found) == 2 and {tuple(one) for one in found.tolist()} == {tuple(yes), tuple(1 - yes)}


def _rounded(values: np.ndarray) -> np.ndarray:
    return np.rint(values * 2.0**16) / 2.0**16
