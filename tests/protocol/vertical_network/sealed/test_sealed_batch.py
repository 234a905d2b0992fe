"""Shares of every step of a batch add up to the step by Python's integers, unit for unit, under both protections."""

from __future__ import annotations

import numpy as np
import pytest
from tests.protocol.vertical_network.sealed.conftest import make_products, opened, opened_modular, play

from hekat.errors import InputError, KeyRefusedError, WireCorruptError
from hekat.protocol.shares.share_array import from_integers, random_shares, shift_left, subtract
from hekat.protocol.vertical_network.sealed.batch import SealedBatch
from hekat.protocol.vertical_network.sealed.cross_products import MatrixFacts, SlotFactors, SlotFacts
from hekat.protocol.vertical_network.sealed.scales import (
    GRADIENT_BITS,
    LINEAR_LIFT,
    RESIDUAL_BITS,
    RESIDUAL_SHIFT,
    SCORE_BITS,
    SLOPE_SHIFT,
    SLOT_RING,
    UNIT_BITS,
    UNIT_SHIFT,
    SealedShape,
)
from hekat.protocol.vertical_network.sealed.shared_weights import SharedWeights

SHAPES = {
    "one-of-each": SealedShape(1, 1, 1, (1,)),
    "ragged": SealedShape(37, 3, 2, (1, -1, 1)),
    "two-blocks": SealedShape(1000, 4, 5, (1, -1) * 4),
}


def draw_columns(shape: SealedShape, rng: np.random.Generator) -> list[np.ndarray]:
    """Columns at 2^-16, cut at 3, and the guest's ones."""
    guest, host = (
        np.rint(np.clip(rng.normal(size=(shape.rows, width)), -3, 3) * 2**16).astype(np.int64)
        for width in (shape.guest_width, shape.host_width)
    )
    guest[:, 0] = 2**16
    return [guest, host]


def share_weights(values: np.ndarray, momentum_units: int = 0) -> list[SharedWeights]:
    """Real weights (width, units + 1) in uniform shares at 2^-64, at guest and host."""
    whole = shift_left(from_integers(np.rint(values * 2**40).astype(np.int64)), 24)
    share = random_shares(values.shape)
    return [
        SharedWeights("origin", x, is_guest=is_guest, momentum_units=momentum_units)
        for x, is_guest in ((share, True), (subtract(whole, share), False))
    ]


def turn_with(labels: np.ndarray):
    def turn(batch: SealedBatch, used: np.ndarray, is_guest: bool):
        units = batch.forward(used)
        slopes = batch.slopes(units, labels if is_guest else None)
        return used, units, slopes, batch.gradient(slopes)

    return turn


