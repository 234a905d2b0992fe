"""Logistic regression on an encrypted model as FLASH and HAFLO measure it: FATE's form, one number a ciphertext.

A host holds the weights under the arbiter's Paillier key. In each batch it raises every weight to the power of every
feature (scores), adds its labels' part (d = score / 4 - y / 2), raises every row's d to the power of every feature
(gradients) and moves the weights; then the arbiter decrypts and encrypts them afresh. Nothing is packed; gmpy2
in one process, one number at a time; powers are as long as features at their scale.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring.peers import Textbook
from networks.scaled_epoch import scale_epoch
from vertical.data import stored_keys

IntArray = npt.NDArray[np.int64]

FEATURE_BITS, WEIGHT_BITS = 16, 24
SAMPLE_ROWS, REPEATS = 64, 3


def measure_paper_form(rows: int, columns: int, batch_rows: int, key_bits: int, seed: int) -> dict[str, Any]:
    """Seconds of an epoch in one process, scaled by rows and batches from SAMPLE_ROWS, the result checked first."""
    private = stored_keys(key_bits)[0].private
    book = Textbook(private.p, private.q)
    rng = np.random.default_rng(seed)
    features = np.rint(np.ldexp(rng.normal(size=(SAMPLE_ROWS, columns)), FEATURE_BITS)).astype(np.int64)
    features = np.hstack([features, np.full((SAMPLE_ROWS, 1), 1 << FEATURE_BITS)])
    labels = rng.choice([-1, 1], SAMPLE_ROWS)
    weights = np.rint(np.ldexp(0.1 * rng.normal(size=columns + 1), WEIGHT_BITS)).astype(np.int64)
    encrypted = [book.encrypt(w) for w in weights.tolist()]
    half = SAMPLE_ROWS // 2
    found = [book.decrypt(c) for c in encrypted_gradient(book, encrypted, features[:half], labels[:half])]
    if found != plain_gradient(weights, features[:half], labels[:half]):
        raise SystemExit("the papers' form does not give the plain gradient")
    whole_s, half_s, refresh_s = [], [], []
    for _ in range(REPEATS):
        whole_s.append(_process_s(lambda: encrypted_gradient(book, encrypted, features, labels)))
        half_s.append(_process_s(lambda: encrypted_gradient(book, encrypted, features[:half], labels[:half])))
        refresh_s.append(_process_s(lambda: [book.encrypt(book.decrypt(c)) for c in encrypted]))
    scaled = scale_epoch(
        rows,
        batch_rows,
        sample_rows=SAMPLE_ROWS,
        key_bits=key_bits,
        whole_s=whole_s,
        half_s=half_s,
        further_batch_s=statistics.median(refresh_s),
    )
    return {
        "what": f"the papers' form, {rows:,} x {columns}, gmpy2, {key_bits} bits",
        **scaled,
    }


def encrypted_gradient(book: Textbook, weights: list[Any], features: IntArray, labels: IntArray) -> list[Any]:
    """Ciphertexts of four times X^T d, at twice the features' scale and once the weights'."""
    scores = book.matmul(features.tolist(), weights)
    target = [-2 * int(y) << (FEATURE_BITS + WEIGHT_BITS) for y in labels]
    d = [score * (1 + part * book.n) % book.n2 for score, part in zip(scores, target, strict=True)]
    return book.matmul(features.T.tolist(), d)


def plain_gradient(weights: IntArray, features: IntArray, labels: IntArray) -> list[int]:
    """The same in Python's integers."""
    x = features.astype(object)
    d = x @ weights.astype(object) - np.array([2 * int(y) << (FEATURE_BITS + WEIGHT_BITS) for y in labels], object)
    return [int(value) for value in x.T @ d]


def _process_s(function: Any) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start
