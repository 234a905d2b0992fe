"""Arrays of residues on the wire: a key's fingerprint, a shape, and values of one exact width, little-endian."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from hekat.engine.limbs import LIMB_BYTES, LimbArray, limbs_for_bits
from hekat.errors import WireCorruptError, WireKeyError
from hekat.wire.array_field import MAX_DIMENSION, MAX_DIMENSION_COUNT
from hekat.wire.fields import IntField

FINGERPRINT_CHARACTERS = 32
FINGERPRINT = re.compile(f"[0-9a-f]{{{FINGERPRINT_CHARACTERS}}}", re.ASCII)

_NAMES = ("key", "shape", "residues")
_INTEGER = IntField()


@dataclass(frozen=True)
class ResidueFormat:
    """The wire form of residues below 2^bits; `what` names them in errors, as in "ciphertexts"."""

    what: str
    fingerprint: str
    bits: int

    @property
    def width_bytes(self) -> int:
        """Bytes of one residue."""
        return (self.bits + 7) // 8

    def to_items(self, limbs: LimbArray) -> dict[str, Any]:
        """Canonical limbs of shape (..., limbs), each below 2^bits, as items."""
        octets = np.ascontiguousarray(limbs, dtype="<u8").view(np.uint8).reshape(-1, limbs.shape[-1] * LIMB_BYTES)
        return {
            "key": self.fingerprint,
            "shape": list(limbs.shape[:-1]),
            "residues": octets[:, : self.width_bytes].tobytes(),
        }

    def from_items(self, items: Any) -> LimbArray:
        """The residues in the items of `to_items`, as limbs wide enough for `bits`.

        Raises WireCorruptError or WireKeyError.
        """
        check_names(items, self.what, _NAMES)
        check_fingerprint(items["key"], self.fingerprint, self.what)
        return self._limbs(items["residues"], self._checked_shape(items["shape"]))

    def _checked_shape(self, shape: Any) -> tuple[int, ...]:
        if not isinstance(shape, list) or len(shape) > MAX_DIMENSION_COUNT:
            raise self._bad_shape()
        if not all(type(size) is int and 0 <= size <= MAX_DIMENSION for size in shape):
            raise self._bad_shape()
        return tuple(shape)

    def _bad_shape(self) -> WireCorruptError:
        return WireCorruptError(
            f"{self.what} have a shape out of range",
            expected=f"at most {MAX_DIMENSION_COUNT} dimensions of at most {MAX_DIMENSION}",
        )

    def _limbs(self, data: Any, shape: tuple[int, ...]) -> LimbArray:
        """Canonical limbs of shape (*shape, limbs)."""
        width, count = self.width_bytes, math.prod(shape)
        if not isinstance(data, bytes) or len(data) != count * width:
            raise WireCorruptError(
                f"{self.what} and their shape do not agree",
                expected=f"{count * width} bytes for {count} of them",
                got=f"{len(data)} bytes" if isinstance(data, bytes) else "no bytes",
            )
        limb_count = limbs_for_bits(self.bits)
        octets = np.zeros((count, limb_count * LIMB_BYTES), dtype=np.uint8)
        octets[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(count, width)
        limbs = octets.view("<u8").astype(np.uint64, copy=False)
        try:
            return limbs.reshape(*shape, limb_count)
        except ValueError:
            # An array without residues can have other dimensions whose product exceeds the address space.
            raise self._bad_shape() from None


def check_fingerprint(got: Any, expected: str, what: str) -> None:
    """Raise WireCorruptError where `got` is no fingerprint of a key, WireKeyError where it is another key's."""
    if not isinstance(got, str) or not FINGERPRINT.fullmatch(got):
        raise WireCorruptError(f"{what} name no key", expected="a fingerprint of 32 hex digits")
    if got != expected:
        raise WireKeyError(
            f"{what} are under another key",
            expected=f"key {expected}",
            got=f"key {got}",
            cure="use the public key they were made with, or make them anew under this one",
        )


def integer_items(key: Any, what: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The integers `names` of a key as items."""
    return {name: _INTEGER.encode(getattr(key, name), f"{name} of a {what}") for name in names}


def integers_of(items: Any, what: str, names: tuple[str, ...]) -> list[int]:
    """The integers in `integer_items`. Raises WireCorruptError for other names and for negative numbers."""
    check_names(items, what, names)
    numbers = [_INTEGER.decode(items[name], f"{name} of a {what}") for name in names]
    if min(numbers) < 0:
        raise WireCorruptError(f"{what} with a negative number", expected="positive integers")
    return numbers


def check_names(items: Any, what: str, names: tuple[str, ...]) -> None:
    """Raise WireCorruptError unless `items` is a dict of exactly `names`, in this order."""
    if not isinstance(items, dict) or tuple(items) != names:
        raise WireCorruptError(f"{what} with other parts", expected=", ".join(names))
