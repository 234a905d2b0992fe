"""Random integers made on a GPU: ChaCha20 under a fresh seed from the operating system for each call."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hekat.engine.cuda.device import Device, DeviceArray, run_threads
from hekat.engine.limbs import LimbArray, limbs_for_bits, limbs_from_ints
from hekat.engine.random_limbs import check_random_below, check_random_bits

# As in random_limbs.cu.
BLOCK_LIMBS = 8
SEED_BYTES = 32


class CudaRandom:
    """The random operations of an engine on one device: limbs lie there.

    Item i of a call is read from the streams of nonces (try, i) under the call's own seed: no key stream is read twice.
    """

    _device: Device

    def random_bits(self, count: int, bits: int) -> LimbArray:
        """Uniform integers below 2^bits, shape (count, limbs), on the device."""
        check_random_bits(count, bits)
        out = self._empty_draws(count, bits)
        block_count = -(-out.shape[1] // BLOCK_LIMBS)
        self._run_draws("random_bits", count * block_count, out, self._upload_seed(), *out.shape, bits, block_count)
        return out

    def random_below(self, count: int, bound: int) -> LimbArray:
        """Uniform integers in [0, bound), shape (count, limbs), on the device: each is drawn anew until it is below."""
        check_random_below(count, bound)
        bits = bound.bit_length()
        out = self._empty_draws(count, bits)
        limit = self._device.upload(limbs_from_ints([bound], out.shape[1]))
        self._run_draws("random_below", count, out, self._upload_seed(), limit, *out.shape, bits)
        return out

    def _empty_draws(self, count: int, bits: int) -> LimbArray:
        limbs: LimbArray = self._device.empty((count, limbs_for_bits(bits)), np.uint64)
        return limbs

    def _upload_seed(self) -> DeviceArray:
        """A fresh seed on the device.

        The host's copy is wiped whatever happens, the device's copy when the call is over.
        """
        seed = np.frombuffer(os.urandom(SEED_BYTES), "<u4").astype(np.uint32)
        try:
            return self._device.upload(seed)
        finally:
            seed.fill(0)

    def _run_draws(self, kernel: str, thread_count: int, *parameters: Any) -> None:
        run_threads(self._device, f"random_limbs/{kernel}", thread_count, *parameters)
