"""Random subsets that every party draws alike from a public seed, by an algorithm that stays as it is.

Source: docs/spec/index-sets.md, which gives the bytes, and worked examples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from hekat.channel.canonical import encode_fields

Places = npt.NDArray[np.int64]

_LABEL = b"hekat/index-set/1"
_COUNTER_AND_NONCE = bytes(16)
_WORD_BYTES = 8
_LEAST_WORDS = 64


def seed_of(job_digest: bytes, step: str) -> bytes:
    """The seed of a step's draws, 32 bytes: public, and settled before any row was looked at."""
    return hashlib.sha256(encode_fields(_LABEL, job_digest, step.encode())).digest()


def draw_subset(seed: bytes, among: int, count: int) -> Places:
    """`count` of the numbers 0 to `among` - 1, rising; every subset of that size is as likely as any other.

    The 64-bit little-endian words of ChaCha20 under `seed` (32 bytes), counter and nonce 0, in their order: words of
    at least floor(2^64 / among) * among are left out, of the others the remainder by `among` is a place. The subset is
    the first distinct places. Where more than half are wanted, the places that are left out are drawn.
    """
    assert 0 <= count <= among
    if count > among - count:
        left_out = np.ones(among, dtype=np.bool_)
        left_out[draw_subset(seed, among, among - count)] = False
        return np.flatnonzero(left_out)
    taken, wanted = np.zeros(among, dtype=np.bool_), count
    for places in _places(seed, among, count) if wanted else ():
        _, first = np.unique(places, return_index=True)
        fresh = places[np.sort(first)]
        fresh = fresh[~taken[fresh]][:wanted]
        taken[fresh] = True
        wanted -= fresh.size
        if not wanted:
            break
    return np.flatnonzero(taken)


def _places(seed: bytes, among: int, about: int) -> Iterator[Places]:
    """Uniform places without end, about as many at a time as are wanted."""
    stream = Cipher(ChaCha20(seed, _COUNTER_AND_NONCE), mode=None).encryptor()
    most = (1 << 64) // among * among - 1
    count = max(_LEAST_WORDS, about + about // 4)
    while True:
        words = np.frombuffer(stream.update(bytes(_WORD_BYTES * count)), dtype="<u8")
        yield (words[words <= np.uint64(most)] % np.uint64(among)).astype(np.int64)
