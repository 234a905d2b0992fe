"""What a quiet party knows goes to the two holders as addends: each is uniform by itself, their sum is the number."""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.protocol.shares.share_array import ShareArray, random_shares, subtract


def split(values: ShareArray) -> tuple[ShareArray, ShareArray]:
    """Two addends of elements of the ring (..., 2), one for each holder: fresh randomness, and the rest mod 2^128."""
    mask = random_shares(values.shape[:-1])
    return mask, subtract(values, mask)


def checked_addend(values: ShareArray, shape: tuple[int, ...], sender: str, step: str) -> ShareArray:
    """An addend that came, of elements of `shape`. Raises ProtocolError for another shape."""
    if values.shape != (*shape, 2):
        raise ProtocolError(
            f"{sender} sent another number of addends in {step}",
            expected=f"shape {(*shape, 2)}",
            got=f"shape {values.shape}",
            cure="all parties must run the same job on the same rows with the same release",
        )
    return values
