"""Products of one party's numbers with the other party's numbers under Paillier, left in shares of both parties.

1. one party sends its numbers encrypted under its own key, each with a fresh randomiser
2. the other party multiplies them with its own numbers, adds masks, re-randomises so that the key's holder learns
   nothing, and answers
3. the first party opens uniform numbers, its shares of the products; the other party's shares are the negated masks
Where several products share a plaintext without gaps, the shares may add up to CARRY_UNITS more than the products.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError, ProtocolError, WireError
from hekat.ledger import RecordedChannel
from hekat.plaintext_space import PackedPlaintext
from hekat.protocol.shares.share_array import (
    ShareArray,
    signed_integers,
)
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import (
    SlotLayout,
    gather_rows,
    spread_columns,
    spread_factors,
)
from hekat.protocol.vertical_linear.shared_weights.cross_products.whole_mask import mask_products, open_products
from hekat.protocol.vertical_linear.shared_weights.messages import (
    FactorsMessage,
    PlainFactorsMessage,
    ProductsMessage,
)
from hekat.protocol.vertical_linear.timing_labels import AGGREGATE, DECRYPT, ENCRYPT_LOGITS, GRADIENT, LOSS, PLAIN
from hekat.scheme.paillier import (
    Ciphertexts,
    PrivateKey,
    PublicKey,
    add,
    encrypt,
    matmul_plain,
    rerandomise,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.frame import MAX_FRAME_BYTES

IntArray = npt.NDArray[np.int64]
# The message around its ciphertexts, and its seal, take some of the bytes that a frame may have.
MAX_MESSAGE_BYTES = MAX_FRAME_BYTES - (1 << 20)
ColumnsMessage = FactorsMessage | PlainFactorsMessage
Factors = Any
"""The result of `receive_factors`; only the same kind of cross products can use it."""


class CrossProducts(Protocol):
    """One party's side of products with the other party. A `matrix` is int64, dense or sparse, or shares (r, k, 2)."""

    def send_factors(self, step: str, shares: ShareArray, layout: SlotLayout) -> None:
        """Send shares (k, m, 2), one copy for each slot of the answer."""
        ...

    def send_columns(self, step: str, values: IntArray, offset_bits: int, layout: SlotLayout) -> None:
        """Send integers (k, m), each raised by 2^offset_bits, with several columns in one plaintext."""
        ...

    def pack_columns(self, values: IntArray, offset_bits: int, layout: SlotLayout) -> ColumnsMessage:
        """The message of `send_columns`, for several parties: encrypted once, since the key is the sender's."""
        ...

    def receive_factors(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> Factors:
        """Receive the other party's shares of `shape` (k, m). Raises ProtocolError for another shape."""
        ...

    def receive_columns(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> Factors:
        """Receive the other party's columns of `shape` (k, m). Raises ProtocolError for another shape."""
        ...

    def answer(self, step: str, matrix: Any, factors: Factors, layout: SlotLayout) -> ShareArray:
        """Send matrix (r, k) @ factors under masks; returns this party's shares (r, m, 2) of the products."""
        ...

    def answer_columns(self, step: str, matrix: Any, factors: Factors, layout: SlotLayout, count: int) -> ShareArray:
        """As `answer`, for `count` packed columns."""
        ...

    def open_answer(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        """Open the other party's answer of `shape` (r, m): this party's shares (r, m, 2). Raises ProtocolError."""
        ...

    def open_columns(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        """As `open_answer`, for packed columns."""
        ...

    def inner_product(self, shares: ShareArray, factors: Factors, before: Any = None) -> Any:
        """The inner product of shares (k, m, 2) with the factors of such shares, as a factor (1, 1), plus `before`."""
        ...


class PaillierCrossProducts:
    """Cross products under two Paillier keys: this party's own key and the other party's public key.

    A key may be None where nothing is sent under it.
    """

    def __init__(
        self,
        channel: RecordedChannel,
        peer: str,
        own: PrivateKey | None,
        foreign: PublicKey | None,
        stopwatch: Stopwatch,
    ) -> None:
        self._channel, self._peer, self._private, self._public = channel, peer, own, foreign
        self._measure = stopwatch.measure

    @property
    def _own(self) -> PrivateKey:
        assert self._private is not None
        return self._private

    @property
    def _foreign(self) -> PublicKey:
        assert self._public is not None
        return self._public

    def send_factors(self, step: str, shares: ShareArray, layout: SlotLayout) -> None:
        with self._measure(ENCRYPT_LOGITS):
            plain = spread_factors(shares, layout)
            message = self._encrypted(plain, (layout.slot_count * shares.shape[0], shares.shape[1]))
        self._channel.send(self._peer, step, message)

    def send_columns(self, step: str, values: IntArray, offset_bits: int, layout: SlotLayout) -> None:
        self._channel.send(self._peer, step, self.pack_columns(values, offset_bits, layout))

    def pack_columns(self, values: IntArray, offset_bits: int, layout: SlotLayout) -> FactorsMessage:
        with self._measure(ENCRYPT_LOGITS):
            plain = spread_columns(values, offset_bits, layout)
            return self._encrypted(plain, (len(values), len(plain) // len(values)))

    def receive_factors(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> Ciphertexts:
        return self._read_factors(step, (layout.slot_count * shape[0], shape[1]))

    def receive_columns(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> Ciphertexts:
        return self._read_factors(step, (shape[0], -(-shape[1] // layout.slot_count)))

    def answer(self, step: str, matrix: Any, factors: Ciphertexts, layout: SlotLayout) -> ShareArray:
        with self._measure(PLAIN):
            exponents = gather_rows(signed_integers(matrix) if are_shares(matrix) else matrix, layout.slot_count)
        own = self._mask(step, exponents, factors, layout)
        return rows_of_slots(own)[: matrix.shape[0]]

    def answer_columns(
        self, step: str, matrix: Any, factors: Ciphertexts, layout: SlotLayout, count: int
    ) -> ShareArray:
        own = self._mask(step, matrix, factors, layout)
        return np.ascontiguousarray(own.reshape(own.shape[0], -1, 2)[:, :count])

    def open_answer(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        opened = self._open(step, (-(-shape[0] // layout.slot_count), shape[1]), layout)
        return rows_of_slots(opened)[: shape[0]]

    def open_columns(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        opened = self._open(step, (shape[0], -(-shape[1] // layout.slot_count)), layout)
        return np.ascontiguousarray(opened.reshape(shape[0], -1, 2)[:, : shape[1]])

    def inner_product(self, shares: ShareArray, factors: Ciphertexts, before: Any = None) -> Ciphertexts:
        with self._measure(LOSS):
            unshifted = factors[: len(shares)]
            exponents = signed_integers(shares).reshape(1, -1)
            product = matmul_plain(exponents, unshifted.reshape((-1, 1)))
            return product if before is None else add(before, product)

    def _encrypted(self, plain: PackedPlaintext, shape: tuple[int, int]) -> FactorsMessage:
        message_bytes = len(plain) * 2 * self._own.public.bits // 8
        if message_bytes > MAX_MESSAGE_BYTES:
            raise InputError(
                "a batch is too large for one message",
                expected=f"at most {MAX_MESSAGE_BYTES >> 20} MiB of ciphertexts",
                got=f"{message_bytes >> 20} MiB: {len(plain)} of them",
                cure="set training.batch_rows, or a smaller one, or leave out columns",
            )
        return FactorsMessage(to_bytes(encrypt(self._own, plain).reshape(shape)))

    def _read_factors(self, step: str, shape: tuple[int, int]) -> Ciphertexts:
        message = self._channel.receive(self._peer, step, FactorsMessage)
        with self._measure(GRADIENT):
            return _read(message.ciphertexts, self._foreign, shape, self._peer, step)

    def _mask(self, step: str, exponents: Any, factors: Ciphertexts, layout: SlotLayout) -> ShareArray:
        """Send exponents @ factors under masks; returns this party's shares, (results, m, slots, 2)."""
        with self._measure(GRADIENT):
            products = matmul_plain(exponents, factors)
        with self._measure(AGGREGATE):
            masked, own = mask_products(products, layout)
            message = ProductsMessage(to_bytes(rerandomise(masked)))
        self._channel.send(self._peer, step, message)
        return own.reshape(*products.shape, layout.slot_count, 2)

    def _open(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        """The answer's slots, (*shape, slots, 2)."""
        message = self._channel.receive(self._peer, step, ProductsMessage)
        with self._measure(DECRYPT):
            ciphertexts = _read(message.ciphertexts, self._own.public, shape, self._peer, step)
            return open_products(self._own, ciphertexts, layout).reshape(*shape, layout.slot_count, 2)


def rows_of_slots(slots: ShareArray) -> ShareArray:
    """Packed results (packed, m, slots, 2) as rows (packed * slots, m, 2)."""
    packed, columns, slot_count, _ = slots.shape
    return np.ascontiguousarray(slots.transpose(0, 2, 1, 3)).reshape(packed * slot_count, columns, 2)


def are_shares(matrix: Any) -> bool:
    """Whether a matrix of a product is one of shares (r, k, 2)."""
    return isinstance(matrix, np.ndarray) and matrix.ndim == 3


def _read(data: bytes, key: PublicKey, shape: tuple[int, ...], peer: str, step: str) -> Ciphertexts:
    try:
        ciphertexts = from_bytes(data, Ciphertexts, public_key=key)
    except WireError as error:
        what = f"what {peer} sent in {step} cannot be used: {error.what}"
        raise type(error)(what, expected=error.expected, got=error.got, cure=error.cure) from None
    if ciphertexts.shape != shape:
        raise other_shape(peer, step, shape, ciphertexts.shape)
    return ciphertexts


def other_shape(peer: str, step: str, expected: tuple[int, ...], got: tuple[int, ...]) -> ProtocolError:
    """The error for a message with another number of values than both parties agreed on."""
    return ProtocolError(
        f"{peer} sent another number of values in {step}",
        expected=f"shape {expected}",
        got=f"shape {got}",
        cure="both parties must run the same job on the same rows with the same release",
    )
