"""The ring operations that masking fuses, each timed on its own over one whole update, block by block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hekat.engine.interface import Engine
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS
from hekat.scheme.lattice import LatticeParameters, block_values
from lattice.round import PUBLIC_KEY
from measuring.processor import Stages, median_of

REPEATS = 3


def measure_operations(
    parameters: LatticeParameters, lane_count: int, clock: Callable[[], float], engine: Engine
) -> dict[str, float]:
    """Median seconds by operation. Each writes whole arrays, which the fused one does not: together they are slower."""
    form = parameters.form
    ring, block = form.ring, form.chunk_count(block_values(parameters, BLOCK_SLOTS))
    zeros = np.zeros(block * form.values_per_chunk, np.int32)
    slots = engine.expand_uniform(ring, PUBLIC_KEY, 0, block)
    passes = []
    for _ in range(REPEATS + 1):
        stages = Stages(clock)
        for first in range(0, form.chunk_count(lane_count), block):
            count = min(block, form.chunk_count(lane_count) - first)
            with stages.measure("expand a"):
                engine.expand_uniform(ring, PUBLIC_KEY, first, count)
            with stages.measure("a times s"):
                engine.ring_mul(ring, slots[:count], slots[:1])
            with stages.measure("inverse transform"):
                engine.ring_intt(ring, slots[:count])
            with stages.measure("sample errors"):
                engine.sample_cbd(PUBLIC_KEY, first, count, ring.degree)
            with stages.measure("all, fused"):
                engine.mask_values(
                    form, PUBLIC_KEY, slots[0], PUBLIC_KEY, first, zeros[: count * form.values_per_chunk]
                )
        passes.append(stages.seconds)
    return median_of(passes[1:])
