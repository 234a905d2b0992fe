"""Products under ring LWE, left in shares by masks that are uniform over the whole ring."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import KeyRefusedError
from hekat.protocol.vertical_network.arithmetic.interface import Numbers, Product
from hekat.protocol.vertical_network.fixed_point import PRODUCT_BITS
from hekat.scheme.bfv import PublicKey, generate_keys
from hekat.scheme.bfv.shared_products import (
    EncryptedMatrix,
    MatrixLayout,
    PlainMatrix,
    centre,
    encrypt_matrix,
    lay_out_matrices,
    multiply_masked,
    open_share,
    prepare_matrix,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.shared_products import read_answer, read_matrix, write_answer, write_matrix


class LatticeArithmetic:
    """One party's half under its own key pair, made here for one run."""

    def __init__(self) -> None:
        self._pair = generate_keys()
        self._peers: dict[str, PublicKey] = {}

    @property
    def public_key(self) -> bytes:
        return to_bytes(self._pair.public)

    def meet(self, peer: str, public_key: bytes) -> None:
        key = from_bytes(public_key, PublicKey)
        if key == self._pair.public or key in self._peers.values():
            raise KeyRefusedError(
                f"{peer} came with a key that another party has",
                expected="a key of its own",
                got="the same one",
                cure="each party makes a key of its own for each run",
            )
        self._peers[peer] = key

    def hold(self, values: npt.NDArray[Any], product: Product) -> bytes:
        return write_matrix(encrypt_matrix(self._pair.private, values, _layout_of(product)))

    def read_held(self, peer: str, data: bytes, product: Product) -> EncryptedMatrix:
        return read_matrix(data, self._peers[peer], _layout_of(product))

    def prepare(self, values: npt.NDArray[Any], product: Product) -> PlainMatrix:
        integers = values if values.dtype == np.int64 else centre(values, PRODUCT_BITS)
        return prepare_matrix(integers, _layout_of(product))

    def answer(self, held: Any, plain: Any, product: Product) -> tuple[bytes, Numbers]:
        answer, share = multiply_masked(plain, held)
        return write_answer(answer), share

    def open(self, peer: str, data: bytes, product: Product) -> Numbers:
        return open_share(self._pair.private, read_answer(data, self._pair.public, _layout_of(product)))


def _layout_of(product: Product) -> MatrixLayout:
    layout = lay_out_matrices(
        bits=product.bits,
        rows=product.most_rows,
        inner=product.inner,
        columns=product.columns,
        plain_bound=product.plain_bound,
        opened=product.is_opened,
        uses=product.uses,
    )
    return layout.with_rows(product.rows)
