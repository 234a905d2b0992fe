"""What a party sends of its changes where a part of them stays at home, and what it owes by that.

As in a job (`hekat.protocol.secure_sum.index_sets`), but the values are read from the caller's tensors and written to
their results piece by piece; what is owed is kept in the tensors' own precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.own_loop.averaging import Call, SentTensor
from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.index_sets.agree import IndexSets
from hekat.protocol.secure_sum.streamed_tensor import Tensors

# Statistics of BatchNorm, by the last part of their names in torch and in Keras: few, and always sent whole.
_STATISTICS = ("running_mean", "running_var", "moving_mean", "moving_variance")


class KeptChanges:
    """One party's part in calls that send a part of each change; `take`, then `receive`, each call."""

    def __init__(self, sets: IndexSets) -> None:
        self._sets = sets
        self._owed: dict[str, npt.NDArray[Any]] = {}
        self._seen: Tensors = {}
        self._whole: dict[str, npt.NDArray[Any]] = {}
        self._mask = Mask.nothing({})

    def forget(self, call: Call) -> None:
        """Owe nothing of the call's tensors: all parties begin anew with the same values."""
        for name in call.tensors:
            self._owed.pop(name, None)
            self._seen.pop(name, None)

    def take(self, aggregation: Aggregation, step: str, call: Call) -> Tensors:
        """What is sent of the call's changes and of what is owed, once the parties agreed on it."""
        self._whole = {name: self._owing(name, tensor) for name, tensor in call.tensors.items()}
        weights = {name: values for name, values in self._whole.items() if not _is_statistic(name)}
        self._mask = self._sets.agree(aggregation, step, weights, self._seen_of(weights))
        return {name: self._chosen(name, values).astype(np.float64) for name, values in self._whole.items()}

    def receive(self, call: Call, means: Tensors, kept: Tensors, used: Tensors) -> None:
        """Write the means to the call's results, and owe what was not sent; call it once the sum stands.

        `kept` as `take` gave it, `used` what the sum has of it: clipped and rounded.
        """
        self._sets.learn({name: self._seen[name] for name in self._mask.sizes if name in self._seen}, self._mask, means)
        for name, tensor in call.tensors.items():
            _write(tensor, means[name], self._mask.chosen(name) if name in self._mask.sizes else None)
            if name in self._mask.sizes:
                self._whole[name][self._mask.chosen(name)] = kept[name] - used[name]
                self._owed[name] = self._whole[name]
        self._whole = {}

    def _owing(self, name: str, tensor: SentTensor) -> npt.NDArray[Any]:
        values = np.empty(tensor.size, dtype=np.float32 if tensor.fits_float32 else np.float64)
        owed = self._owed.get(name)
        for start, stop in tensor.pieces():
            piece = tensor.read(start, stop)
            values[start:stop] = piece if owed is None else piece + owed[start:stop]
        return values

    def _seen_of(self, weights: dict[str, npt.NDArray[Any]]) -> Tensors:
        if not self._sets.sums.keep.sees_sums:
            return {}
        for name, values in weights.items():
            self._seen.setdefault(name, np.zeros(values.size))
        return {name: self._seen[name] for name in weights}

    def _chosen(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values[self._mask.chosen(name)] if name in self._mask.sizes else values


def _write(tensor: SentTensor, means: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_] | None) -> None:
    done = 0
    for start, stop in tensor.pieces():
        piece = np.zeros(stop - start)
        places = slice(None) if chosen is None else chosen[start:stop]
        count = piece[places].size
        piece[places] = means[done : done + count]
        tensor.write_mean(start, piece)
        done += count


def _is_statistic(name: str) -> bool:
    return name.replace("/", ".").rpartition(".")[2] in _STATISTICS
