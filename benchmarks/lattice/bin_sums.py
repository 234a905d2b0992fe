"""Histograms of trees by `ring_bin_sums`, beside single operations with plaintexts that NumPy writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from hekat.engine.cpu import CpuEngine
from hekat.engine.ring.interface import DigitArray, RingArray
from hekat.engine.ring.parameters import Ring

# The two greatest primes below 2^48 that are 1 mod 8192: products of the sizes that encrypted trees take.
RING = Ring(4096, (281474976694273, 281474976636929))
KEY = bytes(range(32))
ROWS, COLUMNS = 30_000, 23
# Bins of a column, window, components: a root's sums of gradients and Hessians, and the half that both share.
SIZES = ((32, 4, 3), (32, 16, 3), (64, 4, 3), (64, 16, 3))


@dataclass(frozen=True)
class Histograms:
    """The sums of a root node: ROWS rows of random bins, uniform elements."""

    bins: int
    window: int
    components: int

    @property
    def group_count(self) -> int:
        return -(-ROWS // (RING.degree // self.window))

    @property
    def window_count(self) -> int:
        return COLUMNS * self.bins // self.window

    @property
    def product_count(self) -> int:
        return self.group_count * self.window_count

    @cached_property
    def digits(self) -> DigitArray:
        bins = np.random.default_rng(self.bins).integers(0, self.bins, (COLUMNS, ROWS))
        return np.asarray(bins + self.bins * np.arange(COLUMNS)[:, np.newaxis], np.int32)

    def elements(self, engine: CpuEngine, components: int) -> RingArray:
        flat = engine.expand_uniform(RING, KEY, 0, self.group_count * components)
        return flat.reshape(self.group_count, components, *RING.element_shape)

    def fused(self, engine: CpuEngine, elements: RingArray) -> RingArray:
        starts = np.array([0, ROWS], np.int64)
        return engine.ring_bin_sums(RING, elements, self.digits, self.window, self.window_count, starts)[0]

    def plaintexts(self, window: int) -> RingArray:
        """Residues (groups, primes, N) of one window's plaintexts."""
        places = np.argwhere(self.digits // self.window == window)
        rows, exponents = places[:, 1], self.digits[tuple(places.T)] % self.window
        group_rows = RING.degree // self.window
        exponents = exponents - rows % group_rows * self.window
        coefficients = np.zeros((self.group_count, RING.degree), np.int64)
        signs = np.where(exponents < 0, -1, 1)
        np.add.at(coefficients, (rows // group_rows, exponents % RING.degree), signs)
        return np.stack([coefficients % p for p in RING.primes], axis=1).astype(np.uint64)

    def by_single_operations(self, engine: CpuEngine, elements: RingArray, window: int) -> RingArray:
        """The sums of one window: transforms of its plaintexts, products, and their sums."""
        transformed = engine.ring_ntt(RING, self.plaintexts(window))
        products = engine.ring_mul(RING, elements, transformed[:, np.newaxis])
        total = products[0]
        for product in products[1:]:
            total = engine.ring_add(RING, total, product)
        return total


def measure_bin_sums(engine: CpuEngine, repeats: int) -> list[dict[str, Any]]:
    """Rows of processor time, medians of `repeats` turns.

    ms                    the whole call
    us_a_product          the whole call over groups times windows
    plaintext_us          what a product takes apart from its components: writing a plaintext, and its transform
    component_us          what each component adds: multiplying, adding, reducing, writing the result
    times_single          one window's time by single operations over its share of the whole call, in the same turn
    """
    return [_measure(engine, Histograms(*size), repeats) for size in SIZES]


def _measure(engine: CpuEngine, work: Histograms, repeats: int) -> dict[str, Any]:
    elements, one = work.elements(engine, work.components), work.elements(engine, 1)
    if not np.array_equal(work.fused(engine, elements)[1], work.by_single_operations(engine, elements, 1)):
        raise SystemExit(f"ring_bin_sums ({work}) disagrees with single operations")
    turns = [
        (
            _cpu_s(lambda: work.fused(engine, elements)),
            _cpu_s(lambda: work.fused(engine, one)),
            _cpu_s(lambda: work.by_single_operations(engine, elements, 1)),
        )
        for _ in range(repeats)
    ]
    whole = median(turn[0] for turn in turns)
    component = median((turn[0] - turn[1]) / (work.components - 1) for turn in turns)
    share = 1e6 / work.product_count
    return {
        "path": engine.path,
        "operation": "ring_bin_sums",
        "what": f"{ROWS} rows, {COLUMNS} columns, {work.bins} bins, window {work.window}, {work.components} components",
        "ms": round(whole * 1e3, 1),
        "us_a_product": round(whole * share, 2),
        "plaintext_us": round((whole - work.components * component) * share, 2),
        "component_us": round(component * share, 2),
        "times_single": round(median(turn[2] * work.window_count / turn[0] for turn in turns), 2),
    }


def _cpu_s(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start
