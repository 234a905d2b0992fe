"""Limbs of another device do not reach an engine: each operation says so, and moves nothing by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.interface import Modulus, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.errors import EngineError

ROOT = 2**127 - 1
MODULUS = Modulus(ROOT * ROOT, root=ROOT)
OPERATIONS: dict[str, Callable[[CudaEngine, ResidueArray, LimbArray], object]] = {
    "load": lambda engine, _, limbs: engine.load(limbs, MODULUS),
    "reduce": lambda engine, _, limbs: engine.reduce(limbs, MODULUS),
    "mod_exp": lambda engine, a, limbs: engine.mod_exp(a, limbs),
    "mod_exp_vartime": lambda engine, a, limbs: engine.mod_exp_vartime(a, limbs),
    "mod_mul_one_plus": lambda engine, a, limbs: engine.mod_mul_one_plus(a, limbs),
    "mod_exp_fixed": lambda engine, _, limbs: engine.mod_exp_fixed(
        engine.fixed_base_table(np.array([3], np.uint64), MODULUS, 64, 2), limbs
    ),
    "mod_multi_exp": lambda engine, a, limbs: engine.mod_multi_exp(a, limbs[:, np.newaxis]),
    "int_add": lambda engine, _, limbs: engine.int_add(limbs, limbs),
    "to_host": lambda engine, _, limbs: engine.to_host(limbs),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_limbs_of_another_device_are_refused(operation: str) -> None:
    engine, other = CudaEngine(EmulatedDevice()), CudaEngine(EmulatedDevice(1))
    a = engine.load(engine.random_bits(3, 64), MODULUS)
    OPERATIONS[operation](engine, a, engine.random_bits(3, 64))
    with pytest.raises(EngineError, match="lies on another device"):
        OPERATIONS[operation](engine, a, other.random_bits(3, 64))
