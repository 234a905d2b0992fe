"""No mask serves two batches: the arbiter, which opens all masked numbers, learns nothing from their differences.

The attack: the arbiter subtracts the numbers that it opens in one batch from those of the next. Under one mask the
difference is the difference of two gradients, which is small; under two masks it is uniform.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from hekat.engine.limbs import ints_from_limbs
from hekat.engine.select import get_engine
from hekat.protocol.vertical_linear.arbiter.bfv_arithmetic import BfvArithmetic
from hekat.protocol.vertical_linear.arbiter.messages import OpenedGradientMessage, OpenedLossMessage
from hekat.protocol.vertical_linear.arbiter.paillier_arithmetic import PaillierArithmetic
from hekat.scheme.bfv import masked_products

KINDS = (OpenedGradientMessage, OpenedLossMessage)
# A difference so much shorter than the opened numbers comes by chance with odds of 2^-23, two of twenty with 2^-38.
SHORTER_BITS = 24


@pytest.fixture
def play(rehearse, settings_of, tables_of):
    """Three epochs of one batch each, whose gradients hardly change; returns the run."""

    def run(protection: str):
        job = settings_of(protection=protection, batch_rows=0, epochs=3, learning_rate=1e-6)
        rehearsal = rehearse(job, tables_of(1))
        rehearsal.run()
        return rehearsal

    return run


def small_differences(rehearsal) -> tuple[int, int]:
    """Of the numbers opened in the same place in two epochs: how many pairs are close, and how many pairs there are."""
    opened = defaultdict(list)
    for to, _, message in rehearsal.sent["judge"]:
        if isinstance(message, KINDS):
            opened[to, type(message)].append(ints_from_limbs(message.values))
    assert {kind for _, kind in opened} == set(KINDS)
    assert {to for to, _ in opened} == {"bank", "shop"}
    close = total = 0
    for lists in opened.values():
        bits = max(value.bit_length() for values in lists for value in values)
        for first, second in pairwise(lists):
            for a, b in zip(first, second, strict=True):
                distance = min(abs(a - b), (1 << bits) - abs(a - b))
                close += distance < 1 << (bits - SHORTER_BITS)
                total += 1
    return close, total


@pytest.mark.parametrize("protection", ["paillier", "lattice"])
def test_the_attack_finds_nothing(protection: str, play) -> None:
    close, total = small_differences(play(protection))
    assert total >= 2 * 5
    assert close < 2


@pytest.mark.parametrize("protection", ["paillier", "lattice"])
def test_the_attack_succeeds_where_masks_are_used_again(protection: str, play, monkeypatch) -> None:
    engine, drawn = get_engine(), {}
    random_below = type(engine).random_below

    def draw_once(self, count, bound):
        if (count, bound) not in drawn:
            drawn[count, bound] = random_below(self, count, bound)
        return drawn[count, bound]

    monkeypatch.setattr(type(engine), "random_below", draw_once)
    monkeypatch.setattr(masked_products.secrets, "randbelow", lambda modulus: modulus // 3)
    close, total = small_differences(play(protection))
    assert close > total / 2


@pytest.mark.parametrize(("protection", "arithmetic"), [("paillier", PaillierArithmetic), ("lattice", BfvArithmetic)])
def test_no_mask_of_a_run_is_used_twice(protection: str, arithmetic, play, monkeypatch) -> None:
    """No mask comes twice: not in one batch, not in two, not at two parties, neither for gradients nor for losses."""
    masks: list[bytes] = []
    calls: list[int] = []
    mask = arithmetic.mask

    def mask_and_keep(self, products):
        masked = mask(self, products)
        masks.extend(row.tobytes() for row in np.asarray(masked.masks))
        calls.append(len(masked.masks))
        return masked

    monkeypatch.setattr(arithmetic, "mask", mask_and_keep)
    play(protection)
    assert len(calls) == 3 * 3, "two gradients and a loss an epoch"
    assert len(set(masks)) == len(masks) == sum(calls)
