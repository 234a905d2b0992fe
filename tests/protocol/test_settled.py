"""The rule that ends training once its loss has settled."""

from __future__ import annotations

import pytest

from hekat.protocol.stop_rules import has_settled

FALLING = [0.7, 0.5, 0.4, 0.35, 0.33, 0.32]


@pytest.mark.parametrize(
    ("losses", "unit", "settled"),
    [
        ([0.3] * 4, 0.0, False),
        ([0.3] * 5, 0.0, True),
        (FALLING, 0.0, False),
        ([*FALLING, 0.32, 0.32, 0.32], 2.0**-24, True),
        ([*FALLING, 0.32, 0.32, 0.32], 2.0**-8, False),
        ([*FALLING, 0.3202, 0.3201, 0.3199], 0.0, False),
        ([*FALLING, 0.36, 0.34, 0.33], 0.0, False),
        ([0.6931, 0.465, 0.5005, 0.471, 0.4667], 0.0, False),  # an overshoot of momentum, on the way down
        ([0.0] * 6, 0.0, True),
    ],
)
def test_it_takes_losses_that_fall_no_more_and_are_told_finely_enough(losses, unit, settled) -> None:
    assert has_settled(losses, unit) is settled
