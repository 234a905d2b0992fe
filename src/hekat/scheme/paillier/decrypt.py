"""Decryption modulo p^2 and q^2, blinded, with no branch, look-up or division on a secret.

For each prime: c^(p-1) = 1 + p L mod p^2 with L = -q m mod p. The exact division by p is a product with its inverse
mod 2^(64 k); L times a constant is the plaintext's part in the basis (q, p) mod n, and the two parts add to m.
Source: Paillier 1999, section 7; the basis form of the Chinese remainder theorem is ours.
"""

from __future__ import annotations

import numpy as np

from hekat.engine.interface import Engine
from hekat.engine.limbs import LimbArray, limbs_for_bits
from hekat.engine.scheduler import Progress
from hekat.errors import InputError, KeyRefusedError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.chunks import run_chunks, take_chunk
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys.key_pair import PrivateKey, check_same_key
from hekat.scheme.paillier.keys.prime_half import BLINDING_BITS, PrimeHalf
from hekat.scheme.paillier.twos_complement import check_within_bound, signed_of_sums


def decrypt(
    key: PrivateKey, ciphertexts: Ciphertexts, *, bound: int | None = None, progress: Progress | None = None
) -> PackedPlaintext:
    """The plaintexts in C order as signed values in (-n/2, n/2], shape (ciphertexts.size, limbs of n), on the host.

    `bound` bounds the result, the key's plaintext space if None. `progress(done, total)` is called after every few
    thousand ciphertexts, on a GPU after some ten thousand. Raises KeyRefusedError for a key that cannot decrypt these,
    BoundError (without the value) where a plaintext exceeds `bound`, InputError for a ciphertext that is no unit mod
    n^2 or a bound out of range.
    """
    _check_key(key, ciphertexts)
    space_bound = key.public.plaintext_space.bound
    if bound is not None and not 1 <= bound <= space_bound:
        raise InputError(
            "bound refused",
            expected=f"1 to the key's plaintext space of {space_bound.bit_length()} bits",
            got=f"{'a bound below 1' if bound < 1 else f'one of {bound.bit_length()} bits'}",
        )
    engine = ciphertexts.engine
    count = ciphertexts.size
    signed = np.empty((count, key.public.n_modulus.limb_count), np.uint64)

    def decrypt_chunk(chunk: slice) -> None:
        with engine.active():
            limbs = engine.limbs_of(take_chunk(ciphertexts.residues, chunk))
            signed[chunk] = engine.to_host(_decrypt_chunk(key, limbs, engine))

    if count:  # an empty batch needs no tables
        run_chunks(decrypt_chunk, count, engine, progress, times=engine.chunk_plan.decrypt_times)
    if bound is not None:
        check_within_bound(signed, bound, engine, "a decrypted batch")
    return PackedPlaintext(signed, space_bound if bound is None else bound)


def _decrypt_chunk(key: PrivateKey, limbs: LimbArray, engine: Engine) -> LimbArray:
    """Two's complement plaintexts (count, limbs of n) of ciphertext limbs (count, limbs of n^2), where these lie."""
    parts = [_plaintext_part(half, limbs, engine) for half in key.halves]
    # The parts are below n, so their sum has at most one bit more than n.
    total = engine.int_add(*parts)[:, : limbs_for_bits(key.public.bits + 1)]
    return signed_of_sums(total, key.public.n, engine)


def _plaintext_part(half: PrimeHalf, limbs: LimbArray, engine: Engine) -> LimbArray:
    """The contribution of the half of p to m mod n: a multiple of q below n."""
    residues = engine.reduce(limbs, half.square)
    # Times an encryption of zero: so no sender can choose the base of the secret exponentiation.
    exponents = engine.random_bits(limbs.shape[0], BLINDING_BITS)
    blinded = engine.mod_mul(residues, engine.mod_exp_fixed(half.blinding_table(engine), exponents))
    power = engine.limbs_of(engine.mod_exp(blinded, half.exponent))
    if not power.any(axis=-1).all():
        raise InputError(
            "a ciphertext shares a factor with its key's n",
            expected="units modulo n^2",
            got="another value",
            cure="it was not made by encryption; ask its sender",
        )
    # Only the low limbs are wanted, where adding 2^(64 k) - 1 is subtracting 1.
    low = slice(None), slice(half.limb_count)
    less_one = engine.int_add(power[low], np.full((1, half.limb_count), ~np.uint64(0)))[low]
    quotient = engine.int_mul(less_one, half.exact_inverse)[low]
    share = engine.mod_mul(engine.reduce(quotient, half.modulus), half.plain_constant(engine))
    return engine.int_mul(engine.limbs_of(share), half.other)


def _check_key(key: PrivateKey, ciphertexts: Ciphertexts) -> None:
    if not isinstance(key, PrivateKey):
        raise KeyRefusedError(
            "this key cannot decrypt",
            expected="a PrivateKey",
            got=f"a {type(key).__name__}",
            cure="pass keys.private",
        )
    check_same_key(key.public, ciphertexts.public)
