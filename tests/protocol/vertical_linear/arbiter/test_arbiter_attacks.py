"""Attacks on training with an arbiter: what each would win, and what prevents it."""

from __future__ import annotations

from dataclasses import replace

import gmpy2
import numpy as np
import pytest
from tests.protocol.vertical_linear.arbiter.start_messages import make_start

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.protocol.vertical_linear.arbiter import paillier_arithmetic
from hekat.protocol.vertical_linear.arbiter.paillier_arithmetic import PaillierArithmetic
from hekat.protocol.vertical_linear.arbiter.sum_layout import GUARD_UNITS, SumLayout
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.scheme.paillier import Ciphertexts, add_plain, decrypt
from hekat.scheme.paillier import row_packing as row_packing_module
from hekat.scheme.paillier.randomiser import djn_randomisers
from hekat.scheme.paillier.row_packing import open_slots, unmask_slots
from hekat.wire import from_bytes


def test_a_host_does_not_find_its_own_scores_in_the_residuals(rehearse, settings_of, tables_of) -> None:
    """c' / c = 1 + m n would tell the guest's part m, labels included, if the guest did not re-randomise c."""
    run = rehearse(settings_of(epochs=1, batch_rows=0), tables_of(13))
    run.run()
    key = run.key_pair.public
    sent = {
        step: ints_from_limbs(from_bytes(message.values, Ciphertexts, public_key=key).to_limbs())
        for name in ("bank", "shop")
        for _, step, message in run.sent[name]
        if step.endswith(("/scores", "/residuals"))
    }
    pairs = list(zip(sent["epoch-1/batch-1/scores"], sent["epoch-1/batch-1/residuals"], strict=True))
    assert pairs
    assert all(of_all * pow(own, -1, key.n) % key.n != 1 for own, of_all in pairs)
    # Without a fresh randomiser the quotient would be 1 each time.
    own = Ciphertexts.from_limbs(key, limbs_from_ints([pairs[0][0]], key.n_squared.limb_count))
    (naive,) = ints_from_limbs(add_plain(own, 12345).to_limbs())
    assert naive * pow(pairs[0][0], -1, key.n) % key.n == 1


SMALL = VerticalLinearSettings("bank", ("shop",), arbiter="judge", classes=("no", "yes"), label_leak_accepted=None)
TRIALS = 240


@pytest.fixture
def small(paillier_keys) -> tuple[PaillierArithmetic, SumLayout, object]:
    return make_small(paillier_keys)


def make_small(paillier_keys) -> tuple[PaillierArithmetic, SumLayout, object]:
    """Arithmetic under a key of 512 bits whose factors the arbiter knows, with several rows in a ciphertext."""
    start = make_start(4000, (1, 1), feature_bits=17)
    layout = SumLayout.of(start, SMALL)
    keys = paillier_keys(512)
    return PaillierArithmetic(keys.public, layout), layout, keys


def guess_marks(small, trials: int) -> float:
    """How often the arbiter tells from a masked gradient whether it marked one row's ciphertext.

    It marks by the toss of a coin, with a randomiser of Jacobi symbol -1. Every column has an odd value in that row. c
    mod n = r^n, and n is odd, so c has the symbol of its randomiser.
    """
    arithmetic, _, keys = small
    key = keys.public
    n = key.n
    rng = np.random.default_rng(5)
    odd = next(r for r in range(2, 1000) if gmpy2.jacobi(r, n) == -1)
    mark = int(gmpy2.powmod(odd, n, n * n))
    right = 0
    for marked in rng.integers(0, 2, trials):
        rows = arithmetic.hold(rng.integers(-(2**34), 2**34, (6, 1)))
        if marked:
            values = ints_from_limbs(rows.to_limbs())
            values[-1] = values[-1] * mark % (n * n)
            rows = Ciphertexts.from_limbs(key, limbs_from_ints(values, key.n_squared.limb_count)).reshape(rows.shape)
        matrix = 2 * rng.integers(-(2**15), 2**15, (1, 6)) + 1
        masked = arithmetic.mask(arithmetic.multiply(matrix, rows))
        (seen,) = ints_from_limbs(from_bytes(masked.data, Ciphertexts, public_key=key).to_limbs())
        right += (gmpy2.jacobi(seen % n, n) == -1) == bool(marked)
    return right / trials


def test_marked_randomisers_are_not_found_again(small) -> None:
    # 240 fair coins are further than 0.21 from a half with odds below 10^-10.
    assert abs(guess_marks(small, TRIALS) - 0.5) < 0.21


