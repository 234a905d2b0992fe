"""Where engines that compute on the host keep limbs: all of them on the host."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from hekat.engine.checks import refuse_device_limbs
from hekat.engine.interface import Engine, ResidueArray
from hekat.engine.limbs import LimbArray


class HostMemory:
    """The operations of an engine that distinguish host and device, for an engine without a device."""

    def limbs_of(self, a: ResidueArray) -> LimbArray:
        """As `store`."""
        return cast(Engine, self).store(a)

    def to_host(self, array: Any) -> Any:
        """`array` itself. Raises EngineError for an array on a device, which this engine cannot reach."""
        refuse_device_limbs(array)
        return array

    def active(self, *arrays: Any) -> AbstractContextManager[Any]:
        """A context that changes nothing. Raises EngineError for an array on a device."""
        for array in arrays:
            refuse_device_limbs(array)
        return nullcontext()
