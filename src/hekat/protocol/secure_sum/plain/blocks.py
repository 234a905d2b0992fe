"""Updates in the clear, block by block: a large float32 model needs its own size on the way, and a block beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hekat.protocol.secure_sum.agreement.message_checks import refuse_answer, refuse_size
from hekat.protocol.secure_sum.streamed_tensor import AnyTensors, StreamedTensor

BLOCK_VALUES = 1 << 18
Float32Array = npt.NDArray[np.float32]


def block_count_of(value_count: int) -> int:
    """How many blocks so many values make."""
    return -(-value_count // BLOCK_VALUES)


class BlockLayout:
    """Streamed float32 tensors, by name, cut into blocks of BLOCK_VALUES; the last one may be shorter."""

    def __init__(self, tensors: dict[str, StreamedTensor]) -> None:
        self._tensors = [tensors[name] for name in sorted(tensors)]
        self._size = sum(tensor.size for tensor in self._tensors)

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return block_count_of(self._size)

    def read(self) -> Iterator[Float32Array]:
        """The blocks in their order."""
        for index in range(self.count):
            pieces = [tensor.read(start, stop) for tensor, start, stop in self._places(index)]
            yield np.concatenate(pieces).astype(np.float32, copy=False)

    def write(self, index: int, mean: Float32Array) -> None:
        """Hand the tensors the mean of block `index`."""
        taken = 0
        for tensor, start, stop in self._places(index):
            tensor.write_mean(start, mean[taken : taken + stop - start].astype(np.float64))
            taken += stop - start

    def check_mean(self, index: int, mean: Float32Array, aggregator: str, step: str) -> None:
        """Raises WireCorruptError where the mean of block `index` is not of its size."""
        expected = min(BLOCK_VALUES, self._size - index * BLOCK_VALUES)
        if mean.shape != (expected,):
            refuse_answer(aggregator, step, f"{expected} values in a block", f"shape {mean.shape}")

    def _places(self, index: int) -> Iterator[tuple[StreamedTensor, int, int]]:
        """The pieces of tensors that block `index` holds: tensor, start, stop."""
        first, last = index * BLOCK_VALUES, min((index + 1) * BLOCK_VALUES, self._size)
        offset = 0
        for tensor in self._tensors:
            start, stop = max(first - offset, 0), min(last - offset, tensor.size)
            if start < stop:
                yield tensor, start, stop
            offset += tensor.size


def layout_of(tensors: AnyTensors) -> BlockLayout | None:
    """The blocks of tensors that are all streamed and float32; None for others, which travel as one array."""
    streamed = {name: tensor for name, tensor in tensors.items() if not isinstance(tensor, np.ndarray)}
    if not streamed or len(streamed) < len(tensors):
        return None
    if not all(getattr(tensor, "fits_float32", False) for tensor in streamed.values()):
        return None
    return BlockLayout(streamed)


class BlockSums:
    """The aggregator's weighted sums of all blocks, float64; parties come one after the other."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._sums: list[npt.NDArray[np.float64]] = []

    def add(self, index: int, values: Float32Array, weight: int, party: str, step: str) -> None:
        """Add a party's block `index`. Raises InputError for one of another size than a block, or than the first's."""
        is_new = index == len(self._sums)
        sizes = range(1, BLOCK_VALUES + 1) if index == self._count - 1 else (BLOCK_VALUES,)
        expected = sizes if is_new else (self._sums[index].size,)
        if values.ndim != 1 or values.size not in expected:
            refuse_size(f"party {party}", f"a block of another size in {step}", f"{expected[-1]} values", values.shape)
        added = values.astype(np.float64) * weight
        if is_new:
            self._sums.append(added)
        else:
            self._sums[index] += added

    def means(self, weight_sum: int) -> Iterator[Float32Array]:
        """The mean of each block in turn; its sum is dropped."""
        while self._sums:
            yield (self._sums.pop(0) / weight_sum).astype(np.float32)
