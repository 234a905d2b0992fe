"""x^d mod n by the halves mod p and q: base blinded, joined without a branch, checked before it leaves.

A fault in one half would give the factors away (s^e - m is then a multiple of the other prime), so a batch in which any
result fails s^e = x is dropped whole. The base of the secret powers is x r^e for a fresh r: no sender can choose it,
and its timing says nothing about x.
Source: Boneh-DeMillo-Lipton 1997 (faults); Kocher 1996 (blinding); the basis form of the join as in Paillier's.
"""

from __future__ import annotations

import numpy as np

from hekat.engine.interface import Engine, ResidueArray
from hekat.engine.limbs import LimbArray, limbs_for_bits
from hekat.engine.scheduler import Progress
from hekat.errors import FaultError, InputError
from hekat.scheme.chunks import join_chunks, run_chunks
from hekat.scheme.rsa.group_elements import GroupElements
from hekat.scheme.rsa.keys import PrivateKey, PublicKey, check_same_key
from hekat.scheme.rsa.prime_half import PrimeHalf


def private_power(key: PrivateKey, values: GroupElements, progress: Progress | None = None) -> ResidueArray:
    """x^d mod n for each value x, in its shape; `progress(done, total)` is called after every few thousand.

    Raises KeyRefusedError for values of another key, FaultError, with no result at all, where one fails its check.
    """
    check_same_key(key.public, values.public)
    engine = values.engine
    limbs = values.to_limbs().reshape(-1, key.public.n_modulus.limb_count)

    def power_of_chunk(chunk: slice) -> ResidueArray:
        return _power_of_chunk(key, limbs[chunk], engine)

    return join_chunks(run_chunks(power_of_chunk, values.size, engine, progress), values.shape)


def random_units(public: PublicKey, count: int, engine: Engine) -> tuple[ResidueArray, ResidueArray]:
    """`count` uniform units mod n and their inverses, by one inversion for all."""
    limbs = engine.int_add(engine.random_below(count, public.n - 1), np.ones((1, 1), np.uint64))
    units = engine.load(limbs[:, : public.n_modulus.limb_count], public.n_modulus)
    try:
        return units, engine.mod_inv(units)
    except InputError:
        # One unit shares a factor with n: odds of 2^(1 - bits/2) a draw, but far more where a dishonest n has small
        # factors. All are drawn anew, half of them at a time, so that such a key cannot make this loop run for ever.
        counts = (count // 2, count - count // 2) if count > 1 else (count,)
        drawn = [random_units(public, part, engine) for part in counts]
        return engine.concatenate([one for one, _ in drawn]), engine.concatenate([one for _, one in drawn])


def public_power(public: PublicKey, residues: ResidueArray) -> ResidueArray:
    """x^e mod n of each residue; only the time depends on e, which is public."""
    return residues.engine.mod_exp_vartime(residues, public.exponent)


def _power_of_chunk(key: PrivateKey, limbs: LimbArray, engine: Engine) -> ResidueArray:
    public = key.public
    r, r_inverse = random_units(public, limbs.shape[0], engine)
    values = engine.load(limbs, public.n_modulus)
    blinded = engine.limbs_of(engine.mod_mul(values, public_power(public, r)))
    parts = [_power_of_half(half, blinded, engine) for half in key.halves]
    # The parts are below n, so their sum has at most one bit more than n.
    total = engine.int_add(*parts)[:, : limbs_for_bits(public.bits + 1)]
    joined = engine.reduce(total, public.n_modulus)
    powers = engine.mod_mul(joined, r_inverse)
    if not np.array_equal(engine.store(public_power(public, powers)), limbs):
        raise FaultError(
            "a private RSA operation failed its check: nothing of the batch is returned",
            expected="results whose power e is what went in",
            got="another value",
            cure="run it again; if it happens again, do not use this machine: its arithmetic or memory is faulty",
        )
    return powers


def _power_of_half(half: PrimeHalf, limbs: LimbArray, engine: Engine) -> LimbArray:
    """The contribution of the half of p to x^d mod n: a multiple of q below n."""
    power = engine.mod_exp(engine.reduce(limbs, half.modulus), half.exponent)
    share = engine.mod_mul(power, engine.load(half.join_constant, half.modulus))
    return engine.int_mul(engine.limbs_of(share), half.other)
