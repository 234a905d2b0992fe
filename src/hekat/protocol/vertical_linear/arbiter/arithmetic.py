"""The arithmetic of a step: the same integers under Paillier encryption, or in the clear, which gives equal results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from hekat.engine.limbs import LimbArray, ints_from_limbs
from hekat.errors import ProtocolError, WireCorruptError
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.vertical_linear.arbiter.exact_product import multiply_exactly
from hekat.protocol.vertical_linear.arbiter.signed_limbs import (
    WIDE_BITS,
    IntegerArray,
    as_objects,
    integers_of,
    limbs_of,
)
from hekat.scheme.paillier import Ciphertexts, PublicKey, add, encrypt, matmul_plain, rerandomise
from hekat.wire import from_bytes, to_bytes

Held = TypeVar("Held")
_ONE_LIMB_BOUND = 2**63 - 1


@dataclass(frozen=True)
class Masked(Generic[Held]):
    """Results on their way to the arbiter, as bytes, and the masks that only their owner knows."""

    data: bytes
    masks: LimbArray


class Arithmetic(Protocol[Held]):
    """What guest and hosts compute with; `Held` are numbers in the form that this arithmetic holds them in."""

    protection: str

    def hold(self, values: IntegerArray) -> Held:
        """Integers of any shape, encrypted freshly where there is encryption."""
        ...

    def add(self, addends: Sequence[Held]) -> Held: ...

    def multiply(self, matrix: Any, values: Held) -> Held:
        """matrix (m, rows) @ values (rows, K): (m, K)."""
        ...

    def take(self, values: Held, indices: Any) -> Held:
        """Those at flat indices, in the shape of `indices`."""
        ...

    def write(self, values: Held) -> bytes:
        """Bytes for another party, who must not learn more than the values' holder would."""
        ...

    def read(self, data: bytes, shape: tuple[int, ...], sender: str) -> Held:
        """What `write` wrote. Raises WireError, and ProtocolError for another shape."""
        ...

    def mask(self, values: Held) -> Masked[Held]:
        """Values that the key's holder may open without learning anything."""
        ...

    def unmask(self, opened: LimbArray, masked: Masked[Held], sender: str) -> IntegerArray:
        """The integers of what was masked, shape (count,). Raises ProtocolError for what cannot be one of them."""
        ...


