"""The engine that runs on one GPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.device import Device
from hekat.engine.cuda.layout import Layout, choose_layout
from hekat.engine.cuda.multi_powers import CudaMultiPowers
from hekat.engine.cuda.random_limbs import CudaRandom
from hekat.engine.cuda.ring_cuda import CudaRing
from hekat.engine.interface import Modulus
from hekat.engine.tenancy import describe_constant_time, describe_tables

# 3 chunks of 16384 items, in groups of 4 threads at 2048 bits: as many as the multiprocessors of a large GPU hold at
# once, with copies and the host's work beside kernels. On an H200 longer ones encrypt more slowly;
# decryption, in groups of 2 threads, is 1.2 times as fast with chunks four times as long (section `choices` of
# benchmarks/results/cuda-nvidia-h200.json).
CHUNK_PLAN = ChunkPlan(factor=4, in_flight=3, abreast=32, decrypt_times=4)


class CudaEngine(CudaMultiPowers, CudaRing, CudaRandom):
    """Implements `hekat.engine.interface.Engine` on one device, constant-time as the interface says.

    The host computes integers whose operands lie there, and the one inversion of `mod_inv`. The table in
    `docs/explanation/architecture.md` says what runs where.
    """

    def __init__(
        self,
        device: Device,
        *,
        single_tenant: bool = False,
        layout_of: Callable[[Modulus], Layout] = choose_layout,
    ) -> None:
        """`layout_of` chooses a modulus' layout on the device: for measurements of other layouts than the default."""
        super().__init__(device, CpuEngine(single_tenant=single_tenant), layout_of)
        self._single_tenant = single_tenant

    @property
    def name(self) -> str:
        return self._device.name

    @property
    def single_tenant(self) -> bool:
        return self._single_tenant

    @property
    def chunk_plan(self) -> ChunkPlan:
        """Three chunks at once, which together fill a large GPU."""
        return CHUNK_PLAN

    def describe(self) -> dict[str, str]:
        """What is active and why, for `hekat doctor`."""
        return {
            **self._device.describe(),
            **self._residency.describe(),
            "constant time": describe_constant_time(self._single_tenant),
            "randomiser tables": describe_tables(self._single_tenant),
            "table memory": str(self._table_memory),
        }

    def synchronize(self) -> None:
        """Return when all work that the calling thread gave the device is done."""
        # `publish` waits for an array that was queued behind all of that work.
        self._device.publish(self._device.empty(1, np.uint8))

    def __repr__(self) -> str:
        return f"CudaEngine({self.name})"
