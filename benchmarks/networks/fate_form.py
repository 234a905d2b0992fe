"""The interactive layer of a split network as FATE computes it: Paillier, one number a ciphertext, nothing packed.

A host encrypts its features, the guest multiplies them with its weights and, later, with its slopes; the host opens
both products, encrypts its accumulated noise, and opens the slopes of its features, which the guest makes of that.
gmpy2 in one process, one number at a time.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring.peers import Textbook
from networks.scaled_epoch import scale_epoch
from vertical.data import stored_keys

IntArray = npt.NDArray[np.int64]
Rows = list[list[Any]]

FEATURE_BITS, WEIGHT_BITS, SLOPE_BITS, NOISE_BITS = 16, 20, 24, 10
SAMPLE_ROWS, REPEATS = 4, 3
KEY_BITS = 2048


def measure_fate_form(
    rows: int, batch_rows: int, width: int, units: int, seed: int, *, key_bits: int = KEY_BITS
) -> dict[str, Any]:
    """Seconds of an epoch in one process, scaled by rows and batches from SAMPLE_ROWS, the results checked first."""
    private = stored_keys(key_bits)[0].private
    book = Textbook(private.p, private.q)
    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, int], bits: int) -> IntArray:
        return np.rint(np.ldexp(rng.uniform(-1, 1, size=shape), bits)).astype(np.int64)

    features, slopes = draw((SAMPLE_ROWS, width), FEATURE_BITS), draw((SAMPLE_ROWS, units), SLOPE_BITS)
    weights, noise = draw((width, units), WEIGHT_BITS), draw((width, units), WEIGHT_BITS + NOISE_BITS)
    half = SAMPLE_ROWS // 2
    for found, expected in zip(
        play_batch(book, features[:half], slopes[:half], weights, noise),
        (features[:half] @ weights, features[:half].T @ slopes[:half], slopes[:half] @ noise.T),
        strict=True,
    ):
        if found != expected.tolist():
            raise SystemExit("FATE's form does not give the plain products")
    whole_s, half_s = [], []
    for _ in range(REPEATS):
        whole_s.append(_process_s(book, features, slopes, weights, noise))
        half_s.append(_process_s(book, features[:half], slopes[:half], weights, noise))
    scaled = scale_epoch(
        rows,
        batch_rows,
        sample_rows=SAMPLE_ROWS,
        key_bits=key_bits,
        whole_s=whole_s,
        half_s=half_s,
    )
    return {
        "part": "fate_form",
        "what": f"FATE's form, {rows:,} rows, {width} x {units}, gmpy2, {key_bits} bits",
        **scaled,
    }


def play_batch(
    book: Textbook, features: IntArray, slopes: IntArray, weights: IntArray, noise: IntArray
) -> tuple[Rows, Rows, Rows]:
    """What the host opens, but for masks: outputs (rows, units), a gradient (width, units), slopes (rows, width)."""
    encrypted = [[book.encrypt(a) for a in row] for row in features.tolist()]
    columns = [list(column) for column in zip(*encrypted, strict=True)]
    outputs = [book.matmul(weights.T.tolist(), row) for row in encrypted]
    gradient = [book.matmul(slopes.T.tolist(), column) for column in columns]
    hidden = [[book.encrypt(n) for n in row] for row in noise.tolist()]
    turned = [book.matmul(slopes.tolist(), row) for row in hidden]
    feature_slopes = [list(row) for row in zip(*turned, strict=True)]
    return _open(book, outputs), _open(book, gradient), _open(book, feature_slopes)


def _open(book: Textbook, rows: Rows) -> Rows:
    return [[book.decrypt(c) for c in row] for row in rows]


def _process_s(book: Textbook, *given: IntArray) -> float:
    begin = time.process_time()
    play_batch(book, *given)
    return time.process_time() - begin
