"""The canonical bytes of a value that parties compare: JSON, text, bytes, or the source of code."""

from __future__ import annotations

import hashlib
import hmac
import inspect
import json
from types import ModuleType
from typing import Any

from hekat.errors import InputError


def digest_value(label: str, value: Any, key: bytes) -> bytes:
    """A digest of the value under its label, keyed where there is a key. Raises InputError as `canonical_bytes`."""
    content = canonical_bytes(label, value)
    header = len(label.encode()).to_bytes(4, "little") + label.encode()
    return hmac.new(key or b"unkeyed", header + content, hashlib.sha256).digest()


def canonical_bytes(label: str, value: Any) -> bytes:
    """Bytes and text as they are, code as its source, all else as JSON with sorted keys, its kind before it.

    Raises InputError for a value that has no such form.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b"bytes:" + bytes(value)
    try:
        if isinstance(value, ModuleType) or inspect.isclass(value) or inspect.isroutine(value):
            return b"source:" + inspect.getsource(value).encode()
        return b"json:" + json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, OSError, RecursionError) as error:
        raise InputError(
            f"{label!r} cannot be compared",
            expected="bytes, text, a value that JSON holds, or a function, class or module whose source is at hand",
            got=f"{type(value).__name__} ({type(error).__name__})",
            cure="turn it into text or bytes that are the same wherever the value is",
        ) from None