def test_marked_randomisers_would_be_found_again_under_djn(small, monkeypatch) -> None:
    def by_djn(c):
        return Ciphertexts(c.public, c.engine.mod_mul(c.residues, djn_randomisers(c.public, c.size, c.engine)))

    monkeypatch.setattr(paillier_arithmetic, "rerandomise", by_djn)
    assert guess_marks(small, 40) == 1.0


def test_what_the_arbiter_opens_is_uniform_and_gives_the_product_to_its_owner_alone(small) -> None:
    arithmetic, layout, keys = small
    packing = layout.packing(keys.public)
    rows = np.array([[3], [-1], [4], [1], [-5], [9]]) << 30
    products = arithmetic.multiply(np.arange(1, 7)[np.newaxis], arithmetic.hold(rows))
    many = arithmetic.take(products, np.zeros(600, np.int64))
    masked = arithmetic.mask(many)
    opened = decrypt(keys.private, from_bytes(masked.data, Ciphertexts, public_key=keys.public)).limbs
    signs = opened[:, -1] >> np.uint64(63)
    assert len({line.tobytes() for line in opened}) == 600
    # Half of all numbers uniform mod n are above n / 2, so negative: of 600 numbers 300 +- 80, with odds below 10^-10.
    assert abs(int(signs.sum()) - 300) < 80
    slots = open_slots(opened, keys.public, packing)
    exact = int((np.arange(1, 7)[np.newaxis] @ rows)[0, 0])
    assert set(arithmetic.unmask(slots, masked, "judge").tolist()) == {exact}
    # The mask of another number does not open it.
    others = replace(masked, masks=masked.masks[::-1])
    assert exact not in arithmetic.unmask(slots, others, "judge").tolist()


def products_near_their_bound(small, sign: int) -> tuple[Ciphertexts, int]:
    """A product whose neighbours are all as large as they can be, and its value."""
    arithmetic, layout, _ = small
    rows = np.full((6, 1), sign * (layout.product_bound // (6 << 20)))
    products = arithmetic.multiply(np.full((1, 6), 1 << 20), arithmetic.hold(rows))
    return products, (int(rows[0, 0]) * 6) << 20


def odds_of_a_carry(small, sign: int) -> float:
    """The odds that a mask makes the bits below the product's slot carry into it, or borrow from it: its owner sees
    that."""
    products, _ = products_near_their_bound(small, sign)
    (limbs,) = decrypt(small[2].private, products.reshape(-1)).limbs
    wrap, first = 1 << (64 * len(limbs)), 1 << small[1].packing(small[2].public).first_bit
    (value,) = ints_from_limbs(limbs[np.newaxis])
    value -= wrap if 2 * value >= wrap else 0
    return abs((value + first // 2) % first - first // 2) / first


@pytest.mark.parametrize(("sign", "unit"), [(1, 1), (-1, 3)])
def test_a_neighbour_would_show_in_slots_that_are_no_wider_than_sums(
    paillier_keys, monkeypatch, sign: int, unit: int
) -> None:
    """Narrower slots: sums near their bound carry a unit, or borrow one, under one mask in six or more, and the rate
    tells the neighbour. Products are exact even so."""
    monkeypatch.setattr(row_packing_module, "HIDING_BITS", 0)
    small = make_small(paillier_keys)
    assert odds_of_a_carry(small, sign) > 1 / 6
    arithmetic, layout, keys = small
    units: set[int] = set()

    def unmask_and_look(slots, masks, packing, cut_bits=0):
        values = unmask_slots(slots, masks, packing, cut_bits)
        units.update(value % GUARD_UNITS for value in values)
        return values

    monkeypatch.setattr(paillier_arithmetic, "unmask_slots", unmask_and_look)
    products, exact = products_near_their_bound(small, sign)
    masked = arithmetic.mask(arithmetic.take(products, np.zeros(400, np.int64)))
    opened = decrypt(keys.private, from_bytes(masked.data, Ciphertexts, public_key=keys.public)).limbs
    found = arithmetic.unmask(open_slots(opened, keys.public, layout.packing(keys.public)), masked, "judge")
    assert set(found.tolist()) == {exact}
    assert units == {0, unit}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_neighbour_shows_with_the_odds_that_are_promised(small, sign: int) -> None:
    assert small[1].packing(small[2].public).row_count > 1
    assert row_packing_module.HIDING_BITS == 16
    assert 0 < odds_of_a_carry(small, sign) < 2.0**-16
