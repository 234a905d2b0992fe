"""Integers on a device against the reference, bit for bit: every operation, around every length and carry."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.integers import CudaIntegers
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.errors import EngineError, InputError

REFERENCE = ReferenceEngine()
OPERATIONS = ("int_add", "int_sub", "int_mul", "int_divmod")


class Integers(CudaIntegers):
    def __init__(self) -> None:
        self._device = EmulatedDevice()
        self._host = CpuEngine(1)


@pytest.fixture(scope="module")
def integers() -> Integers:
    return Integers()


def up(integers: Integers, limbs: LimbArray) -> LimbArray:
    return integers._device.upload(limbs)


def edges(limb_count: int, rng: np.random.Generator) -> LimbArray:
    """0, 1, all ones, single bits at limb and word borders, sparse limbs, and random values."""
    bits = 64 * limb_count
    values = [0, 1, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1), (1 << (bits - 1)) - 1, 1 << 31, 1 << 32]
    values += [(1 << bits) - (1 << 32), ((1 << bits) - 1) // 3, (1 << bits) - (1 << (bits // 2))]
    values += [int.from_bytes(rng.bytes(bits // 8), "little") for _ in range(5)]
    values += [int.from_bytes(rng.bytes(5), "little") % (1 << bits), 0x80000000 << (bits - 32)]
    return limbs_from_ints([value % (1 << bits) for value in values], limb_count)


def check_same(got: object, expected: object, device: EmulatedDevice) -> None:
    if not isinstance(got, tuple):
        got, expected = (got,), (expected,)
    for mine, right in zip(got, expected, strict=True):
        assert device.owns(mine)
        assert mine.dtype == right.dtype
        assert mine.shape == right.shape
        assert np.array_equal(device.download(mine), right)


@pytest.mark.quick_values
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("a_limbs", "b_limbs"), [(1, 1), (2, 2), (1, 3), (3, 1), (4, 4), (8, 5)])
def test_every_pair_of_edges(operation: str, a_limbs: int, b_limbs: int, integers: Integers) -> None:
    rng = np.random.default_rng(a_limbs * 16 + b_limbs)
    a, b = edges(a_limbs, rng)[:, np.newaxis], edges(b_limbs, rng)[np.newaxis]
    if operation == "int_divmod":
        b = b[:, 1:]
    got = getattr(integers, operation)(up(integers, a), up(integers, b))
    check_same(got, getattr(REFERENCE, operation)(a, b), integers._device)


def test_division_whose_first_guess_is_too_high(integers: Integers) -> None:
    # The step that adds back, and a guess of 2^32: rare for random operands. From Hacker's Delight, divmnu.
    pairs = [
        (0x80000000FFFFFFFE00000000, 0x80000000FFFF),
        (0x800000000000000000000003, 0x200000000000000000000001),
        (0x8000000000000003, 0x2000000000000001),
        (0x7FFFFFFF800000010000000000000000, 0x800000008000000200000005),
        (0x8000FFFFFFFE00000000, 0x80000000FFFF),
        (0x80000000FFFFFFFE0000000000000000, 0x80000000FFFFFFFF00000001),
        ((1 << 128) - 1, (1 << 64) + 1),
    ]
    a = limbs_from_ints([x for x, _ in pairs], 2)
    b = limbs_from_ints([y for _, y in pairs], 2)
    got = integers.int_divmod(up(integers, a), up(integers, b))
    check_same(got, REFERENCE.int_divmod(a, b), integers._device)


@pytest.mark.parametrize("b_limbs", [1, 2, 3])
def test_division_of_words_at_their_ends(b_limbs: int, integers: Integers) -> None:
    # Words of 0, 1, 2^31 and all ones in any order take every branch of a guess and its correction.
    rng = np.random.default_rng(b_limbs)
    words = np.array([0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x8000FFFF, 0xFFFF0000, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
    a, b = (rng.choice(words, size=(3000, 2 * limbs)).view(np.uint64) for limbs in (4, b_limbs))
    b[~b.any(axis=-1), 0] = 1
    got = integers.int_divmod(up(integers, a), up(integers, b))
    check_same(got, REFERENCE.int_divmod(a, b), integers._device)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("a_shape", "b_shape"), [((0,), (0,)), ((), ()), ((5,), ()), ((1,), (5,)), ((2, 1), (3,)), ((2, 3), (2, 3))]
)
def test_shapes_broadcast(
    operation: str, a_shape: tuple[int, ...], b_shape: tuple[int, ...], integers: Integers
) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(1, 1 << 63, size=(*shape, 3), dtype=np.uint64) for shape in (a_shape, b_shape))
    got = getattr(integers, operation)(up(integers, a), up(integers, b))
    check_same(got, getattr(REFERENCE, operation)(a, b), integers._device)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_strided_operands(operation: str, integers: Integers) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(1, 1 << 63, size=(6, 4), dtype=np.uint64) for _ in range(2))
    got = getattr(integers, operation)(up(integers, a)[::2, :3], up(integers, b)[1::2, 1:])
    check_same(got, getattr(REFERENCE, operation)(a[::2, :3], b[1::2, 1:]), integers._device)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operands_of_the_host_stay_there(operation: str, integers: Integers) -> None:
    a, b = (np.arange(1, 13, dtype=np.uint64).reshape(4, 3) * np.uint64(1 << 60) for _ in range(2))
    got, expected = getattr(integers, operation)(a, b), getattr(REFERENCE, operation)(a, b)
    for mine, right in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, expected)), strict=True):
        assert type(mine) is np.ndarray
        assert np.array_equal(mine, right)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_constant_of_the_host_meets_a_batch_of_the_device(operation: str, integers: Integers) -> None:
    a = np.arange(1, 13, dtype=np.uint64).reshape(4, 3)
    constant = limbs_from_ints([3**30], 1)[0]
    expected = getattr(REFERENCE, operation)(a, constant)
    check_same(getattr(integers, operation)(up(integers, a), constant), expected, integers._device)
    expected = getattr(REFERENCE, operation)(constant, a)
    check_same(getattr(integers, operation)(constant, up(integers, a)), expected, integers._device)


def test_a_batch_of_the_host_does_not_meet_one_of_the_device(integers: Integers) -> None:
    a = np.ones((4, 3), np.uint64)
    with pytest.raises(EngineError, match="on the host meets one on a device"):
        integers.int_add(a, up(integers, a))
    with pytest.raises(EngineError, match="do not reach an engine of the host"):
        CpuEngine(1).int_add(up(integers, a), a)


def test_a_zero_divisor_is_named(integers: Integers) -> None:
    b = np.ones((2, 2, 3), np.uint64)
    b[1, 0] = 0
    with pytest.raises(InputError, match=r"divisor at index \(1, 0\) is zero"):
        integers.int_divmod(up(integers, np.ones((1, 3), np.uint64)), up(integers, b))


def test_other_things_than_limbs_are_refused(integers: Integers) -> None:
    with pytest.raises(InputError, match="wrong layout"):
        integers.int_add(up(integers, np.ones((2, 2), np.int64)), np.ones(2, np.uint64))
    with pytest.raises(InputError, match="wrong layout"):
        integers.int_add([1, 2], up(integers, np.ones((2, 2), np.uint64)))


@pytest.mark.parametrize("limb_count", [9, 17, 256, 257])
def test_products_on_both_sides_of_what_a_group_holds(limb_count: int, integers: Integers) -> None:
    rng = np.random.default_rng(limb_count)
    a, b = (rng.integers(0, 2**64, (3, limbs), np.uint64) for limbs in (limb_count, 3))
    a[0], b[0] = ~np.uint64(0), ~np.uint64(0)
    for x, y in ((a, b), (b, a)):
        check_same(integers.int_mul(up(integers, x), up(integers, y)), REFERENCE.int_mul(x, y), integers._device)
