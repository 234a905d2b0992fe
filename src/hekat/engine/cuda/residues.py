"""Residues on a device: loading and storing, shapes, element-wise products, and launches of kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from hekat.array_module import on_host
from hekat.engine.checks import (
    Shape,
    broadcast_shape,
    check_concatenate,
    check_indices,
    check_load,
    check_one_plus,
    check_own,
    check_reduce,
    check_reshape,
    refuse_not_below_modulus,
    refuse_not_below_root,
)
from hekat.engine.cpu import CpuEngine
from hekat.engine.cuda.device import Device, DeviceArray, DeviceMemoryError, words_of
from hekat.engine.cuda.integers import CudaIntegers
from hekat.engine.cuda.layout import Layout
from hekat.engine.cuda.memory.residency import Residency
from hekat.engine.cuda.memory.table_memory import DeviceTableMemory
from hekat.engine.interface import Engine, IndexArray, Modulus, ResidueArray, check_same_modulus
from hekat.engine.limbs import LimbArray


class CudaResidues(CudaIntegers):
    """The part of the engine that every other part stands on.

    A ResidueArray's data are `Rows` of uint32, shape (size, row_words), in Montgomery form: `Layout` says how. They lie
    on the device, or on the host while its memory is short.
    Limbs may lie on the host or on the device; they are checked where they lie.
    """

    def __init__(
        self,
        device: Device,
        host: CpuEngine,
        layout_of: Callable[[Modulus], Layout],
    ) -> None:
        self._device = device
        self._layout_of = layout_of
        self._host = host
        self._residency = Residency(device)
        self._table_memory = DeviceTableMemory(device)
        self._moduli: WeakKeyDictionary[Modulus, tuple[Layout, DeviceArray]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def _self(self) -> Engine:
        """This object, typed as the engine that it is a part of."""
        return cast(Engine, self)

    # --- host <-> engine -------------------------------------------------------------------------------

    def load(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= modulus.limb_count, each value < modulus (InputError otherwise)."""
        shape = check_load(limbs, modulus)
        refused = self._first_not_below(limbs, modulus.limbs)
        if refused is not None:
            raise refuse_not_below_modulus(refused, shape, modulus)
        return self._enter(limbs, modulus, shape)

    def reduce(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= 2 * modulus.limb_count, reduced mod `modulus`."""
        return self._enter(limbs, modulus, check_reduce(limbs, modulus))

    def store(self, a: ResidueArray) -> LimbArray:
        """The residues as canonical limbs on the host, shape a.shape + (modulus.limb_count,)."""
        return self._device.download(self.limbs_of(a))

    def limbs_of(self, a: ResidueArray) -> LimbArray:
        """The residues as canonical limbs on the device, shape a.shape + (modulus.limb_count,)."""
        check_own(self._self, a)
        limbs: LimbArray = self._device.empty((*a.shape, a.modulus.limb_count), np.uint64)
        self._run("enter/leave", a.modulus, a.size, limbs, 2 * a.modulus.limb_count, self._rows(a), a.size)
        return limbs

    def _enter(self, limbs: LimbArray, modulus: Modulus, shape: Shape) -> ResidueArray:
        words, _ = self._words(limbs, shape)
        out = self._empty_results(modulus, prod(shape))
        self._run("enter/enter", modulus, len(out), out, words, words.shape[-1], len(out))
        return self._residues(modulus, shape, out)

    # --- shape -----------------------------------------------------------------------------------------

    def take(self, a: ResidueArray, indices: IndexArray) -> ResidueArray:
        """The residues at flat `indices`, in the shape of `indices`."""
        check_own(self._self, a)
        check_indices(indices, a.size)
        rows, wanted = self._rows(a), self._device.upload(indices.ravel())
        out = self._empty_results(a.modulus, indices.size)
        with self._device.active():
            self._device.xp.take(rows, wanted, axis=0, out=out)
        return self._residues(a.modulus, indices.shape, out)

    def reshape(self, a: ResidueArray, shape: tuple[int, ...]) -> ResidueArray:
        """The same residues under another shape of equal size."""
        check_own(self._self, a)
        return ResidueArray(self._self, a.modulus, check_reshape(a, shape), a.data)

    def concatenate(self, arrays: Sequence[ResidueArray]) -> ResidueArray:
        """Joined along the first axis."""
        shape = check_concatenate(self._self, arrays)
        return self._residues(arrays[0].modulus, shape, self._join([self._rows(a) for a in arrays]))

    # --- element-wise products -------------------------------------------------------------------------

    def mod_mul(self, a: ResidueArray, b: ResidueArray) -> ResidueArray:
        """Element-wise product, shapes broadcast."""
        check_own(self._self, a)
        check_own(self._self, b)
        check_same_modulus(a, b)
        shape = broadcast_shape(a.shape, b.shape)
        # Operands first, so that making room for the results moves out neither.
        left, right = self._items(a, shape), self._items(b, shape)
        out = self._empty_results(a.modulus, prod(shape))
        self._multiply_rows(a.modulus, (out, 1), left, right, len(out))
        return self._residues(a.modulus, shape, out)

    def mod_mul_one_plus(self, a: ResidueArray, values: LimbArray) -> ResidueArray:
        """Element-wise a (1 + v root), shapes broadcast."""
        check_own(self._self, a)
        shape, root = check_one_plus(a, values)
        # Without products no value is used, so none is refused.
        refused = self._first_not_below(values, root) if prod(shape) else None
        if refused is not None:
            # The error's index counts in the shape of the products; one value may serve several products.
            first = np.argmax(
                np.broadcast_to(np.arange(prod(values.shape[:-1])).reshape(values.shape[:-1]), shape) == refused
            )
            raise refuse_not_below_root(int(first), shape, a.modulus)
        out = self._empty_results(a.modulus, prod(shape))
        words, step = self._words(values, shape)
        self._run(
            "mod_mul_one_plus/mod_mul_one_plus",
            a.modulus,
            len(out),
            out,
            *self._items(a, shape),
            words,
            step,
            words.shape[-1],
            len(out),
        )
        return self._residues(a.modulus, shape, out)

    def _multiply_rows(
        self,
        modulus: Modulus,
        out: tuple[DeviceArray, int],
        a: tuple[DeviceArray, int],
        b: tuple[DeviceArray, int],
        count: int,
    ) -> None:
        """Products of `count` rows; each array comes with the step from one row to the next."""
        self._run("mod_mul/mod_mul", modulus, count, *out, *a, *b, count)

    # --- arrays and launches ---------------------------------------------------------------------------

    def _residues(self, modulus: Modulus, shape: Shape, rows: DeviceArray) -> ResidueArray:
        """`rows`, in C order, as a residue array for callers."""
        return ResidueArray(self._self, modulus, shape, self._residency.keep(rows))

    def _rows(self, a: ResidueArray) -> DeviceArray:
        """The rows of `a`, shape (size, row_words), on the device."""
        return a.data.on_device()

    def _items(self, a: ResidueArray, shape: Shape) -> tuple[DeviceArray, int]:
        """Rows of `a` broadcast to `shape`, and the step from one row to the next: 0 where a single row serves all."""
        rows = self._rows(a)
        if a.size == 1 or a.shape == shape:
            return rows, int(a.size != 1)
        out = self._empty_results(a.modulus, prod(shape))
        with self._device.active():
            width = rows.shape[-1]
            out.reshape(*shape, width)[...] = rows.reshape(*a.shape, width)
        return out, 1

    def _words(self, limbs: LimbArray, shape: Shape) -> tuple[DeviceArray, int]:
        """Limbs broadcast to `shape` as 32-bit words on the device, (count, words), and the step as in `_items`."""
        count, width = prod(limbs.shape[:-1]), limbs.shape[-1]
        if not on_host(limbs):
            return self._int_rows(limbs, shape).view(np.uint32), int(count != 1)
        if count != 1:
            limbs = np.broadcast_to(limbs, (*shape, width))
        flat = np.ascontiguousarray(limbs).reshape(prod(limbs.shape[:-1]), width)
        return self._device.upload(words_of(flat)), int(count != 1)

    def _join(self, parts: Sequence[DeviceArray]) -> DeviceArray:
        """Rows of all parts, one after the other, in new memory."""
        out = self._device.empty((sum(map(len, parts)), parts[0].shape[-1]), np.uint32)
        at = 0
        with self._device.active():
            for part in parts:
                out[at : at + len(part)] = part
                at += len(part)
        return out

    def _empty_results(self, modulus: Modulus, count: int) -> DeviceArray:
        """Rows for the results of a batch of `count` items. Raises DeviceMemoryError that says how many fit."""
        try:
            return self._empty_rows(modulus, count)
        except DeviceMemoryError as error:
            raise error.for_items(count) from None

    def _empty_rows(self, modulus: Modulus, count: int) -> DeviceArray:
        layout, _ = self._constants(modulus)
        return self._device.empty((count, layout.row_words), np.uint32)

    def _run(self, kernel: str, modulus: Modulus, group_count: int, *parameters: Any) -> None:
        """Run `kernel` with one group for each item; the modulus' constants are its last parameter."""
        if group_count:
            layout, constants = self._constants(modulus)
            self._device.run_groups(kernel, layout.options, group_count, layout.threads, *parameters, constants)

    def _layout(self, modulus: Modulus) -> Layout:
        return self._constants(modulus)[0]

    def _constants(self, modulus: Modulus) -> tuple[Layout, DeviceArray]:
        """The kernels' constants for `modulus`: made once, kept as long as the modulus lives."""
        with self._lock:
            found = self._moduli.get(modulus)
            if found is None:
                found = self._moduli[modulus] = self._make_constants(modulus)
            return found

    def _make_constants(self, modulus: Modulus) -> tuple[Layout, DeviceArray]:
        layout = self._layout_of(modulus)
        root = modulus.root_limbs
        own = words_of(modulus.limbs if root is None else root)[: layout.words]
        words = np.zeros(layout.constants_words, np.uint32)
        words[: own.size] = own
        constants = self._device.upload(words)
        self._device.run_groups("modulus_constants/modulus_constants", layout.options, 1, layout.threads, constants)
        return layout, self._device.publish(constants)

    def _first_not_below(self, limbs: LimbArray, bound: LimbArray) -> int | None:
        """The flat index of the first of `limbs` that is not below `bound`; None where all are. Checks them where they
        lie.
        """
        _, is_below = self.int_sub(limbs, bound)
        if self._device.owns(is_below):
            # Only one flag is copied to the host, not one for each value, unless there is something to refuse.
            with self._device.active():
                all_below = is_below.reshape(-1).all(keepdims=True)
            if self._device.download(all_below)[0]:
                return None
            is_below = self._device.download(is_below)
        reached = np.flatnonzero(~is_below.ravel())
        return int(reached[0]) if reached.size else None
