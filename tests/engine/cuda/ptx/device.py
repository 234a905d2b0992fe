"""`InterpretedDevice`: the emulated device, with kernels whose PTX is executed instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hekat.engine.cuda.layout import BLOCK_THREADS

from ..emulation.device import KERNELS, EmulatedArray, EmulatedDevice
from .block import Block
from .compile import compile_entries
from .memory import Memory
from .program import Entry


class InterpretedDevice(EmulatedDevice):
    """A device named `ptx:0`. Implements `hekat.engine.cuda.device.Device`."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "ptx:0"

    def run_groups(self, kernel: str, options: Sequence[str], group_count: int, threads: int, *parameters: Any) -> None:
        groups_per_block = BLOCK_THREADS // threads
        self.run_blocks(kernel, options, -(-group_count // groups_per_block), BLOCK_THREADS, 0, *parameters)

    def run_blocks(
        self,
        kernel: str,
        options: Sequence[str],
        block_count: int,
        threads: int,
        shared_bytes: int,
        *parameters: Any,
    ) -> None:
        source, name = kernel.split("/")
        run(
            compile_entries(KERNELS / f"{source}.cu", tuple(options))[name],
            block_count,
            threads,
            shared_bytes,
            parameters,
        )


def run(
    entry: Entry,
    block_count: int,
    threads: int,
    shared_bytes: int,
    parameters: Sequence[Any],
    *,
    make_memory: type[Memory] = Memory,
    make_block: type[Block] = Block,
) -> None:
    """All blocks of a launch, one after the other."""
    memory = make_memory()
    values = [_parameter(memory, value) for value in parameters]
    named = dict(zip(entry.parameters, values, strict=True))
    static = max((first + size for first, size in entry.shared.values()), default=0)
    for block in range(block_count):
        memory.add_shared(static + shared_bytes)
        make_block(entry, memory, named, threads, block, block_count).run()


def _parameter(memory: Memory, value: Any) -> int:
    """An array as its address, aligned as it lies in memory of its own; a number as it is."""
    if not isinstance(value, np.ndarray):
        return int(value)
    assert isinstance(value, EmulatedArray), "kernels take device arrays"
    whole: Any = value
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return memory.add(value, (value.ctypes.data - whole.ctypes.data) % 256)
