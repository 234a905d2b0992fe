"""Large numbers among many small ones: a host finds them in its sums, and the rule that refuses it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import PartyStoppedError, PolicyError
from hekat.protocol.vertical_linear.arbiter import leak_rules
from hekat.protocol.vertical_linear.label_leak.number_bits import check_number_bits
from hekat.protocol.vertical_linear.objective import WEIGHTS
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings

ROWS, LARGE, COLUMNS = 1000, 12, 100


@pytest.fixture
def claims() -> dict[str, Table]:
    """Numbers that all differ, 12 large claims among small ones; the host has 100 columns without tails."""
    rng = np.random.default_rng(9)
    amounts = rng.uniform(0, 1, ROWS)
    amounts[rng.choice(ROWS, LARGE, replace=False)] = 20_000 / 1.5 ** np.arange(LARGE)
    names = tuple(f"shop-{number}" for number in range(COLUMNS))
    return {
        "bank": Table(rng.normal(size=(ROWS, 2)), amounts, ("u", "v"), "bank"),
        "shop": Table(rng.uniform(-1, 1, (ROWS, COLUMNS)), None, names, "shop"),
    }


def pursue(columns: np.ndarray, sums: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Orthogonal matching pursuit: the LARGE rows whose numbers explain `sums` best, and these numbers."""
    found: list[int] = []
    rest, values = sums, np.zeros(0)
    for _ in range(LARGE):
        found.append(int(np.abs(columns @ rest / np.linalg.norm(columns, axis=1)).argmax()))
        values = np.linalg.lstsq(columns[found].T, sums, rcond=None)[0]
        rest = sums - columns[found].T @ values
    return found, values


def test_a_host_finds_the_large_numbers_of_a_batch(rehearse, settings_of, claims, new_notebook, monkeypatch) -> None:
    """Without the rule at every precision: all numbers differ, so they hold 8,530 bits."""
    notebook = new_notebook()
    job = settings_of(batch_rows=0, epochs=1, protection="none", task="number", accepted=None)
    run = rehearse(job, claims, exactness_check=False, stand_ins={"shop": notebook.play_host})
    with monkeypatch.context() as old:
        old.setattr(leak_rules, "check_number_bits", lambda *arguments: None)
        run.run()
    rows, _, gradient = notebook.steps[0]
    found, _ = pursue(notebook.features[rows], -len(rows) * gradient[WEIGHTS][:, 0])
    truth = set(np.flatnonzero(claims["bank"].labels >= 100).tolist())
    assert len(truth & set(rows[found].tolist())) >= LARGE - 1
    run = rehearse(job, claims, exactness_check=False)
    with pytest.raises(PartyStoppedError, match="host shop would tell the numbers of a batch") as caught:
        run.run()
    assert isinstance(caught.value.__cause__, PolicyError)
    assert caught.value.party == "bank"
    assert run.sent["bank"] == []


def standardised(values: np.ndarray) -> np.ndarray:
    return ((values - values.mean()) / values.std())[:, np.newaxis]


JOB = VerticalLinearSettings("bank", ("shop",), arbiter="judge", task="linear")


@pytest.mark.parametrize(
    ("kind", "columns", "refused"),
    [("bell", 20, False), ("two values and noise", 40, True), ("one far out", 40, True), ("flat", 30, False)],
)
def test_numbers_are_counted_at_every_precision(kind: str, columns: int, refused: bool) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=ROWS)
    if kind == "two values and noise":
        values = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0) + 1e-3 * values
    elif kind == "flat":
        values = rng.random(ROWS)
    elif kind == "one far out":
        values[17] = 40.0
    numbers = ("shop", columns, 18, standardised(values), [np.arange(ROWS)])
    target_bits = int(np.ceil(np.abs(numbers[3]).max())).bit_length()
    if not refused:
        check_number_bits(*numbers, JOB, target_bits)
        return
    with pytest.raises(PolicyError, match="would tell the numbers of a batch"):
        check_number_bits(*numbers, JOB, target_bits)
    check_number_bits(*numbers, replace(JOB, label_leak_accepted=LEAK_ACCEPTED), target_bits)
