"""The ceilings of a GPU as measured on it: multiply-adds of words, device memory, and copies to and from the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpu.clock import EventClock, median_times

SOURCE = Path(__file__).parent / "ceilings.cu"
THREADS = 128
# In a thread and round: kChains * kUnrolled of the source.
PER_ROUND = 128
ROUNDS = 2000
BLOCKS_PER_MULTIPROCESSOR = 16
CHAIN_LIMBS = 16
COPY_BYTES = 1 << 30
REPEATS = 5


def measure_ceilings(device: Any, clock: EventClock) -> dict[str, float]:
    """Rates in units a second: wide_multiply_adds, chained_multiply_adds, device_bytes, to_device_bytes, ..."""
    import cupy

    from hekat.engine.cuda.compile import KERNELS

    options = ("--std=c++17", f"-I{KERNELS}", f"-DHEKAT_LIMBS={CHAIN_LIMBS}")
    module = cupy.RawModule(code=SOURCE.read_text(), options=options)
    found = {}
    with device.active() as stream:
        multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors
        out = cupy.zeros(blocks * THREADS, np.uint64)
        for name in ("wide_multiply_adds", "chained_multiply_adds"):
            kernel = module.get_function(name)
            arguments = (out, np.uint64(ROUNDS))
            times = median_times(clock, lambda k=kernel, a=arguments: k((blocks,), (THREADS,), a), REPEATS)
            found[name] = blocks * THREADS * ROUNDS * PER_ROUND / times.device_s
        found |= _measure_copies(cupy, stream, clock)
        found["multiprocessors"] = multiprocessors
    return found


def _measure_copies(cupy: Any, stream: Any, clock: EventClock) -> dict[str, float]:
    source, target = (cupy.zeros(COPY_BYTES, np.uint8) for _ in range(2))
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(COPY_BYTES), np.uint8, COPY_BYTES)

    def rate(call: Any, bytes_moved: int) -> float:
        return bytes_moved / median_times(clock, call, REPEATS).device_s

    return {
        # Read and written.
        "device_bytes": rate(lambda: cupy.copyto(target, source), 2 * COPY_BYTES),
        "to_device_bytes": rate(lambda: target.set(pinned, stream), COPY_BYTES),
        "to_host_bytes": rate(lambda: source.get(stream, out=pinned, blocking=False), COPY_BYTES),
    }
