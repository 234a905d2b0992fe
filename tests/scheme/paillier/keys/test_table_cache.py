"""Tables under a small memory: made once, shared, let go for others and made again, and never a wrong plaintext."""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import suppress

import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import FixedBaseTable, Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.reference import ReferenceEngine
from hekat.errors import InputError
from hekat.scheme.paillier import PrivateKey, decrypt, encrypt, generate_keys, rerandomise
from hekat.scheme.paillier.keys.table_cache import TableCache
from hekat.scheme.paillier.randomiser import check_table_memory, planned_uses

MODULUS = Modulus((1 << 512) - 1)
MIB = 1 << 20


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> CpuEngine:
    """Tables and scratch of 1 MiB, single-tenant, where tables are wide."""
    monkeypatch.setenv("HEKAT_TABLE_MIB", "1")
    return CpuEngine(1, single_tenant=True)


def maker(engine: CpuEngine, window_bits: int = 6, exponent_bits: int = 400, made: list[int] | None = None):
    """A function that makes a table; `made` counts its calls that went well."""

    def make() -> FixedBaseTable:
        table = engine.fixed_base_table(limbs_from_ints([5], 1)[0], MODULUS, exponent_bits, window_bits)
        if made is not None:
            made.append(1)
        return table

    return make


@pytest.fixture(scope="module")
def many_keys() -> list[PrivateKey]:
    """Twenty keys of 256 bits."""
    return [generate_keys(256, unsafe_for_benchmark=True).private for _ in range(20)]


def test_more_live_keys_than_memory(small, many_keys, engine) -> None:
    """Twice round, so that tables which were let go are asked for again."""
    values = [7, -8, 0]
    refused = 0
    plain_make = engine.fixed_base_table

    def counting(*arguments, **options):
        nonlocal refused
        try:
            return plain_make(*arguments, **options)
        except InputError:
            refused += 1
            raise

    engine.fixed_base_table = counting
    for _ in range(2):
        for key in many_keys:
            by_holder = encrypt(key, small.plain(values, 8), engine=engine)
            by_anyone = rerandomise(encrypt(key.public, small.plain(values, 8), engine=engine))
            assert small.integers(decrypt(key, by_holder)) == small.integers(decrypt(key, by_anyone)) == values
    assert refused > 0
    assert engine._table_memory.used_bytes <= MIB


def test_threads_under_a_small_memory(small, many_keys, engine) -> None:
    barrier, failures = threading.Barrier(4), []

    def use(first: int) -> None:
        barrier.wait(timeout=60)
        try:
            for key in (many_keys[first:] + many_keys[:first])[:10]:
                for by in (key, key.public):
                    ciphertexts = encrypt(by, small.plain([first, -9], 9 + first), engine=engine)
                    if small.integers(decrypt(key, ciphertexts)) != [first, -9]:
                        failures.append("another plaintext")
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=use, args=(first,)) for first in (0, 5, 5, 15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)


def test_the_longest_unused_is_let_go_first(engine) -> None:
    there = []
    with suppress(InputError):
        while True:
            there.append(maker(engine)())
    room = len(there)
    there.clear()
    caches, made = [TableCache() for _ in range(room)], [[] for _ in range(room)]
    for cache, count in zip(caches, made, strict=True):
        cache.get(engine, maker(engine, made=count))
    caches[0].get(engine, lambda: pytest.fail("made again"))
    filler = TableCache()
    filler.get(engine, maker(engine))
    # All but the second are there still: asking for them first makes nothing.
    for i in (0, *range(2, room), 1):
        caches[i].get(engine, maker(engine, made=made[i]))
    assert [len(count) for count in made] == [1, 2, *[1] * (room - 2)]


