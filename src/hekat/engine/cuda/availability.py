"""Whether a GPU is usable, and if not, why and with what cure; asks the driver itself, before CuPy is imported."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from hekat.errors import EngineError

DRIVER_LIBRARY = "libcuda.so.1"
OLDEST_CUDA = 12
"""The oldest CUDA that there is an extra for."""
NEWEST_CUDA = 13
VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES"
_STAY = "or stay on engine 'cpu'"
_NO_DEVICE = 100


@dataclass(frozen=True)
class Driver:
    """Facts from the NVIDIA driver: the newest CUDA it runs, (major, minor), and how many GPUs it shows."""

    cuda_version: tuple[int, int]
    device_count: int

    @property
    def extra(self) -> str:
        """The extra of hekat that fits this driver."""
        return f"cuda{min(self.cuda_version[0], NEWEST_CUDA)}"


def find_driver(load: Callable[[str], Any] = ctypes.CDLL) -> Driver:
    """The driver of this machine. Raises EngineError where there is none, or it is too old, or it does not start."""
    try:
        library = load(DRIVER_LIBRARY)
    except OSError as error:
        raise EngineError(
            "no NVIDIA driver is on this machine",
            expected=DRIVER_LIBRARY,
            got=str(error),
            cure=f"install NVIDIA's driver, or start the container with its GPUs, {_STAY}",
        ) from error
    version = ctypes.c_int()
    status = library.cuDriverGetVersion(ctypes.byref(version))
    if status != 0:
        raise _refuse_driver(status)
    cuda_version = version.value // 1000, version.value % 1000 // 10
    if cuda_version[0] < OLDEST_CUDA:
        raise EngineError(
            "the NVIDIA driver is too old",
            expected=f"one for CUDA {OLDEST_CUDA} or newer",
            got=f"one for CUDA {cuda_version[0]}.{cuda_version[1]}",
            cure=f"install a newer driver, {_STAY}",
        )
    status = library.cuInit(0)
    if status not in (0, _NO_DEVICE):
        raise _refuse_driver(status)
    count = ctypes.c_int()
    if status == 0:
        status = library.cuDeviceGetCount(ctypes.byref(count))
        if status != 0:
            raise _refuse_driver(status)
    return Driver(cuda_version, count.value)


def check_device(index: int, load: Callable[[str], Any] = ctypes.CDLL) -> Driver:
    """The driver, if it shows GPU number `index` and CuPy is installed. Raises EngineError otherwise."""
    driver = find_driver(load)
    if index >= driver.device_count:
        visible = os.environ.get(VISIBLE_VARIABLE)
        limit = "" if visible is None else f" ({VISIBLE_VARIABLE}={visible})"
        last = driver.device_count - 1
        raise EngineError(
            f"there is no GPU cuda:{index} on this machine" if driver.device_count else "the driver shows no GPU",
            expected=f"cuda:0 to cuda:{last}" if last > 0 else "cuda:0" if last == 0 else "a GPU",
            got=f"{driver.device_count} GPUs{limit}",
            cure=f"look at `nvidia-smi` and at {VISIBLE_VARIABLE}, {_STAY}",
        )
    if find_spec("cupy") is None:
        raise EngineError(
            "CuPy is not installed",
            expected=f"the packages of the extra {driver.extra}",
            got="no module cupy",
            cure=f"pip install 'hekat[{driver.extra}]'",
        )
    return driver


def check_runtime(runtime_version: int, driver: Driver) -> None:
    """Raise EngineError where CuPy was built for a newer CUDA (1000 major + 10 minor) than the driver runs."""
    if runtime_version // 1000 <= driver.cuda_version[0]:
        return
    installed = f"cupy-cuda{runtime_version // 1000}x"
    raise EngineError(
        "the NVIDIA driver is too old for the CuPy that is installed",
        expected=f"a driver for CUDA {runtime_version // 1000}",
        got=f"one for CUDA {driver.cuda_version[0]}.{driver.cuda_version[1]}",
        cure=f"pip uninstall {installed} and pip install 'hekat[{driver.extra}]', or install a newer driver",
    )


def _refuse_driver(status: int) -> EngineError:
    return EngineError(
        "the NVIDIA driver does not start",
        got=f"its error {status}",
        cure=f"look at `nvidia-smi`; after an update of the driver, restart the machine; {_STAY}",
    )
