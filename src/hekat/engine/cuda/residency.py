"""Results stay on the device. Where its memory is short, those unused for longest lie on the host until they are used.

Moved to the host, residues lie in ordinary memory of this process, as the CPU engine's do: ciphertexts, but randomisers
too, and what is computed modulo secret primes. The operating system may swap it. It is wiped when they are back on the
device, and when nobody keeps them any more.
"""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from math import prod
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.engine.cuda.device import Device, DeviceArray, DeviceMemoryError
from hekat.errors import EngineError

_MIB: Final = 1 << 20
# Devices hand memory out in multiples of this at most.
_GRAIN_BYTES: Final = 512

T = TypeVar("T")


class Rows:
    """Rows of a result, `data` of a residue array: on the device, or on the host until they are asked for.

    Nobody writes them. Safe for threads.
    """

    __slots__ = ("__weakref__", "_lock", "_place", "_residency", "last_use", "nbytes", "shape")

    def __init__(self, residency: Residency, array: DeviceArray) -> None:
        self.shape: Final[tuple[int, ...]] = tuple(array.shape)
        self.nbytes: Final = int(array.nbytes)
        self.last_use = next(_moments)
        self._residency = residency
        self._place: DeviceArray | _Moved = array
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def is_on_device(self) -> bool:
        """Whether they lie on the device now."""
        return not isinstance(self._place, _Moved)

    def on_device(self) -> DeviceArray:
        """The rows on the device, ready for the calling thread's work; used now. Whoever holds them keeps them there.

        Raises EngineError where the device has no room for them.
        """
        self.last_use = next(_moments)
        with self._lock:
            if isinstance(self._place, _Moved):
                self._place = self._residency._bring_back(self._place)
            array = self._place
        return self._residency.device.ready(array)

    def _move_out(self) -> bool:
        """Leave the device; False where they did already, or are about to be used."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if isinstance(self._place, _Moved):
                return False
            self._place = _Moved(self._place, self._residency.device.download(self._place))
            return True
        finally:
            self._lock.release()


class _Moved:
    """Rows that were moved to the host, where they are wiped when they go.

    Where somebody works on them they stay on the device too until that is done, and are found there.
    """

    __slots__ = ("host", "still_held")

    def __init__(self, array: DeviceArray, host: npt.NDArray[Any]) -> None:
        self.host = host
        self.still_held: weakref.ref[Any] = weakref.ref(array)

    def __del__(self) -> None:
        self.host.fill(0)


class Residency:
    """The rows that live on one device, and room for new ones. Safe for threads."""

    def __init__(self, device: Device) -> None:
        self.device: Final = device
        self._rows: Final[weakref.WeakValueDictionary[int, Rows]] = weakref.WeakValueDictionary()
        self._keys: Final = itertools.count()
        # Held while room is made: two that are short at once do not give up on what the other is moving.
        self._moving = threading.Lock()
        self._counting = threading.Lock()
        self._moved_out_count = 0
        self._brought_back_count = 0

    def keep(self, array: DeviceArray) -> Rows:
        """`array`, complete or in this thread's order, as rows that may move; the caller gives it up."""
        rows = Rows(self, array)
        self._rows[next(self._keys)] = rows
        return rows

    def empty(
        self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, bytes_per_item: int | None = None
    ) -> DeviceArray:
        """Uninitialised memory of the device; rows unused for longest make room for it where there is none.

        `bytes_per_item` is what the whole operation takes for each item of the first axis, for the sake of the error;
        None: what this array takes. Raises EngineError, with the number of items that fit, where even that is not
        enough.
        """
        lengths = (shape,) if isinstance(shape, int) else shape
        return self.make_room_for(
            lambda: self.device.empty(shape, dtype),
            item_count=lengths[0] if lengths else 1,
            bytes_per_item=bytes_per_item or prod(lengths[1:]) * np.dtype(dtype).itemsize,
        )

    def upload(self, host: npt.NDArray[Any], *, bytes_per_item: int | None = None) -> DeviceArray:
        """A copy of a host array on the device; room and errors as of `empty`."""
        return self.make_room_for(
            lambda: self.device.upload(host),
            item_count=len(host) if host.ndim else 1,
            bytes_per_item=bytes_per_item or prod(host.shape[1:]) * host.itemsize,
        )

    def make_room_for(self, make: Callable[[], T], *, item_count: int = 1, bytes_per_item: int | None = None) -> T:
        """What `make` returns, called again as rows move out for as long as it raises DeviceMemoryError.

        For functions of the device's `xp`, which make arrays too. Room and errors as of `empty`.
        """
        try:
            return make()
        except DeviceMemoryError:
            pass
        with self._moving:
            # What lies in cycles of references is freed by a collection only.
            gc.collect()
            while True:
                try:
                    return make()
                except DeviceMemoryError as error:
                    short = error.with_traceback(None)
                available_bytes = short.free_bytes + self._resident_bytes()
                if short.asked_bytes > available_bytes or not self._move_oldest(short.asked_bytes):
                    raise self._refuse(short.asked_bytes, available_bytes, item_count, bytes_per_item)

    def describe(self) -> dict[str, str]:
        """What is resident and what moved, for `hekat doctor`."""
        rows = self._live()
        resident = [one.nbytes for one in rows if one.is_on_device]
        moved = [one.nbytes for one in rows if not one.is_on_device]
        return {
            "resident results": f"{len(resident)} arrays, {_mib(sum(resident))}",
            "results moved to the host": f"{len(moved)} arrays, {_mib(sum(moved))}; moved out {self._moved_out_count} "
            f"times, back {self._brought_back_count} times",
        }

    def _live(self) -> list[Rows]:
        # A list of the references first, which is one operation: rows come and go on other threads.
        return [one for ref in self._rows.valuerefs() if (one := ref()) is not None]

    def _resident_bytes(self) -> int:
        return sum(_ceil(one.nbytes) for one in self._live() if one.is_on_device)

    def _move_oldest(self, byte_count: int) -> bool:
        """Move out the rows unused for longest, at least `byte_count` bytes of them; False where there are none."""
        rows = [one for one in self._live() if one.is_on_device and one.nbytes]
        rows.sort(key=lambda one: one.last_use, reverse=True)
        moved_bytes = 0
        while rows and moved_bytes < byte_count:
            one = rows.pop()
            if _moved_out(one):
                moved_bytes += one.nbytes
                with self._counting:
                    self._moved_out_count += 1
        return moved_bytes > 0

    def _bring_back(self, moved: _Moved) -> DeviceArray:
        array = moved.still_held()
        if array is None:
            array = self.upload(moved.host)
            with self._counting:
                self._brought_back_count += 1
        return array

    def _refuse(
        self, asked_bytes: int, available_bytes: int, item_count: int, bytes_per_item: int | None
    ) -> EngineError:
        fitting = available_bytes // bytes_per_item if bytes_per_item else 0
        smaller = f"work in batches of at most {fitting} items, or " if 0 < fitting < item_count else ""
        each = f" for {item_count} items, each {bytes_per_item} bytes in all" if bytes_per_item else ""
        return EngineError(
            f"{self.device.name} is out of memory, with results moved to the host",
            expected=f"at most {_mib(available_bytes)} of its {_mib(self.device.memory_bytes)}: the rest is in use",
            got=f"{_mib(asked_bytes)}{each}",
            cure=f"{smaller}end what else uses this device, or compute on the CPU",
        )


def _moved_out(rows: Rows) -> bool:
    """Move `rows` out. Raises EngineError where the host is out of memory too."""
    try:
        return rows._move_out()
    except MemoryError:
        raise EngineError(
            "the device is out of memory, and so is the host that results would move to",
            expected=f"{_mib(rows.nbytes)} of host memory",
            got="less",
            cure="work in smaller batches, or let go of results",
        ) from None


def _ceil(byte_count: int) -> int:
    return -(-byte_count // _GRAIN_BYTES) * _GRAIN_BYTES


def _mib(byte_count: int) -> str:
    return f"{byte_count / _MIB:.1f} MiB"


_moments = itertools.count()