@pytest.mark.quick_values
@pytest.mark.parametrize("protection", ["none", "lattice"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_step_of_a_batch_is_exact_to_its_last_unit(name, protection) -> None:
    shape, rng = SHAPES[name], np.random.default_rng(91)
    columns, labels = draw_columns(shape, rng), rng.choice([-1, 1], shape.rows)
    weights = share_weights(rng.normal(scale=0.3, size=(shape.width, shape.units + 1)))
    exact_weights = opened([one.share for one in weights])
    results = play(shape, make_products(protection), columns, weights, "step", turn_with(labels))
    used, units, slopes, gradient = zip(*results, strict=True)

    used, units = opened(used), opened_modular(units)
    assert (abs((used << 44) - exact_weights) < 1 << 44).all()
    both = np.concatenate(columns, axis=1).astype(object)
    # A cross product of matrices may be a unit of 2^-36 beside, and there are two.
    assert (abs((units << UNIT_SHIFT) - both.dot(used)) < (1 << UNIT_SHIFT) + 2).all()

    signs, squares = np.array(shape.signs, object), units[:, :-1] ** 2
    score = squares.dot(signs) + (units[:, -1] << SCORE_BITS - UNIT_BITS) - (labels.astype(object) << SCORE_BITS + 1)
    residuals, products, loss = (opened_modular(parts) for parts in zip(*slopes, strict=True))
    assert (abs((residuals << RESIDUAL_SHIFT) - score) < 1 << RESIDUAL_SHIFT).all()
    assert np.array_equal(products, residuals[:, np.newaxis] * units[:, :-1])
    assert int(loss) == (residuals**2).sum()

    total, most = opened(gradient), abs(both).sum(axis=0)[:, np.newaxis]
    expected = both.T.dot(products) * signs
    assert (abs((total[:, :-1] << SLOPE_SHIFT) - expected) < (most + 2) << SLOPE_SHIFT).all()
    assert (abs(total[:, -1] - (both.T.dot(residuals) << LINEAR_LIFT)) <= 2 << LINEAR_LIFT).all()


def float_step(values, velocity, both, labels, signs, rate, momentum):
    """The same step in float64, by the formulas."""
    units = both @ values
    residuals = ((units[:, :-1] ** 2) @ signs / 4 + units[:, -1]) / 4 - labels / 2
    slopes = np.concatenate((residuals[:, np.newaxis] * units[:, :-1] * signs / 2, residuals[:, np.newaxis]), axis=1)
    velocity = momentum * velocity + both.T @ slopes
    return values - rate / len(both) * velocity, velocity, 2 * (residuals**2).mean() + np.log(2) - 0.5


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_a_training_in_shares_follows_the_one_in_floats(protection) -> None:
    """Ten steps with momentum: labels by a product of a guest's and a host's column, so that squares have work."""
    shape, rng, rate, momentum = SealedShape(64, 3, 2, (1, -1, 1, -1)), np.random.default_rng(92), 0.25, 0.75
    values = rng.normal(scale=0.3, size=(shape.width, shape.units + 1))
    weights, velocity = share_weights(values, momentum_units=192), np.zeros_like(values)
    products, losses = make_products(protection), []
    rate_units = round(rate * 2 ** (64 - GRADIENT_BITS) / shape.rows)
    for step in range(10):
        columns = draw_columns(shape, rng)
        labels = np.where(columns[0][:, 1] * columns[1][:, 0] > 0, 1, -1)
        results = play(shape, products, columns, weights, f"step-{step}", turn_with(labels))
        for one, (*_, gradient) in zip(weights, results, strict=True):
            one.move(gradient, rate_units)
        both = np.concatenate(columns, axis=1) / 2**16
        values, velocity, loss = float_step(values, velocity, both, labels, np.array(shape.signs), rate, momentum)
        mean = int(opened_modular([slopes.loss for _, _, slopes, _ in results])) / 2 ** (2 * RESIDUAL_BITS) / shape.rows
        losses.append(loss)
        assert abs(2 * mean + np.log(2) - 0.5 - loss) < 1e-3
    found = opened([one.share for one in weights]).astype(float) / 2.0**64
    print(f"seed 92: weights off by {abs(found - values).max():.1e}, losses {losses[0]:.3f} to {losses[-1]:.3f}")
    assert abs(found - values).max() < 1e-4
    assert losses[-1] < losses[0]


def test_no_share_tells_its_number_and_nothing_sent_comes_twice() -> None:
    """Under the lattice: shares of every step have all their bits, and two plays of one batch have no number alike."""
    shape, rng = SHAPES["ragged"], np.random.default_rng(93)
    columns, labels = draw_columns(shape, rng), rng.choice([-1, 1], shape.rows)
    weights, products = share_weights(np.zeros((shape.width, shape.units + 1))), make_products("lattice")
    plays = [play(shape, products, columns, weights, "step", turn_with(labels)) for _ in range(2)]
    for party in (0, 1):
        (_, units, slopes, gradient), (_, units_again, slopes_again, gradient_again) = (one[party] for one in plays)
        for share, again in ((units, units_again), (slopes.products, slopes_again.products)):
            assert np.count_nonzero(share == again) <= 1
            # Uniform residues below 2^50, fewer than 2^11: one is below 2^16 with odds of 2^-23, three with 2^-69.
            assert np.count_nonzero(share < 1 << 16) < 3
        assert (gradient[..., 1] != gradient_again[..., 1]).all()


def test_pads_are_others_in_every_step_and_the_same_in_a_step_played_again() -> None:
    """Both parties' truncated shares still add up to the weights, whatever the step is called."""
    weights = share_weights(np.full((2, 3), 0.25))
    used = [[one.begin_step(step) for one in weights] for step in ("step-1", "step-2", "step-1")]
    assert np.array_equal(used[0][0], used[2][0])
    assert (used[0][0] != used[1][0]).any(axis=-1).all()
    for pair in used:
        assert (abs(opened(tuple(pair)) - (1 << 18)) <= 1).all()


def test_what_does_not_fit_is_refused() -> None:
    facts, slots = MatrixFacts(3, 2, 4), SlotFacts(5)
    shares, numbers = random_shares((2, 4)), SLOT_RING.from_integers(np.arange(5))
    for protection in ("none", "lattice"):
        one, other = make_products(protection)
        held, held_slots = other.hold_matrix(shares, facts), other.hold_slots(numbers)
        answer, _ = one.answer_matrix(np.ones((3, 2), np.int64), one.read_matrix(held, facts), facts)
        sums, _ = one.answer_slots([SlotFactors(numbers, one.read_slots(held_slots, 5))], slots)
        for bad in ((), (held[0][:-1],), (b"",)):
            with pytest.raises(WireCorruptError):
                one.read_matrix(bad, facts)
        for bad in ((), (answer[0] + b"\0",), (*answer, b"")):
            with pytest.raises(WireCorruptError):
                other.open_matrix(bad, facts)
        for bad in ((), tuple(data[:-1] for data in held_slots), (*held_slots, b"")):
            with pytest.raises(WireCorruptError):
                one.read_slots(bad, 5)
        for bad in ((), tuple(data[:-1] for data in sums), (*sums, b"")):
            with pytest.raises(WireCorruptError):
                other.open_slots(bad, slots)
    with pytest.raises(KeyRefusedError, match="shop came with this party's key"):
        one.meet("shop", one.public_key)
    for sizes in (
        (0, 1, 1, (1,)),
        (8193, 1, 1, (1,)),
        (5, 0, 1, (1,)),
        (5, 1, 0, (1,)),
        (5, 1, 1, ()),
        (5, 1, 1, (2,)),
    ):
        with pytest.raises(InputError, match="sizes of a sealed network"):
            SealedShape(*sizes)


def test_both_protections_open_the_same_units_but_for_truncations() -> None:
    """The exact twin: a unit for the truncated weights and one for the truncated sum, since shares are others."""
    shape, rng = SHAPES["two-blocks"], np.random.default_rng(94)
    columns, values = draw_columns(shape, rng), rng.normal(scale=0.3, size=(shape.width, shape.units + 1))
    found = []
    for protection in ("none", "lattice"):
        weights = share_weights(values)
        results = play(
            shape, make_products(protection), columns, weights, "step", lambda batch, used, _: batch.forward(used)
        )
        found.append(opened_modular(results))
    assert abs(found[0] - found[1]).max() <= 2


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_weights_that_serve_several_batches_give_the_units_that_they_give_one(protection: str) -> None:
    """In the clear bit for bit; encrypted but for a truncation of shares whose masks are others each time."""
    shape, rng = SHAPES["ragged"], np.random.default_rng(95)
    columns, products = draw_columns(shape, rng), make_products(protection)
    weights = share_weights(rng.normal(scale=0.3, size=(shape.width, shape.units + 1)))
    once = play(shape, products, columns, weights, "step", lambda batch, used, _: batch.forward(used))

    def turn(batch: SealedBatch, used: np.ndarray, is_guest: bool) -> list[np.ndarray]:
        met = batch.meet_weights(used, 4)
        return [batch.forward(used, met) for _ in range(2)]

    several = play(shape, products, columns, weights, "step", turn)
    if protection == "none":
        assert all(np.array_equal(one, found[0]) for one, found in zip(once, several, strict=True))
    for found in zip(*several, strict=True):
        assert abs(opened_modular(found) - opened_modular(once)).max() <= 1
    if protection == "lattice":
        # Masks are fresh: what the guest has of one product tells nothing of the next one.
        assert (several[0][0] != several[0][1]).any(axis=0).all()
