"""BigIntArray: an array of signed integers of any size with NumPy's shapes, indexing and operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.bigint import signed
from hekat.bigint.convert import ints_from, signed_from
from hekat.bigint.signed import Signed
from hekat.engine.checks import broadcast_shape
from hekat.engine.interface import BoolArray
from hekat.engine.limbs import LIMB_BITS
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.fact_table import fact_table

SHOWN_COUNT = 6
SHOWN_BITS = 128


class BigIntArray:
    """Signed integers that never wrap: the result of each operation is as wide as it needs.

    Immutable. Operators take BigIntArrays, Python ints, nested lists of ints and integer ndarrays, and broadcast as in
    NumPy; `//`, `%` and `divmod` round as Python's: the quotient towards minus infinity, the remainder with the
    divisor's sign. The selected engine computes them.

    Args:
        values: An int, nested lists of ints, an integer ndarray, or a BigIntArray.

    Raises:
        InputError: `values` holds floats, booleans or text, or is ragged.

    Source: FLBooster (ICDE 2023), Table I.

    Examples:
        >>> import hekat
        >>> x = hekat.bigint.array([2**100, -3])
        >>> (x * x + 1).tolist()
        [1606938044258990275541962092341162602522202993782792835301377, 10]
        >>> (x % 7).tolist()
        [2, 4]
    """

    __slots__ = ("_signed",)
    __array_ufunc__ = None  # ndarray op BigIntArray is ours
    _signed: Signed
    __hash__ = None  # type: ignore[assignment]  # == gives an array

    def __init__(self, values: Any) -> None:
        """Raises InputError where `values` holds anything but integers."""
        self._signed = values._signed if isinstance(values, BigIntArray) else signed_from(values)

    @classmethod
    def from_signed(cls, values: Signed) -> BigIntArray:
        """An array from integers that are already in normal form.

        Args:
            values: Sign and magnitude, as the operations return them.

        Returns:
            The array.
        """
        made = cls.__new__(cls)
        made._signed = values
        return made

    @property
    def signed(self) -> Signed:
        """Sign and magnitude; shared with the array, so read only."""
        return self._signed

    # --- shape and elements ----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self._signed.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(self._signed.negative.size)

    @property
    def bits(self) -> int:
        """Bits of the largest magnitude; 0 where all integers are 0."""
        limbs = self._signed.magnitude
        top = int(limbs[..., -1].max()) if limbs.size else 0
        return LIMB_BITS * int(limbs.shape[-1] - 1) + top.bit_length()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single integer")
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> Any:
        """As in NumPy: a BigIntArray, or a Python int for one element. Raises IndexError outside the array."""
        positions = np.arange(self.size, dtype=np.int64).reshape(self.shape)[key]
        taken = signed.take(self._signed, np.asarray(positions))
        if isinstance(positions, np.integer):
            return ints_from(taken).item()
        return BigIntArray.from_signed(taken)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: int | tuple[int, ...]) -> BigIntArray:
        """The same integers in C order under another shape.

        Args:
            *shape: The lengths, or one tuple of them; one length may be -1.

        Returns:
            The reshaped array.

        Raises:
            InputError: The sizes differ.
        """
        wanted: Any = shape[0] if len(shape) == 1 else shape
        try:
            positions = np.arange(self.size, dtype=np.int64).reshape(wanted)
        except ValueError:
            raise InputError("reshape refused", expected=f"a shape of {self.size} integers", got=str(shape)) from None
        return BigIntArray.from_signed(signed.take(self._signed, positions))

    def tolist(self) -> Any:
        """The integers as Python's.

        Returns:
            Nested lists of ints; one int for an array without axes.
        """
        return ints_from(self._signed).tolist()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("a BigIntArray becomes an ndarray only as a copy")
        objects = ints_from(self._signed)
        return objects if dtype is None else objects.astype(dtype)

    def __int__(self) -> int:
        if self.size != 1:
            raise TypeError("only one integer converts to int")
        return int(ints_from(self._signed).item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise InputError(
                "the truth of an array is ambiguous",
                expected="one integer",
                got=f"shape {self.shape}",
                cure="compare and use .any() or .all()",
            )
        return int(self) != 0

    def __repr__(self) -> str:
        shown = ", ".join(_shown(value) for value in ints_from(signed.take(self._signed, np.arange(self._shown_count))))
        more = ", ..." if self._shown_count < self.size else ""
        return f"BigIntArray([{shown}{more}], shape={self.shape}, bits={self.bits})"

    def _repr_html_(self) -> str:
        """As `repr`: the first integers and no more."""
        shown = ", ".join(_shown(value) for value in ints_from(signed.take(self._signed, np.arange(self._shown_count))))
        more = ", ..." if self._shown_count < self.size else ""
        facts = [("shape", str(self.shape)), ("bits of the largest", str(self.bits)), ("integers", shown + more)]
        return fact_table("BigIntArray", facts)

    @property
    def _shown_count(self) -> int:
        return min(self.size, SHOWN_COUNT)

    # --- operators -------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> BigIntArray:
        return BigIntArray.from_signed(signed.add(get_engine(), self._signed, _operand(other)))

    def __sub__(self, other: Any) -> BigIntArray:
        return BigIntArray.from_signed(signed.subtract(get_engine(), self._signed, _operand(other)))

    def __rsub__(self, other: Any) -> BigIntArray:
        return BigIntArray.from_signed(signed.subtract(get_engine(), _operand(other), self._signed))

    def __mul__(self, other: Any) -> BigIntArray:
        return BigIntArray.from_signed(signed.multiply(get_engine(), self._signed, _operand(other)))

    __radd__ = __add__
    __rmul__ = __mul__

    def __divmod__(self, other: Any) -> tuple[BigIntArray, BigIntArray]:
        return _divmod(self._signed, _operand(other))

    def __rdivmod__(self, other: Any) -> tuple[BigIntArray, BigIntArray]:
        return _divmod(_operand(other), self._signed)

    def __floordiv__(self, other: Any) -> BigIntArray:
        return _divmod(self._signed, _operand(other))[0]

    def __rfloordiv__(self, other: Any) -> BigIntArray:
        return _divmod(_operand(other), self._signed)[0]

    def __mod__(self, other: Any) -> BigIntArray:
        return _divmod(self._signed, _operand(other))[1]

    def __rmod__(self, other: Any) -> BigIntArray:
        return _divmod(_operand(other), self._signed)[1]

    def __truediv__(self, other: Any) -> BigIntArray:
        raise InputError("integers have no true division", expected="a // b", got="a / b", cure="use // or divmod")

    __rtruediv__ = __truediv__

    def __neg__(self) -> BigIntArray:
        return BigIntArray.from_signed(signed.negate(self._signed))

    def __pos__(self) -> BigIntArray:
        return self

    def __abs__(self) -> BigIntArray:
        return BigIntArray.from_signed(Signed(self._signed.magnitude, np.zeros(self.shape, np.bool_)))

    # --- comparison ------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> BoolArray:  # type: ignore[override]
        right = _operand(other)
        broadcast_shape(self.shape, right.shape)
        return signed.equal(self._signed, right)

    def __ne__(self, other: object) -> BoolArray:  # type: ignore[override]
        return _not(self == other)

    def __lt__(self, other: Any) -> BoolArray:
        return signed.subtract(get_engine(), self._signed, _operand(other)).negative

    def __gt__(self, other: Any) -> BoolArray:
        return signed.subtract(get_engine(), _operand(other), self._signed).negative

    def __le__(self, other: Any) -> BoolArray:
        return _not(self > other)

    def __ge__(self, other: Any) -> BoolArray:
        return _not(self < other)


def _operand(other: Any) -> Signed:
    return other._signed if isinstance(other, BigIntArray) else signed_from(other)


def _divmod(a: Signed, b: Signed) -> tuple[BigIntArray, BigIntArray]:
    quotient, remainder = signed.floor_divmod(get_engine(), a, b)
    return BigIntArray.from_signed(quotient), BigIntArray.from_signed(remainder)


def _not(where: BoolArray) -> BoolArray:
    return np.asarray(np.logical_not(where))


def _shown(value: int) -> str:
    """The integer in decimal, or its ends in hexadecimal where it is long."""
    if value.bit_length() <= SHOWN_BITS:
        return str(value)
    digits = f"{abs(value):x}"
    return f"{'-' if value < 0 else ''}0x{digits[:8]}...{digits[-8:]}"
