"""What papers published for GPUs, and the same work measured here; their machines were others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpu.operations import Case
from hekat.codec import clip, make_layout
from hekat.scheme.paillier import (
    PrivateKey,
    add,
    decrypt,
    encrypt,
    matmul_plain,
    multiply_plain,
    sum_along,
)

HAFLO = {
    "source": "HAFLO (Cheng et al., 2021), Table 2: 1024-bit key, 10^5 instances, NVIDIA Tesla V100 PCIe 32 GB; "
    "CPU: one core of an Intel Xeon Silver 4114",
    "instances_per_s": {
        "encoding": {"gpu": 15108620, "cpu": 77232},
        "decoding": {"gpu": 22343405, "cpu": 587587},
        "encryption": {"gpu": 83909, "cpu": 445},
        "decryption": {"gpu": 287273, "cpu": 1465},
        "multiplication": {"gpu": 991946, "cpu": 6410},
        "addition": {"gpu": 1226803, "cpu": 27118},
        "matrix multiplication": {"gpu": 931942, "cpu": 4112},
        "summation": {"gpu": 19575768, "cpu": 128893},
    },
}
FLBOOSTER = {
    "source": "FLBooster (ICDE 2023), Table IV, RCV1: instances a second in encryption operations of training, "
    "NVIDIA GeForce RTX 3090; values of 32 bits, packed. What is counted besides encryptions is not said",
    "instances_per_s": {
        "Homo LR": {1024: (363, 58823, 398309), 2048: (69, 9783, 64782), 4096: (12, 1709, 11316)},
        "Hetero LR": {1024: (364, 58717, 512111), 2048: (68, 9969, 83291), 4096: (12, 1873, 14548)},
        "Hetero SBT": {1024: (389, 59572, 516886), 2048: (73, 10809, 77234), 4096: (11, 1870, 14369)},
        "Hetero NN": {1024: (359, 61145, 498254), 2048: (67, 10446, 79788), 4096: (12, 1779, 14806)},
    },
    "columns": ("FATE", "HAFLO", "FLBooster"),
}
ALPHA = 2.5
VALUE_BITS, ADDENDS = 30, 4
MATRIX_ROWS = 10


def haflo_cases(engine: Any, key: PrivateKey, count: int) -> Iterator[Case]:
    """Table 2's operators by their names there, each on `count` instances; ours are called as users call them."""
    rng = np.random.default_rng(2)
    x = np.clip(rng.standard_normal(count), -ALPHA, ALPHA)
    one = make_layout("balanced", value_bits=VALUE_BITS, max_addends=1, plaintext_bits=2 * VALUE_BITS)

    def encode() -> Any:
        return one.pack(one.quantise(clip(x, ALPHA)[0], ALPHA))

    packed = encode()
    instances = len(packed)
    assert instances == count

    def decoded(result: Any) -> None:
        assert np.abs(result - x).max() < 1e-6

    def decode() -> Any:
        return one.dequantise(one.unpack(packed, count, 1), ALPHA, 1)

    yield Case("encoding", count, encode, lambda result: decoded(decode()))
    yield Case("decoding", count, decode, decoded)
    opened_as = _opens_to(key, packed.limbs)
    few = packed if instances < 1000 else type(packed)(packed.limbs[: instances // 10], packed.bound)
    public = key.public
    yield Case(
        "encryption, as published (r^n)",
        len(few),
        lambda: encrypt(public, few, variant="standard", engine=engine),
        _opens_to(key, few.limbs),
    )
    yield Case("encryption", instances, lambda: encrypt(public, packed, variant="djn", engine=engine), opened_as)
    c = encrypt(key, packed, engine=engine)
    yield Case("decryption", instances, lambda: decrypt(key, c), lambda result: _same(result.limbs, packed.limbs))
    scalars = rng.integers(1, 1 << 62, instances)
    integers = _signed(packed.limbs)

    def products(result: Any) -> None:
        found = _signed(decrypt(key, result[:8]).limbs)
        assert found == [m * int(s) for m, s in zip(integers[:8], scalars, strict=False)]

    yield Case("multiplication", instances, lambda: multiply_plain(c, scalars), products)

    def doubled(result: Any) -> None:
        assert _signed(decrypt(key, result[:8]).limbs) == [2 * m for m in integers[:8]]

    yield Case("addition", instances, lambda: add(c, c), doubled)
    columns = max(2, instances // MATRIX_ROWS)
    matrix = rng.integers(1 - (1 << 23), 1 << 23, (MATRIX_ROWS, columns))

    def by_matrix(result: Any) -> None:
        expected = [sum(int(w) * m for w, m in zip(row, integers, strict=False)) for row in matrix]
        assert _signed(decrypt(key, result).limbs) == expected

    yield Case("matrix multiplication", MATRIX_ROWS * columns, lambda: matmul_plain(matrix, c[:columns]), by_matrix)
    yield Case(
        "summation",
        instances,
        lambda: sum_along(c, 0),
        lambda result: _same_integers(_signed(decrypt(key, result).limbs), [sum(integers)]),
    )


def packed_values_case(engine: Any, key: PrivateKey, count: int) -> Case:
    """Values of a gradient on the host, clipped, quantised, packed and encrypted, with our codec."""
    x = np.random.default_rng(3).standard_normal(count)
    plaintext_bits = key.public.plaintext_space.bits
    layout = make_layout("balanced", value_bits=VALUE_BITS, max_addends=ADDENDS, plaintext_bits=plaintext_bits)

    def run() -> Any:
        return encrypt(key.public, layout.pack(layout.quantise(clip(x, ALPHA)[0], ALPHA)), engine=engine)

    def check(result: Any) -> None:
        sums = layout.unpack(decrypt(key, result), count, 1)
        assert np.abs(layout.dequantise(sums, ALPHA, 1) - np.clip(x, -ALPHA, ALPHA)).max() < 1e-6

    return Case(f"values encrypted, {layout.slots} to a ciphertext", count, run, check)


def gradient_case(engine: Any, key: PrivateKey, gradient: Any) -> tuple[Case, int]:
    """A gradient where it lies, to ciphertext bytes on the host; and how many bytes these are."""
    count = int(np.prod(gradient.shape))
    plaintext_bits = key.public.plaintext_space.bits
    layout = make_layout("balanced", value_bits=16, max_addends=ADDENDS, plaintext_bits=plaintext_bits)

    def run() -> Any:
        packed = layout.pack(layout.quantise(clip(gradient, ALPHA)[0], ALPHA))
        return encrypt(key.public, packed, engine=engine).to_limbs()

    def check(result: Any) -> None:
        assert type(result) is np.ndarray
        assert result.shape[0] == layout.plaintext_count(count)

    return Case("gradient to ciphertext bytes", count, run, check), layout.plaintext_count(count) * key.public.bits // 4


def _opens_to(key: PrivateKey, limbs: Any) -> Callable[[Any], None]:
    return lambda result: _same(decrypt(key, result[:64]).limbs, limbs[:64])


def _same(found: Any, expected: Any) -> None:
    _same_integers(_signed(found), _signed(expected))


def _same_integers(found: list[int], expected: list[int]) -> None:
    assert found == expected


def _signed(limbs: Any) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in np.asarray(limbs)]
