"""The memory of an emulated device, and arrays on it that do not mix with arrays of the host, as on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from hekat.engine.cuda.memory.ordering import MemoryOrder

GRAIN_BYTES = 256
UNWRITTEN = 0xA5
# Methods of arrays that copy what they read.
COPYING = ("argsort", "astype", "copy", "flatten", "item", "nonzero", "ravel", "repeat", "reshape", "take", "tolist")


class Allocation:
    """Memory of a device: every array on it holds it as its base, and with the last of them it is wiped.

    `order` is None where the device has no streams: everything is done at once.
    """

    def __init__(self, device: Any, storage: np.ndarray, order: MemoryOrder | None) -> None:
        self.device = device
        self.storage = storage
        self.order = order
        self.__array_interface__ = dict(storage.__array_interface__)

    def __del__(self) -> None:
        self.device.free(self.storage, self.order)

    def array(self) -> EmulatedArray:
        return np.asarray(self).view(EmulatedArray)


class EmulatedArray(np.ndarray):
    """Memory of an emulated device: host arrays do not mix with it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        refuse_host_arrays(inputs)
        device = device_of(inputs, out)
        arguments = read(inputs)
        if out is not None:
            refuse_host_arrays(out)
            kwargs["out"] = tuple(_written(x) for x in out)
        result = getattr(ufunc, method)(*arguments, **kwargs)
        return out[0] if out is not None else emulated(result, device)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        refuse_host_arrays(args)
        return emulated(function(*read(args), **read(kwargs)), device_of(args))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return device_of((self,)).xp

    def __getitem__(self, key: Any) -> Any:
        # A view of what is not written yet is no reading of it.
        basic = all(x is None or x is Ellipsis or isinstance(x, int | slice | np.integer) for x in _entries(key))
        plain = self.view(np.ndarray) if basic else read(self)
        part = plain[read(key)]
        if not isinstance(part, np.ndarray):
            # NumPy's answer is no view but the element itself, as it is read now.
            part = read(self)[key]
        return emulated(part, device_of((self,)))

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse_host_arrays((value,))
        _written(self)[read(key)] = read(value)


def _copying(name: str) -> Any:
    def method(self: EmulatedArray, *args: Any, **kwargs: Any) -> Any:
        # Another shape of contiguous memory is a view.
        is_view = name in ("reshape", "ravel") and self.flags.c_contiguous
        plain = self.view(np.ndarray) if is_view else read(self)
        return emulated(getattr(plain, name)(*read(args), **read(kwargs)), device_of((self,)))

    return method


for _name in COPYING:
    setattr(EmulatedArray, _name, _copying(_name))


class Namespace:
    """NumPy's functions, with results on one emulated device."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if name not in ("asarray", "array", "ascontiguousarray"):
                refuse_host_arrays(args)
            return emulated(found(*read(args), **read(kwargs)), self._device)

        return call


def allocation_of(array: Any) -> Allocation | None:
    """The memory that an array lies on; None for one of the host."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, Allocation) else None


def device_of(*values: Any) -> Any:
    """The device of the first array on one."""
    for value in values:
        if isinstance(value, list | tuple):
            found = device_of(*value)
            if found is not None:
                return found
        elif isinstance(value, EmulatedArray):
            allocation = allocation_of(value)
            assert allocation is not None, "an array of a device that no device made"
            return allocation.device
    return None


def read(value: Any) -> Any:
    """Arrays of a device as NumPy's own, once what is queued on the calling thread's stream is done."""
    if isinstance(value, EmulatedArray):
        allocation = allocation_of(value)
        assert allocation is not None, "an array of a device that no device made"
        allocation.device.before_function(allocation)
        return value.view(np.ndarray)
    if isinstance(value, list | tuple):
        return type(value)(read(x) for x in value)
    if isinstance(value, dict):
        return {key: read(x) for key, x in value.items()}
    return value


def emulated(value: Any, device: Any) -> Any:
    """Results of a function as arrays of the device: views stay views, others are moved into its memory."""
    if isinstance(value, np.ndarray) and device is not None:
        if allocation_of(value) is not None:
            return value.view(EmulatedArray)
        return device.adopt(np.array(value, order="K"))
    if isinstance(value, tuple):
        return tuple(emulated(x, device) for x in value)
    return value


def refuse_host_arrays(values: Any) -> None:
    """Raise TypeError where a host array is among `values`."""
    for value in values:
        if isinstance(value, list | tuple):
            refuse_host_arrays(value)
        elif type(value) is np.ndarray and value.ndim:
            raise TypeError("a host array where the device wants one of its own")


def aligned_storage(byte_count: int) -> np.ndarray:
    """Bytes on a boundary of GRAIN_BYTES; what was never written shows."""
    memory = np.full(byte_count + GRAIN_BYTES, UNWRITTEN, np.uint8)
    skipped = -memory.ctypes.data % GRAIN_BYTES
    return memory[skipped : skipped + byte_count]


def _written(array: EmulatedArray) -> np.ndarray:
    """The array to be written by a function of the calling thread."""
    plain = read(array)
    allocation = allocation_of(array)
    assert allocation is not None
    allocation.device.before_write(allocation)
    return plain


def _entries(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)
