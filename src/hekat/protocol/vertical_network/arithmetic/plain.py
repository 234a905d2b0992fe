"""Products in the clear, for a comparison: the holder's share is the product, the other party's share is nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import WireCorruptError
from hekat.protocol.shares.share_array import from_integers, zero_shares
from hekat.protocol.vertical_network.arithmetic.interface import Numbers, Product
from hekat.protocol.vertical_network.fixed_point import PRODUCT_BITS, multiply


class PlainArithmetic:
    """One party's half in the clear; it has no key."""

    public_key = b""

    def meet(self, peer: str, public_key: bytes) -> None:
        pass

    def hold(self, values: npt.NDArray[Any], product: Product) -> bytes:
        return values.astype("<u8").tobytes()

    def read_held(self, peer: str, data: bytes, product: Product) -> npt.NDArray[np.uint64]:
        return _read(peer, data, (product.inner, product.columns))

    def prepare(self, values: npt.NDArray[Any], product: Product) -> npt.NDArray[np.int64]:
        return values.astype(np.int64)

    def answer(self, held: Any, plain: Any, product: Product) -> tuple[bytes, Numbers]:
        if product.bits == PRODUCT_BITS:
            found = multiply(plain, held)
            return found.tobytes(), np.zeros_like(found)
        # Slopes and features are so small that their products stay within int64.
        exact = from_integers(plain @ held.view(np.int64))
        return exact.tobytes(), zero_shares(exact.shape[:-1])

    def open(self, peer: str, data: bytes, product: Product) -> Numbers:
        limbs = () if product.bits == PRODUCT_BITS else (2,)
        return _read(peer, data, (product.rows, product.columns, *limbs))


def _read(peer: str, data: bytes, shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    size = 8 * int(np.prod(shape))
    if len(data) != size:
        raise WireCorruptError(
            f"{peer} sent a matrix of another shape",
            expected=f"{size} bytes",
            got=f"{len(data)}",
            cure="all parties must run the same job and release",
        )
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(shape)
