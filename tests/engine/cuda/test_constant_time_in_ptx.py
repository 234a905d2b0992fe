"""Kernels take the same branches and touch the same memory whatever the secrets are: traces of their PTX are equal.

ptxas is not in this: it may turn a selection into a branch, which benchmarks on a GPU or its disassembly would show.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.layout import Layout
from hekat.engine.interface import Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.scheme.lattice import SETS

from .ptx.trace import TracingDevice

LAYOUTS = [(4, 2), (1, 4), (8, 2)]
QUICK_LAYOUT, QUICK = (4, 2), ("mod_mul", "mod_exp", "mod_exp_fixed", "plain table")
COUNT = 5
EXPONENT_BITS = 12
TABLE = (EXPONENT_BITS, 3)

Launches = list[tuple[str, str]]
Operation = Callable[[Any, Modulus, Any, Any, random.Random], object]


def _exponents(rng: random.Random, bits: int = EXPONENT_BITS) -> Any:
    return np.array([[rng.getrandbits(bits)] for _ in range(COUNT)], np.uint64)


def _power_from_table(engine: Any, modulus: Modulus, a: Any, rng: random.Random, constant_time: bool) -> object:
    base = limbs_from_ints([3], modulus.limb_count)[0]
    table = engine.fixed_base_table(base, modulus, *TABLE, constant_time=constant_time)
    return engine.mod_exp_fixed(table, _exponents(rng))


CONSTANT_TIME: dict[str, Operation] = {
    "store": lambda engine, modulus, a, b, rng: engine.store(a),
    "mod_mul": lambda engine, modulus, a, b, rng: engine.mod_mul(a, b),
    "mod_exp": lambda engine, modulus, a, b, rng: engine.mod_exp(a, _exponents(rng)),
    "mod_exp_fixed": lambda engine, modulus, a, b, rng: _power_from_table(engine, modulus, a, rng, True),
    "mod_product": lambda engine, modulus, a, b, rng: engine.mod_product(a),
    "mod_inv": lambda engine, modulus, a, b, rng: engine.mod_inv(a),
    "int_mul": lambda engine, modulus, a, b, rng: engine.int_mul(engine.limbs_of(a), engine.limbs_of(b)),
    "int_add": lambda engine, modulus, a, b, rng: engine.int_add(engine.limbs_of(a), engine.limbs_of(b)),
    "int_sub": lambda engine, modulus, a, b, rng: engine.int_sub(engine.limbs_of(a), engine.limbs_of(b)),
}
ONE_PLUS: Operation = lambda engine, modulus, a, b, rng: engine.mod_mul_one_plus(  # noqa: E731
    a, np.array([[rng.getrandbits(60)] for _ in range(COUNT)], np.uint64)
)
VARTIME: dict[str, Operation] = {
    "mod_exp_vartime": lambda engine, modulus, a, b, rng: engine.mod_exp_vartime(a, _exponents(rng, 64)),
    "plain table": lambda engine, modulus, a, b, rng: _power_from_table(engine, modulus, a, rng, False),
    "mod_multi_exp": lambda engine, modulus, a, b, rng: engine.mod_multi_exp(a, _exponents(rng, 64)[:, np.newaxis]),
}


def traces(
    layout: tuple[int, int], pairs: bool, operations: Sequence[Operation], secrets: int = 2
) -> Iterator[list[Launches]]:
    """For several secrets the launches that make the modulus' constants, and then those of each operation."""
    threads, limbs = layout
    bits = 32 * threads * limbs
    for seed in range(secrets):
        rng = random.Random(seed)
        device = TracingDevice()
        engine = CudaEngine(device, layout_of=lambda modulus: Layout(threads, limbs, modulus.root is not None))
        # Secret moduli are of one size, prime for the sake of inverses: 2^bits - k for these k.
        root = (1 << bits) - {256: (189, 357, 435), 128: (159, 173, 233), 512: (569, 629, 875)}[bits][seed]
        modulus = Modulus(root * root, root=root) if pairs else Modulus(root)
        values = [rng.randrange(1, modulus.value) for _ in range(2 * COUNT)]
        limbs_of_values = limbs_from_ints(values, modulus.limb_count)
        a, b = (engine.load(some, modulus) for some in (limbs_of_values[:COUNT], limbs_of_values[COUNT:]))
        ends = [0, len(device.launches)]
        for operation in operations:
            operation(engine, modulus, a, b, rng)
            ends.append(len(device.launches))
        yield [device.launches[begin:end] for begin, end in pairwise(ends)]


