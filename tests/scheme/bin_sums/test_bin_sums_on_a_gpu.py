"""On an emulated GPU the same sums come out."""

from __future__ import annotations

import numpy as np
from tests.engine.cuda.emulation.device import EmulatedDevice
from tests.scheme.bin_sums.conftest import draw_exchange, layout_of, open_exchange

from hekat.engine.cuda.engine import CudaEngine
from hekat.scheme.bin_sums import generate_keys


def test_sums_on_an_emulated_gpu_are_exact(toy) -> None:
    engine = CudaEngine(EmulatedDevice())
    pair = generate_keys(2, toy, engine)
    exchange = draw_exchange(1, [150, 30], [9, 4], 2)
    opened = open_exchange(pair, exchange, layout_of(exchange, 8, toy), engine)
    assert np.array_equal(opened, exchange.expected())
