"""A party's tensors from call to call: first the state itself is sent, then its difference from the last mean.

All parties hold the reference: the result that the caller received, to the bit and in its dtype. It is kept apart, so
that the caller's changes of its tensors do not change it. Beside the caller's own state, memory holds the reference and
the result of the running call, each as large as the tensors that are averaged.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.errors import InputError
from hekat.own_loop.held_tensor import HeldTensor, Values, stored_dtype
from hekat.own_loop.selection import Selection
from hekat.privacy.mask import BoolArray
from hekat.protocol.secure_sum.settings import MAX_ALPHA

# Variances of BatchNorm, by the last part of their names in torch and in Keras.
_VARIANCES = ("running_var", "moving_variance")
_MAX_SHOWN = 3
# Values moved at once; beside its two copies a call needs only a few arrays of so many float64.
_PIECE_VALUES = 1 << 17


@dataclass
class _Reference:
    """What every party holds of one tensor since the last mean of it."""

    form: str
    values: npt.NDArray[Any]
    """Flat, as stored: bits for bfloat16."""


class SentTensor:
    """One tensor of a call: its value, or its difference from the reference; its mean goes into `result`."""

    def __init__(self, held: HeldTensor, reference: Values | None) -> None:
        self.held = held
        self._values, self._reference = held.open_values(), reference
        self._is_variance = held.name.replace("/", ".").rpartition(".")[2] in _VARIANCES
        self.result: Any = held.make_alike()
        self._written = HeldTensor(held.name, self.result, "").open_values()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape

    @property
    def size(self) -> int:
        return self.held.size

    @property
    def fits_float32(self) -> bool:
        """Whether float32 holds its values; differences, which `read` gives as float64, are rounded to it then."""
        return self.held.dtype_name != "float64"

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        values = self._values.read(start, stop)
        if self._reference is None:
            return values
        change: FloatArray = np.subtract(values, self._reference.read(start, stop), dtype=np.float64)
        return change

    def write_mean(self, start: int, mean: FloatArray) -> None:
        """Set the result from `start` on: the mean value, or the reference and the mean difference.

        A mean of variances is never below zero. Rounded differences could make it so beside larger values, and
        BatchNorm would take the root of a negative number.
        """
        if self._reference is not None:
            mean = mean + self._reference.read(start, start + mean.size)
        if self._is_variance:
            mean = np.maximum(mean, 0.0)
        self._written.write(start, mean)

    def write_mean_at(self, start: int, chosen: BoolArray, mean: FloatArray) -> None:
        """As `write_mean`, of the chosen values; the others keep what they have."""
        before = self.read_result(start, start + chosen.size).copy()
        whole = np.zeros(chosen.size)
        whole[chosen] = mean
        self.write_mean(start, whole)
        after = self.read_result(start, start + chosen.size).copy()
        after[~chosen] = before[~chosen]
        self._written.write_stored(start, after)

    def pieces(self) -> Iterator[tuple[int, int]]:
        """(start, stop) of some values at a time."""
        for start in range(0, self.size, _PIECE_VALUES):
            yield start, min(start + _PIECE_VALUES, self.size)

    def keep_values(self) -> None:
        """Set the result to the values themselves."""
        for start, stop in self.pieces():
            self._written.write_stored(start, self._values.read_stored(start, stop))

    def read_result(self, start: int, stop: int) -> npt.NDArray[Any]:
        """The result as stored; bits for bfloat16."""
        return self._written.read_stored(start, stop)


@dataclass(frozen=True)
class Call:
    """What one call sends. `layout` describes its tensors; `kind` says too which of them are differences."""

    tensors: dict[str, SentTensor]
    layout: dict[str, str]
    kind: tuple[tuple[str, str, bool], ...]

    @property
    def is_known(self) -> bool:
        """Whether all of its tensors are sent as differences from what all parties hold."""
        return all(is_difference for _, _, is_difference in self.kind)

    def digest(self, key: bytes) -> bytes:
        """A keyed digest of the call's results; equal only where every byte is."""
        digest = hmac.new(key or b"unkeyed", digestmod=hashlib.sha256)
        for name, tensor in self.tensors.items():
            header = f"{name}|{self.layout[name]}|".encode()
            digest.update(len(header).to_bytes(4, "little") + header)
            for start, stop in tensor.pieces():
                # In this machine's byte order, whatever the caller's: the digest is of values, not of their bytes.
                values = tensor.read_result(start, stop).astype(stored_dtype(tensor.held.dtype_name), copy=False)
                digest.update(np.ascontiguousarray(values).view(np.uint8).data)
        return digest.digest()


