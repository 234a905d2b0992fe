"""Values a second through clip, quantise, pack and unpack, next to the least NumPy can do with the same array.

Run: python benchmarks/bench_codec.py. One core; 101,770 values (a 784-128-10 network), 9 parties, 2048-bit plaintexts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from hekat.codec import clip, compression_ratio, error_bound_sum, make_layout, plaintext_space_use
from hekat.engine.limbs import LimbArray
from hekat.plaintext_space import PackedPlaintext
from measuring.record import machine, median_s, write_results

VALUE_COUNT = 101_770
PARTY_COUNT = 9
KEY_BITS = 2048
# An n of 2048 bits has bound (n - 1) / 2 >= 2^2046: this many bits of magnitude always fit.
PLAINTEXT_BITS = KEY_BITS - 2
ALPHA = 2.5
REPEATS = 31


def sum_of_equal_contributions(packed: PackedPlaintext, count: int) -> PackedPlaintext:
    """`count` times the packed integers, as a decrypted aggregate would be."""
    total: LimbArray = np.zeros_like(packed.limbs)
    for _ in range(count):
        carry = np.zeros(len(packed), dtype=np.uint64)
        for limb in range(total.shape[1]):
            partial = total[:, limb] + carry
            carry = (partial < carry).astype(np.uint64)
            total[:, limb] = partial + packed.limbs[:, limb]
            carry |= (total[:, limb] < partial).astype(np.uint64)
    return PackedPlaintext(total, packed.bound * count)


def numpy_baselines(x: np.ndarray) -> dict[str, Callable[[], object]]:
    """Plain NumPy passes over the same values: what a codec cannot be faster than."""
    q = np.rint(x * 1000).astype(np.int64)
    return {
        "numpy copy": x.copy,
        "numpy clip": lambda: np.clip(x, -ALPHA, ALPHA),
        "numpy scale, round, cast to int16": lambda: np.rint(x * 1000.0).astype(np.int16),
        "numpy cast int64 to int16": lambda: q.astype(np.int16),
        "numpy cast int64 to float64, scale": lambda: q.astype(np.float64) * 0.001,
    }


def row(what: str, layout: str, value_bits: int | None, function: Callable[[], object]) -> dict[str, object]:
    seconds = median_s(function, REPEATS)
    return {
        "what": what,
        "layout": layout,
        "value_bits": value_bits,
        "values": VALUE_COUNT,
        "ms": round(seconds * 1e3, 4),
        "million_values_per_s": round(VALUE_COUNT / seconds / 1e6, 1),
    }


def layout_rows(name: str, value_bits: int, x: np.ndarray) -> list[dict[str, object]]:
    layout = make_layout(name, value_bits=value_bits, max_addends=PARTY_COUNT, plaintext_bits=PLAINTEXT_BITS)
    clipped, _ = clip(x, ALPHA)
    q = layout.quantise(clipped, ALPHA)
    packed = layout.pack(q)
    summed = sum_of_equal_contributions(packed, PARTY_COUNT)
    sums = layout.unpack(summed, VALUE_COUNT, PARTY_COUNT)
    if not np.array_equal(sums, PARTY_COUNT * q):
        raise SystemExit(f"{name} at {value_bits} bits does not decode: nothing timed")
    error = np.abs(layout.dequantise(sums, ALPHA, PARTY_COUNT) - PARTY_COUNT * clipped).max()
    rng = np.random.default_rng(1)
    rows = [
        row("clip and quantise, nearest", name, value_bits, lambda: layout.quantise(clip(x, ALPHA)[0], ALPHA)),
        row(
            "clip and quantise, stochastic",
            name,
            value_bits,
            lambda: layout.quantise(clip(x, ALPHA)[0], ALPHA, "stochastic", rng),
        ),
        row("pack", name, value_bits, lambda: layout.pack(q)),
        row("unpack a sum", name, value_bits, lambda: layout.unpack(summed, VALUE_COUNT, PARTY_COUNT)),
        row("dequantise", name, value_bits, lambda: layout.dequantise(sums, ALPHA, PARTY_COUNT)),
    ]
    for entry in rows:
        entry["lane_bits"] = layout.slot_bits
        entry["plaintexts"] = len(packed)
        entry["compression_ratio"] = round(compression_ratio(VALUE_COUNT, layout), 2)
        entry["plaintext_space_use"] = round(plaintext_space_use(VALUE_COUNT, KEY_BITS, layout), 4)
        entry["largest_error_over_bound"] = round(
            float(error) / error_bound_sum(ALPHA, value_bits, PARTY_COUNT, layout=name), 4
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    x = np.random.default_rng(0).normal(size=VALUE_COUNT)
    rows = [row(what, "", None, function) for what, function in numpy_baselines(x).items()]
    for name in ("balanced", "offset", "two_sign_bits"):
        for value_bits in (8, 16, 32):
            rows += layout_rows(name, value_bits, x)
    for entry in rows:
        width = f"{entry['layout']} {entry['value_bits'] or ''}"
        print(f"{entry['what']:36} {width:18} {entry['ms']:9} ms {entry['million_values_per_s']:9} M values/s")
    print(machine())
    if not options.no_write:
        print(write_results("codec", rows))


if __name__ == "__main__":
    main()
