"""What lattice aggregation is measured beside: CKKS by TenSEAL as federated systems deploy it, and NumPy without any.

A peer that is not there is said, with the reason. TenSEAL gets its numbers in its own plain tensor, made before the
clock starts, and its result stays a list of Python floats: both conversions are left out of its time.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Sequence
from importlib import metadata
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring.processor import Stages

# Seen in openfhe-1.6.1.0.22.4-py3-none-any.whl, the newest that pip offers to Python 3.11.
OPENFHE_NOTE = "its wheel for Python 3.11 holds an extension module of Python 3.10"

FloatArray = npt.NDArray[np.float32]

TENSEAL_SETTING = "symmetric CKKS, N = 8192, primes of 60, 40 and 40 bits, scale 2^40"
DEGREE, PRIME_BITS, SCALE = 8192, (60, 40, 40), 2.0**40


def find_peers() -> tuple[ModuleType | None, dict[str, str]]:
    """TenSEAL if it imports, and for each peer its version or why it is missing."""
    found, modules = {}, {}
    for name in ("tenseal", "openfhe"):
        try:
            modules[name] = importlib.import_module(name)
            found[name] = metadata.version(name)
        except ImportError as error:
            found[name] = f"missing: {error}" + (f"; {OPENFHE_NOTE}" if name == "openfhe" else "")
    if "openfhe" in modules:
        found["openfhe"] += ": imports here, not measured"
    return modules.get("tenseal"), found


class TenSeal:
    """One aggregation by TenSEAL: as FedML-HE and NVFLARE use it, all parties under one secret key."""

    def __init__(self, tenseal: ModuleType, thread_count: int) -> None:
        self._tenseal = tenseal
        self._context = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS,
            poly_modulus_degree=DEGREE,
            coeff_mod_bit_sizes=list(PRIME_BITS),
            encryption_type=tenseal.ENCRYPTION_TYPE.SYMMETRIC,
            n_threads=thread_count,
        )
        self._context.global_scale = SCALE

    def take(self, values: FloatArray) -> Any:
        """The numbers in the peer's own type."""
        return self._tenseal.plain_tensor(values.tolist(), dtype="float")

    def upload(self, plain: Any, stages: Stages) -> bytes:
        """One party's encrypted update as bytes."""
        # It prints that a long vector takes several ciphertexts.
        with stages.measure("encrypt"), contextlib.redirect_stdout(io.StringIO()):
            encrypted = self._tenseal.ckks_vector(self._context, plain)
        with stages.measure("serialise"):
            return bytes(encrypted.serialize())

    def aggregate(self, uploads: Sequence[bytes], stages: Stages) -> Any:
        """The encrypted sum, from bytes."""
        total: Any = None
        for data in uploads:
            with stages.measure("deserialise"):
                encrypted = self._tenseal.ckks_vector_from(self._context, data)
            with stages.measure("add"):
                total = encrypted if total is None else total.add_(encrypted)
        return total

    def open(self, total: Any, stages: Stages) -> list[float]:
        """The sum in the clear. Its way back to the parties as bytes is left out of the peer's time."""
        with stages.measure("decrypt"):
            opened: list[float] = total.decrypt()
        return opened


class WeightedMean:
    """NumPy's weighted mean of float32 arrays, into memory that is there: what no protection costs."""

    def __init__(self, updates: Sequence[FloatArray], weights: Sequence[int]) -> None:
        self._updates = updates
        self._factors = [np.float32(weight / sum(weights)) for weight in weights]
        self.mean, self._product = np.empty_like(updates[0]), np.empty_like(updates[0])

    def run(self) -> None:
        np.multiply(self._updates[0], self._factors[0], out=self.mean)
        for update, factor in zip(self._updates[1:], self._factors[1:], strict=True):
            np.multiply(update, factor, out=self._product)
            np.add(self.mean, self._product, out=self.mean)
