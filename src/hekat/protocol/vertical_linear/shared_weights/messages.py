"""Every message of training and prediction on shares, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public


@message("vertical-shared/hello", version=1)
@dataclass(frozen=True)
class HelloMessage:
    """Each party to the other, once: its public key, and what both must agree on before anything is computed."""

    public_key: bytes = public()
    row_count: int = public()
    column_count: int = disclosed("how many columns the sender has")
    sparse: bool = disclosed("whether the sender's columns are sparse")
    epochs_done: int = public()
    sharing: bytes = public()
    """The name of the state that both parties hold shares of; empty where there is none yet."""


@message("vertical-shared/factors", version=2)
@dataclass(frozen=True)
class FactorsMessage:
    """Either party to the other: its shares of weights or residuals, or its columns, to be multiplied encrypted.

    Version 1 had slots with a mask each.
    """

    ciphertexts: bytes = ciphertext(under="the sender")


@message("vertical-shared/products", version=2)
@dataclass(frozen=True)
class ProductsMessage:
    """The answer: products of the receiver's factors and the sender's numbers, under masks that the sender keeps.

    Version 1 had one mask for each slot; version 2 has one mask for the whole plaintext.
    """

    ciphertexts: bytes = ciphertext(under="the receiver, who opens uniform numbers: its shares of the products")


@message("vertical-shared/plain-factors", version=1)
@dataclass(frozen=True)
class PlainFactorsMessage:
    """As FactorsMessage under protection `none`; limbs, shape (..., 2)."""

    values: npt.NDArray[np.uint64] = disclosed("THE SENDER'S SHARES OR COLUMNS, UNENCRYPTED")


@message("vertical-shared/plain-products", version=1)
@dataclass(frozen=True)
class PlainProductsMessage:
    """As ProductsMessage under protection `none`; limbs, shape (..., 2)."""

    values: npt.NDArray[np.uint64] = disclosed("the receiver's shares of products; it may know the other shares")


@message("vertical-shared/loss-share", version=2)
@dataclass(frozen=True)
class LossShareMessage:
    """Holder to guest, at the end of every epoch: with the other share of it the guest learns the epoch's loss.

    Version 1 told the loss to 2^-24 however few the rows.
    """

    share: npt.NDArray[np.uint64] = disclosed("the mean loss of the epoch to 2^-24 or less, with the other share of it")


@message("vertical-shared/epoch-end", version=1)
@dataclass(frozen=True)
class EpochEndMessage:
    """Guest to hosts, after every epoch: whether training goes on."""

    finished: bool = disclosed("whether the losses, which the guest alone sees, end the training")


@message("vertical-shared/score-shares", version=1)
@dataclass(frozen=True)
class ScoreSharesMessage:
    """A holder to a receiver of a prediction: with the other shares of them the receiver learns the scores."""

    shares: npt.NDArray[np.uint64] = disclosed("the score of every row, with the other shares of it")


@message("vertical-shared/newton-steps", version=1)
@dataclass(frozen=True)
class NewtonStepsMessage:
    """The host to the guest, before any training row is scored: how often weights move to the log loss."""

    steps: int = disclosed("whether the host has more independent columns than the scores of a row tell combinations")


_ADDEND = "a mask that the other holder gets: uniform by itself"


@message("vertical-shared/column-addends", version=1)
@dataclass(frozen=True)
class ColumnAddendsMessage:
    """Quiet party to each holder, once for each batch: one addend of all that it knows of X^T X and X^T y.

    `products` (its columns, size, 2) are of its columns with the ones and all columns. `targets` (its columns, K, 2)
    are of its columns with the targets, at the guest (size, K, 2) of all columns.
    """

    products: npt.NDArray[np.uint64] = ciphertext(under=_ADDEND)
    targets: npt.NDArray[np.uint64] = ciphertext(under=_ADDEND)


@message("vertical-shared/score-addends", version=1)
@dataclass(frozen=True)
class ScoreAddendsMessage:
    """Quiet party to each holder, for each block of rows to predict: one addend of its shares of their scores."""

    shares: npt.NDArray[np.uint64] = ciphertext(under=_ADDEND)