class PaillierArithmetic:
    """On ciphertexts under the arbiter's key; they stay where the engine computes until they are written."""

    protection = "paillier"

    def __init__(self, key: PublicKey) -> None:
        self._key = key

    def hold(self, values: IntegerArray) -> Ciphertexts:
        limbs = limbs_of(values)
        bound = _ONE_LIMB_BOUND if limbs.shape[1] == 1 else (1 << WIDE_BITS) - 1
        return encrypt(self._key, PackedPlaintext(limbs, bound)).reshape(values.shape)

    def add(self, addends: Sequence[Ciphertexts]) -> Ciphertexts:
        return reduce(add, addends)

    def multiply(self, matrix: Any, values: Ciphertexts) -> Ciphertexts:
        return matmul_plain(matrix, values)

    def take(self, values: Ciphertexts, indices: Any) -> Ciphertexts:
        return values.take(np.asarray(indices, np.int64))

    def write(self, values: Ciphertexts) -> bytes:
        return to_bytes(values)

    def read(self, data: bytes, shape: tuple[int, ...], sender: str) -> Ciphertexts:
        values = from_bytes(data, Ciphertexts, public_key=self._key)
        _check_shape(values.shape, shape, sender)
        return values

    def mask(self, values: Ciphertexts) -> Masked[Ciphertexts]:
        """c (1 + r n), r uniform mod n for each, under fresh randomisers of all cosets: the arbiter, who knows the
        factors of n, finds uniform plaintexts under uniform randomisers, independent of what went in."""
        flat = values.reshape(-1)
        engine = flat.engine
        masks = engine.random_below(flat.size, self._key.n)
        hidden = Ciphertexts(self._key, engine.mod_mul_one_plus(flat.residues, masks))
        return Masked(to_bytes(rerandomise(hidden)), engine.to_host(masks))

    def unmask(self, opened: LimbArray, masked: Masked[Ciphertexts], sender: str) -> IntegerArray:
        n = self._key.n
        _check_opened(opened, (len(masked.masks), self._key.n_modulus.limb_count), sender)
        # Opened values are signed; how far two's complement is from them is a multiple of its own modulus, not of n.
        wrap, half = 1 << (64 * opened.shape[1]), 1 << (64 * opened.shape[1] - 1)
        values = [value - wrap if value >= half else value for value in ints_from_limbs(opened)]
        residues = [(value - mask) % n for value, mask in zip(values, ints_from_limbs(masked.masks), strict=True)]
        return _checked([value - n if value > n // 2 else value for value in residues], sender)


class PlainArithmetic:
    """In the clear, for protection `none`: exact, and without masks."""

    protection = "none"

    def hold(self, values: IntegerArray) -> IntegerArray:
        return values

    def add(self, addends: Sequence[IntegerArray]) -> IntegerArray:
        total: IntegerArray = reduce(np.add, addends)
        return total

    def multiply(self, matrix: Any, values: IntegerArray) -> IntegerArray:
        return multiply_exactly(matrix, values)

    def take(self, values: IntegerArray, indices: Any) -> IntegerArray:
        taken: IntegerArray = values.ravel()[indices]
        return taken

    def write(self, values: IntegerArray) -> bytes:
        limbs = limbs_of(values)
        return bytes([limbs.shape[1]]) + limbs.astype("<u8").tobytes()

    def read(self, data: bytes, shape: tuple[int, ...], sender: str) -> IntegerArray:
        limbs = plain_limbs(data, sender)
        _check_shape((len(limbs),), (int(np.prod(shape)),), sender)
        return integers_of(limbs).reshape(shape)

    def mask(self, values: IntegerArray) -> Masked[IntegerArray]:
        return Masked(self.write(values), np.zeros((values.size, 1), np.uint64))

    def unmask(self, opened: LimbArray, masked: Masked[IntegerArray], sender: str) -> IntegerArray:
        _check_opened(opened, (len(masked.masks), opened.shape[-1] if opened.ndim == 2 else 1), sender)
        return _checked([int(value) for value in integers_of(opened)], sender)


def plain_limbs(data: bytes, sender: str) -> LimbArray:
    """Limbs (count, 1 or 2) of what PlainArithmetic wrote. Raises WireCorruptError."""
    limb_count = data[0] if data else 0
    if limb_count not in (1, 2) or (len(data) - 1) % (8 * limb_count):
        raise WireCorruptError(f"numbers of {sender} do not have the form of any", expected="limbs after their width")
    return np.frombuffer(data, "<u8", offset=1).astype(np.uint64).reshape(-1, limb_count)


def _check_shape(got: tuple[int, ...], expected: tuple[int, ...], sender: str) -> None:
    if got != expected:
        raise ProtocolError(
            f"{sender} sent numbers of another shape",
            expected=str(expected),
            got=str(got),
            cure="all parties must run the same job and release, on the same rows",
        )


def _check_opened(opened: LimbArray, shape: tuple[int, int], sender: str) -> None:
    if opened.shape != shape or shape[1] == 0:
        _check_shape(opened.shape, shape, sender)


def _checked(numbers: list[int], sender: str) -> IntegerArray:
    if any(abs(number) >> WIDE_BITS for number in numbers):
        raise ProtocolError(
            f"what {sender} opened is no gradient or loss of this job",
            expected=f"sums below 2^{WIDE_BITS} once the mask is taken away",
            got="a larger one",
            cure="find out what runs there, and whether all parties have the same public key",
        )
    return as_objects(numbers)
