"""Where an engine on a device keeps arrays, and how it moves them; CPU engines use `hekat.engine.host_memory`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hekat.array_module import on_host
from hekat.engine.cuda.device import Device, check_owned


class DeviceMemory:
    """The operations of an engine that distinguish host and device."""

    _device: Device

    def to_host(self, array: Any) -> Any:
        """Limbs or flags of this engine on the host. Raises EngineError for arrays of another device."""
        return array if on_host(array) else self._device.download(check_owned(self._device, array))

    @contextmanager
    def active(self, *arrays: Any) -> Iterator[None]:
        """Within it, array functions work on this device and on `arrays`, whichever thread made them."""
        with self._device.active():
            for array in arrays:
                if not on_host(array):
                    self._device.ready(check_owned(self._device, array))
            yield
