"""The chosen coordinates of one tensor as a tensor of their own, read and given their mean in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.privacy.mask import PIECE_VALUES, BoolArray, Mask
from hekat.protocol.secure_sum.streamed_tensor import SelectableTensor


class ChosenTensor:
    """A streamed tensor of what a mask chooses of another one, in its order."""

    def __init__(self, name: str, tensor: FloatArray | SelectableTensor, mask: Mask, result: FloatArray | None) -> None:
        """`result`: where an array's mean goes, of the array's shape; a streamed tensor takes its mean itself."""
        self._name, self._tensor, self._mask, self._result = name, tensor, mask, result
        self.size = int(mask.ranks(name)[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Of the chosen values the ones from `start` to `stop`."""
        parts = [self._values(first, chosen.size)[chosen] for first, chosen in self._pieces(start, stop)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def write_mean(self, start: int, mean: FloatArray) -> None:
        """The mean of the chosen values from `start` on."""
        written = 0
        for first, chosen in self._pieces(start, start + mean.size):
            count = int(np.count_nonzero(chosen))
            part = mean[written : written + count]
            if self._result is not None:
                self._result.reshape(-1)[first : first + chosen.size][chosen] = part
            elif not isinstance(self._tensor, np.ndarray):
                self._tensor.write_mean_at(first, chosen, part)
            written += count

    def _values(self, start: int, count: int) -> npt.NDArray[Any]:
        if isinstance(self._tensor, np.ndarray):
            values: npt.NDArray[Any] = self._tensor.reshape(-1)[start : start + count]
            return values
        return self._tensor.read(start, start + count)

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, BoolArray]]:
        """Where each piece of the tensor begins, and which of its values are the chosen ones from `start` to `stop`."""
        ranks = self._mask.ranks(self._name)
        piece = int(np.searchsorted(ranks, start, side="right")) - 1
        while piece + 1 < ranks.size and ranks[piece] < stop:
            first = piece * PIECE_VALUES
            chosen = self._mask.chosen(self._name, first, first + PIECE_VALUES)
            before, after = start - int(ranks[piece]), stop - int(ranks[piece])
            if before > 0 or after < int(ranks[piece + 1] - ranks[piece]):
                places = np.flatnonzero(chosen)[max(before, 0) : after]
                chosen = np.zeros(chosen.size, dtype=np.bool_)
                chosen[places] = True
            yield first, chosen
            piece += 1
