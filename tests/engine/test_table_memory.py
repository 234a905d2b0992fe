"""The memory of fixed-base tables: its cap, what is counted, and the windows it leaves."""

from __future__ import annotations

import gc

import pytest

from hekat.engine.cpu import CpuEngine, usable_paths
from hekat.engine.interface import FixedBaseTable, Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.table_memory import DEFAULT_CAP_MIB, MAX_CAP_MIB, TableMemory, read_cap_mib
from hekat.errors import EngineError, InputError

VARIABLE = "HEKAT_TABLE_MIB"
MIB = 1 << 20
TABLE_BYTES = 3 * MIB // 4
MODULUS = Modulus((1 << 512) - 1)
BASE = limbs_from_ints([5], 1)[0]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> CpuEngine:
    """One whose tables may take three quarters of 1 MiB."""
    monkeypatch.setenv(VARIABLE, "1")
    return CpuEngine(1)


def bytes_of(engine: CpuEngine, exponent_bits: int, window_bits: int, *, constant_time: bool = True) -> int:
    return 8 * engine._native_modulus(MODULUS).table_words(exponent_bits, window_bits, constant_time)


def plain_table(engine: CpuEngine, exponent_bits: int = 400, uses: int = 10**9) -> FixedBaseTable:
    return engine.fixed_base_table(BASE, MODULUS, exponent_bits, uses=uses, constant_time=False)


def test_tables_are_counted_as_long_as_they_live(engine: CpuEngine) -> None:
    memory = engine._table_memory
    first = engine.fixed_base_table(BASE, MODULUS, 400, 4)
    assert first.size_bytes == bytes_of(engine, 400, 4) >= 100 * 16 * 64
    assert memory.used_bytes == first.size_bytes
    second = engine.fixed_base_table(BASE, MODULUS, 100, 5)
    assert memory.used_bytes == first.size_bytes + second.size_bytes
    del first
    gc.collect()
    assert memory.used_bytes == second.size_bytes
    del second
    gc.collect()
    assert memory.used_bytes == 0


def test_a_refused_table_takes_nothing(engine: CpuEngine) -> None:
    with pytest.raises(InputError, match="is not below its modulus"):
        engine.fixed_base_table(MODULUS.limbs, MODULUS, 400)
    assert engine._table_memory.used_bytes == 0


def test_each_engine_has_its_own_memory(engine: CpuEngine) -> None:
    table = plain_table(engine)
    other = CpuEngine(1)
    assert other._table_memory.used_bytes == 0
    assert plain_table(other).size_bytes == table.size_bytes


def test_a_new_table_leaves_as_much_as_it_takes(engine: CpuEngine) -> None:
    tables = [plain_table(engine) for _ in range(3)]
    windows = [table.window_bits for table in tables]
    assert windows == sorted(windows, reverse=True)
    assert len(set(windows)) > 1
    assert bytes_of(engine, 400, windows[0] + 1, constant_time=False) > TABLE_BYTES // 2
    assert engine._table_memory.used_bytes == sum(table.size_bytes for table in tables) <= TABLE_BYTES


def test_what_does_not_fit_is_refused_with_its_cure(engine: CpuEngine) -> None:
    kept = engine.fixed_base_table(BASE, MODULUS, 1000, 5)
    message = (
        r"does not fit into the memory for tables; "
        r"expected at most 0\.\d MiB: 0\.8 MiB less 0\.\d MiB of tables in use; got .* MiB; "
        r"cure: raise HEKAT_TABLE_MIB, .*, or ask for "
    )
    with pytest.raises(InputError, match=message + "fewer window_bits or exponent_bits"):
        engine.fixed_base_table(BASE, MODULUS, 1000, 7)
    with pytest.raises(InputError, match=message + "fewer exponent_bits"):
        engine.fixed_base_table(BASE, MODULUS, 20_000)
    assert engine._table_memory.used_bytes == kept.size_bytes


@pytest.mark.quick_values
@pytest.mark.parametrize("path", usable_paths())
@pytest.mark.parametrize("constant_time", [True, False])
def test_the_smallest_table_is_taken_where_none_leaves_as_much(
    monkeypatch: pytest.MonkeyPatch, path: str, constant_time: bool
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    engine = CpuEngine(1, path=path)

    def smallest(exponent_bits: int) -> tuple[int, int]:
        sizes = [(bytes_of(engine, exponent_bits, w, constant_time=constant_time), w) for w in range(2, 9)]
        return min(sizes)

    # A table of the last number of bits that fits, whatever padding its windows have.
    bits = next(bits for bits in range(7950, 50, -50) if smallest(bits)[0] <= TABLE_BYTES)
    table = engine.fixed_base_table(BASE, MODULUS, bits, constant_time=constant_time)
    assert (table.size_bytes, table.window_bits) == smallest(bits)
    assert 2 * table.size_bytes > TABLE_BYTES
    del table
    gc.collect()
    with pytest.raises(InputError, match="does not fit"):
        engine.fixed_base_table(BASE, MODULUS, bits + 50, constant_time=constant_time)


@pytest.mark.parametrize("constant_time", [True, False])
def test_more_uses_widen_the_window(constant_time: bool) -> None:
    engine = CpuEngine(1)
    tables = [
        engine.fixed_base_table(BASE, MODULUS, 400, uses=uses, constant_time=constant_time)
        for uses in (1, 30, 1000, 10**6)
    ]
    windows = [table.window_bits for table in tables]
    assert windows == sorted(windows)
    assert windows[0] == 2
    assert (windows[-1] > 8) is not constant_time


def test_the_default_of_uses_is_some_thousands() -> None:
    engine = CpuEngine(1)
    default = engine.fixed_base_table(BASE, MODULUS, 400, constant_time=False).window_bits
    assert plain_table(engine, uses=1000).window_bits < default < plain_table(engine, uses=10**6).window_bits


@pytest.mark.parametrize("text", ["0", "-5", "lots", "1.5", str(MAX_CAP_MIB + 1), "١٢", "7" * 5000])
def test_a_cap_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(EngineError, match=r"HEKAT_TABLE_MIB is no size; expected .* got .*; cure: set HEKAT_TABLE_MIB"):
        CpuEngine(1)


def test_the_cap_is_read_and_described(monkeypatch: pytest.MonkeyPatch) -> None:
    for unset in ("", "  "):
        monkeypatch.setenv(VARIABLE, unset)
        assert read_cap_mib() == DEFAULT_CAP_MIB
    default = "384 for tables, 0.0 in use; 64 for the scratch of an operation; 64 for results to reuse, 0.0 kept"
    assert str(TableMemory()) == f"512 MiB at most (the default): {default}"
    monkeypatch.setenv(VARIABLE, "64")
    engine = CpuEngine(1)
    table = engine.fixed_base_table(BASE, MODULUS, 1000, 7)
    shares = f"48 for tables, {table.size_bytes / MIB:.1f} in use; 8 for the scratch of an operation"
    assert engine.describe()["table memory"].startswith(f"64 MiB at most (HEKAT_TABLE_MIB=64): {shares}; ")
