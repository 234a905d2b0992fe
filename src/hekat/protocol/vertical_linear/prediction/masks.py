"""Parts of scores as integers mod 2^64, under masks that cancel in the sum of all parts."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from hekat.errors import BoundError, InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.prediction.messages import PredictionSeedMessage

FloatArray = npt.NDArray[np.float64]
WordArray = npt.NDArray[np.uint64]

SEED_BYTES = 32
SEED_STEP = "predict/seed"
# The sum of all parties' integers stays below 2^62, so that its sign is known.
_SUM_BITS = 62
_NONCE = bytes(16)


def to_words(values: FloatArray, fraction_bits: int, party_count: int) -> WordArray:
    """Round `values` to the nearest multiples of 2^-fraction_bits, as two's complement mod 2^64.

    Raises InputError for values that are not finite, BoundError where the sum of `party_count` such arrays could wrap.
    """
    if not np.isfinite(values).all():
        raise InputError(
            "a score that is no finite number",
            expected="finite weights and columns",
            got="a part of a score that is NaN or infinite",
            cure="train again with a smaller learning_rate",
        )
    scaled = np.rint(np.ldexp(values, fraction_bits))
    limit = 2.0**_SUM_BITS / party_count
    if scaled.size and float(np.abs(scaled).max()) >= limit:
        raise BoundError(
            "a score is too large for its fixed point",
            expected=f"parts of scores below 2^{_SUM_BITS - fraction_bits} / {party_count} parties",
            got="a larger one",
            cure="bring columns to a similar scale (standardise = true), or train with fewer value_bits",
        )
    return scaled.astype(np.int64).view(np.uint64)


def from_words(words: WordArray, fraction_bits: int) -> FloatArray:
    """The float64 numbers that a sum of results of `to_words` stands for, rounded to nearest."""
    return np.ldexp(words.view(np.int64).astype(np.float64), -fraction_bits)


def zero_sum_mask(channel: RecordedChannel, senders: Sequence[str], shape: tuple[int, ...]) -> WordArray:
    """This sender's uniform mask of `shape`, mod 2^64; the masks of all `senders` add up to zero.

    Every two senders share a fresh seed. So the receiver that sums, even together with some senders, sees no more than
    the sum of the other senders' parts. Raises ProtocolError for a seed of another length.
    """
    mask = np.zeros(shape, dtype=np.uint64)
    place = senders.index(channel.party)
    seeds = {peer: secrets.token_bytes(SEED_BYTES) for peer in senders[place + 1 :]}
    for peer, seed in seeds.items():
        channel.send(peer, SEED_STEP, PredictionSeedMessage(seed))
        mask += _grow(seed, shape)
    for peer in senders[:place]:
        seed = channel.receive(peer, SEED_STEP, PredictionSeedMessage).seed
        if len(seed) != SEED_BYTES:
            raise ProtocolError(f"{peer!r} sent no seed of a mask", expected=f"{SEED_BYTES} bytes", got=f"{len(seed)}")
        mask -= _grow(seed, shape)
    return mask


def _grow(seed: bytes, shape: tuple[int, ...]) -> WordArray:
    """Grow a seed, which is used once, to a mask. Source: RFC 8439, the key stream of ChaCha20."""
    stream = Cipher(algorithms.ChaCha20(seed, _NONCE), mode=None).encryptor()
    count = int(np.prod(shape))
    return np.frombuffer(stream.update(bytes(8 * count)), dtype="<u8").astype(np.uint64).reshape(shape)
