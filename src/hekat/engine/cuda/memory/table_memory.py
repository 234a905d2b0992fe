"""The memory for fixed-base tables on a device: a share of the device's memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hekat.engine.cuda.device import Device, DeviceMemoryError
from hekat.engine.table_memory import TableRoom, read_cap_mib, source_of
from hekat.errors import InputError

CUDA_MEMORY_VARIABLE: Final = "HEKAT_CUDA_TABLE_MIB"
DEFAULT_SHARE: Final = 4
"""Tables may take one part in so many of the device's memory."""
_MIB: Final = 1 << 20


class DeviceTableMemory(TableRoom):
    """Room for tables of one device, flat arrays of uint32.

    `scratch_bytes` limits the scratch of one operation: an eighth of the limit for tables.
    """

    def __init__(self, device: Device) -> None:
        """Under the cap of HEKAT_CUDA_TABLE_MIB, else a quarter of the device's memory.

        Raises EngineError where that is no size.
        """
        default_mib = max(device.memory_bytes // DEFAULT_SHARE // _MIB, 1)
        self._source = source_of(CUDA_MEMORY_VARIABLE)

        def empty(words: int) -> Any:
            try:
                return device.empty(2 * words, np.uint32)
            except DeviceMemoryError as error:
                # The same error as for a table beyond the cap, so that the owners of other tables may drop them.
                raise InputError(
                    f"fixed-base table does not fit into the memory of {device.name}",
                    expected=f"at most {error.free_bytes / _MIB:.1f} MiB: the rest is in use",
                    got=f"{error.asked_bytes / _MIB:.1f} MiB",
                    cure="end what else uses this device, let go of keys whose tables are in use, or ask for fewer "
                    "window_bits",
                ) from None

        super().__init__(read_cap_mib(CUDA_MEMORY_VARIABLE, default_mib) * _MIB, CUDA_MEMORY_VARIABLE, empty)
        self.scratch_bytes = self.table_bytes // 8

    def __str__(self) -> str:
        return f"{self.table_bytes // _MIB} MiB at most ({self._source}), {self.used_bytes / _MIB:.1f} in use"
