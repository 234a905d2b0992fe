"""What a loss of a sealed network tells: no finer digits than agreed, and no more above to a guest that lies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hekat.errors import DivergedError
from hekat.protocol.shares.modular_truncation import ModularTruncation
from hekat.protocol.vertical_network.sealed.messages import SealedLossMessage
from hekat.protocol.vertical_network.sealed.opened_loss import ToldLoss, open_loss, send_loss, told_loss
from hekat.protocol.vertical_network.sealed.scales import SLOT_RING

LN2 = np.log(2)


def draw_share(rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.integers(prime) for prime in SLOT_RING.primes], np.uint64)


def residues(number: int) -> np.ndarray:
    return np.array([number % prime for prime in SLOT_RING.primes], np.uint64)


def open_sum(total: int, told: ToldLoss, rng: np.random.Generator, more: int = 0) -> tuple[int, float]:
    """What the host sends of a sum at 2^-28 in shares, and the loss at a guest that adds `more` to its own."""
    own = draw_share(rng)
    hosts = SLOT_RING.subtract(residues(total)[:, np.newaxis], own[:, np.newaxis])[:, 0]
    sent: list[SealedLossMessage] = []
    channel = SimpleNamespace(send=lambda *message: sent.append(message[-1]), receive=lambda *_: sent[-1])
    seed = rng.bytes(32)
    send_loss(channel, "guest", "loss", hosts, told, ModularTruncation(seed, SLOT_RING, is_guest=False))
    (number,) = sent[-1].share
    guests = SLOT_RING.add(own[:, np.newaxis], residues(more)[:, np.newaxis])[:, 0]
    loss = open_loss(channel, "host", "loss", guests, told, ModularTruncation(seed, SLOT_RING, is_guest=True))
    return int(number), loss


@pytest.mark.parametrize(("rows", "epochs"), [(100, 10), (24_000, 10), (1, 20), (7, 2)])
def test_a_loss_opens_to_its_unit(rows: int, epochs: int) -> None:
    rng, told = np.random.default_rng(71), told_loss(rows, epochs)
    for mean_square in (0.0, 0.25, 3.0, 255.0):
        total = int(mean_square * rows * 2**28)
        sent, loss = open_sum(total, told, rng)
        assert sent < 2**told.opened_bits
        assert abs((loss - LN2 + 0.5) / 2 - mean_square) <= told.unit


def test_a_sum_of_nothing_opens_as_nothing_and_one_unit_below_it_as_no_loss() -> None:
    told, rng = told_loss(100, 10), np.random.default_rng(75)
    assert {open_sum(0, told, rng)[1] for _ in range(64)} == {LN2 - 0.5}
    with pytest.raises(DivergedError, match="the loss of an epoch is no loss"):
        open_sum(-1 << told.cut_bits, told, rng)


def test_what_leaves_of_a_loss_has_the_bits_of_its_range_and_no_more() -> None:
    """A share mod t has 74 bits above the unit of 100 rows in ten epochs, which tell three residuals of choice."""
    told = told_loss(100, 10)
    assert (told.bits, told.cut_bits, told.opened_bits) == (9, 26, 24)
    assert told_loss(24_000, 10).opened_bits == 39
    rng = np.random.default_rng(72)
    assert max(open_sum(25 << 28, told, rng)[0] for _ in range(64)) < 1 << 24


def test_a_guest_that_shifts_residuals_far_reads_nothing_of_them() -> None:
    """2 d 2^76 in the sum tells d where all of the share leaves; mod 2^24 units nothing of it is left."""
    told, rng = told_loss(100, 10), np.random.default_rng(73)
    shift = 1 << told.cut_bits + told.opened_bits
    losses = {round(open_sum(25 << 28, told, rng, residual * shift)[1] / told.unit / 4) for residual in range(9)}
    assert len(losses) == 1


@pytest.mark.parametrize("mean_square", [257.0, 2.0**14, -3.0])
def test_what_no_training_has_ends_it(mean_square: float) -> None:
    told = told_loss(100, 10)
    with pytest.raises(DivergedError, match="the loss of an epoch is no loss"):
        open_sum(int(mean_square * 100 * 2**28), told, np.random.default_rng(74))


def test_each_held_out_row_counts_by_itself() -> None:
    """One held-out row of a thousand tells its own squared residual in every epoch: in whole units."""
    assert told_loss(1, 20).bits == 0
    assert told_loss(999, 20).bits == 24
