"""`djn` randomisers h_s^a: a is uniform in as many bits as the assumption asks for, half of those of n, no fewer."""

from __future__ import annotations

import gmpy2
import pytest

from hekat.engine.limbs import ints_from_limbs
from hekat.engine.reference import ReferenceEngine
from hekat.scheme.paillier import KeyPair, PrivateKey
from hekat.scheme.paillier.randomiser import djn_randomisers

# With these many draws each bit of an exponent is 0 in all, or 1 in all, with odds of 2^-127.
DRAWS = 128


class Watching(ReferenceEngine):
    """Keeps the base that a table is made for and the exponents that its powers take."""

    def __init__(self) -> None:
        super().__init__()
        self.bases: list[int] = []
        self.exponents: list[int] = []

    def fixed_base_table(self, base, *others, **options):
        self.bases.append(ints_from_limbs(base[None])[0])
        return super().fixed_base_table(base, *others, **options)

    def mod_exp_fixed(self, table, exponents):
        self.exponents += ints_from_limbs(exponents)
        return super().mod_exp_fixed(table, exponents)


def draw(key, count: int) -> tuple[Watching, list[int]]:
    engine = Watching()
    return engine, ints_from_limbs(engine.store(djn_randomisers(key, count, engine)))


@pytest.mark.parametrize("bits", [512, 1024])
def test_every_bit_of_half_as_many_as_n_has_is_drawn(bits: int, paillier_keys) -> None:
    key = paillier_keys(bits).public
    engine, found = draw(key, DRAWS)
    everywhere, anywhere = (1 << bits) - 1, 0
    for exponent in engine.exponents:
        everywhere, anywhere = everywhere & exponent, anywhere | exponent
    assert anywhere == (1 << bits // 2) - 1
    assert everywhere == 0
    # And they are the exponents of what comes out.
    (base,) = engine.bases
    assert found == [gmpy2.powmod(base, exponent, key.n**2) for exponent in engine.exponents]


def test_a_modulus_of_an_odd_number_of_bits_rounds_up() -> None:
    key = PrivateKey._trusted(1009, 1021).public  # 1,030,189 has 20 bits
    odd = PrivateKey._trusted(1009, 2003).public  # 2,021,027 has 21
    assert (key.bits, odd.bits) == (20, 21)
    for public, exponent_bits in ((key, 10), (odd, 11)):
        engine, _ = draw(public, DRAWS)
        assert max(engine.exponents).bit_length() == exponent_bits


def find_exponents(keys: KeyPair, base: int, values: list[int], steps: int) -> list[int]:
    """The attack, with small steps and giant ones: exponents below steps^2 in about as many steps, else -1."""
    n_squared = keys.public.n**2
    small = {int(gmpy2.powmod(base, i, n_squared)): i for i in range(steps)}
    giant = gmpy2.powmod(base, -steps, n_squared)
    found = []
    for value in values:
        here = gmpy2.mpz(value)
        for j in range(steps):
            if int(here) in small:
                found.append(j * steps + small[int(here)])
                break
            here = here * giant % n_squared
        else:
            found.append(-1)
    return found


def test_the_attack_on_exponents_half_as_long_misses_them() -> None:
    """A key of 40 bits, so exponents of 20: steps for 10 bits find almost none, steps for 20 find all of them."""
    private = PrivateKey._trusted(1048573, 1048571)
    keys = KeyPair(private.public, private)
    assert keys.public.bits == 40
    engine, values = draw(keys.public, 24)
    (base,) = engine.bases
    short = find_exponents(keys, base, values, steps=1 << 5)
    # An exponent is below 2^10 with odds of 2^-10: 6 or more of 24 are with odds of 10^-12.
    assert len([exponent for exponent in short if exponent >= 0]) < 6
    long = find_exponents(keys, base, values, steps=1 << 10)
    assert [gmpy2.powmod(base, exponent, keys.public.n**2) for exponent in long] == values
