"""The native engine's discrete Gaussians: tables rounded exactly, and blocks that it leaves to the specification."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hekat import _native
from hekat.engine.cpu import CpuEngine, usable_paths
from hekat.engine.ring import cpu
from hekat.engine.ring.gaussian import BLOCK_NUMBERS, DiscreteGaussian, floor_table
from hekat.engine.select import get_engine

KEY = bytes(range(7, 39))
LAW = DiscreteGaussian.of_at_least(Fraction(12345))


@pytest.mark.parametrize("base", [1 << 34, (1 << 36) - 1, 12345 << 22])
def test_thresholds_are_rounded_down_exactly(base):
    with localcontext(prec=60):
        weights = [(-Decimal(j * j << 31) / base).exp() for j in range(DiscreteGaussian(base, 0).base_limit + 1)]
        exact = [int(sum(weights[: j + 1]) / sum(weights) * (1 << 64)) for j in range(len(weights))]
    found = list(floor_table(base))
    assert found == exact[: len(found)]
    assert found[-1] == (1 << 64) - 1
    assert sorted(set(found)) == found


@pytest.mark.parametrize("path", usable_paths())
def test_blocks_that_are_too_near_to_tell_are_made_by_the_specification(path, monkeypatch):
    """A margin of 2^-12 leaves some of nine blocks open, at the true one none; the numbers are the same."""
    engine, made = CpuEngine(2, path=path), []

    def make_block(key, block, count, gaussian):
        made.append((block, count))
        return original(key, block, count, gaussian)

    original, native = cpu.sample_block, cpu._native_gaussian
    monkeypatch.setattr(cpu, "sample_block", make_block)
    count = 8 * BLOCK_NUMBERS + 100
    exact = engine.sample_discrete_gaussian(KEY, 5, count, LAW)
    assert made == []
    monkeypatch.setattr(cpu, "_native_gaussian", lambda gaussian: native(gaussian, 1 << 40))
    assert np.array_equal(engine.sample_discrete_gaussian(KEY, 5, count, LAW), exact)
    assert 1 <= len(made) <= 8
    monkeypatch.setattr(cpu, "_native_gaussian", lambda gaussian: native(gaussian, 1 << 51))
    assert np.array_equal(engine.sample_discrete_gaussian(KEY, 5, count, LAW), exact)
    assert made[-9:] == [*((5 + block, BLOCK_NUMBERS) for block in range(8)), (13, 100)]


def test_the_margin_is_what_the_contract_says():
    """Twice the margin, of 2^52, and the ties of up to 38 thresholds of 63 digits: below 10^-13 a number."""
    tries = 1 / 0.78
    assert (2 * _native.gaussian_margin + 1) / 2**52 * tries + 38 / 2**63 < 1e-13


def test_what_is_no_law_is_refused_by_the_core_itself():
    table = list(floor_table(LAW.base))
    for base, doublings, limit, thresholds, margin in (
        (LAW.base >> 3, 5, 100, table, 64),
        (LAW.base << 3, 5, 100, table, 64),
        (LAW.base, 41, 100, table, 64),
        (LAW.base, 5, 1 << 47, table, 64),
        (LAW.base, 5, 100, [], 64),
        (LAW.base, 5, 100, table[::-1], 64),
        (LAW.base, 5, 100, table * 3, 64),
        (LAW.base, 5, 100, table, 1 << 52),
    ):
        with pytest.raises(ValueError, match=r"out of range|do not ascend"):
            _native.GaussianLaw(base, doublings, limit, thresholds, margin)


def test_a_thread_or_many_and_a_reference_agree_on_many_blocks():
    few = CpuEngine(1).sample_discrete_gaussian(KEY, 2**40, 3 * BLOCK_NUMBERS, LAW)
    many = CpuEngine(5).sample_discrete_gaussian(KEY, 2**40, 40 * BLOCK_NUMBERS + 3, LAW)
    assert np.array_equal(many[: few.size], few)
    tail = get_engine("reference").sample_discrete_gaussian(KEY, 2**40 + 40, 3, LAW)
    assert np.array_equal(many[-3:], tail)