@cache
def launches_of(layout: tuple[int, int], pairs: bool, names: tuple[str, ...]) -> dict[str, list[Launches]]:
    """The launches for each secret, by operation; "load" are those before all operations."""
    known = CONSTANT_TIME | VARTIME | {"one plus": ONE_PLUS}
    by_secret = traces(layout, pairs, [known[name] for name in names])
    return dict(zip(("load", *names), map(list, zip(*by_secret, strict=True)), strict=True))


@pytest.fixture(scope="module")
def quick_traces() -> dict[str, list[Launches]]:
    return launches_of(QUICK_LAYOUT, True, QUICK)


@pytest.mark.parametrize("operation", ["load", "mod_mul", "mod_exp", "mod_exp_fixed"])
def test_secrets_show_in_none_of_the_most_used(quick_traces, operation):
    first, *others = quick_traces[operation]
    assert first
    assert all(other == first for other in others)


def test_look_ups_in_plain_tables_do_show(quick_traces):
    """The traces see it: the check above can fail."""
    first, *others = quick_traces["plain table"]
    assert any(other != first for other in others)


# Of a layout all operations are traced at once: to make and load the numbers takes longer than most of them.
@pytest.mark.long
@pytest.mark.parametrize(("layout", "pairs", "operation"), [*product(LAYOUTS, (False, True), CONSTANT_TIME)], ids=str)
def test_secrets_show_neither_in_branches_nor_in_addresses(layout, pairs, operation):
    first, *others = launches_of(layout, pairs, (*CONSTANT_TIME,))[operation]
    assert first
    assert all(other == first for other in others)


NOT_SECRET = ("one plus", *VARTIME)


@pytest.mark.long
def test_plaintexts_show_neither():
    first, *others = launches_of(QUICK_LAYOUT, True, NOT_SECRET)["one plus"]
    assert first
    assert all(other == first for other in others)


@pytest.mark.long
@pytest.mark.parametrize("operation", VARTIME)
def test_what_is_not_constant_time_does_show(operation):
    """The traces see it: the check above can fail."""
    first, *others = launches_of(QUICK_LAYOUT, True, NOT_SECRET)[operation]
    assert any(other != first for other in others)


@pytest.mark.long
@pytest.mark.parametrize("degree", [2048, 4096])
def test_masks_show_nothing_of_values_and_secrets(degree):
    form = next(each.form for each in SETS.values() if each.form.ring.degree == degree)
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        device = TracingDevice()
        engine: Any = CudaEngine(device)
        secret = np.stack([rng.integers(0, p, degree, np.uint64) for p in form.ring.primes])
        most = 1 << form.slot_bits - 2
        values = rng.integers(-most, most, form.values_per_chunk // 2, np.int32)
        written = engine.mask_values(form, bytes(32), secret, rng.bytes(32), 1, values)
        accumulator = np.zeros(form.field_count(values.size), np.uint64)
        engine.add_masked(form, accumulator, written, values.size)
        engine.sample_cbd(rng.bytes(32), 0, 1, degree)
        engine.ring_intt(form.ring, engine.ring_ntt(form.ring, secret))
        found.append(device.launches)
    assert found[0] == found[1]


@pytest.mark.long
def test_products_left_in_shares_show_nothing_of_their_factors():
    """Matrix products of elements, slots of integers, fresh zeros and dropped primes."""
    ring, prime = next(each.form.ring for each in SETS.values() if each.form.ring.degree == 2048), 40961
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        device = TracingDevice()
        engine: Any = CudaEngine(device)
        a = np.stack([rng.integers(0, p, (2, 2, 2048), np.uint64) for p in ring.primes], -2)
        engine.ring_dot(ring, a, a)
        engine.ring_ntt_integers(ring, rng.integers(-(2**63), 2**63, (1, 100)))
        engine.ring_refresh(ring, a[:1], rng.integers(-21, 22, (1, 3, 2048)).astype(np.int8), a[0])
        engine.ring_drop_prime(ring, a[0], rng.integers(0, prime, (2, 2048), np.uint64), prime)
        found.append(device.launches)
    assert found[0] == found[1]
