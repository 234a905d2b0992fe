"""Value codecs: from a field's annotation to checked, canonical items and back."""

from __future__ import annotations

import types
import typing
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hekat.errors import HekatError, InputError, WireCorruptError
from hekat.wire.array_field import ARRAY_DTYPES, ArrayField

MAX_INT_BYTES = 4096
MIN_PACKED_INT = -(1 << 63)
MAX_PACKED_INT = (1 << 64) - 1


class FieldCodec(Protocol):
    """Turns one Python value into MessagePack items, and back; `where` names the field in errors."""

    def encode(self, value: Any, where: str) -> Any:
        """`value` as items. Raises InputError where it is not of the annotated type."""
        ...

    def decode(self, item: Any, where: str) -> Any:
        """The value of `item`. Raises WireCorruptError where it is not what `encode` writes."""
        ...


class BoolField:
    def encode(self, value: Any, where: str) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise _unfit(where, "bool", value)
        return bool(value)

    def decode(self, item: Any, where: str) -> bool:
        if not isinstance(item, bool):
            raise _foreign(where, "a bool")
        return item


class IntField:
    """Integers: 64-bit ones as MessagePack integers, larger ones as minimal little-endian two's complement."""

    def encode(self, value: Any, where: str) -> int | bytes:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise _unfit(where, "int", value)
        number = int(value)
        if MIN_PACKED_INT <= number <= MAX_PACKED_INT:
            return number
        data = _minimal_bytes(number)
        if len(data) > MAX_INT_BYTES:
            raise InputError(
                f"{where} is too large", expected=f"an int of at most {MAX_INT_BYTES} bytes", got=f"{len(data)} bytes"
            )
        return data

    def decode(self, item: Any, where: str) -> int:
        if isinstance(item, int) and not isinstance(item, bool):
            return item
        if not isinstance(item, bytes):
            raise _foreign(where, "an int")
        if len(item) > MAX_INT_BYTES:
            raise _foreign(where, f"an int of at most {MAX_INT_BYTES} bytes")
        number = int.from_bytes(item, "little", signed=True)
        if MIN_PACKED_INT <= number <= MAX_PACKED_INT or _minimal_bytes(number) != item:
            raise _foreign(where, "an int in its shortest form")
        return number


class FloatField:
    """Any float64, bit for bit, infinities and NaN included: the protocol says what a value may be."""

    def encode(self, value: Any, where: str) -> float:
        if not isinstance(value, float | np.floating) or isinstance(value, np.longdouble):
            raise _unfit(where, "float", value)
        return float(value)

    def decode(self, item: Any, where: str) -> float:
        if not isinstance(item, float):
            raise _foreign(where, "a float")
        return item


