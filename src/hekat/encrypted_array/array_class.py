"""EncryptedArray: what it holds, how it reads, and its methods; the work is in the files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.encrypted_array import arithmetic, indexing, products, residency, serialise, sums
from hekat.encrypted_array.decrypt import decrypt_array
from hekat.encrypted_array.encoding import Encoding
from hekat.encrypted_array.numpy_protocol import NumpyProtocol
from hekat.encrypted_array.refusals import Refusals
from hekat.encrypted_array.residency import engine_of
from hekat.engine.limbs import LimbArray
from hekat.fact_table import fact_table
from hekat.scheme.paillier import Ciphertexts, PrivateKey, PublicKey
from hekat.scheme.paillier import rerandomise as rerandomise_ciphertexts


@dataclass(frozen=True, eq=False, repr=False)
class EncryptedArray(NumpyProtocol, Refusals):
    """Numbers under one Paillier public key, with the shape, scale and bound everybody may see.

    Made by `hekat.array` or `EncryptedArray.from_bytes`; never changes. Behaves as a NumPy array does for what
    Paillier can compute: addition and subtraction, products with plain numbers, sums, and everything that only
    moves values. Anything else raises an error that says what to do.

    scaled_bound: |value * 2^scale_bits| <= scaled_bound for every value (for every slot where packed). Operations
    that could pass the key's plaintext space, or a slot, are refused before they compute.
    bound_is_public: False once the bound came from the values of a plain operand. `to_bytes` then sends no bound
    but that of the key, unless told a public one.
    is_fresh: True while every ciphertext is a new encryption in its own place; `to_bytes` re-randomises the others.
    """

    ciphertexts: Ciphertexts
    shape: tuple[int, ...]
    encoding: Encoding
    scaled_bound: int
    bound_is_public: bool = True
    is_fresh: bool = False

    # --- what it is ------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def scale_bits(self) -> int:
        """Values are held as integers round(value * 2^scale_bits)."""
        return self.encoding.scale_bits

    @property
    def pack(self) -> int | None:
        """Values to one ciphertext along the last axis; None where every value has its own."""
        return self.encoding.packing.slots if self.encoding.packing else None

    @property
    def key(self) -> PublicKey:
        return self.ciphertexts.public

    @property
    def device(self) -> str:
        """Name of the engine that holds the ciphertexts."""
        return engine_of(self).name

    @property
    def T(self) -> EncryptedArray:  # noqa: N802 - NumPy's name
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an encrypted scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[EncryptedArray]:
        if not self.shape:
            raise TypeError("iteration over an encrypted scalar")
        return (self[i] for i in range(self.shape[0]))

    def __repr__(self) -> str:
        key = self.key
        held = f"fixed point at {self.scale_bits} bits" if self.encoding.is_real else "integers"
        parts = [f"shape {self.shape}", held, f"magnitudes below 2^{self.scaled_bound.bit_length() - self.scale_bits}"]
        if self.encoding.packing:
            parts.append(f"{self.encoding.packing.slots} slots of {self.encoding.packing.slot_bits} bits")
        parts += [f"{key.bits}-bit key {key.fingerprint[:8]}", f"engine {self.device}"]
        if key.unsafe:
            parts.append("UNSAFE KEY")
        return f"EncryptedArray({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """The facts of `repr`; nothing of ciphertexts or values."""
        packing = self.encoding.packing
        facts = [
            ("shape", str(self.shape)),
            ("held as", f"fixed point at {self.scale_bits} bits" if self.encoding.is_real else "integers"),
            ("magnitudes", f"below 2^{self.scaled_bound.bit_length() - self.scale_bits}"),
            *([("packed", f"{packing.slots} slots of {packing.slot_bits} bits")] if packing else []),
            ("key", f"{self.key.bits} bits, {self.key.fingerprint[:8]}{', UNSAFE KEY' if self.key.unsafe else ''}"),
            ("engine", self.device),
        ]
        return fact_table("EncryptedArray", facts)

    # --- moving values ---------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> EncryptedArray:
        """As NumPy's indexing: integers, slices, `...`, None, integer arrays, boolean masks (all public).

        Raises InputError where the values of one ciphertext would be separated (packed arrays).
        """
        return indexing.index(self, key)

    def reshape(self, *shape: int | tuple[int, ...]) -> EncryptedArray:
        """The same values in C order under another shape; one size may be -1."""
        return indexing.reshape(self, shape)

    def ravel(self) -> EncryptedArray:
        """All values along one axis, in C order."""
        return indexing.reshape(self, (-1,))

    flatten = ravel

    def transpose(self, *axes: int | tuple[int, ...]) -> EncryptedArray:
        """The axes permuted, reversed if none are given."""
        return indexing.transpose(self, axes)

    # --- arithmetic ------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> EncryptedArray:
        return arithmetic.add(self, other)

    def __radd__(self, other: Any) -> EncryptedArray:
        return arithmetic.add(self, other)

    def __sub__(self, other: Any) -> EncryptedArray:
        return arithmetic.subtract(self, other)

    def __rsub__(self, other: Any) -> EncryptedArray:
        return arithmetic.subtract_from(self, other)

    def __neg__(self) -> EncryptedArray:
        return arithmetic.negate(self)

    def __pos__(self) -> EncryptedArray:
        return self

    def __mul__(self, other: Any) -> EncryptedArray:
        return products.multiply(self, other)

    def __rmul__(self, other: Any) -> EncryptedArray:
        return products.multiply(self, other)

    def __matmul__(self, other: Any) -> EncryptedArray:
        return products.matmul_right(self, other)

    def __rmatmul__(self, other: Any) -> EncryptedArray:
        return products.matmul_left(other, self)

    def multiply(self, plain: Any, *, scale_bits: int | None = None) -> EncryptedArray:
        """`self * plain`, element by element; plain floats are taken at `scale_bits` (32 if None), which adds up."""
        return products.multiply(self, plain, scale_bits)

    def sum(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> EncryptedArray:
        """Sum over one axis, several, or all; the bound grows by the number of addends.

        Raises InputError for the last axis of a packed array: its values share ciphertexts.
        """
        return sums.sum_axes(self, axis, keepdims)

    def rescale_up(self, bits: int) -> EncryptedArray:
        """The same values at scale_bits + bits: an exact product with 2^bits, so that unequal scales can be added."""
        return products.rescale_up(self, bits)

    # --- leaving ---------------------------------------------------------------------------------------

    def decrypt(self, key: PrivateKey, *, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
        """The values: float64 for fixed point; for integers int64 if the bound fits, else Python integers.

        The type follows the bound, never the values, so that a program does not break on one rare value.
        `dtype` asks for another one. Raises BoundError where a value does not fit into it, or passes the bound the
        array claims (then whoever made it broke the rules); KeyRefusedError for a key that does not belong to it.
        """
        return decrypt_array(self, key, dtype)

    def rerandomise(self, key: PrivateKey | None = None) -> EncryptedArray:
        """The same values in ciphertexts that nobody can link to these, not even the holder of the private key.

        `key` is the private key where this party holds it: faster.
        """
        renewed = rerandomise_ciphertexts(self.ciphertexts, key)
        return replace(self, ciphertexts=renewed, is_fresh=True)

    def to_bytes(self, *, bound: int | float | None = None) -> bytes:
        """A self-describing message with the ciphertexts, re-randomised unless fresh, and what everybody may see.

        The receiver sees shape, scale, slots and a bound. A bound that came from a plain operand's values is not
        sent: the message then claims all that the key (or slot) can hold, which decrypts but cannot be added to.
        `bound` states a public one instead, in the values' own units. Raises BoundError if it is below the array's.
        """
        return serialise.to_bytes(self, bound)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: PublicKey, engine: str | None = None) -> EncryptedArray:
        """The array in a message made by `to_bytes`, under `key`. Raises a WireError for anything else."""
        return serialise.from_bytes(data, key, engine)

    # --- where it is -----------------------------------------------------------------------------------

    def to(self, engine: str) -> EncryptedArray:
        """The same array held by another engine (`cpu`, `cuda:0`). Raises EngineError where it is not there."""
        return residency.move(self, engine)

    def get(self) -> LimbArray:
        """The ciphertexts on the host: uint64 limbs, little-endian, shape ciphertexts.shape + (limbs,).

        Source: FLASH (NSDI 2023), Listing 1. These are the ciphertexts as they are, not re-randomised: use
        `to_bytes` for what leaves the organisation.
        """
        return self.ciphertexts.to_limbs()

    def __copy__(self) -> EncryptedArray:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> EncryptedArray:
        return self
