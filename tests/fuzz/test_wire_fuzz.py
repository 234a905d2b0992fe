"""Hostile wire bytes: every byte of small objects changed, random bytes, changed structure under a valid checksum."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SCRIPT = Path(__file__).with_name("fuzz_wire.py")
specification = importlib.util.spec_from_file_location("fuzz_wire", SCRIPT)
assert specification is not None
assert specification.loader is not None
fuzz_wire = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fuzz_wire)

CHECK, SEEDS = fuzz_wire.build_target()
REGRESSIONS = sorted(fuzz_wire.REGRESSIONS.glob("*")) if fuzz_wire.REGRESSIONS.is_dir() else []

LONG_RUNS = 250_000
LONG_RUN_S = 1500


def seed_name(seed: bytes) -> str:
    return f"{seed[0]:#04x}"


@pytest.mark.parametrize("seed", SEEDS, ids=seed_name)
def test_seeds_are_valid(seed: bytes) -> None:
    assert CHECK(seed)


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.name)
def test_inputs_that_once_failed(path: Path) -> None:
    CHECK(path.read_bytes())


@pytest.mark.parametrize("seed", SEEDS, ids=seed_name)
def test_every_byte_changed(seed: bytes) -> None:
    """Changes within a body under a valid checksum, and within a whole frame, where the checksum finds every one."""
    for position in range(1, len(seed)):
        for value in {seed[position] ^ 0x01, seed[position] ^ 0x80, 0x00, 0xFF, 0xC1} - {seed[position]}:
            changed = seed[:position] + bytes([value]) + seed[position + 1 :]
            was_read = CHECK(changed)
            assert not (was_read and seed[0] & fuzz_wire.WHOLE_FRAME)


@pytest.mark.parametrize("seed", SEEDS, ids=seed_name)
def test_every_byte_dropped_or_doubled_and_every_truncation(seed: bytes) -> None:
    for position in range(1, len(seed)):
        whole = seed[0] & fuzz_wire.WHOLE_FRAME
        assert not CHECK(seed[:position])
        # In a body, one of two equal neighbours may go without a trace; in a frame the length tells.
        for changed in (seed[:position] + seed[position + 1 :], seed[: position + 1] + seed[position:]):
            assert not (CHECK(changed) and whole)


# 300, and by `make test-all` a thousand.
INPUTS = 10 * settings.default.max_examples


@given(st.binary(max_size=300))
@settings(max_examples=INPUTS)
def test_random_bytes(data: bytes) -> None:
    CHECK(data)


@pytest.mark.long
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), min_size=1, max_size=6))
@settings(max_examples=INPUTS)
def test_several_bytes_changed(seed: bytes, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(seed)
    for position, value in changes:
        changed[1 + position % (len(seed) - 1)] = value
    CHECK(bytes(changed))


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=40)
)
ITEMS = st.recursive(
    SCALARS, lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=4), one, max_size=3)
)


@pytest.mark.long
@given(st.data())
@settings(max_examples=INPUTS)
def test_changed_structure(data: st.DataObject) -> None:
    """One part of a valid body replaced by any other item, at any depth."""
    seed = data.draw(st.sampled_from([seed for seed in SEEDS if not seed[0] & fuzz_wire.WHOLE_FRAME]))
    items = replace_somewhere(msgpack.unpackb(seed[1:]), data)
    CHECK(seed[:1] + msgpack.packb(items))


def replace_somewhere(items: Any, data: st.DataObject) -> Any:
    if isinstance(items, dict) and items and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(list(items)))
        return items | {key: replace_somewhere(items[key], data)}
    if isinstance(items, list) and items and data.draw(st.booleans()):
        index = data.draw(st.integers(0, len(items) - 1))
        return [*items[:index], replace_somewhere(items[index], data), *items[index + 1 :]]
    return data.draw(ITEMS)


@pytest.mark.long_cases("0x03", "0x01")
@pytest.mark.parametrize("seed", [seed for seed in SEEDS if not seed[0] & fuzz_wire.WHOLE_FRAME], ids=seed_name)
def test_memory_stays_within_a_small_multiple_of_the_input(seed: bytes) -> None:
    """Length fields blown up at every position never turn into allocations."""
    CHECK(seed)  # caches of engines and keys are not the decoder's memory
    tracemalloc.start()
    try:
        for position in range(1, len(seed)):
            for header in (
                b"\xdd\x7f\xff\xff\xff",
                b"\xdf\x7f\xff\xff\xff",
                b"\xc6\x7f\xff\xff\xff",
                b"\xcf" + b"\x7f" * 8,
            ):
                CHECK(seed[:position] + header + seed[position + len(header) :])
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.long
@pytest.mark.timeout(LONG_RUN_S + 60)
def test_a_quarter_of_a_million_inputs(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris has no build for this Python version")
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), f"-runs={LONG_RUNS}", "-seed=20250101"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONG_RUN_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert f"Done {LONG_RUNS} runs" in ran.stderr
