"""`TracingDevice`: what a kernel shows to whoever sees its time and its accesses to memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..emulation.device import KERNELS
from .block import Block
from .compile import compile_entries
from .device import InterpretedDevice, run
from .memory import Memory
from .program import Instruction


class TracingDevice(InterpretedDevice):
    """Executes PTX as `InterpretedDevice` does, and keeps of each launch a digest of all branches and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: list[tuple[str, str]] = []

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
        entry = compile_entries(KERNELS / f"{source}.cu", tuple(options))[name]
        seen = hashlib.sha256()

        class TracedMemory(Memory):
            def load(self, addresses: Any, *args: Any, **kwargs: Any) -> Any:
                seen.update(b"load" + addresses.tobytes())
                return super().load(addresses, *args, **kwargs)

            def store(self, addresses: Any, *args: Any, **kwargs: Any) -> None:
                seen.update(b"store" + addresses.tobytes())
                super().store(addresses, *args, **kwargs)

        class TracedBlock(Block):
            def _holds(self, instruction: Instruction, active: Any) -> Any:
                held = super()._holds(instruction, active)
                if instruction.opcode[0] in ("bra", "ret"):
                    seen.update(b"branch" + np.asarray(active).tobytes() + np.asarray(held).tobytes())
                return held

        run(entry, block_count, threads, shared_bytes, parameters, make_memory=TracedMemory, make_block=TracedBlock)
        self.launches.append((kernel, seen.hexdigest()))
