"""Ciphertexts stay on the device from the scores that come in to the gradient that goes out (HAFLO, Fig. 2)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice
from tests.protocol.vertical_linear.arbiter.start_messages import make_start

from hekat.engine import select
from hekat.engine.cuda.engine import CudaEngine
from hekat.protocol.vertical_linear.arbiter.paillier_arithmetic import PaillierArithmetic
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining
from hekat.scheme.paillier import Ciphertexts, decrypt
from hekat.scheme.paillier.row_packing import open_slots
from hekat.wire import from_bytes

ROWS, COLUMNS = 10, 3


class CountingDevice(EmulatedDevice):
    """Notes the size of every copy to the host, except flags, which tell the check that failed."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[int] = []

    def download(self, array: Any) -> Any:
        if array.dtype != np.bool_:
            self.copied.append(array.size * array.dtype.itemsize)
        return super().download(array)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> CountingDevice:
    """The device of engine `cuda:0`, which all code takes by default here."""
    device = CountingDevice()
    monkeypatch.setattr(select, "_make_cuda", lambda name, single_tenant: CudaEngine(device))
    monkeypatch.setattr(select, "_instance", cache(select._instance.__wrapped__))
    monkeypatch.setenv("HEKAT_ENGINE", "cuda:0")
    return device


def test_no_copy_between_logits_and_gradient(device: CountingDevice, paillier_keys) -> None:
    settings = VerticalLinearSettings(
        "bank", ("shop",), arbiter="judge", classes=("no", "yes"), training=LinearTraining(batch_rows=0)
    )
    start = make_start(ROWS, (2, 2), feature_bits=17)
    keys = paillier_keys(512)
    layout = SumLayout.of(start, settings)
    arithmetic = PaillierArithmetic(keys.public, layout)
    rng = np.random.default_rng(1)
    scores, own = rng.integers(-(2**30), 2**30, (2, ROWS, 1))
    matrix = rng.integers(-(2**16), 2**16, (COLUMNS, ROWS))
    arrived = arithmetic.write(arithmetic.hold(scores))
    arithmetic.mask(arithmetic.multiply(matrix, arithmetic.hold(own)))  # tables and constants are made here
    ciphertext_bytes = 2 * 512 // 8

    device.copied.clear()
    received = arithmetic.read_rows(arrived, scores.shape, "shop")
    residuals = arithmetic.add([arithmetic.hold(own), received])
    products = arithmetic.multiply(matrix, residuals)
    # Two numbers are copied: the product that shows that all are units, and the number that the host inverts for all.
    assert all(size <= 2 * ciphertext_bytes for size in device.copied)
    assert len(device.copied) <= 2
    assert residuals.size * ciphertext_bytes > 4 * ciphertext_bytes

    device.copied.clear()
    masked = arithmetic.mask(products)
    # The message that leaves, and the masks that their owner keeps.
    assert sorted(device.copied) == sorted([masked.masks.nbytes, COLUMNS * ciphertext_bytes])
    opened = decrypt(keys.private, from_bytes(masked.data, Ciphertexts, public_key=keys.public)).limbs
    found = arithmetic.unmask(open_slots(opened, keys.public, layout.packing(keys.public)), masked, "judge")
    assert found.tolist() == (matrix @ (scores + own))[:, 0].tolist()
