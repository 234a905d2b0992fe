"""Blocks of values that lie on the device: answered there, bit for bit as on the host, and refused in its words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.ring_cuda import CudaRing
from hekat.engine.cuda.ring_tables import KEPT_TABLES, RingTables, ring_words
from hekat.engine.ring.parameters import MaskFormat, Ring
from hekat.errors import EngineError, InputError

PUBLIC_KEY, ERROR_KEY = bytes(range(32)), bytes(range(7, 39))
FORMS = {
    "one prime": MaskFormat(Ring(1024, (1125899906826241,)), 2, 20, 4, 6),
    "two primes": MaskFormat(Ring(1024, (4398046486529, 4398046240769)), 3, 23, 7, 13),
}
HOST = CpuEngine(1, path="portable")


class RingOnly(CudaRing):
    def __init__(self, device=None):
        self._device = EmulatedDevice() if device is None else device

    def up(self, array):
        return self._device.upload(array)

    def down(self, array):
        assert self._device.owns(array)
        return self._device.download(array)


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


def secret_of(form):
    rows = [np.random.default_rng(p).integers(0, p, form.ring.degree, np.uint64) for p in form.ring.primes]
    return np.stack(rows)


def values_of(count, seed=0):
    return np.random.default_rng(seed).integers(-30000, 30000, count, np.int32, endpoint=True)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_block_stays_on_the_device_from_values_to_sums(form, seed):
    """Also with work queued on a stream, in any order that the device may take."""
    engine, secret = RingOnly(EmulatedDevice(streams=seed)), secret_of(form)
    count = 2 * form.values_per_chunk + 11
    sums = engine.up(np.zeros(form.field_count(count), np.uint64))
    expected = np.zeros(form.field_count(count), np.uint64)
    total = np.zeros(count, np.int64)
    for number in range(2):
        values = values_of(count, number)
        block = engine.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 5, engine.up(values))
        on_host = HOST.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 5, values)
        assert np.array_equal(engine.down(block), on_host)
        assert engine.add_masked(form, sums, block, count) is None
        HOST.add_masked(form, expected, on_host, count)
        total += values
    assert np.array_equal(engine.down(sums), expected)
    written = engine.write_sum(form, sums, count)
    assert np.array_equal(engine.down(written), HOST.write_sum(form, expected, count))
    doubled = (2 * secret) % np.array(form.ring.primes, np.uint64)[:, np.newaxis]
    values, counts = engine.unmask_sum(form, PUBLIC_KEY, doubled, 5, written, count)
    assert np.array_equal(engine.down(values), total)
    assert engine.down(counts).tolist() == [2] * 3


def test_operands_of_both_sides_meet(form):
    engine, secret, values = RingOnly(), secret_of(form), values_of(50)
    block = HOST.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, values)
    expected = np.zeros(form.field_count(50), np.uint64)
    HOST.add_masked(form, expected, block, 50)
    on_device = engine.up(np.zeros_like(expected))
    engine.add_masked(form, on_device, block, 50)
    assert np.array_equal(engine.down(on_device), expected)
    on_host = np.zeros_like(expected)
    engine.add_masked(form, on_host, engine.up(block), 50)
    assert np.array_equal(on_host, expected)


@pytest.mark.parametrize("seed", range(1, 4))
def test_written_bytes_are_checked_once_they_are_there(form, seed):
    """Their padding bits are read after what is queued with them, not before."""
    engine, secret, values = RingOnly(EmulatedDevice(streams=seed)), secret_of(form), values_of(50)
    block = HOST.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, values)
    sums = engine.up(np.zeros(form.field_count(50), np.uint64))
    expected = np.zeros(form.field_count(50), np.uint64)
    HOST.add_masked(form, expected, block, 50)
    engine.add_masked(form, sums, engine.up(block), 50)
    assert np.array_equal(engine.down(sums), expected)
    written = HOST.write_sum(form, expected, 50)
    opened, _ = engine.unmask_sum(form, PUBLIC_KEY, secret, 0, engine.up(written), 50)
    assert np.array_equal(engine.down(opened), values)


@pytest.mark.parametrize("first", range(8))
def test_parts_of_larger_arrays_begin_anywhere(form, first):
    """Written bytes from any byte on, accumulators from any word on, and every other value."""
    engine, secret, values = RingOnly(), secret_of(form), values_of(37)
    spread = engine.up(np.repeat(values, 2))[::2]
    block = engine.down(engine.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, spread))
    assert np.array_equal(block, HOST.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, values))
    larger = np.full(block.size + 9, 255, np.uint8)
    larger[first : first + block.size] = block
    field_count = form.field_count(37)
    sums = engine.up(np.full(field_count + 3, 9, np.uint64))
    engine.add_masked(form, sums[1 : 1 + field_count], engine.up(larger)[first : first + block.size], 37)
    expected = np.full(field_count, 9, np.uint64)
    HOST.add_masked(form, expected, block, 37)
    assert np.array_equal(engine.down(sums), np.concatenate([[9], expected, [9, 9]]))


def test_arrays_of_another_device_are_refused(form):
    engine, other = RingOnly(), EmulatedDevice(1)
    with pytest.raises(EngineError, match="lies on another device"):
        engine.mask_values(form, PUBLIC_KEY, secret_of(form), ERROR_KEY, 0, other.upload(values_of(9)))


def test_refusals_are_those_of_the_host(form):
    engine, secret = RingOnly(), secret_of(form)
    limit = 1 << form.slot_bits - 1
    fields, block = np.zeros(form.field_count(9), np.uint64), np.zeros(form.written_bytes(9), np.uint8)
    padded = block.copy()
    padded[-1] = 128
    opened = np.full(form.written_sum_bytes(9), 17, np.uint8)
    attempts = {
        "a value that fits no slot": lambda e, up: e.mask_values(
            form, PUBLIC_KEY, secret, ERROR_KEY, 0, up(np.array([0, limit], np.int32))
        ),
        "values of another type": lambda e, up: e.mask_values(
            form, PUBLIC_KEY, secret, ERROR_KEY, 0, up(np.zeros(9, np.int64))
        ),
        "an accumulator of another size": lambda e, up: e.add_masked(form, up(fields[:-1]), up(block), 9),
        "an accumulator in pieces": lambda e, up: e.add_masked(form, up(np.repeat(fields, 2))[::2], up(block), 9),
        "bytes of another size": lambda e, up: e.add_masked(form, up(fields), up(block[:-1]), 9),
        "a written sum of another size": lambda e, up: e.write_sum(form, up(fields), 10 * form.slots),
        "what is no sum": lambda e, up: e.unmask_sum(form, PUBLIC_KEY, secret, 0, up(opened), 9),
    }
    if form.field_bits[-1] * form.last_used(9) % 8:
        attempts["padding bits"] = lambda e, up: e.add_masked(form, up(fields), up(padded), 9)
    for what, attempt in attempts.items():
        with pytest.raises(InputError) as expected:
            attempt(HOST, lambda array: array)
        with pytest.raises(InputError) as refusal:
            attempt(engine, engine.up)
        assert str(refusal.value) == str(expected.value), what


def test_an_engine_of_the_host_refuses_arrays_of_a_device(form):
    up, secret = RingOnly().up, secret_of(form)
    with pytest.raises(InputError, match="of values"):
        HOST.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, up(values_of(9)))
    with pytest.raises(InputError, match="of accumulator"):
        HOST.write_sum(form, up(np.zeros(form.field_count(9), np.uint64)), 9)


def test_every_array_of_a_call_is_wiped(form):
    """Keys, factors of the secret, flags and what is refused."""
    engine, secret = RingOnly(), secret_of(form)
    engine.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, values_of(9))
    kept = engine._device.live_bytes
    wiped = engine._device.wiped_bytes
    engine.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, values_of(9))
    with pytest.raises(InputError):
        engine.mask_values(form, PUBLIC_KEY, secret, ERROR_KEY, 0, np.full(9, 2**31 - 1, np.int32))
    assert engine._device.live_bytes == kept
    factors_and_secret = 3 * secret.nbytes
    assert engine._device.wiped_bytes - wiped >= 2 * (factors_and_secret + 64 + form.written_bytes(9))


def test_tables_are_made_once_and_those_of_long_ago_go():
    device = EmulatedDevice()
    tables, ring = RingTables(device), FORMS["one prime"].ring
    first = tables.find(ring)
    assert tables.find(ring) is first
    assert np.array_equal(device.download(first), ring_words(ring))
    forms = [MaskFormat(ring, 1, 38, *divmod(i, 8)) for i in range(2 * KEPT_TABLES)]
    for form in forms[:KEPT_TABLES]:
        tables.find(form)
        # Asked for again and again, it stays.
        assert tables.find(ring) is first
    for form in forms[KEPT_TABLES:]:
        tables.find(form)
    assert tables.find(ring) is not first