class StrField:
    def encode(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise _unfit(where, "str", value)
        if type(value) is str and value.isascii():
            return value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{where} is not text", expected="str without lone surrogates") from None
        return str(value)

    def decode(self, item: Any, where: str) -> str:
        if not isinstance(item, str):
            raise _foreign(where, "a string")
        return item


class BytesField:
    def encode(self, value: Any, where: str) -> bytes:
        if type(value) is bytes:
            return value
        if not isinstance(value, bytes | bytearray | memoryview):
            raise _unfit(where, "bytes", value)
        return bytes(value)

    def decode(self, item: Any, where: str) -> bytes:
        if not isinstance(item, bytes):
            raise _foreign(where, "bytes")
        return item


class SequenceField:
    """A list or a homogeneous tuple."""

    def __init__(self, kind: type[list[Any]] | type[tuple[Any, ...]], each: FieldCodec) -> None:
        self.kind = kind
        self.each = each

    def encode(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, self.kind):
            raise _unfit(where, self.kind.__name__, value)
        encode = self.each.encode
        try:
            return [encode(one, where) for one in value]
        except HekatError:  # said again of the very item: its place is not worked out for items that fit
            return [encode(one, f"{where}, item {index}") for index, one in enumerate(value)]

    def decode(self, item: Any, where: str) -> Any:
        if not isinstance(item, list):
            raise _foreign(where, f"a {self.kind.__name__}")
        decode = self.each.decode
        try:
            return self.kind([decode(one, where) for one in item])
        except HekatError:
            return self.kind([decode(one, f"{where}, item {index}") for index, one in enumerate(item)])


class DictField:
    """A dict with string keys, written in the order of its keys."""

    def __init__(self, each: FieldCodec) -> None:
        self.keys = SequenceField(list, StrField())
        self.each = each

    def encode(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _unfit(where, "dict", value)
        keys, encode = self.keys.encode(list(value), f"{where}, keys"), self.each.encode
        try:
            return {key: encode(value[key], where) for key in sorted(keys)}
        except HekatError:
            return {key: encode(value[key], f"{where}[{key!r:.40}]") for key in sorted(keys)}

    def decode(self, item: Any, where: str) -> dict[str, Any]:
        if not isinstance(item, dict):
            raise _foreign(where, "a dict")
        keys, decode = self.keys.decode(list(item), f"{where}, keys"), self.each.decode
        if keys != sorted(keys):
            raise _foreign(where, "a dict in the order of its keys")
        try:
            return {key: decode(one, where) for key, one in item.items()}
        except HekatError:
            return {key: decode(one, f"{where}[{key!r:.40}]") for key, one in item.items()}


class OptionalField:
    """A value or None."""

    def __init__(self, inner: FieldCodec) -> None:
        self.inner = inner

    def encode(self, value: Any, where: str) -> Any:
        return None if value is None else self.inner.encode(value, where)

    def decode(self, item: Any, where: str) -> Any:
        return None if item is None else self.inner.decode(item, where)


_SCALARS: dict[Any, FieldCodec] = {
    bool: BoolField(),
    int: IntField(),
    float: FloatField(),
    str: StrField(),
    bytes: BytesField(),
}


def codec_for(annotation: Any, where: str) -> FieldCodec:
    """The codec of an annotation. Raises InputError for a type that messages do not carry."""
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list and len(arguments) == 1:
        return SequenceField(list, codec_for(arguments[0], where))
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return SequenceField(tuple, codec_for(arguments[0], where))
    if origin is dict and len(arguments) == 2 and arguments[0] is str:
        return DictField(codec_for(arguments[1], where))
    scalar = _scalar_of(origin, arguments)
    if scalar in ARRAY_DTYPES:
        return ArrayField(ARRAY_DTYPES[scalar])
    if origin in (typing.Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        inner = next(argument for argument in arguments if argument is not type(None))
        return OptionalField(codec_for(inner, where))
    raise InputError(
        f"{where} is of a type that messages do not carry",
        expected="bool, int, float, str, bytes, list[...], tuple[..., ...], dict[str, ...], "
        "npt.NDArray of float64, float32, int64, uint64 or uint8, or one of these | None",
        got=str(annotation),
    )


def _scalar_of(origin: Any, arguments: tuple[Any, ...]) -> Any:
    """The scalar type of an annotation of arrays; None of others."""
    # From NumPy 2.5 on npt.NDArray is a type of its own; before, it stands for np.ndarray[shape, np.dtype[scalar]].
    if origin is npt.NDArray and len(arguments) == 1:
        return arguments[0]
    if origin is np.ndarray and len(arguments) == 2:
        return next(iter(typing.get_args(arguments[1])), None)
    return None


def _minimal_bytes(number: int) -> bytes:
    # (bit_length + 8) // 8 always leaves room for the sign; a negative power of two can need one byte less.
    magnitude_bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
    return number.to_bytes((magnitude_bits + 8) // 8, "little", signed=True)


def _unfit(where: str, expected: str, value: Any) -> HekatError:
    return InputError(f"{where} is of another type", expected=expected, got=type(value).__name__)


def _foreign(where: str, expected: str) -> HekatError:
    return WireCorruptError(f"{where} does not hold what its type says", expected=expected)
