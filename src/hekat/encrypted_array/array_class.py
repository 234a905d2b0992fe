"""EncryptedArray: its fields, its repr, and its methods; the files beside it do the work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from hekat.encrypted_array import arithmetic, indexing, products, residency, serialise, sums
from hekat.encrypted_array.decrypt import decrypt_array
from hekat.encrypted_array.numpy_protocol import NumpyProtocol
from hekat.encrypted_array.refusals import Refusals
from hekat.encrypted_array.values import EncryptedValues
from hekat.engine.limbs import LimbArray
from hekat.fact_table import fact_table
from hekat.scheme.paillier import PrivateKey, PublicKey
from hekat.scheme.paillier import rerandomise as rerandomise_ciphertexts


class EncryptedArray(EncryptedValues, NumpyProtocol, Refusals):
    """Numbers under one Paillier public key, with the shape, scale and bound that everybody may see.

    Made by `hekat.array` or `EncryptedArray.from_bytes`; never changes. Behaves as a NumPy array does for what Paillier
    can compute: addition and subtraction, products with plain numbers, sums, and everything that only moves values.
    Any other operation raises an error that says what to do instead.

    Attributes:
        ciphertexts: The Paillier ciphertexts, and the engine that holds them.
        shape: The lengths of the axes.
        encoding: What the encrypted integers stand for: scale, kind, and packing.
        scaled_bound: |value * 2^scale_bits| <= scaled_bound for every value (for every slot where packed). An operation
            that could pass the key's plaintext space, or a slot, is refused before it computes.
        bound_is_public: False once the bound depends on the values of a plain operand. `to_bytes` then sends only the
            key's own bound, unless the caller states a public one.
        is_fresh: True while every ciphertext is a new encryption in its own place; `to_bytes` re-randomises the others.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> keys = hekat.paillier.generate_keys()
        >>> x = hekat.array([[1.5, 2.0], [3.0, 4.0]], key=keys.public)
        >>> (x + 1).sum(axis=0).decrypt(keys.private)
        array([6.5, 8. ])
        >>> (np.array([1, 10]) @ x).decrypt(keys.private)
        array([31.5, 42. ])
    """

    # --- what it is ------------------------------------------------------------------------------------

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
        """The same values in C order under another shape.

        Args:
            *shape: The lengths, or one tuple of them; one length may be -1.

        Returns:
            The reshaped array.

        Raises:
            InputError: The sizes differ, or the values of one ciphertext would be separated (packed arrays).
        """
        return indexing.reshape(self, shape)

    def ravel(self) -> EncryptedArray:
        """All values along one axis, in C order.

        Returns:
            An array with one axis.
        """
        return indexing.reshape(self, (-1,))

    flatten = ravel

    def transpose(self, *axes: int | tuple[int, ...]) -> EncryptedArray:
        """The axes permuted.

        Args:
            *axes: The old axis for each new one; reversed if none are given.

        Returns:
            The transposed array.

        Raises:
            InputError: `axes` is no permutation, or the values of one ciphertext would be separated (packed arrays).
        """
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
        """`self * plain`, element by element.

        Args:
            plain: Plain numbers whose shape broadcasts with this array's.
            scale_bits: The scale at which plain floats are taken (32 if None); it adds to this array's.

        Returns:
            The products; their bound comes from the values of `plain` and is not public.

        Raises:
            InputError: `plain` is encrypted, no finite numbers, or would give the slots of a ciphertext different
                factors.
            BoundError: A product could pass the plaintext space.
        """
        return products.multiply(self, plain, scale_bits)

    def sum(self, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> EncryptedArray:
        """The sum over one axis, several, or all; the bound grows by the number of addends.

        Args:
            axis: The axis or axes to sum over; all of them if None.
            keepdims: Keep the axes that are summed over, with length 1.

        Returns:
            The sums; an empty sum is 0.

        Raises:
            InputError: The axis does not exist, or is the last axis of a packed array, whose values share ciphertexts.
            BoundError: The sum could pass the plaintext space, or a slot.
        """
        return sums.sum_axes(self, axis, keepdims)

    def rescale_up(self, bits: int) -> EncryptedArray:
        """The same values at a larger scale, an exact product with 2^bits: so arrays of unequal scales can be added.

        Args:
            bits: What to add to `scale_bits`.

        Returns:
            The array at scale_bits + bits.

        Raises:
            BoundError: The scaled values could pass the plaintext space, or a slot.
        """
        return products.rescale_up(self, bits)

    # --- leaving ---------------------------------------------------------------------------------------

    def decrypt(self, key: PrivateKey, *, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
        """The values that the ciphertexts stand for.

        The bound decides the type, never the values, so that a program does not break on one rare value.

        Args:
            key: The private key that belongs to the array.
            dtype: The type of the result; by default float64 for fixed point, and for integers int64 where the bound
                fits, else Python integers.

        Returns:
            An array in the shape of this one.

        Raises:
            KeyRefusedError: The key does not belong to the array.
            InputError: The values do not convert to `dtype`.
            BoundError: A value does not fit `dtype`, or exceeds the bound that the array claims, so that its maker
                broke the rules.
        """
        return decrypt_array(self, key, dtype)

    def rerandomise(self, key: PrivateKey | None = None) -> EncryptedArray:
        """The same values in ciphertexts that nobody can link to these, not even the holder of the private key.

        Args:
            key: The private key, where this party holds it: faster.

        Returns:
            A fresh array.
        """
        renewed = rerandomise_ciphertexts(self.ciphertexts, key)
        return replace(self, ciphertexts=renewed, is_fresh=True)

    def to_bytes(self, *, bound: int | float | None = None) -> bytes:
        """A self-describing message with the ciphertexts, re-randomised unless fresh, and what everybody may see.

        The receiver sees shape, scale, slots and a bound. A bound that depends on a plain operand's values is not sent:
        the message then claims all that the key (or slot) can hold, so the receiver can decrypt the array but not add
        to it.

        Args:
            bound: A public bound to state instead, in the values' own units.

        Returns:
            Bytes that `from_bytes` reads.

        Raises:
            BoundError: `bound` is below the array's own, or beyond the key.
        """
        return serialise.to_bytes(self, bound)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: PublicKey, engine: str | None = None) -> EncryptedArray:
        """The array in a message of `to_bytes`.

        Args:
            data: The message.
            key: The public key that the sender encrypted under.
            engine: Where the ciphertexts are kept; the selected engine if None.

        Returns:
            The array, with the bound that the sender claims; decryption checks it.

        Raises:
            WireError: `data` is no such message, or its ciphertexts are under another key.
        """
        return serialise.from_bytes(cls, data, key, engine)

    # --- where it is -----------------------------------------------------------------------------------

    def to(self, engine: str) -> EncryptedArray:
        """The same array held by another engine.

        Args:
            engine: The name of the engine: `cpu`, `cuda:0`.

        Returns:
            The array there; this one if it is there already.

        Raises:
            EngineError: The engine is not there.
        """
        return residency.move(self, engine)

    def get(self) -> LimbArray:
        """The ciphertexts on the host, as they are: use `to_bytes` for what leaves the organisation.

        Returns:
            uint64 limbs, little-endian, shape ciphertexts.shape + (limbs,).

        Source: FLASH (NSDI 2023), Listing 1.
        """
        return self.ciphertexts.to_limbs()

    def __copy__(self) -> EncryptedArray:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> EncryptedArray:
        return self
