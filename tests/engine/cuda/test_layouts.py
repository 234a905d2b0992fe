"""Every way that a modulus can lie on a GPU: threads to a residue and limbs to a thread, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.cuda.layout import MAX_LIMBS, Layout, choose_layout, layout_for
from hekat.engine.interface import MAX_MODULUS_BITS, Modulus
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints

QUICK = [(1, 2), (2, 2), (4, 4), (32, 2), (1, 16)]
LONG = [
    (threads, limbs, pairs)
    for threads in (1, 2, 4, 8, 16, 32)
    for limbs in (2, 6, 12, 16)
    for pairs in (False, True)
    if (threads, limbs) not in QUICK and 32 * threads * limbs * (1 + pairs) <= MAX_MODULUS_BITS
]


def moduli(words: int, pairs: bool) -> list[Modulus]:
    """All ones and two ones that fill the words, one with its highest word almost empty, and one word less."""
    bits = 32 * words
    roots = [2**bits - 1, 2 ** (bits - 1) + 1, 2 ** (bits - 31) + 3, 2 ** (bits - 32) - 5]
    return [Modulus(n * n, root=n) if pairs else Modulus(n) for n in roots]


def residues_of(modulus: Modulus) -> list[int]:
    """Ends, the root's neighbours, and runs of ones that pass carries through whole threads."""
    n = modulus.value
    root = modulus.root or n
    values = [0, 1, n - 1, n - 2, root - 1, root + 1, n - root, 2 ** (modulus.bits - 1) - 1]
    values += [2 ** (32 * k) - 1 for k in range(2, modulus.bits // 32, 5)]
    return [value % n for value in values]


def check_layout(threads: int, limbs: int, pairs: bool) -> None:
    layout = Layout(threads, limbs, pairs)
    engine = CudaEngine(EmulatedDevice(), layout_of=lambda modulus: layout)
    for modulus in moduli(layout.words, pairs):
        n, values = modulus.value, residues_of(modulus)
        others = values[3:] + values[:3]
        a, b = (engine.load(limbs_from_ints(some, modulus.limb_count), modulus) for some in (values, others))
        assert ints_from_limbs(engine.store(a)) == values
        assert ints_from_limbs(engine.store(engine.mod_mul(a, b))) == [
            x * y % n for x, y in zip(values, others, strict=True)
        ]
        wide = [x * y for x, y in zip(values, others, strict=True)]
        reduced = engine.reduce(limbs_from_ints(wide, 2 * modulus.limb_count), modulus)
        assert ints_from_limbs(engine.store(reduced)) == [x % n for x in wide]
        exponents = [0, 1, 2, 0x123456789ABCDEF, 2**64 - 1]
        powers = engine.mod_exp(engine.take(a, np.arange(5)), limbs_from_ints(exponents, 1))
        assert ints_from_limbs(engine.store(powers)) == [pow(x, e, n) for x, e in zip(values, exponents, strict=False)]
        product = 1
        for value in values:
            product = product * value % n
        assert ints_from_limbs(engine.store(engine.mod_product(a))) == [product]


@pytest.mark.quick_cases("2-2-True", "4-4-True", "1-16-True", "1-2-False", "1-2-True", "1-16-False")
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("threads", "limbs"), QUICK)
def test_layout(threads, limbs, pairs):
    check_layout(threads, limbs, pairs)


@pytest.mark.long
@pytest.mark.parametrize(("threads", "limbs", "pairs"), LONG)
def test_every_layout(threads, limbs, pairs):
    check_layout(threads, limbs, pairs)


def test_chosen_layouts_hold_their_modulus_and_fit_a_warp():
    for bits in range(2, MAX_MODULUS_BITS + 1, 13):
        for pairs in (False, True):
            if pairs and bits > MAX_MODULUS_BITS // 2:
                continue
            layout = layout_for(bits, pairs=pairs)
            assert 32 * layout.words >= bits
            assert layout.threads <= 32
            assert layout.limbs <= MAX_LIMBS
            assert layout.limbs % 2 == 0


@pytest.mark.parametrize("key_bits", [1024, 1536, 2048, 3072, 4096, 8192])
def test_keys_in_use_waste_no_words(key_bits):
    n = 2**key_bits - 1
    assert choose_layout(Modulus(n)).words == key_bits // 32
    assert choose_layout(Modulus(n * n, root=n)).words == key_bits // 32


def test_a_batch_beyond_the_scratch_of_powers_is_worked_on_in_parts(monkeypatch):
    engine = CudaEngine(EmulatedDevice())
    monkeypatch.setattr(engine._table_memory, "scratch_bytes", 1)
    modulus = Modulus(2**127 - 1)
    count = 3 * choose_layout(modulus).groups_per_block + 5
    values = [pow(3, i + 90, modulus.value) for i in range(count)]
    exponents = [pow(5, i + 9, 2**64) for i in range(count)]
    found = engine.mod_exp(engine.load(limbs_from_ints(values, 2), modulus), limbs_from_ints(exponents, 1))
    expected = [pow(x, e, modulus.value) for x, e in zip(values, exponents, strict=True)]
    assert ints_from_limbs(engine.store(found)) == expected
    # One exponent for all.
    found = engine.mod_exp(engine.load(limbs_from_ints(values, 2), modulus), np.array([77], np.uint64))
    assert ints_from_limbs(engine.store(found)) == [pow(x, 77, modulus.value) for x in values]
