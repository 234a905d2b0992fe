"""Ring operations, integers and randomness with the kernels' PTX executed, against the CPU engine and integers.

Shared memory is watched: what one warp stores and another uses with no barrier between is an error here.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.errors import InputError
from hekat.scheme.lattice import SETS

from .emulation.device import EmulatedDevice
from .ptx import device
from .ptx.device import InterpretedDevice
from .ptx.program import Instruction

KEY, ERROR_KEY = bytes(range(32)), bytes(range(100, 132))
# Two primes and five lanes.
QUICK = ("C8-256",)
# One to five lanes, narrower and wider than 32 bits; few and many bits dropped; one prime, two alike, two unlike.
# All sets are tried on the emulated device (tests/conformance/ring).
LONG = ("A8-4", "A16-4", "A24-4", "A32-4", "A8-32", "A16-256", "C16-128", "C24-128", "C32-256")


@pytest.fixture(scope="module")
def ptx() -> Any:
    return CudaEngine(InterpretedDevice())


@pytest.fixture(scope="module")
def cpu() -> Any:
    return CpuEngine(1)


@pytest.fixture(params=[*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)])
def form(request: pytest.FixtureRequest) -> Any:
    return SETS[request.param].form


def test_streams(ptx: Any, cpu: Any, form: Any) -> None:
    for operation, *arguments in (
        ("chacha20", KEY, bytes(range(12)), 5, 1001),
        ("expand_uniform", form.ring, KEY, 3, 2),
        ("sample_cbd", ERROR_KEY, 1, 2, form.ring.degree),
    ):
        np.testing.assert_array_equal(getattr(ptx, operation)(*arguments), getattr(cpu, operation)(*arguments))


@pytest.mark.long
def test_transforms(ptx: Any, cpu: Any, form: Any) -> None:
    ring = form.ring
    a = cpu.expand_uniform(ring, KEY, 0, 2)
    # The largest residues, where lazy reductions have the least room.
    a[1] = np.array(ring.primes, np.uint64)[:, np.newaxis] - np.uint64(1)
    for operation, *operands in (("ring_ntt", a), ("ring_intt", a), ("ring_mul", a, a[::-1]), ("ring_sub", a, a[::-1])):
        found = getattr(ptx, operation)(ring, *map(np.ascontiguousarray, operands))
        np.testing.assert_array_equal(found, getattr(cpu, operation)(ring, *operands))


@pytest.mark.long
def test_sums_by_bin(ptx: Any, cpu: Any, form: Any) -> None:
    """Plaintexts in which many digits meet, and the largest elements."""
    ring, window = form.ring, form.ring.degree // 8
    elements = cpu.expand_uniform(ring, KEY, 0, 4).reshape(2, 2, *ring.element_shape)
    elements[1] = np.array(ring.primes, np.uint64)[:, np.newaxis] - np.uint64(1)
    digits = np.random.default_rng(1).integers(-1, window, (40, 13)).astype(np.int32)
    digits[:20] = digits[0]
    arguments = ring, elements, digits, window, 1, np.array([0, 3, 13], np.int64)
    np.testing.assert_array_equal(ptx.ring_bin_sums(*arguments), cpu.ring_bin_sums(*arguments))


def test_matrix_products(ptx: Any, cpu: Any, form: Any) -> None:
    """The largest elements in one row and column."""
    ring = form.ring
    a = cpu.expand_uniform(ring, KEY, 0, 6).reshape(2, 3, *ring.element_shape)
    b = cpu.expand_uniform(ring, ERROR_KEY, 0, 6).reshape(3, 2, *ring.element_shape)
    a[1], b[:, 1] = (np.array(ring.primes, np.uint64)[:, np.newaxis] - np.uint64(1) for _ in range(2))
    np.testing.assert_array_equal(ptx.ring_dot(ring, a, b), cpu.ring_dot(ring, a, b))


@pytest.mark.long
@pytest.mark.parametrize("value_count", [pytest.param(1, marks=pytest.mark.long), 77, None])
def test_a_masked_sum(ptx: Any, cpu: Any, form: Any, value_count: int | None) -> None:
    """From values to bytes, added twice, written and opened: each step as on the CPU. None: more than one chunk."""
    count = value_count or form.values_per_chunk + 9
    largest = min(1 << form.slot_bits - 2, 1 << 30) - 1
    values = np.random.default_rng(count).integers(-largest, largest + 1, count).astype(np.int32)
    values[:1] = largest
    secret = cpu.expand_uniform(form.ring, ERROR_KEY, 0, 1)[0]
    written = ptx.mask_values(form, KEY, secret, ERROR_KEY, 2, values)
    np.testing.assert_array_equal(written, cpu.mask_values(form, KEY, secret, ERROR_KEY, 2, values))
    totals = []
    for engine in (ptx, cpu):
        total = np.zeros(form.field_count(count), np.uint64)
        for _ in range(2):
            engine.add_masked(form, total, written, count)
        totals.append(total)
    np.testing.assert_array_equal(*totals)
    summed = ptx.write_sum(form, totals[1], count)
    np.testing.assert_array_equal(summed, cpu.write_sum(form, totals[1], count))
    twice = cpu.ring_add(form.ring, secret, secret)
    opened, counts = ptx.unmask_sum(form, KEY, twice, 2, summed, count)
    np.testing.assert_array_equal(opened, 2 * values.astype(np.int64))
    assert (counts == 2).all()


@pytest.mark.long
def test_without_its_barriers_masking_is_refused(cpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each barrier left out in turn; those of the way that is taken when residues are rejected are not met here."""
    form = SETS["A16-16"].form
    secret = cpu.expand_uniform(form.ring, ERROR_KEY, 0, 1)[0]
    values = np.ones(form.values_per_chunk, np.int32)
    compiled: Any = device.compile_entries
    nothing = Instruction(("mov", "u32"), ("_", "0"))
    left_out: list[int] = []

    def without_one(source: Any, options: Any) -> Any:
        entries = dict(compiled(source, options))
        if "mask_values" in entries:
            instructions = list(entries["mask_values"].instructions)
            barriers.update(i for i, one in enumerate(instructions) if one.opcode[0] == "bar" and not left_out)
            for i in left_out:
                instructions[i] = nothing
            entries["mask_values"] = replace(entries["mask_values"], instructions=tuple(instructions))
        return entries

    barriers: set[int] = set()
    monkeypatch.setattr(device, "compile_entries", without_one)
    engine = CudaEngine(InterpretedDevice())
    engine.mask_values(form, KEY, secret, ERROR_KEY, 0, values)
    refused = 0
    for barrier in sorted(barriers):
        left_out[:] = [barrier]
        try:
            engine.mask_values(form, KEY, secret, ERROR_KEY, 0, values)
        except ValueError as error:
            refused += "no barrier between" in str(error)
    assert refused >= 5


