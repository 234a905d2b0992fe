"""The Python operators that an encrypted array refuses, each with what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from hekat.errors import InputError


def refuse(what: str, cure: str) -> NoReturn:
    """Raise the InputError for an operation that ciphertexts do not support."""
    raise InputError(what, cure=cure)


def refuse_comparison() -> NoReturn:
    refuse(
        "encrypted values cannot be compared: a party that can compare can search for the values",
        "decrypt first (x.decrypt(private_key)), or compare shapes and scales, which are public",
    )


def refuse_division() -> NoReturn:
    refuse(
        "encrypted values cannot be divided",
        "multiply by the reciprocal of a plain divisor, x * (1 / d), or divide after decryption",
    )


def refuse_product() -> NoReturn:
    refuse(
        "two encrypted arrays cannot be multiplied: Paillier adds ciphertexts and multiplies them by plain numbers",
        "leave one factor plain, or decrypt one with its holder's private key, or use a protocol that splits the work",
    )


def _refuse_reading(as_what: str) -> NoReturn:
    refuse(
        f"an encrypted array cannot be read as {as_what}: its values are secret",
        "use x.decrypt(private_key); x.get() gives the ciphertexts themselves",
    )


class Refusals:
    """The operators and conversions that cannot work on ciphertexts, refused by name instead of by accident."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> NoReturn:
        refuse_comparison()

    def __ne__(self, other: object) -> NoReturn:
        refuse_comparison()

    def __lt__(self, other: Any) -> NoReturn:
        refuse_comparison()

    def __le__(self, other: Any) -> NoReturn:
        refuse_comparison()

    def __gt__(self, other: Any) -> NoReturn:
        refuse_comparison()

    def __ge__(self, other: Any) -> NoReturn:
        refuse_comparison()

    def __truediv__(self, other: Any) -> NoReturn:
        refuse_division()

    def __rtruediv__(self, other: Any) -> NoReturn:
        refuse_division()

    def __floordiv__(self, other: Any) -> NoReturn:
        refuse_division()

    def __rfloordiv__(self, other: Any) -> NoReturn:
        refuse_division()

    def __mod__(self, other: Any) -> NoReturn:
        refuse_division()

    def __rmod__(self, other: Any) -> NoReturn:
        refuse_division()

    def __pow__(self, other: Any) -> NoReturn:
        refuse_product()

    def __rpow__(self, other: Any) -> NoReturn:
        refuse_product()

    def __abs__(self) -> NoReturn:
        refuse("the magnitude of an encrypted value depends on its sign, which is secret", "decrypt first")

    def __bool__(self) -> NoReturn:
        _refuse_reading("a truth value")

    def __int__(self) -> NoReturn:
        _refuse_reading("an int")

    def __float__(self) -> NoReturn:
        _refuse_reading("a float")

    def __complex__(self) -> NoReturn:
        _refuse_reading("a complex number")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        _refuse_reading("a plain NumPy array")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        refuse("an encrypted array never changes", "build a new one: x * mask + y, or hekat.encrypted_array.stack")

    def __reduce__(self) -> NoReturn:
        refuse("an encrypted array is not pickled", "use x.to_bytes() and EncryptedArray.from_bytes(data, key=...)")

    def mean(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a mean divides."""
        refuse(
            "a mean divides, which ciphertexts cannot",
            "x.sum(axis) and divide after decryption, or x.sum(axis) * (1 / count)",
        )
