"""A proof that x -> x^n permutes the units mod n: without it re-randomising may hide nothing from a key's maker.

Then n is square-free and coprime to the number of units, the units mod n^2 are the products of powers of 1 + n and of
n-th residues, each in one way, and r^n for a uniform unit r is a uniform n-th residue, whatever else the key is. Where
a prime divides both n and p - 1, some power removes all n-th residues but leaves a part of the plaintext and the
randomiser: then c r^n reveals that part of c. The proof is the n-th roots of values that n itself fixes; where x -> x^n
does not permute, a proof exists with odds below 2^-138 (`permutation_challenges`).
Source: Goldberg-Reyzin-Sagga-Baldimtsi 2018; a part of CGGMP21's proof of a Paillier-Blum modulus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hekat.engine.interface import Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import FaultError, KeyRefusedError
from hekat.scheme.hash_expansion import expand_item, frame_hash
from hekat.scheme.paillier.keys.prime_half import PrimeHalf
from hekat.scheme.permutation_challenges import CHALLENGE_ITEMS, ROOT_COUNT

PROOF_DOMAIN: Final = b"hekat/paillier/permutation-proof/1"
Roots = tuple[int, ...]


def find_roots(halves: tuple[PrimeHalf, PrimeHalf]) -> Roots:
    """The proof: n-th roots mod n of the key's challenges, by its primes. Raises FaultError where one does not hold."""
    p, q = (half.modulus.value for half in halves)
    n = p * q
    values = _challenges(n)
    mod_p, mod_q = (_roots_mod(half, n, values) for half in halves)
    p_inverse = pow(p, -1, q)
    roots = tuple(x + p * ((y - x) * p_inverse % q) for x, y in zip(mod_p, mod_q, strict=True))
    if not _hold(n, roots, values):
        # A root that is wrong in one half alone would give the primes away.
        raise FaultError(
            "the proof of a key failed its check: it is not given out",
            expected="roots whose power n is what went in",
            got="another value",
            cure="run it again; if it happens again, do not use this machine: its arithmetic or memory is faulty",
        )
    return roots


def check_roots(n: int, roots: Any, fingerprint: str) -> None:
    """Raise KeyRefusedError unless `roots` show that x -> x^n permutes the units mod n.

    The caller has looked for small factors of n before. `fingerprint` names the key in the error.
    """
    are_nine = isinstance(roots, tuple) and len(roots) == ROOT_COUNT
    are_reduced = are_nine and all(isinstance(root, int) and 0 <= root < n for root in roots)
    if not (are_reduced and _hold(n, roots, _challenges(n))):
        raise KeyRefusedError(
            f"public key {fingerprint} is not shown to be sound",
            expected=f"{ROOT_COUNT} roots that only a key has under which ciphertexts can be re-randomised",
            got="others" if roots else "none",
            cure="send nothing under it; its owner's release of Hekat writes a sound key with its proof",
        )


def _challenges(n: int) -> list[int]:
    framed = frame_hash(PROOF_DOMAIN, n.to_bytes(-(-n.bit_length() // 8), "big"))
    return [int.from_bytes(expand_item(framed, item, n.bit_length()), "little") % n for item in CHALLENGE_ITEMS]


def _roots_mod(half: PrimeHalf, n: int, values: Sequence[int]) -> list[int]:
    engine, prime = get_engine(), half.modulus.value
    exponent = limbs_from_ints([pow(n, -1, prime - 1)], half.limb_count)
    bases = engine.load(limbs_from_ints([value % prime for value in values], half.limb_count), half.modulus)
    return ints_from_limbs(engine.store(engine.mod_exp(bases, exponent)))


def _hold(n: int, roots: Sequence[int], values: Sequence[int]) -> bool:
    engine, modulus = get_engine(), Modulus(n)
    limbs = limbs_from_ints(list(roots), modulus.limb_count)
    # Only the time depends on the exponent, and n is public.
    powers = engine.store(engine.mod_exp_vartime(engine.load(limbs, modulus), modulus.limbs))
    return np.array_equal(powers, limbs_from_ints(list(values), modulus.limb_count))
