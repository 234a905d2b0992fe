"""Whether a party trains on the very rows, in the very order, that it trained on before it was stopped."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hekat.data import Table, is_dense

KEY_BYTES = 32


@dataclass(frozen=True)
class RowIdentity:
    """A digest of a table's columns, rows, ids and labels under a key of its own, so that no two can be compared by
    somebody who has only the digests."""

    key: bytes = field(repr=False)
    digest: bytes

    @classmethod
    def of(cls, table: Table) -> RowIdentity:
        key = secrets.token_bytes(KEY_BYTES)
        return cls(key, _digest(table, key))

    def fits(self, table: Table) -> bool:
        """Whether `table` has this identity."""
        return hmac.compare_digest(self.digest, _digest(table, self.key))


def _digest(table: Table, key: bytes) -> bytes:
    found = hmac.new(key, digestmod=hashlib.sha256)
    for part in _parts_of(table):
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def _parts_of(table: Table) -> Iterator[bytes | memoryview]:
    yield from (name.encode() for name in table.feature_names)
    features = table.features
    arrays = [features] if is_dense(features) else [features.data, features.indices, features.indptr]
    for array in arrays:
        yield str((array.dtype.str, array.shape)).encode()
        yield np.ascontiguousarray(array).data.cast("B") if array.size else b""
    if table.labels is not None:
        yield str(table.labels.dtype.str).encode()
        yield table.labels.tobytes()
    if table.ids is not None:
        yield from table.ids.to_bytes()