def test_a_table_in_use_stays_valid(engine) -> None:
    table = TableCache().get(engine, maker(engine, window_bits=4))
    kept = TableCache()
    in_use = kept.get(engine, maker(engine, window_bits=4))
    del table
    with pytest.raises(InputError, match="HEKAT_TABLE_MIB"):
        TableCache().get(engine, maker(engine, window_bits=10))
    power = engine.store(engine.mod_exp_fixed(in_use, limbs_from_ints([3], 1)))
    assert int(power[0, 0]) == 125
    assert kept.get(engine, maker(engine, window_bits=4)) is not in_use


def test_what_never_fits_reaches_the_user_with_its_cure(engine) -> None:
    with pytest.raises(InputError, match=r"does not fit .*; cure: raise HEKAT_TABLE_MIB"):
        TableCache().get(engine, maker(engine, window_bits=10))
    check_table_memory(512, engine)
    with pytest.raises(InputError, match=r"does not fit .*; cure: raise HEKAT_TABLE_MIB"):
        check_table_memory(3072, engine)
    check_table_memory(3072, ReferenceEngine())


def test_tables_of_other_engines_stay(engine, monkeypatch) -> None:
    other, mine = CpuEngine(1), TableCache()
    kept = mine.get(other, maker(other))
    with pytest.raises(InputError):
        TableCache().get(engine, maker(engine, window_bits=10))
    assert mine.get(other, lambda: pytest.fail("made again")) is kept


def test_a_table_is_found_while_another_is_made(engine) -> None:
    there, making, found = TableCache(), threading.Event(), threading.Event()
    was_found_meanwhile = []
    there.get(engine, maker(engine, window_bits=2))

    def slow() -> FixedBaseTable:
        making.set()
        was_found_meanwhile.append(found.wait(timeout=20))
        return maker(engine, window_bits=2)()

    thread = threading.Thread(target=TableCache().get, args=(engine, slow))
    thread.start()
    assert making.wait(timeout=60)
    there.get(engine, lambda: pytest.fail("made again"))
    found.set()
    thread.join(timeout=60)
    assert was_found_meanwhile == [True]


def test_a_failed_making_leaves_nothing_behind(engine) -> None:
    def fail() -> FixedBaseTable:
        raise KeyboardInterrupt

    cache = TableCache()
    with pytest.raises(KeyboardInterrupt):
        cache.get(engine, fail)
    assert cache.get(engine, maker(engine)).window_bits == 6


def test_a_dropped_key_frees_its_tables(engine, small) -> None:
    key = generate_keys(256, unsafe_for_benchmark=True).private
    encrypt(key, small.plain([1], 1), engine=engine)
    gone = weakref.ref(key)
    del key
    gc.collect()
    assert gone() is None
    assert engine._table_memory.used_bytes == 0


def test_tables_grow_with_what_is_asked_of_them(paillier_keys) -> None:
    engine = CpuEngine(1, single_tenant=True)
    half = paillier_keys(512).private.halves[0]
    few = half.randomiser_table(engine, planned_uses(10))
    assert half.randomiser_table(engine, 4 * planned_uses(10) - 1) is few
    many = half.randomiser_table(engine, planned_uses(100_000))
    assert many.window_bits > few.window_bits
    assert half.randomiser_table(engine, planned_uses(10)) is many


@pytest.mark.parametrize(
    ("count", "uses"), [(0, 4096), (256, 4096), (257, 4112), (2048, 32768), (32768, 32768), (100_000, 100_000)]
)
def test_a_table_is_planned_for_batches_like_the_first(count: int, uses: int) -> None:
    assert planned_uses(count) == uses


@pytest.mark.parametrize("by_holder", [True, False])
def test_encryption_plans_by_the_whole_batch(small, monkeypatch, by_holder: bool) -> None:
    """And not by the part of it that one chunk is."""
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 100)
    planned = []

    class RecordingEngine(ReferenceEngine):
        def fixed_base_table(self, *arguments, uses=None, **options):
            planned.append(uses)
            return super().fixed_base_table(*arguments, uses=uses, **options)

    key = small.keys.private if by_holder else small.keys.public
    encrypt(key, small.plain([0] * 300), engine=RecordingEngine())
    assert planned == [4800, 4800][: 1 + by_holder]
