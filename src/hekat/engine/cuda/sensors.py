"""A GPU's driver version, temperature and load, from the driver's NVML. Failing to read them is no error."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

NVML_LIBRARY = "libnvidia-ml.so.1"
_TEMPERATURE_OF_GPU = 0
_VERSION_BYTES = 80
_UNKNOWN = "not known"


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def read_sensors(pci_bus_id: str, load: Callable[[str], Any] = ctypes.CDLL) -> dict[str, str]:
    """`driver`, `temperature` and `load` of the GPU at `pci_bus_id`; `not known: why` where NVML does not say."""
    names = ("driver", "temperature", "load")
    try:
        library = load(NVML_LIBRARY)
    except OSError as error:
        return dict.fromkeys(names, f"{_UNKNOWN}: {error}")
    status = library.nvmlInit_v2()
    if status != 0:
        return dict.fromkeys(names, f"{_UNKNOWN}: NVML does not start (its error {status})")
    try:
        readings = (_read_driver(library), *_read_device(library, pci_bus_id))
        return dict(zip(names, readings, strict=True))
    finally:
        library.nvmlShutdown()


def _read_driver(library: Any) -> str:
    version = ctypes.create_string_buffer(_VERSION_BYTES)
    status = library.nvmlSystemGetDriverVersion(version, ctypes.c_uint(_VERSION_BYTES))
    return _told(status, version.value.decode(errors="replace"))


def _read_device(library: Any, pci_bus_id: str) -> tuple[str, str]:
    """Temperature and load."""
    device = ctypes.c_void_p()
    status = library.nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.encode(), ctypes.byref(device))
    if status != 0:
        return _told(status, ""), _told(status, "")
    celsius = ctypes.c_uint()
    status = library.nvmlDeviceGetTemperature(device, ctypes.c_uint(_TEMPERATURE_OF_GPU), ctypes.byref(celsius))
    temperature = _told(status, f"{celsius.value} °C")
    share = _Utilization()
    status = library.nvmlDeviceGetUtilizationRates(device, ctypes.byref(share))
    return temperature, _told(status, f"{share.gpu} % of the time busy, {share.memory} % reading or writing memory")


def _told(status: int, reading: str) -> str:
    return reading if status == 0 else f"{_UNKNOWN}: NVML's error {status}"
