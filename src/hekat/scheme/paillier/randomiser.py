"""Fresh randomisers r^n mod n^2, one per ciphertext, in three ways; all randomness is the operating system's.

Only `standard` and `crt` randomisers serve against the holder of the private key: they are uniform n-th residues.
`djn` randomisers lie in the cosets that -x^2 reaches and have exponents of half the size, so the holder of the primes
can tell them apart.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Final

import gmpy2
import numpy as np

from hekat.engine.interface import Engine, FixedBaseTable, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey
from hekat.scheme.paillier.keys.prime_half import PrimeHalf
from hekat.scheme.paillier.keys.table_cache import TableCache

# A key's table of randomisers is planned for this many batches like the present one, between these bounds.
PLANNED_BATCHES: Final = 16
MIN_PLANNED_USES: Final = 1 << 12
MAX_PLANNED_USES: Final = 1 << 15


def standard_randomisers(key: PublicKey, count: int, engine: Engine) -> ResidueArray:
    """r^n mod n^2, r uniform in [1, n): uniform n-th residues, as x -> x^n permutes the units mod n.

    An r that shares a factor with n makes no unit; the odds are about 2^(1 - bits/2) for the product of two primes.
    Such an r reveals nothing even where a dishonest n has smaller factors: modulo that factor's square the product is
    0, whatever plaintext is re-randomised.
    Source: Paillier 1999, section 4.
    """
    limbs = engine.random_below(count, key.n - 1)
    one = np.ones((1, 1), np.uint64)
    r = engine.load(engine.int_add(limbs, one)[:, : key.n_modulus.limb_count], key.n_squared)
    # Only the time depends on the exponent, and n is public.
    return engine.mod_exp_vartime(r, key.n_modulus.limbs)


def djn_randomisers(key: PublicKey, count: int, engine: Engine, *, batch_count: int = 0) -> ResidueArray:
    """h_s^a mod n^2, a uniform of ceil(|n|/2) bits; assumes DCR and that short exponents suffice.

    `batch_count`: randomisers in the whole batch, which sets the table's size; `crt_randomisers` takes it too.
    Source: Damgard-Jurik-Nielsen 2010, section 4.2.
    """
    uses = planned_uses(max(count, batch_count))
    table = key.djn_tables.get(engine, lambda: _make_djn_table(key, engine, uses), uses)
    return engine.mod_exp_fixed(table, engine.random_bits(count, table.exponent_bits))


def crt_randomisers(key: PrivateKey, count: int, engine: Engine, *, batch_count: int = 0) -> ResidueArray:
    """Exactly uniform n-th residues mod n^2, joined from their halves mod p^2 and q^2.

    Why exactly: r -> r^n mod p^2 depends on r mod p only, as (r + k p)^p = r^p mod p^2. r^q runs through the units
    mod p once as r does, because q is coprime to p - 1; so r^n = (r^q)^p mod p^2 is uniform on the p-th powers of
    units, a group of order p - 1. gamma generates the units mod p, hence g_p = gamma^p generates that group, and
    g_p^a with a uniform in [0, p-2] is uniform on it. By the Chinese remainder theorem r mod p and r mod q are
    independent and uniform for uniform units r mod n, and so are the two halves here.

    gamma is secret, and the exponents are as secret as the key: with g = gamma mod p, two of them and their ciphertexts
    c = g^a and d = g^b mod p give p as a factor of gcd(c^b - d^a, n).
    """
    parts = [_lift(half, half_randomisers(half, count, engine, batch_count), engine) for half in key.halves]
    # The parts are below n^2, so their sum has at most one bit more than n^2.
    total = engine.int_add(*parts)[:, : limbs_for_bits(key.public.n_squared.bits + 1)]
    return engine.reduce(total, key.public.n_squared)


def half_randomisers(half: PrimeHalf, count: int, engine: Engine, batch_count: int = 0) -> ResidueArray:
    """Uniform p-th powers of units mod p^2: encryptions of zero, taken mod p^2."""
    table = half.randomiser_table(engine, planned_uses(max(count, batch_count)))
    exponents = engine.random_below(count, half.modulus.value - 1)
    return engine.mod_exp_fixed(table, exponents)


def planned_uses(count: int) -> int:
    """How many powers to plan a table for when a batch of `count` asks for it.

    A key mostly serves many batches like this one, as in the rounds of a training; so a wider table may cost as much as
    it saves over some of them. A large batch has to pay for its table alone, because no other may follow.
    """
    return max(count, MIN_PLANNED_USES, min(PLANNED_BATCHES * count, MAX_PLANNED_USES))


def check_table_memory(key_bits: int, engine: Engine) -> None:
    """Raise InputError where `engine` has no memory for the tables of a private key of `key_bits` bits.

    One table at a time has to fit, in its smallest form: the others are made again when needed.
    """
    prime_bits = key_bits // 2
    # Stands in for a prime, because there may be no key yet.
    root = (1 << prime_bits) - 1
    constant_time = not engine.single_tenant
    make = partial(
        engine.fixed_base_table,
        np.ones(1, np.uint64),
        Modulus(root * root, root=root),
        prime_bits,
        uses=1,
        constant_time=constant_time,
    )
    TableCache().get(engine, make)


def _lift(half: PrimeHalf, residues: ResidueArray, engine: Engine) -> LimbArray:
    """Residues mod p^2 as their part of the sum that is congruent to both halves mod n^2."""
    part = engine.mod_mul(residues, half.join_constant(engine))
    return engine.int_mul(engine.limbs_of(part), half.other_squared)


def _make_djn_table(key: PublicKey, engine: Engine, uses: int) -> FixedBaseTable:
    """The table of h_s = h^n, h = -x^2 mod n, with a fresh random x of this process for each table."""
    # An h from another party could lie in a small subgroup; nobody chose this process' own h against it.
    n, n_squared = gmpy2.mpz(key.n), gmpy2.mpz(key.n_squared.value)
    x = gmpy2.mpz(0)
    while gmpy2.gcd(x, n) != 1:  # a unit at the first draw, except with odds of about 2^(1 - bits/2)
        x = gmpy2.mpz(int.from_bytes(os.urandom(key.bits // 8 + 16), "little")) % n
    base = int(gmpy2.powmod(n - x * x % n, n, n_squared))
    limbs = limbs_from_ints([base], key.n_squared.limb_count)[0]
    constant_time = not engine.single_tenant
    return engine.fixed_base_table(limbs, key.n_squared, -(-key.bits // 2), uses=uses, constant_time=constant_time)
