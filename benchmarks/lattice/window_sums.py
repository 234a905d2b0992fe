"""What encrypted trees have beside `ring_bin_sums`: first coefficients alone, beside the whole by single operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from hekat.engine.cpu import CpuEngine
from hekat.engine.ring.interface import RingArray
from lattice.bin_sums import COLUMNS, KEY, RING, ROWS, Histograms

# Bins of a column, window, first halves: those of gradients and of Hessians, whose second half is one for both.
SIZES = ((32, 4, 2), (32, 16, 2), (64, 4, 2), (64, 16, 2))
SMALL_BOUND = 21


def measure_window_sums(engine: CpuEngine, repeats: int) -> list[dict[str, Any]]:
    """Rows of processor time, medians of `repeats` turns; `times_single`: single operations' time over it, by turn.

    A root's sums: the first halves of all groups added by window; the products of its second halves and secrets that
    open them; the encryptions of zero that hide them.
    """
    rows = []
    for size in SIZES:
        work = Histograms(*size)
        for operation, ours, single in _cases(engine, work):
            rows.append(_measure(engine, work, operation, ours, single, repeats))
    return rows


Call = Callable[[], tuple[RingArray, ...]]


def _cases(engine: CpuEngine, work: Histograms) -> list[tuple[str, Call, Call]]:
    """Each operation, and the same made of `ring_bin_sums`, `ring_ntt`, `ring_intt`, `ring_mul` and `ring_add`."""
    window, windows = work.window, work.window_count
    starts = np.array([0, ROWS], np.int64)
    elements = work.elements(engine, work.components)
    random = engine.expand_uniform(RING, KEY[::-1], 0, windows + 2 * work.components + 1)
    second, secrets, pair = np.split(random, [windows, windows + work.components])
    first = np.ascontiguousarray(engine.expand_uniform(RING, KEY, 1, windows * work.components)[..., :window]).reshape(
        windows, work.components, len(RING.primes), window
    )
    small = np.random.default_rng(work.bins).integers(
        -SMALL_BOUND, SMALL_BOUND, (windows, 2, RING.degree), np.int8, endpoint=True
    )

    def bin_sums() -> tuple[RingArray, ...]:
        transformed = engine.ring_ntt(RING, elements)
        sums = engine.ring_bin_sums(RING, transformed, work.digits, window, windows, starts)
        return (engine.ring_intt(RING, sums)[..., :window],)

    def products() -> tuple[RingArray, ...]:
        return (engine.ring_intt(RING, engine.ring_mul(RING, second[:, np.newaxis], secrets))[..., :window],)

    def zeros() -> tuple[RingArray, ...]:
        v, e = (engine.ring_ntt(RING, residues(small[:, half])) for half in (0, 1))
        whole = engine.ring_add(RING, engine.ring_add(RING, second, engine.ring_mul(RING, v, pair[0])), e)
        parts = engine.ring_intt(RING, engine.ring_mul(RING, v[:, np.newaxis], pair[1:]))[..., :window]
        primes = np.array(RING.primes, np.uint64)[:, np.newaxis]
        return engine.ring_intt(RING, whole), (first + parts) % primes

    return [
        (
            "ring_window_sums",
            lambda: (engine.ring_window_sums(RING, elements, work.digits, window, windows, starts),),
            bin_sums,
        ),
        ("ring_first_products", lambda: (engine.ring_first_products(RING, second, secrets, window),), products),
        ("ring_add_zeros", lambda: engine.ring_add_zeros(RING, second, first, small, pair), zeros),
    ]


def residues(small: np.ndarray[Any, np.dtype[np.int8]]) -> RingArray:
    """Small numbers (count, N) as residues (count, primes, N)."""
    primes = np.array(RING.primes, np.int64)[:, np.newaxis]
    return (small[:, np.newaxis].astype(np.int64) % primes).astype(np.uint64)


def _measure(
    engine: CpuEngine, work: Histograms, operation: str, ours: Call, single: Call, repeats: int
) -> dict[str, Any]:
    if not all(np.array_equal(one, other) for one, other in zip(ours(), single(), strict=True)):
        raise SystemExit(f"{operation} ({work}) disagrees with single operations")
    turns = [(_cpu_s(ours), _cpu_s(single)) for _ in range(repeats)]
    seconds = median(one for one, _ in turns)
    summed = operation == "ring_window_sums"
    products = work.components * (work.product_count if summed else work.window_count)
    shape = f"{ROWS} rows, {COLUMNS} columns" if summed else f"{work.window_count} sums"
    return {
        "path": engine.path,
        "operation": operation,
        "what": f"{shape}, {work.bins} bins, window {work.window}, {work.components} first halves",
        "ms": round(seconds * 1e3, 2),
        "us_a_product": round(seconds * 1e6 / products, 2),
        "times_single": round(median(other / one for one, other in turns), 2),
    }


def _cpu_s(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start
