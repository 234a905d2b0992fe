"""Truncation from ring to ring: off by less than one unit, and astray for exactly as many shares as is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.shares.test_modular_shares import residues_of

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.protocol.shares import modular_truncation
from hekat.protocol.shares.modular_shares import ModularRing
from hekat.protocol.shares.modular_truncation import ModularTruncation, astray_odds
from hekat.protocol.shares.share_array import add_shares, random_shares, signed_integers, subtract
from hekat.protocol.shares.truncation import Truncation
from hekat.scheme.bfv.slot_products import SLOT_PRIMES

RING = ModularRing(SLOT_PRIMES)
SMALL = ModularRing((251, 257))


def sides_of(ring: ModularRing, seed: bytes = bytes(32)) -> list[ModularTruncation]:
    return [ModularTruncation(seed, ring, is_guest=is_guest) for is_guest in (True, False)]


def split(ring: ModularRing, values, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform shares of a number at the guest, and what is left of it at the host."""
    rng = np.random.default_rng(seed)
    guests = np.stack([rng.integers(0, prime, len(values)) for prime in ring.primes]).astype(np.uint64)
    return guests, ring.subtract(residues_of(ring, values), guests)


def centred(ring: ModularRing, shares: np.ndarray) -> list[int]:
    t = ring.modulus
    return [(x + t // 2) % t - t // 2 for x in ints_from_limbs(ring.to_limbs(shares))]


def assert_near(found, values, bits: int) -> None:
    """(result - 1) 2^bits < value < (result + 1) 2^bits."""
    assert len(found) == len(values)
    assert all(abs((int(one) << bits) - value) < 1 << bits for one, value in zip(found, values, strict=True))


@given(
    st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=20),
    st.integers(0, 60),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 2**32 - 1),
)
def test_shares_of_every_ring_become_shares_of_every_other(values, bits, pads, seed) -> None:
    """Odds of a number astray: 2^-48 each for numbers below 2^52 mod 2^100."""
    whole = limbs_from_ints([value % 2**128 for value in values], 2)
    guests = random_shares((len(values),))
    (guest, host), parts = sides_of(RING, pads), split(RING, values, seed)
    bridged = RING.add(guest.into_modular(guests, bits), host.into_modular(subtract(whole, guests), bits))
    assert_near(centred(RING, bridged), values, bits)
    kept = RING.add(*(side.truncate(part, bits) for side, part in zip((guest, host), parts, strict=True)))
    assert_near(centred(RING, kept), values, bits)
    limbs = add_shares(*(side.into_limbs(part, bits) for side, part in zip((guest, host), parts, strict=True)))
    assert_near(signed_integers(limbs), values, bits)


def test_large_numbers_of_the_power_of_two_are_bridged() -> None:
    """As scores are: 2^80 at most, by 24 bits into t; each astray with odds of 2^-48."""
    values = [0, 1, -1, 2**80, -(2**80), 2**80 - 1, 12345 << 40, -(777 << 44) + 5]
    guests = random_shares((len(values),))
    guest, host = sides_of(RING)
    rest = subtract(limbs_from_ints([value % 2**128 for value in values], 2), guests)
    assert_near(centred(RING, RING.add(guest.into_modular(guests, 24), host.into_modular(rest, 24))), values, 24)


@pytest.mark.quick_values
@pytest.mark.parametrize("value", [0, 1, -1, 1000, -1000, 20_000, -20_000])
@pytest.mark.parametrize("target", ["truncate", "into_limbs"])
def test_as_many_of_all_shares_go_astray_as_the_number_is_large(monkeypatch, value, target) -> None:
    """All shares of one number mod a t of 16 bits, without pads: |v| of them, exactly, and off by t / 2^bits."""
    monkeypatch.setattr(modular_truncation.PublicPads, "draw", lambda _, shape: np.zeros((*shape, 2), np.uint64))
    t, bits = SMALL.modulus, 4
    # Each pair of residues once.
    guests = np.stack(np.meshgrid(*[np.arange(prime, dtype=np.uint64) for prime in SMALL.primes])).reshape(2, -1)
    hosts = SMALL.subtract(SMALL.constant(value, 1), guests)
    parts = [getattr(side, target)(part, bits) for side, part in zip(sides_of(SMALL), (guests, hosts), strict=True)]
    if target == "into_limbs":
        low = add_shares(*parts)[:, 0].view(np.int64)
    else:
        low = SMALL.to_limbs(SMALL.add(*parts))[:, 0].astype(np.int64)
        low = (low + t // 2) % t - t // 2
    off = np.abs((low << bits) - value)
    astray = off >= 1 << bits
    assert len(off) == t
    assert np.count_nonzero(astray) == abs(value) == round(astray_odds(t, abs(value)) * t)
    assert (np.abs(off[astray] - t) <= 1 << bits).all()


def test_pads_make_shares_that_are_not_uniform_truncate_as_well() -> None:
    """The number's own value at the guest, and 0 at the host: without a pad every negative number would be exact."""
    values = [-7, 7, 0, -(2**50), 2**50]
    guests, zeros = residues_of(RING, values), residues_of(RING, [0] * 5)
    guest, host = sides_of(RING)
    assert_near(centred(RING, RING.add(guest.truncate(guests, 3), host.truncate(zeros, 3))), values, 3)
    assert_near(signed_integers(add_shares(guest.into_limbs(zeros, 3), host.into_limbs(guests, 3))), values, 3)


def test_no_pad_comes_twice_and_other_truncations_have_others() -> None:
    guest, zeros = sides_of(RING)[0], residues_of(RING, [0] * 4)
    limbs = np.zeros((4, 2), np.uint64)
    pads = [RING.to_limbs(guest.truncate(zeros, 0)) for _ in range(2)]
    pads += [RING.to_limbs(guest.into_modular(limbs, 0)), guest.into_limbs(zeros, 0)]
    other = Truncation(bytes(32), is_guest=True)
    pads += [RING.to_limbs(RING.from_limbs(other._pads.draw((4,)))) for _ in range(2)]
    assert len({pad.tobytes() for pad in pads}) == 6


def test_odds_grow_with_numbers_and_counts() -> None:
    assert astray_odds(2**100, 2**40, 2**10) == 2.0**-50
    assert astray_odds(RING.modulus, 1) == pytest.approx(2.0**-100, rel=1e-9)
