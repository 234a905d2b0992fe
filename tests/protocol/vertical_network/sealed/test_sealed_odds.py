"""The odds of a run are those of its largest numbers, and grow as they should."""

from __future__ import annotations

import pytest

from hekat.protocol.vertical_network.sealed.run_odds import run_bits
from hekat.protocol.vertical_network.sealed.scales import SealedShape

PLANNED = SealedShape(1024, 12, 12, (1, -1) * 15 + (1,))


def test_the_planned_run_is_far_from_going_astray() -> None:
    """Ten epochs of 24 batches: slopes and the loss 2^-40.1 each, with a momentum of 0.9 2^-38.2 in all."""
    assert 38.9 < run_bits(PLANNED, 240, 0) < 39.2
    assert 38.1 < run_bits(PLANNED, 240, 230) < 38.3


@pytest.mark.parametrize("momentum_units", [0, 230])
def test_odds_grow_with_steps_rows_and_momentum(momentum_units) -> None:
    bits = run_bits(PLANNED, 240, momentum_units)
    assert run_bits(PLANNED, 480, momentum_units) == pytest.approx(bits - 1)
    assert run_bits(SealedShape(8192, 12, 12, PLANNED.signs), 240, momentum_units) < bits - 2.5
    assert run_bits(PLANNED, 240, 250) < run_bits(PLANNED, 240, 230) < run_bits(PLANNED, 240, 0)
