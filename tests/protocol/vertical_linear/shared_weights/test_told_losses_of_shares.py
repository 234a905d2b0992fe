"""What the loss, the one number that opens in an epoch on shares, tells the guest about few rows of the host."""

from __future__ import annotations

import pytest
from tests.protocol.vertical_linear.column_guesses import (
    EPOCHS,
    ROWS,
    columns_that_fit,
    is_the_hosts,
    is_told_coarsely,
    second_loss,
    tiny_tables,
    told_unit,
)

from hekat.protocol.vertical_linear.loss_bits import LOSS_BITS
from hekat.protocol.vertical_linear.shared_weights import training as training_module


def test_as_finely_as_of_many_rows_it_is_the_hosts_column(run_of, settings_of, monkeypatch, gradient_method) -> None:
    monkeypatch.setattr(training_module, "told_loss_bits", lambda rows, epochs: LOSS_BITS)
    told = second_loss(run_of, settings_of, "none")
    assert is_the_hosts(columns_that_fit(tiny_tables(), told, 2.0**-20), tiny_tables())


def test_as_few_rows_are_told_it_leaves_many_columns(run_of, settings_of, gradient_method) -> None:
    told = second_loss(run_of, settings_of, "none")
    assert is_told_coarsely(told, ROWS, EPOCHS)
    found = columns_that_fit(tiny_tables(), told, told_unit(ROWS, EPOCHS) + 2.0**-20)
    assert len(found) > 100
    assert (found.mean(axis=0) > 0.05).all()
    assert (found.mean(axis=0) < 0.95).all()


@pytest.mark.parametrize("party", ["bank", "shop"])
def test_both_ledgers_say_how_finely(run_of, settings_of, tables_of, party: str) -> None:
    run = run_of(settings_of(protection="none", epochs=5), tables_of(1), exactness_check=False)
    run.run()
    assert b"mean square of residuals to 2^-11: 60 bits in 5 epochs" in run.channels[party].ledger.data
