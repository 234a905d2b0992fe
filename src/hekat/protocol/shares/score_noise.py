"""Noise below one told unit on a score, always the same for the same row: asking again tells nothing finer.

A receiver of scores knows its own share to every bit. So the share that it is sent puts the score between two ends, one
unit apart and anywhere, and n answers about one row would leave the n-th part of a unit. A party that sends shares
therefore adds a number that is uniform within half a unit of 0. The number follows from the party's own columns of the
row and from a secret: its shares of the weights, which no other party knows, or a key kept with its part of the model.
All answers together then find the score plus that number, as in form `arbiter`, where parts are always rounded in the
same way. Another unit has other noise.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.protocol.shares.share_array import (
    RING_BITS,
    ShareArray,
    constant,
    shift_right,
    subtract,
)
from hekat.scheme.hash_expansion import frame_hash

DOMAIN: Final = b"hekat/vertical-shared/score-noise/1"
_WORD_BYTES, _SHARE_BYTES = 8, RING_BITS // 8


def score_noise(features: Any, secret: npt.NDArray[np.uint64], unit_bits: int, target_count: int) -> ShareArray:
    """Elements of the ring (rows, K, 2) from -2^(unit_bits - 1) to below 2^(unit_bits - 1); 0 < unit_bits < 128.

    `features` (rows, columns) are the sender's own integers; dense and sparse rows get the same noise. `secret` is
    the sender's shares of the weights, which the other party could compute only if it knew every weight to the last
    bit, or the key of a party without shares. K is `target_count`.
    """
    framed = frame_hash(DOMAIN, secret.astype("<u8").tobytes(), unit_bits.to_bytes(_WORD_BYTES, "big"))
    places, values, ends = _entries_of(features)
    hashed = bytearray()
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        state = framed.copy()
        state.update(places[start:stop].tobytes() + values[start:stop].tobytes())
        hashed += state.digest(_SHARE_BYTES * target_count)
    uniform = np.frombuffer(bytes(hashed), "<u8").astype(np.uint64).reshape(-1, target_count, 2)
    return subtract(shift_right(uniform, RING_BITS - unit_bits), constant(1 << (unit_bits - 1)))


def _entries_of(features: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[int]]:
    """The places (entries,) and values (entries,) of what is not 0, row by row in rising places, and each row's end."""
    if isinstance(features, np.ndarray):
        numbers, places = np.nonzero(features)
        values, counts = features[numbers, places], np.bincount(numbers, minlength=len(features))
        return places.astype("<i8"), values.astype("<i8"), np.cumsum(counts).tolist()
    from scipy.sparse import csr_array

    rows = csr_array(features, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows.indices.astype("<i8"), rows.data.astype("<i8"), rows.indptr[1:].tolist()
