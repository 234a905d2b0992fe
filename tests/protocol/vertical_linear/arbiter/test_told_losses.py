"""What losses tell the guest about hosts' rows: told to every bit, and told to the unit that few rows get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
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

from hekat.engine.limbs import ints_from_limbs
from hekat.protocol.vertical_linear.arbiter import sum_layout
from hekat.protocol.vertical_linear.loss_bits import LOSS_BITS, told_loss_bits
from hekat.scheme.bfv import PRODUCTS


@pytest.mark.parametrize("bits", [LOSS_BITS, 2 * LOSS_BITS])
@pytest.mark.parametrize("protection", ["paillier", "lattice", "none"])
def test_a_loss_of_few_rows_told_finely_is_a_hosts_column(
    rehearse, settings_of, monkeypatch, protection: str, bits: int
) -> None:
    """Few rows, whose loss the guest is told as finely as the loss of many rows, or to every bit."""
    monkeypatch.setattr(sum_layout, "told_loss_bits", lambda rows, epochs: bits)
    told = second_loss(rehearse, settings_of, protection)
    # Shares of targets are rounded at 2^-20.
    assert is_the_hosts(columns_that_fit(tiny_tables(), told, 2.0**-20), tiny_tables())


@pytest.mark.parametrize("protection", ["paillier", "lattice", "none"])
def test_a_loss_of_few_rows_leaves_many_columns(rehearse, settings_of, protection: str) -> None:
    assert told_loss_bits(ROWS, EPOCHS) == 4
    told = second_loss(rehearse, settings_of, protection)
    assert is_told_coarsely(told, ROWS, EPOCHS)
    found = columns_that_fit(tiny_tables(), told, told_unit(ROWS, EPOCHS))
    assert len(found) > 100
    # The columns that fit tell no cell of the host's column.
    assert (found.mean(axis=0) > 0.05).all()
    assert (found.mean(axis=0) < 0.95).all()


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_all_losses_of_a_run_have_at_most_a_bit_a_row(rows: int, epochs: int) -> None:
    bits = told_loss_bits(rows, epochs)
    assert 0 <= bits <= LOSS_BITS
    # The loss lies between two ends a unit apart, from a place that the guest knows: one bit more than the bits behind
    # the point.
    assert bits == 0 or (bits + 1) * epochs <= rows
    assert bits == LOSS_BITS or (bits + 2) * epochs > rows


def test_the_ledgers_of_guest_and_arbiter_say_how_finely(rehearse, settings_of, tables_of) -> None:
    run = rehearse(settings_of(epochs=5), tables_of(1), exactness_check=False)
    run.run()
    said = "the guest learns each epoch's mean square of residuals to 2^-11: 60 bits in 5 epochs, one of each"
    for party in ("bank", "judge"):
        assert any(said in note for note in run.notes[party])


@pytest.mark.parametrize("protection", ["paillier", "lattice"])
def test_the_arbiters_answer_has_no_room_for_the_bits_that_are_cut(
    rehearse, settings_of, tables_of, protection: str
) -> None:
    run = rehearse(settings_of(protection=protection, epochs=1), tables_of(1), exactness_check=False)
    run.run()
    start = next(message for _, step, message in run.sent["bank"] if step == "start")
    layout = sum_layout.SumLayout.of(start, run.settings)
    assert layout.loss_bits - layout.loss_cut_bits == LOSS_BITS
    (opened,) = [message.values for _, step, message in run.sent["judge"] if step == "epoch-1/opened-loss"]
    (told,) = ints_from_limbs(opened)
    whole_bits = layout.products(PRODUCTS).opened_bits
    if protection == "paillier":
        # Paillier's products stand GUARD_BITS further up.
        whole_bits = layout.packing(run.key_pair.public).slot_bits - sum_layout.GUARD_BITS
    assert told >> (whole_bits - layout.loss_cut_bits) == 0
