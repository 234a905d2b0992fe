"""Results stay on the device. Where its memory is short, the results unused for longest move to the host until used.

On the host, residues lie in ordinary memory of this process, as the CPU engine's do: ciphertexts, but also randomisers
and results modulo secret primes. The operating system may swap this memory. It is wiped when the residues are back on
the device, and when nobody keeps them any more.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any, Final

import numpy.typing as npt

from hekat.engine.cuda.device import Device, DeviceArray, DeviceMemoryError
from hekat.errors import EngineError

_MIB: Final = 1 << 20


class Rows:
    """Rows of a result, `data` of a residue array: on the device, or on the host until somebody needs them.

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
        """The rows on the device, ready for the calling thread's work; marks them as used now. They stay there as long
        as the caller holds them.

        Raises DeviceMemoryError where the device has no room for them.
        """
        self.last_use = next(_moments)
        with self._lock:
            if isinstance(self._place, _Moved):
                try:
                    self._place = self._residency._bring_back(self._place)
                except DeviceMemoryError as error:
                    raise error.for_items(len(self)) from None
            array = self._place
        with self._residency.device.active():
            return self._residency.device.ready(array)

    def _move_out(self) -> bool:
        """Move to the host; False where the rows are there already, or about to be used."""
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
    """Rows that were moved to the host; wiped there when they go.

    While somebody works on them they stay on the device too, and others find them there.
    """

    __slots__ = ("host", "still_held")

    def __init__(self, array: DeviceArray, host: npt.NDArray[Any]) -> None:
        self.host = host
        self.still_held: weakref.ref[Any] = weakref.ref(array)

    def __del__(self) -> None:
        self.host.fill(0)


class Residency:
    """The rows that live on one device; moves some out where the device's memory is short. Safe for threads."""

    def __init__(self, device: Device) -> None:
        self.device: Final = device
        self._rows: Final[weakref.WeakValueDictionary[int, Rows]] = weakref.WeakValueDictionary()
        self._keys: Final = itertools.count()
        # Held while making room, so that two threads short of memory at once do not move out twice as much.
        self._moving = threading.Lock()
        self._counting = threading.Lock()
        self._moved_out_count = 0
        self._brought_back_count = 0
        device.when_short(self.make_room)

    def keep(self, array: DeviceArray) -> Rows:
        """`array` as rows that may move; the calling thread made it and gives it up."""
        rows = Rows(self, array)
        self._rows[next(self._keys)] = rows
        return rows

    def make_room(self, short: DeviceMemoryError) -> bool:
        """Move out the rows unused for longest until enough is free; False where none are left.

        Raises EngineError where the host is out of memory too.
        """
        if short.asked_bytes > self.device.memory_bytes:
            return False
        seen_count = self._moved_out_count
        with self._moving:
            if self._moved_out_count != seen_count:
                return True
            rows = [one for one in self._live() if one.is_on_device and one.nbytes]
            rows.sort(key=lambda one: one.last_use, reverse=True)
            moved_bytes = 0
            while rows and moved_bytes < max(short.asked_bytes - short.free_bytes, 1):
                one = rows.pop()
                if _moved_out(one):
                    moved_bytes += one.nbytes
                    with self._counting:
                        self._moved_out_count += 1
            return moved_bytes > 0

    def describe(self) -> dict[str, str]:
        """How much is resident and how much moved, for `hekat doctor`."""
        rows = self._live()
        resident = [one.nbytes for one in rows if one.is_on_device]
        moved = [one.nbytes for one in rows if not one.is_on_device]
        return {
            "resident results": f"{len(resident)} arrays, {_mib(sum(resident))}",
            "results moved to the host": f"{len(moved)} arrays, {_mib(sum(moved))}; moved out {self._moved_out_count} "
            f"times, back {self._brought_back_count} times",
        }

    def _live(self) -> list[Rows]:
        # First a list of the references, which is a single operation, because rows come and go on other threads.
        return [one for ref in self._rows.valuerefs() if (one := ref()) is not None]

    def _bring_back(self, moved: _Moved) -> DeviceArray:
        array = moved.still_held()
        if array is None:
            array = self.device.upload(moved.host)
            with self._counting:
                self._brought_back_count += 1
        return array


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


def _mib(byte_count: int) -> str:
    return f"{byte_count / _MIB:.1f} MiB"


_moments = itertools.count()
