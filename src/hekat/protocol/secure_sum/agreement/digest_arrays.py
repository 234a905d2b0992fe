"""Keyed digests of what parties hold alike: the aggregator compares them, and learns nothing else from them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def digest_arrays(key: bytes, label: bytes, arrays: Iterable[npt.NDArray[Any]]) -> bytes:
    """HMAC-SHA-256 over label, and kind, shape and values of each array; equal only where every byte is.

    `key` is the parties' alone, empty under protection `none`, where the aggregator knows every sum.
    """
    digest = hmac.new(key or b"unkeyed", digestmod=hashlib.sha256)
    digest.update(len(label).to_bytes(4, "little") + label)
    for array in arrays:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        header = f"{little.dtype.str}|{little.shape}|".encode()
        digest.update(len(header).to_bytes(4, "little") + header)
        digest.update(little.reshape(-1).view(np.uint8).data)
    return digest.digest()
