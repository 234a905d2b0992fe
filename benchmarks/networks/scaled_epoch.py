"""An epoch of a peer that takes one number at a time, scaled up from a few rows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def scale_epoch(
    rows: int,
    batch_rows: int,
    *,
    sample_rows: int,
    key_bits: int,
    whole_s: Sequence[float],
    half_s: Sequence[float],
    further_batch_s: float = 0.0,
) -> dict[str, Any]:
    """Figures of an epoch of `rows` rows: medians of the time a row takes, and of what a batch takes beside its rows.

    `whole_s` are processor seconds of batches of `sample_rows` rows, `half_s` of half as many, turn by turn;
    `further_batch_s` is what each batch takes on top of both.
    """
    half = sample_rows - sample_rows // 2
    row_s = statistics.median((a - b) / half for a, b in zip(whole_s, half_s, strict=True))
    batch_s = max(0.0, statistics.median(whole_s) - sample_rows * row_s) + further_batch_s
    batches = -(-rows // batch_rows)
    return {
        "key_bits": key_bits,
        "sample_rows": sample_rows,
        "row_ms": 1e3 * row_s,
        "batch_ms": 1e3 * batch_s,
        "batches": batches,
        "scaled_s": rows * row_s + batches * batch_s,
    }