def test_a_value_beyond_its_slot_is_seen(ptx: Any, cpu: Any) -> None:
    form = SETS["C8-256"].form
    values = np.zeros(700, np.int32)
    values[613] = 1 << form.slot_bits - 1
    with pytest.raises(InputError, match="do not fit their slots"):
        ptx.mask_values(form, KEY, cpu.expand_uniform(form.ring, KEY, 0, 1)[0], ERROR_KEY, 0, values)


def _numbers(bits: int, count: int) -> list[int]:
    rng = np.random.default_rng([bits, count])
    edges = [0, 1, (1 << bits) - 1, (1 << bits) - 2, 1 << bits - 1, (1 << bits // 2) - 1]
    return (edges + [int.from_bytes(rng.bytes(bits // 8), "little") >> int(rng.integers(bits)) for _ in range(count)])[
        :count
    ]


@pytest.mark.parametrize(("left_bits", "right_bits"), [(64, 64), (192, 128), (512, 512)])
def test_integers(ptx: Any, left_bits: int, right_bits: int) -> None:
    a, b = _numbers(left_bits, 20), _numbers(right_bits, 20)[::-1]
    divisors = [value or 1 for value in b]
    memory = ptx._device

    def up(values: list[int], bits: int) -> Any:
        return memory.upload(limbs_from_ints(values, limbs_for_bits(bits)))

    def down(limbs: Any) -> list[int]:
        return ints_from_limbs(memory.download(limbs))

    x, y = up(a, left_bits), up(b, right_bits)
    assert down(ptx.int_add(x, y)) == [p + q for p, q in zip(a, b, strict=True)]
    difference, is_negative = ptx.int_sub(x, y)
    assert down(difference) == [abs(p - q) for p, q in zip(a, b, strict=True)]
    assert memory.download(is_negative).tolist() == [p < q for p, q in zip(a, b, strict=True)]
    assert down(ptx.int_mul(x, y)) == [p * q for p, q in zip(a, b, strict=True)]
    quotient, remainder = ptx.int_divmod(x, up(divisors, right_bits))
    assert (down(quotient), down(remainder)) == (
        [p // q for p, q in zip(a, divisors, strict=True)],
        [p % q for p, q in zip(a, divisors, strict=True)],
    )


@pytest.mark.parametrize(("operation", "size"), [("random_bits", 200), ("random_below", (1 << 130) + 1)])
def test_random_integers(ptx: Any, monkeypatch: pytest.MonkeyPatch, operation: str, size: int) -> None:
    """Of one seed, the emulated device's, which has tests of its own."""
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(count)))
    found, expected = (
        engine._device.download(getattr(engine, operation)(40, size)) for engine in (ptx, CudaEngine(EmulatedDevice()))
    )
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found, axis=0)) == 40
