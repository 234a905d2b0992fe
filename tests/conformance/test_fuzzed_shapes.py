"""Conformance: random shapes, sizes and layouts of arguments; every engine gives the reference's bits."""

from __future__ import annotations

import random
from functools import cache
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hekat.engine.interface import Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError

SIZES = [512, 520, 521, 572, 573, 1000, 1024, 1040, 1041, 2048, 2080]
ROOT_SIZES = [260, 512, 520, 521, 1000, 1024, 1040]
OPERATIONS = ["mod_mul", "mod_exp", "mod_exp_vartime", "mod_exp_fixed", "mod_product", "mod_segment_product"]
OPERATIONS += [
    "mod_mul_one_plus",
    "mod_multi_exp",
    "mod_inv",
    "take",
    "concatenate",
    "reduce",
    "int_add",
    "int_sub",
    "int_mul",
    "int_divmod",
]

LONG_RUNS = 500


@cache
def modulus(bits: int, is_square: bool) -> Modulus:
    value = 1 << bits - 1 | random.Random(bits).getrandbits(bits) >> bits % 3 | 1
    return Modulus(value * value, root=value) if is_square else Modulus(value)


class Case:
    """One call with arguments drawn from a seed; both engines are given the same arrays."""

    def __init__(self, operation: str, seed: int, most: int, most_bits: int) -> None:
        self.operation = operation
        self.most = most
        self.rng = random.Random(f"{operation} {seed}")
        is_square = self.rng.random() < (0.9 if operation == "mod_mul_one_plus" else 0.4)
        sizes = [bits for bits in (ROOT_SIZES if is_square else SIZES) if bits <= most_bits]
        self.modulus = modulus(self.rng.choice(sizes), is_square)

    def shape(self, axes: int | None = None) -> tuple[int, ...]:
        axes = self.rng.choice((0, 1, 1, 2, 3)) if axes is None else axes
        sides = [self.rng.choice((0, 1, 1, 2, 3, 7, 8, 9, 17)) for _ in range(axes)]
        while prod(sides) > self.most:
            sides[sides.index(max(sides))] //= 2
        return tuple(sides)

    def broadcasting_shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes that broadcast: sides of one, and axes missing in front."""
        whole = self.shape()
        parts = []
        for _ in range(2):
            sides = [1 if self.rng.random() < 0.3 else side for side in whole]
            parts.append(tuple(sides[self.rng.randrange(len(sides) + 1) if self.rng.random() < 0.4 else 0 :]))
        return parts[0], parts[1]

    def integer(self, bits: int) -> int:
        """Runs of ones and zeros, an end, or random."""
        kind = self.rng.randrange(6)
        if kind == 0:
            return self.rng.choice((0, 1, (1 << bits) - 1, 1 << bits - 1))
        if kind < 3:
            value, length = 0, 0
            while length < bits:
                run = self.rng.choice((1, 12, 51, 52, 53, 63, 64, 65, 200))
                value = (value << run) | self.rng.choice((0, (1 << run) - 1))
                length += run
            return value >> length - bits
        return self.rng.getrandbits(bits)

    def limbs(self, values: list[int], limb_count: int, shape: tuple[int, ...]):
        """The limbs of the values in one of the layouts that NumPy may hold them in."""
        limbs = limbs_from_ints(values, limb_count).reshape(*shape, limb_count)
        layout = self.rng.randrange(5)
        if layout == 1:
            return np.asfortranarray(limbs)
        if layout == 2:  # every other item and limb of a larger array
            larger = np.full([2 * side for side in limbs.shape], 2**64 - 1, np.uint64)
            window = larger[tuple(slice(0, None, 2) for _ in limbs.shape)]
            window[...] = limbs
            return window
        if layout == 3:  # from the back
            return np.ascontiguousarray(limbs[..., ::-1])[..., ::-1]
        if layout == 4 and limbs.ndim > 1:
            return np.ascontiguousarray(np.moveaxis(limbs, 0, -1)).transpose(-1, *range(limbs.ndim - 1))
        return limbs

    def residues(self, shape: tuple[int, ...]):
        """Limbs of residues, of fewer limbs than the modulus where all are small."""
        limb_count = (
            self.modulus.limb_count if self.rng.random() < 0.8 else self.rng.randint(1, self.modulus.limb_count)
        )
        values = [self.integer(64 * limb_count) % self.modulus.value for _ in range(prod(shape))]
        return self.limbs(values, limb_count, shape)

    def exponents(self, shape: tuple[int, ...], most_bits: int = 140):
        """Exponents with up to three leading limbs of zero."""
        bits = self.rng.choice((1, 2, 17, 63, 64, 65, most_bits))
        limb_count = -(-bits // 64) + self.rng.choice((0, 0, 1, 3))
        return self.limbs([self.integer(bits) for _ in range(prod(shape))], limb_count, shape)

    def indices(self, end: int, shape: tuple[int, ...]):
        """Any indices below `end`, some more than once; the same for all now and then; strided."""
        same = self.rng.randrange(end) if end else 0
        is_same = self.rng.random() < 0.2
        values = [same if is_same else self.rng.randrange(end) for _ in range(prod(shape))]
        return np.repeat(np.array(values, np.int64), 2)[::2].reshape(shape)

    def arguments(self):
        """What `call` takes."""
        rng, operation = self.rng, self.operation
        if operation == "mod_mul":
            return [self.residues(shape) for shape in self.broadcasting_shapes()]
        if operation == "mod_mul_one_plus":
            factors, shape = self.broadcasting_shapes()
            root = self.modulus.root or 2
            limb_count = rng.randint(1, -(-root.bit_length() // 64))
            values = [self.integer(64 * limb_count) for _ in range(prod(shape))]
            values = values if rng.random() < 0.1 else [value % root for value in values]
            return [self.residues(factors), self.limbs(values, limb_count, shape)]
        if operation in ("mod_exp", "mod_exp_vartime"):
            bases, powers = self.broadcasting_shapes()
            return [self.residues(bases), self.exponents(powers)]
        if operation == "mod_exp_fixed":
            return [self.residues(()), rng.choice((None, 1, 3, 5)), self.exponents(self.shape(), 100)]
        if operation == "mod_product":
            shape = self.shape(rng.randint(1, 3))
            return [self.residues(shape), rng.randrange(-len(shape), len(shape))]
        if operation == "mod_segment_product":
            count, ends = rng.choice((0, 1, 7, 8, 40)), rng.choice((1, 2, 9, 60))
            return [self.residues((count,)), self.indices(ends, (count,)), ends + rng.choice((0, 3))]
        if operation == "mod_multi_exp":
            k, m = rng.choice((0, 1, 1, 2, 9, 40)), rng.choice((0, 1, 1, 2, 7))
            signs = np.array([rng.random() < 0.3 for _ in range(k * m)], np.bool_).reshape(k, m)
            return [self.residues((k,)), self.exponents((k, m)), rng.choice((None, signs, np.asfortranarray(signs)))]
        if operation == "take":
            shape = self.shape()
            return [self.residues(shape), self.indices(prod(shape), self.shape() if prod(shape) else (3, 0))]
        if operation == "concatenate":
            tail = self.shape(rng.randint(0, 2))
            return [self.residues((rng.choice((0, 1, 2, 5)), *tail)) for _ in range(rng.randint(1, 4))]
        if operation == "mod_inv":
            return [self.residues(self.shape())]
        if operation == "reduce":
            shape, limb_count = self.shape(), rng.randint(1, 2 * self.modulus.limb_count)
            return [self.limbs([self.integer(64 * limb_count) for _ in range(prod(shape))], limb_count, shape)]
        counts = [rng.choice((1, 1, 2, 3, 8, 9, 20)) for _ in range(2)]
        shapes = self.broadcasting_shapes()
        return [
            self.limbs([self.integer(rng.randint(1, 64 * count)) for _ in range(prod(shape))], count, shape)
            for count, shape in zip(counts, shapes, strict=True)
        ]

    def call(self, engine, arguments):
        """The results as arrays in canonical form, or the refusal's words."""
        name, n = self.operation, self.modulus
        try:
            if name.startswith("int_"):
                found = getattr(engine, name)(*arguments)
                return list(found) if isinstance(found, tuple) else [found]
            if name == "concatenate":
                return [engine.store(engine.concatenate([engine.load(part, n) for part in arguments]))]
            if name == "reduce":
                return [engine.store(engine.reduce(arguments[0], n))]
            if name == "mod_exp_fixed":
                base, window_bits, exponents = arguments
                table = engine.fixed_base_table(base, n, 100, window_bits)
                return [engine.store(engine.mod_exp_fixed(table, exponents))]
            first, *rest = arguments
            if name == "mod_mul":
                rest = [engine.load(rest[0], n)]
            return [engine.store(getattr(engine, name)(engine.load(first, n), *rest))]
        except InputError as refusal:
            return [str(refusal)]