class References:
    """What this party and all others hold since the last mean, by tensor."""

    def __init__(self) -> None:
        self._held: dict[str, _Reference] = {}

    def begin(self, selection: Selection, party: str, round_number: int) -> Call:
        """The call for these tensors. Raises InputError for values that are not finite or too large, naming them."""
        further: dict[str, list[str]] = {}
        for name, original in selection.tied.items():
            further.setdefault(original, []).append(name)
        layout = {name: _form_of(held, further.get(name, ())) for name, held in selection.averaged.items()}
        tensors, kind = {}, []
        for name, held in sorted(selection.averaged.items()):
            reference = self._held.get(name)
            is_known = reference is not None and reference.form == layout[name]
            values = Values(reference.values, held.dtype_name) if reference is not None and is_known else None
            tensors[name] = SentTensor(held, values)
            kind.append((name, layout[name], is_known))
            _check_values(tensors[name], party, round_number)
        return Call(tensors, layout, tuple(kind))

    def take(self, call: Call) -> None:
        """The call's results are the reference from now on; call it once its sum stands."""
        for name, tensor in call.tensors.items():
            form = call.layout[name]
            kept = self._held.get(name)
            if kept is None or kept.form != form:
                kept = _Reference(form, np.empty(tensor.size, stored_dtype(tensor.held.dtype_name)))
                self._held[name] = kept
            for start, stop in tensor.pieces():
                kept.values[start:stop] = tensor.read_result(start, stop)


def restore(state: Mapping[str, Any], selection: Selection, call: Call) -> dict[str, Any]:
    """By name, what replaces an entry of the state: results, tied names sharing one."""
    results = {
        name: tensor.result[()] if tensor.held.is_scalar else tensor.result for name, tensor in call.tensors.items()
    }
    results.update({name: results[original] for name, original in selection.tied.items()})
    return {name: results[name] for name in state if name in results}


def _form_of(held: HeldTensor, further: tuple[str, ...] | list[str]) -> str:
    shared = f", shared with {', '.join(sorted(further))}" if further else ""
    return f"{held.dtype_name} {held.shape}{shared}"


def _check_values(tensor: SentTensor, party: str, round_number: int) -> None:
    most = 0.0
    for start, stop in tensor.pieces():
        piece = tensor.read(start, stop)
        if not (np.isfinite(piece.min()) and np.isfinite(piece.max())):
            raise InputError(
                f"party {party}: tensor {tensor.held.name!r} holds NaN or infinity in round {round_number}",
                expected="finite values",
                got=f"{tensor.held.dtype_name} {tensor.held.shape} with others; nothing was sent",
                cure="lower the learning rate, clip gradients, or look for a division by zero in the loss",
            )
        most = max(most, float(np.abs(piece).max()))
    if most > MAX_ALPHA:
        raise InputError(
            f"party {party}: the update of tensor {tensor.held.name!r} explodes in round {round_number}",
            expected="magnitudes up to 2^40",
            got="a larger one; nothing was sent",
            cure="lower the learning rate, clip gradients, or scale the tensor",
        )


def frozen_names(module: Any) -> set[str]:
    """The module's parameters that require no gradient."""
    named = module.named_parameters(remove_duplicate=False)
    return {name for name, parameter in named if not parameter.requires_grad}


def replace_in(state: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    """A mapping of the state's type and order; torch's version numbers of modules come along."""
    replaced = copy.copy(state) if isinstance(state, dict) else dict(state)
    replaced.update(results)
    return replaced


def load_into(module: Any, state: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    """Have the module load the results, its own way: what its state_dict gave may be copies. All else stays."""
    loaded = replace_in(state, results)
    for name in state:
        if name not in results:
            del loaded[name]
    outcome = module.load_state_dict(loaded, strict=False)
    left = sorted(set(results) & {*outcome.missing_keys, *outcome.unexpected_keys})
    if left:
        raise InputError(
            "the module does not load what its state_dict gives",
            expected="a load_state_dict that takes every averaged tensor",
            got=f"none for {', '.join(left[:_MAX_SHOWN])}",
            cure="pass its state_dict() instead, and load what aggregate returns",
        )
    return module
