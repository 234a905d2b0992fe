"""The full-domain hash: items of any length to residues mod n that look uniform and belong to one key and context.

    seed     domain || |key| || key || |context| || context || item
    key      e in 8 bytes || n, both big-endian; lengths | | in 8 bytes, big-endian
    H(item)  the first ceil((bits(n) + 128) / 8) bytes of SHAKE-256(seed), little-endian, mod n

Framing, width and source: `hash_expansion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hekat.engine.interface import Engine, ResidueArray
from hekat.engine.limbs import LIMB_BYTES, limbs_for_bits
from hekat.engine.scheduler import Progress
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.scheme.chunks import join_chunks, run_chunks
from hekat.scheme.hash_expansion import EXTRA_BITS, expand_item, frame_hash
from hekat.scheme.rsa.group_elements import HashedItems
from hekat.scheme.rsa.keys import PublicKey, check_public_key, encode_public_key

ITEM_DOMAIN: Final = b"hekat/rsa/full-domain-hash/1"


def hash_to_group(
    public: PublicKey,
    items: Sequence[bytes],
    *,
    context: bytes = b"",
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> HashedItems:
    """Each item's hash H(item) in Z_n under the key and `context`. Public: anyone can compute it.

    Args:
        public: The key that the hashes belong to.
        items: Bytes of any length.
        context: Keeps uses apart, such as the name of a run: equal items hash equal within one key and context only.
        engine: Where the hashes are kept; the selected engine if None.
        progress: Called as `progress(done, total)` after every few thousand items.

    Returns:
        The hashes, shape (len(items),).

    Raises:
        InputError: An item is not bytes.
        KeyRefusedError: `public` is no RSA public key.

    Examples:
        >>> import hekat
        >>> public = hekat.rsa.generate_keys().public
        >>> hekat.rsa.hash_to_group(public, [b"ann", b"bob"], context=b"run 7").shape
        (2,)
    """
    return hash_in_domain(ITEM_DOMAIN, public, items, context, engine, progress)


def hash_in_domain(
    domain: bytes,
    public: PublicKey,
    items: Sequence[bytes],
    context: bytes,
    engine: Engine | None,
    progress: Progress | None = None,
) -> HashedItems:
    """`hash_to_group` under another domain."""
    check_public_key(public)
    _check_items(items, context)
    engine = engine or get_engine()
    prefix = frame_hash(domain, encode_public_key(public.n, public.e), context)

    def hash_chunk(chunk: slice) -> ResidueArray:
        return _reduced([_expand(prefix, item, public.bits) for item in items[chunk]], public, engine)

    return HashedItems(public, join_chunks(run_chunks(hash_chunk, len(items), engine, progress), (len(items),)))


def _expand(prefix: Any, item: bytes, bits: int) -> bytes:
    """The hash of one item before its reduction, filled up with zeros to whole limbs."""
    return expand_item(prefix, item, bits).ljust(LIMB_BYTES * limbs_for_bits(bits + EXTRA_BITS), b"\0")


def _reduced(expanded: list[bytes], public: PublicKey, engine: Engine) -> ResidueArray:
    limbs = np.frombuffer(b"".join(expanded), "<u8").astype(np.uint64)
    limb_count = limbs_for_bits(public.bits + EXTRA_BITS)
    return engine.reduce(limbs.reshape(len(expanded), limb_count), public.n_modulus)


def _check_items(items: Sequence[bytes], context: bytes) -> None:
    if not isinstance(context, bytes):
        raise InputError("context refused", expected="bytes", got=f"a {type(context).__name__}")
    if isinstance(items, str | bytes) or not isinstance(items, Sequence):
        raise InputError(
            "items refused",
            expected="a list of bytes, one entry an item",
            got=f"a {type(items).__name__}",
            cure="wrap a single item in a list",
        )
    for item in items:
        if not isinstance(item, bytes):
            raise InputError(
                "items refused",
                expected="bytes only",
                got=f"a {type(item).__name__} among them",
                cure="encode text with .encode() and numbers as text, the same way at every party",
            )
