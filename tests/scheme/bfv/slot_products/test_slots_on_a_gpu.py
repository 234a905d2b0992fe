"""On an emulated GPU shares add up to the same sums, though there every single operation copies in and out."""

from __future__ import annotations

import numpy as np
from tests.engine.cuda.emulation.device import EmulatedDevice
from tests.scheme.bfv.slot_products.conftest import added, draw_vector, shares_of, term_of

from hekat.engine.cuda.engine import CudaEngine
from hekat.scheme.bfv import generate_keys
from hekat.scheme.bfv.slot_products import SLOT_PRIMES, lay_out_slot_sums


def test_shares_made_on_an_emulated_gpu_add_up() -> None:
    engine, prime, rng = CudaEngine(EmulatedDevice()), SLOT_PRIMES[0], np.random.default_rng(72)
    plain, secret = (draw_vector(9, prime, rng) for _ in range(2))
    pair = generate_keys(engine=engine)
    shares = shares_of(
        pair, lay_out_slot_sums(prime=prime, count=9), [term_of(pair, plain, secret, prime, engine)], engine
    )
    assert np.array_equal(added(*shares, prime), plain.astype(object) * secret.astype(object) % prime)
