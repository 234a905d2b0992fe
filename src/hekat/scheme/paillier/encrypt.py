"""Encryption c = (1 + m n) r^n mod n^2, with one fresh randomiser per ciphertext."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hekat.array_module import array_module
from hekat.engine.interface import Engine, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.scheduler import Progress
from hekat.engine.select import get_engine
from hekat.engine.signed_limbs import resize_signed, sign_masks
from hekat.errors import InputError, KeyRefusedError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.chunks import join_chunks, run_chunks
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey
from hekat.scheme.paillier.keys.parameters import CRT, DJN, STANDARD, VARIANTS
from hekat.scheme.paillier.randomiser import crt_randomisers, djn_randomisers, standard_randomisers
from hekat.scheme.paillier.twos_complement import check_within_bound

MakeRandomisers = Callable[[int], ResidueArray]


def encrypt(
    key: PublicKey | PrivateKey,
    plain: PackedPlaintext,
    *,
    variant: str | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Ciphertexts:
    """The plaintexts encrypted, shape (len(plain),).

    Plaintexts on a device stay there, for the engine of that device (EngineError for another).
    `variant`: None takes `crt` for a PrivateKey and `djn` for a PublicKey; `standard` (r^n, slow) works with both.
    All three give ciphertexts of one kind, which mix freely. `progress(done, total)` is called after every few
    thousand. Raises BoundError for plaintexts beyond the key's space or their own bound, InputError for an unknown
    variant, KeyRefusedError for `crt` without the private key.
    Source: Paillier 1999, section 4; Damgard-Jurik-Nielsen 2010, section 4.
    """
    engine = engine or get_engine()
    make_randomisers = choose_randomisers(key, variant, engine, len(plain))
    public = public_part(key)
    public.plaintext_space.check(plain)
    with engine.active(plain.limbs):
        check_within_bound(plain.limbs, plain.bound, engine, "the plaintext")

    def encrypt_chunk(chunk: slice) -> ResidueArray:
        with engine.active(plain.limbs):
            messages = plaintext_residues(public, plain.limbs[chunk], engine)
            return engine.mod_mul_one_plus(make_randomisers(len(messages)), messages)

    return Ciphertexts(public, join_chunks(run_chunks(encrypt_chunk, len(plain), engine, progress), (len(plain),)))


def plaintext_residues(public: PublicKey, limbs: LimbArray, engine: Engine) -> LimbArray:
    """m mod n for signed plaintext limbs (count, k), |m| <= (n-1)/2: shape (count, limbs of n), where they lie."""
    limb_count = public.n_modulus.limb_count
    limbs = resize_signed(limbs, limb_count)
    n = array_module(limbs).asarray(public.n_modulus.limbs)
    # A negative m reads as m + 2^(64 k); n is added and the carry beyond k limbs dropped.
    return engine.int_add(limbs, sign_masks(limbs) & n)[..., :limb_count]


def choose_randomisers(
    key: PublicKey | PrivateKey, variant: str | None, engine: Engine, batch_count: int
) -> MakeRandomisers:
    """The maker of fresh randomisers of `variant` (the key's default if None) for a batch of `batch_count` in all."""
    public = public_part(key)
    if variant is None:
        variant = CRT if isinstance(key, PrivateKey) else DJN
    if variant == STANDARD:
        return partial(standard_randomisers, public, engine=engine)
    if variant == DJN:
        return partial(djn_randomisers, public, engine=engine, batch_count=batch_count)
    if variant != CRT:
        raise InputError(
            "there is no such variant of encryption",
            expected=" or ".join(VARIANTS),
            got=repr(variant),
            cure="leave variant out: the key's own default is the right one",
        )
    if not isinstance(key, PrivateKey):
        raise KeyRefusedError(
            "variant 'crt' needs the primes of the key",
            expected="a PrivateKey",
            got="a PublicKey",
            cure="pass the private key if you hold it, or use variant 'djn'",
        )
    return partial(crt_randomisers, key, engine=engine, batch_count=batch_count)


def public_part(key: PublicKey | PrivateKey) -> PublicKey:
    """The public key of a public or private key. Raises KeyRefusedError where `key` is no key."""
    if isinstance(key, PrivateKey):
        return key.public
    if isinstance(key, PublicKey):
        return key
    raise KeyRefusedError(
        "this is no Paillier key",
        expected="a PublicKey or a PrivateKey",
        got=f"a {type(key).__name__}",
        cure="pass keys.public or keys.private",
    )
