"""Multi-precision integers, computed where they lie: on a device with one thread an item, or by the host's engine."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from hekat.array_module import on_host
from hekat.engine.checks import Shape, broadcast_shape, check_limbs, describe, refuse_zero_divisor
from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.device import DeviceArray
from hekat.engine.cuda.device_memory import DeviceMemory
from hekat.engine.cuda.layout import MAX_WORDS, WORD_BITS, layout_for
from hekat.engine.interface import BoolArray
from hekat.engine.limbs import LimbArray
from hekat.errors import EngineError

# One thread an item; the kernels keep no limbs in registers, so the number of limbs does not matter here.
OPTIONS = ("-DHEKAT_THREADS=1", "-DHEKAT_LIMBS=2")
WORDS_PER_LIMB = 2


class CudaIntegers(DeviceMemory):
    """The int_* operations of an engine on one device.

    Two operands on the host give a result there, computed there. Where one operand lies on the device, the result does
    too; the other may be a single item on the host, such as a constant of a key, which is uploaded. A batch on the host
    and a batch on the device are refused (EngineError): the caller has to say which of the two moves.
    """

    _host: CpuEngine

    def int_add(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a + b with max(limbs) + 1 limbs."""
        if on_host(a) and on_host(b):
            return self._host.int_add(a, b)
        shape, a, b = self._int_operands(a, b)
        out: LimbArray = self._empty_ints(shape, max(a.shape[-1], b.shape[-1]) + 1)
        self._run_ints("int_add", shape, out, _word_count(out), *_operand(a), *_operand(b))
        return out

    def int_sub(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, BoolArray]:
        """|a - b| with max(limbs) limbs, and where a < b."""
        if on_host(a) and on_host(b):
            return self._host.int_sub(a, b)
        shape, a, b = self._int_operands(a, b)
        out: LimbArray = self._empty_ints(shape, max(a.shape[-1], b.shape[-1]))
        below = self._device.empty(shape, np.bool_)
        self._run_ints("int_sub", shape, out, _word_count(out), below, *_operand(a), *_operand(b))
        return out, below

    def int_mul(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a * b with limbs(a) + limbs(b) limbs."""
        if on_host(a) and on_host(b):
            return self._host.int_mul(a, b)
        shape, a, b = self._int_operands(a, b)
        out: LimbArray = self._empty_ints(shape, a.shape[-1] + b.shape[-1])
        widest = max(_word_count(a), _word_count(b))
        if widest > MAX_WORDS:
            self._run_ints("int_mul", shape, out, *_operand(a), *_operand(b))
        elif count := prod(shape):
            layout = layout_for(WORD_BITS * widest, pairs=False)
            kernel, operands = "int_mul/int_mul_in_groups", (*_operand(a), *_operand(b))
            self._device.run_groups(kernel, layout.options, count, layout.threads, out, *operands, count)
        return out

    def int_divmod(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, LimbArray]:
        """Quotient (limbs of a) and remainder (limbs of b), variable time. Raises InputError where a divisor is 0."""
        if on_host(a) and on_host(b):
            return self._host.int_divmod(a, b)
        self._refuse_zero_divisors(b)
        shape, a, b = self._int_operands(a, b)
        quotients, remainders = (self._empty_ints(shape, x.shape[-1]) for x in (a, b))
        scratch = self._device.empty((prod(shape), _word_count(a) + _word_count(b) + 2), np.uint32)
        self._run_ints("int_divmod", shape, quotients, remainders, scratch, *_operand(a), *_operand(b))
        return quotients, remainders

    def _int_operands(self, a: LimbArray, b: LimbArray) -> tuple[Shape, DeviceArray, DeviceArray]:
        """The shape of the results; both operands on the device, as (1, limbs) or one row for each result."""
        shape = broadcast_shape(check_limbs(a, "integers"), check_limbs(b, "integers"))
        return shape, self._int_rows(a, shape), self._int_rows(b, shape)

    def _int_rows(self, limbs: LimbArray, shape: Shape) -> DeviceArray:
        count, limb_count = prod(limbs.shape[:-1]), limbs.shape[-1]
        if on_host(limbs):
            if count != 1:
                raise EngineError(
                    "a batch of integers on the host meets one on a device",
                    expected=f"both on {self._device.name}, or a single integer on the host",
                    got=f"{describe(limbs)} on the host",
                    cure="move one to where the other is",
                )
            return self._device.upload(np.ascontiguousarray(limbs).reshape(1, limb_count))
        xp = self._device.xp
        with self.active(limbs):
            if count != 1 and limbs.shape[:-1] != shape:
                limbs = xp.broadcast_to(limbs, (*shape, limb_count))
            return xp.ascontiguousarray(limbs).reshape(-1, limb_count)

    def _refuse_zero_divisors(self, b: LimbArray) -> None:
        shape = check_limbs(b, "integers")
        if on_host(b):
            is_positive = np.asarray(b.any(axis=-1))
        else:
            is_positive = self.to_host(self.int_sub(np.zeros(1, np.uint64), b)[1])
        zeros = np.flatnonzero(~is_positive)
        if zeros.size:
            raise refuse_zero_divisor(int(zeros[0]), shape)

    def _empty_ints(self, shape: Shape, limb_count: int) -> DeviceArray:
        return self._device.empty((*shape, limb_count), np.uint64)

    def _run_ints(self, kernel: str, shape: Shape, *parameters: Any) -> None:
        """Run a kernel of integers.cu with one thread an item; the number of items is its last parameter."""
        count = prod(shape)
        if count:
            self._device.run_groups(f"integers/{kernel}", OPTIONS, count, 1, *parameters, count)


def _word_count(limbs: DeviceArray) -> int:
    return WORDS_PER_LIMB * int(limbs.shape[-1])


def _operand(rows: DeviceArray) -> tuple[DeviceArray, int, int]:
    """Rows in the form that kernels take: memory, words of a row, and the step from one item's row to the next."""
    return rows, _word_count(rows), int(len(rows) != 1)
