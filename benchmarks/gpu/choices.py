"""What an engine on a GPU chooses by itself, beside what else it could: windows of powers, lengths of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from gpu.operations import Bench, Case, encryptions
from gpu.scheme import scheme_cases
from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.cuda import engine as cuda_engine
from hekat.engine.cuda import powers as cuda_powers

CHUNKED = ("encrypt djn, as called", "decrypt", "add a plaintext, as called")


def power_windows(bench: Bench, count: int, constant_time: tuple[int, ...], plain: tuple[int, ...]) -> Iterator[Case]:
    """One half of a decryption by windows read whole, and r^n by windows of plain look-ups."""
    half = bench.key.halves[0].square
    a, numbers, at = bench.residues(half, count)
    exponents, right, to = bench.limbs(bench.key.public.bits // 2, count)
    check = bench.checker(lambda i: pow(numbers[at[i]], right[to[i]], half.value), count)
    for window in constant_time:
        yield Case(
            f"mod_exp mod p^2, half width, window of {window} bits",
            count,
            _with(cuda_powers, "CONSTANT_TIME_WINDOW_BITS", window, lambda: bench.engine.mod_exp(a, exponents)),
            check,
        )
    few = max(1, count // 4)
    b, bases, by = bench.residues(bench.square, few)
    n = bench.root
    for window in plain:
        yield Case(
            f"textbook randomiser r^n, window of {window} bits",
            few,
            _with(cuda_powers, "VARTIME_WINDOW_BITS", window, lambda: bench.engine.mod_exp_vartime(b, n.limbs)),
            bench.checker(lambda i: pow(bases[by[i]], n.value, n.value**2), few),
        )


def table_windows(bench: Bench, count: int, windows: tuple[int, ...]) -> Iterator[Case]:
    """Encryption from tables that are read whole."""
    for window in windows:
        yield next(encryptions(bench, count, window, True))


def chunk_plans(engine: Any, key: Any, count: int, plans: tuple[tuple[int, int], ...]) -> Iterator[Case]:
    """Paillier as called, in chunks of so many times 4096 items, so many of them at once."""
    for factor, in_flight in plans:
        plan = ChunkPlan(factor, in_flight, cuda_engine.CHUNK_PLAN.abreast)
        for case in scheme_cases(engine, key, count):
            if case.name in CHUNKED:
                name = f"{case.name.removesuffix(', as called')}, {in_flight} chunks of {factor} x 4096 at once"
                call = _with(cuda_engine, "CHUNK_PLAN", plan, case.call)
                yield replace(case, name=name, call=call, by_wall=True)
            if case.name == CHUNKED[-1]:
                break


def _with(module: Any, name: str, value: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    def patched() -> Any:
        with patch.object(module, name, value):
            return call()

    return patched
