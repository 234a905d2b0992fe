"""On an emulated GPU the same products come out, though there every single operation copies in and out."""

from __future__ import annotations

import numpy as np
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.scheme.bfv import (
    PRODUCTS,
    encrypt_rows,
    generate_keys,
    lay_out_products,
    mask_products,
    multiply_columns,
    open_products,
    unmask_products,
)


def test_products_on_an_emulated_gpu_are_exact() -> None:
    engine = CudaEngine(EmulatedDevice())
    pair = generate_keys(engine=engine)
    layout = lay_out_products(PRODUCTS, 1 << 60, 1 << 16, 20, row_addends=1, products=1)
    rng = np.random.default_rng(1)
    x, d = rng.integers(-(2**16), 2**16, (3, 20)), rng.integers(-(2**35), 2**35, (20, 1))
    rows = encrypt_rows(pair.public, d, layout, engine)
    masked, masks = mask_products(multiply_columns(x, rows, layout, engine), layout, engine)
    opened = unmask_products(open_products(pair.private, masked, layout, engine), masks, layout)
    assert opened == (x.astype(object) @ d.astype(object)).ravel().tolist()
