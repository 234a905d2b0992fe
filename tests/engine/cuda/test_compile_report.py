"""Every kernel is compiled for GPUs that are not here, and the compiler's own report and the machine code are read.

Kernels hold their numbers in registers: one word spilled to memory in an inner loop costs more than the arithmetic
beside it. And the products' carry chains must have become wide multiply-adds, or they take twice the instructions.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec

import pytest

from hekat.engine.cuda.compile import compile_source, read_sources
from hekat.engine.cuda.layout import layout_for

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
# All layouts on one architecture; on the others those of the usual sizes.
ALL_LAYOUTS_ON = "sm_90"
USUAL = ((2048, True), (1024, False), (2048, False))
LAYOUTS = (
    *((bits, True) for bits in (512, 2048, 3072, 8192)),
    *((bits, False) for bits in (512, 3072, 8192)),
)
MOST_REGISTERS = 255
# Kernel, bytes and why: what is known to lie in local memory. Nothing does.
IN_LOCAL_MEMORY: dict[tuple[str, tuple[str, ...]], int] = {}
SOURCES = sorted(name.removesuffix(".cu") for name in read_sources() if name.endswith(".cu"))

ENTRY = re.compile(
    r"Compiling entry function '(\w+)' for '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers",
    re.DOTALL,
)
KERNEL = re.compile(r"^HEKAT_KERNEL\w*\(\w+\)\s*(\w+)\(", re.MULTILINE)
OPTION = re.compile(r"#ifndef (HEKAT_\w+)")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("cupy") is None, reason="needs hekat[cuda13]"),
]


def text_with_headers(name: str, seen: set[str] | None = None) -> str:
    """The source and all that it includes, once each."""
    seen = set() if seen is None else seen
    seen.add(name)
    text = read_sources()[name].decode()
    for included in re.findall(r'#include "(.*?)"', text):
        if included not in seen:
            text += text_with_headers(included, seen)
    return text


def variants_of(source: str, architecture: str) -> list[tuple[str, ...]]:
    """The options that a source is compiled with: layouts where it works on residues, else what its header states."""
    text = text_with_headers(f"{source}.cu")
    if "struct Residue" in text:
        chosen = LAYOUTS if architecture == ALL_LAYOUTS_ON else USUAL
        only_pairs = "Only for pairs" in read_sources()[f"{source}.cu"].decode()
        return [layout_for(bits, pairs=pairs).options for bits, pairs in chosen if pairs or not only_pairs]
    if "HEKAT_PRIMES" in text:
        return [(f"-DHEKAT_PRIMES={primes}",) for primes in (1, 2)]
    return [()]


def disassemble(code: bytes, folder) -> dict[str, str]:
    """The machine code of each function, as text."""
    from cuda.pathfinder import find_nvidia_binary_utility

    program = find_nvidia_binary_utility("nvdisasm") or shutil.which("nvdisasm")
    if program is None:
        pytest.skip("needs hekat[bench] (nvidia-cuda-nvdisasm)")
    file = folder / "kernels.cubin"
    file.write_bytes(code)
    text = subprocess.run([program, "-c", file], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^\s*\.section\s+\.text\.(\w+),.*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_are_kernels_to_compile():
    assert {"mod_mul", "mod_exp", "enter"} <= set(SOURCES)
    for source in SOURCES:
        known = {"HEKAT_THREADS", "HEKAT_LIMBS", "HEKAT_PAIRS", "HEKAT_PRIMES"}
        assert set(OPTION.findall(text_with_headers(f"{source}.cu"))) <= known, f"{source} has options not tried here"
        assert KERNEL.findall(read_sources()[f"{source}.cu"].decode()), f"{source} has no kernel"


def each_on_two_architectures() -> list[tuple[str, str]]:
    """Every source for the architecture of all layouts, and for one of the others, which take turns."""
    others = [architecture for architecture in ARCHITECTURES if architecture != ALL_LAYOUTS_ON]
    pairs = [((source, ALL_LAYOUTS_ON), (source, others[place % len(others)])) for place, source in enumerate(SOURCES)]
    return [one for both in pairs for one in both]


@pytest.mark.parametrize(("source", "architecture"), each_on_two_architectures())
def test_kernels_stay_in_registers(source, architecture, tmp_path):
    from cupy.cuda import nvrtc

    expected = sorted(KERNEL.findall(read_sources()[f"{source}.cu"].decode()))
    works_on_residues = "struct Residue" in text_with_headers(f"{source}.cu")
    for options in variants_of(source, architecture):
        code, log = compile_source(nvrtc, source, options, architecture, report=True)
        entries = {name: tuple(map(int, numbers)) for name, _, *numbers in ENTRY.findall(log)}
        assert sorted(entries) == expected, f"the report is not understood:\n{log}"
        assert {architecture_told for _, architecture_told, *_ in ENTRY.findall(log)} == {architecture}
        for name, (stack_bytes, stored_bytes, loaded_bytes, registers) in entries.items():
            what = f"{source}/{name} for {architecture} with {' '.join(options)}"
            most = IN_LOCAL_MEMORY.get((name, options), 0)
            found = stack_bytes, stored_bytes, loaded_bytes
            assert max(found) <= most, f"{what}: bytes of stack, stores and loads of spills {found}"
            assert registers <= MOST_REGISTERS, f"{what}: {registers} registers"
        functions = disassemble(code, tmp_path)
        assert sorted(functions) == expected
        for name, text in functions.items():
            what = f"{source}/{name} for {architecture} with {' '.join(options)}"
            if not IN_LOCAL_MEMORY.get((name, options)):
                assert not re.search(r"\b(LDL|STL)\b", text), f"{what} reads or writes local memory"
            if works_on_residues:
                assert "IMAD.WIDE.U32.X" in text, f"{what} has no wide multiply-adds with carry"
