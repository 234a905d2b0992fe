"""On an emulated GPU shares add up to the same products, though there every single operation copies in and out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice
from tests.scheme.bfv.shared_products.conftest import draw_matrices, exact_product, misses_of, share_product

from hekat.engine.cuda.engine import CudaEngine
from hekat.scheme.bfv import generate_keys
from hekat.scheme.bfv.shared_products import lay_out_matrices


@pytest.mark.parametrize("bits", [60, 128])
def test_shares_made_on_an_emulated_gpu_add_up(bits) -> None:
    engine = CudaEngine(EmulatedDevice())
    layout = lay_out_matrices(bits=bits, rows=5, inner=4, columns=3, plain_bound=1 << 20, opened=False)
    plain, numbers = draw_matrices(layout, np.random.default_rng(61))
    _, own, theirs = share_product(generate_keys(engine=engine), layout, plain, numbers, engine)
    assert abs(misses_of(own, theirs, exact_product(plain, numbers, bits), bits)).max() <= 1