def contiguous(arguments):
    """The arguments, each array in the plainest layout."""
    return [np.array(x, order="C") if isinstance(x, np.ndarray) else x for x in arguments]


def compare(engine, operation, seed, most_bits, most=40):
    """Whether the call was answered by more than a refusal; fails where the engine differs from the reference."""
    case = Case(operation, seed, most, most_bits)
    arguments = case.arguments()
    plain = contiguous(arguments)
    expected = case.call(get_engine("reference"), plain)
    found = case.call(engine, arguments)
    for mine, reference in zip(found, expected, strict=True):
        assert type(mine) is type(reference)
        if isinstance(mine, str):
            assert mine == reference
        else:
            assert (mine.dtype, mine.shape) == (reference.dtype, reference.shape)
            assert np.array_equal(mine, reference)
    assert all(np.array_equal(now, before) for now, before in zip(arguments, plain, strict=True))
    return not isinstance(expected[0], str)


# Moduli of up to so many bits: few enough to emulate, or all.
@pytest.mark.quick_values(engine="every")
@pytest.mark.parametrize("bits", [573, max(SIZES)])
@pytest.mark.parametrize("operation", OPERATIONS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
@example(seed=0)
def test_random_shapes_and_layouts(engine, operation, bits, seed):
    compare(engine, operation, seed, bits)


@pytest.mark.long
@pytest.mark.size_bits(max(SIZES))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_many_random_shapes_and_layouts(engine, operation):
    first = random.SystemRandom().randrange(2**48)
    print(f"seeds from {first} on")
    answered = sum(compare(engine, operation, first + i, max(SIZES), most=150) for i in range(LONG_RUNS))
    print(f"{answered} of {LONG_RUNS} calls answered, the others refused alike")
    assert answered > LONG_RUNS // 5


@pytest.mark.size_bits(512)
def test_shapes_that_do_not_broadcast_are_refused(engine, numbers):
    n = modulus(512, False)
    a = numbers.load(engine, numbers.residues(n, (3, 2)), n)
    for shape in ((3,), (2, 3), (0,), (4, 1, 3)):
        with pytest.raises(InputError, match="do not broadcast"):
            engine.mod_mul(a, numbers.load(engine, numbers.residues(n, shape), n))
        with pytest.raises(InputError, match="do not broadcast"):
            engine.mod_exp(a, np.zeros((*shape, 2), np.uint64))
